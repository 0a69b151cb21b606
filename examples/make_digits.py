"""Make the example files: two classifiers on scikit-learn's bundled digits, predictions for rows held out.

    python examples/make_digits.py        # needs scikit-learn

Writes digits_logistic.csv and digits_naive_bayes.csv: column `label`, columns `p0` to `p9`.
"""

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

MODELS = {
    "digits_logistic": make_pipeline(StandardScaler(), LogisticRegression(C=0.05, max_iter=500)),
    "digits_naive_bayes": make_pipeline(StandardScaler(), GaussianNB(var_smoothing=0.1)),
}


def main() -> None:
    x, y = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.5, random_state=0, stratify=y)
    for name, model in MODELS.items():
        p = model.fit(x_train, y_train).predict_proba(x_test)
        header = "label," + ",".join(f"p{k}" for k in range(10))
        rows = np.column_stack([y_test, p])
        path = Path(__file__).parent / f"{name}.csv"
        np.savetxt(path, rows, fmt=["%d"] + ["%.9g"] * 10, delimiter=",", header=header, comments="")


if __name__ == "__main__":
    main()
