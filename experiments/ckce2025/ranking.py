"""Does the ranking of the networks survive the shift? Kendall's tau of every statistic, kernel, lambda and shift."""

from __future__ import annotations

from functools import partial
from itertools import combinations

import numpy as np
from common import JOINT, networks, write
from networks import LOW_RANK, STATISTICS
from reweighting import at_one_scale, by_mean, by_own, values

import kernelcal as kc
from kernelcal.kernels import Linear
from kernelcal.statistics import CKCE


def of_top_label(statistic):
    """Whether the top label is right as often as it claims: one number a row in place of ten."""

    def asked(y, predictions, weights):
        hit, confidence = kc.TopLabel()(y, predictions)
        return at_one_scale(statistic, confidence)(hit, confidence, weights=weights)

    return asked


CHOICES = STATISTICS | {
    "JKCE, top label": of_top_label(JOINT),
    "CKCE, top label": of_top_label(CKCE(engine=LOW_RANK)),
    "CKCE, top label, lambda 0.001": of_top_label(CKCE(regularization=0.001, engine=LOW_RANK)),
    "CKCE, linear": CKCE(prediction_kernel=Linear(), engine=LOW_RANK),
    "CKCE, Gaussian": CKCE(prediction_kernel=kc.Gaussian(), engine=LOW_RANK),
    **{f"CKCE, lambda {x:g}": CKCE(regularization=x, engine=LOW_RANK) for x in (1.0, 0.01, 0.001, 0.0001)},
    **{
        f"CKCE, i != j, lambda {x:g}": CKCE(estimator="corrected", regularization=x, engine=LOW_RANK)
        for x in (0.01, 0.001, 0.0001)
    },
}
SHIFTS = {  # name: division of the rows, factor; the first is that of Table 1
    "mean > median, x5": (by_mean, 5),
    "mean > 10 %, x5": (partial(by_mean, quantile=0.1), 5),
    "mean > 25 %, x5": (partial(by_mean, quantile=0.25), 5),
    "mean > 75 %, x5": (partial(by_mean, quantile=0.75), 5),
    "mean > median, x20": (by_mean, 20),
    "own > median, x5": (by_own, 5),
    "own > 0.9, x5": (partial(by_own, threshold=0.9), 5),
    "own > 0.99, x5": (partial(by_own, threshold=0.99), 5),
    "own > median, x20": (by_own, 20),
    "own > 0.9, x20": (partial(by_own, threshold=0.9), 20),
    "own > 0.99, x20": (partial(by_own, threshold=0.99), 20),
}
PAIRS = ("as is, confident", "as is, unconfident", "confident, unconfident")


def taus(found):
    """Kendall's tau between the rankings in the three settings, from values of shape (3, networks)."""
    from scipy.stats import kendalltau

    return [float(kendalltau(a, b).statistic) for a, b in combinations(found, 2)]


def change(found):
    """Largest over smallest value of three settings, geometric mean over the networks; NaN if one is not positive."""
    if (found <= 0).any():
        return float("nan")
    return float(np.exp(np.log(found.max(axis=0) / found.min(axis=0)).mean()))


def compared(known, choices, shifts):
    """A line a shift and statistic: three values of tau, their mean, and the change of the values."""
    lines = []
    for shift, (divide, factor) in shifts.items():
        confident = divide(known)
        for name, statistic in choices.items():
            found = values(statistic, known, confident, (1, factor, 1 / factor))
            lines.append([shift, name, *taus(found), float(np.mean(taus(found))), change(found)])
        print(shift, flush=True)
    return lines


def pivoted(lines):
    """A line a statistic, a column a shift: the mean of the three values of tau."""
    shifts, rows = list(dict.fromkeys(line[0] for line in lines)), {}
    for _, name, *_, mean, _ in lines:
        rows.setdefault(name, []).append(f"{mean:.2f}")
    return ["statistic", *shifts], [[name, *cells] for name, cells in rows.items()]


def main(options):
    known = networks()
    if not known:
        print("the predictions of the networks are not here: left out")
        return
    lines = compared(known, CHOICES, SHIFTS)
    first = [line[1:] for line in lines if line[0] == next(iter(SHIFTS))]
    header = ["statistic", *PAIRS, "mean", "values change by"]
    write("tau", header, [[name, *(f"{t:.2f}" for t in ts), f"{c:.1f}"] for name, *ts, c in first])
    write("tau_shifts", *pivoted(lines))
