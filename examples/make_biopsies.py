"""Risks of a malignant finding for breast biopsies: a model fitted to 60 of them, and the others to judge it by.

    python examples/make_biopsies.py        # needs scikit-learn

Writes biopsies.csv from the breast cancer data that scikit-learn ships (Street, Wolberg, Mangasarian 1993; UCI,
CC BY 4.0).
The model sees five weak features and few rows, so that it is too sure. Cells are small or large, by the median radius,
which the model does not see.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

FEATURES = ["mean texture", "mean smoothness", "mean symmetry", "texture error", "worst fractal dimension"]
FITTED = 60


def main():
    data = load_breast_cancer()
    names = list(data.feature_names)
    x = StandardScaler().fit_transform(data.data[:, [names.index(name) for name in FEATURES]])
    radius = data.data[:, names.index("mean radius")]
    order = np.random.default_rng(7).permutation(len(x))
    fitted, others = order[:FITTED], order[FITTED:]
    malignant = 1 - data.target
    model = LogisticRegression(C=10.0).fit(x[fitted], malignant[fitted])
    risk = np.clip(model.predict_proba(x[others])[:, 1], 0.001, 0.999)
    lines = ["malignant,risk,cells"]
    for y, p, size in zip(malignant[others], risk, radius[others], strict=True):
        lines.append(f"{y},{p:.4f},{'large' if size > np.median(radius) else 'small'}")
    Path(__file__).with_name("biopsies.csv").write_text("\n".join(lines) + "\n", encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
