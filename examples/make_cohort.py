"""Make cohort.csv: predicted survival of 300 patients of another hospital, and what was seen.

    python examples/make_cohort.py

A Weibull model is fitted to 500 simulated patients of one hospital and predicts those of another, who are followed
until the study ends, when some of them have been in it for a short time only. There death comes 1.35 times as often,
and age matters less. Columns: months until death or until the study ended, which of both, months until the study ended
for all, scale and shape of the predicted law, and predicted survival after 6, 12, 24 and 36 months.
"""

import csv
from pathlib import Path

import numpy as np
from scipy.optimize import minimize

SHAPE, MONTHS = 1.3, (6, 12, 24, 36)


def hospital(rng, n, factor=1.0, slope=0.5):
    """Ages, standardised, months until death, and months until the study ends."""
    age = rng.normal(size=n)
    scale = 40 * (factor * np.exp(slope * age)) ** (-1 / SHAPE)
    return age, scale * rng.weibull(SHAPE, n), rng.uniform(12, 48, n)


def fitted(age, months, died):
    """Intercept and slope of the logarithm of the scale, and the logarithm of the shape, by maximum likelihood."""

    def loss(beta):
        log_scale, shape = beta[0] + beta[1] * age, np.exp(beta[2])
        z = shape * (np.log(months) - log_scale)
        return -(died * (beta[2] + z - np.log(months)) - np.exp(z)).sum()

    return minimize(loss, [3.0, 0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-8}).x


def main():
    rng = np.random.default_rng(5)
    age, death, end = hospital(rng, 500)
    beta = fitted(age, np.minimum(death, end), death <= end)
    age, death, end = hospital(rng, 300, factor=1.35, slope=0.2)
    scale, shape = np.exp(beta[0] + beta[1] * age), float(np.exp(beta[2]))
    with open(Path(__file__).parent / "cohort.csv", "w", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["patient", "months", "status", "study_end", "scale", "shape", *(f"S_{m}" for m in MONTHS)])
        for row in range(300):
            died = death[row] <= end[row]
            curve = np.exp(-((np.array(MONTHS) / scale[row]) ** shape))
            seen = [f"{min(death[row], end[row]):.2f}", "dead" if died else "alive", f"{end[row]:.2f}"]
            law = [f"{scale[row]:.3f}", f"{shape:.4f}", *(f"{s:.4f}" for s in curve)]
            writer.writerow([row + 1, *seen, *law])


if __name__ == "__main__":
    main()
