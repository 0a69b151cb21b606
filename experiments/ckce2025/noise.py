"""Is a difference between values of tau more than noise? Halves of the rows, drawn without replacement.

The spread over random halves is that of the full sample, ``1 / (n / 2) - 1 / n = 1 / n``; unlike a bootstrap sample a
half has no copies, whose pairs would add to every kernel error.
"""

from __future__ import annotations

import numpy as np
from common import networks, write
from networks import STATISTICS
from ranking import taus
from reweighting import SETTINGS, by_mean, values


def resolved(known):
    """Statistics a network, gamma and lambda those of all its rows, so that halves differ in their rows alone."""
    return {name: {network: s.resolved(p) for network, (_, p) in known.items()} for name, s in STATISTICS.items()}


def halves(known, size, statistics=tuple(STATISTICS)):
    """Values of tau, shape (size, statistics, 3)."""
    fixed, confident = resolved(known), by_mean(known)
    n = len(next(iter(known.values()))[0])
    return np.array([_half(known, fixed, confident, statistics, n, seed) for seed in range(size)])


def _half(known, fixed, confident, statistics, n, seed):
    rows = np.sort(np.random.default_rng(seed).permutation(n)[: n // 2])
    part = {name: (y[rows], p[rows]) for name, (y, p) in known.items()}
    inside = {name: c[rows] for name, c in confident.items()}
    return [
        taus(np.hstack([values(fixed[s][name], {name: part[name]}, inside, SETTINGS.values()) for name in known]))
        for s in statistics
    ]


def summarised(found, names):
    """A line a statistic: mean and spread of the mean tau, and of its difference from that of the CKCE."""
    mean = found.mean(axis=2)
    ours = mean[:, list(names).index("CKCE")]
    lines = []
    for name, own in zip(names, mean.T, strict=True):
        gap = ours - own
        shares = (np.mean(gap > 1e-9), np.mean(abs(gap) <= 1e-9), np.mean(gap < -1e-9))
        cells = [""] * 2 if name == "CKCE" else [_moments(gap), " / ".join(f"{x:.0%}" for x in shares)]
        lines.append([name, _moments(own), *cells])
    return ["statistic", "mean tau (sd)", "CKCE minus it (sd)", "CKCE higher / equal / lower"], lines


def _moments(x):
    return f"{x.mean():.3f} ({x.std(ddof=1):.3f})"


def main(options):
    known = networks()
    if not known:
        print("the predictions of the networks are not here: left out")
        return
    write("noise", *summarised(halves(known, options.halves), STATISTICS))
