"""Are case weights what they stand for? Beside copies of rows, rows thinned at random, and the exact CKCE."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from common import networks, write
from networks import STATISTICS
from reweighting import SETTINGS, at_one_scale, by_mean, weights

from kernelcal import ExactPairs

NETWORK = "resnet18"
SIMPLE = {name: STATISTICS[name] for name in ("CKCE", "JKCE", "ECE")}
ALL = SIMPLE | {"JKCE with pairs of a row with itself": replace(SIMPLE["JKCE"], estimator="biased")}
THINNED = 20


def by_weights(statistic, y, predictions, w):
    return float(at_one_scale(statistic, predictions)(y, predictions, weights=w))


def by_copies(statistic, y, predictions, w):
    """Each row as many times as its weight says."""
    rows = np.repeat(np.arange(len(y)), np.rint(w / w.min()).astype(int))
    return float(statistic(y[rows], predictions[rows]))


def by_thinning(statistic, y, predictions, w, seed):
    """Every row once at most, kept with the probability w / max w: a sample of the shifted law without copies."""
    kept = np.random.default_rng(seed).uniform(size=len(y)) < w / w.max()
    return float(statistic(y[kept], predictions[kept]))


def exactly(statistic, y, predictions, w):
    return float(replace(at_one_scale(statistic, predictions), engine=ExactPairs())(y, predictions, weights=w))


def line(name, y, predictions, w, thinned=THINNED):
    """One statistic in one setting; gamma and lambda are those of all rows, unweighted."""
    fixed = ALL[name].resolved(predictions)
    samples = [by_thinning(fixed, y, predictions, w, seed) for seed in range(thinned)]
    moments = f"{np.mean(samples):.5g} ({np.std(samples, ddof=1):.2g})" if np.ptp(w) else ""  # else all rows are kept
    exact = f"{exactly(fixed, y, predictions, w):.6g}" if name == "CKCE" else ""
    numbers = (by_weights(fixed, y, predictions, w), by_copies(fixed, y, predictions, w))
    return [*(f"{v:.6g}" for v in numbers), moments, exact]


def main(options):
    known = networks()
    if not known:
        print("the predictions of the networks are not here: left out")
        return
    (y, predictions), confident = known[NETWORK], by_mean(known)[NETWORK]
    lines = [
        [name, setting, *line(name, y, predictions, weights(confident, factor))]
        for name in ALL
        for setting, factor in SETTINGS.items()
    ]
    write("agreement", ["statistic", "rows", "weights", "copies", "thinned, mean (sd)", "exact"], lines)
