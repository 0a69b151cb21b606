"""Energy and variogram score beside scoringrules, and TARP beside tarp: the same numbers, side by side.

    python -m pip install scoringrules==0.10.0 tarp==0.1.1
    python experiments/peers/vectors.py

Prints the largest difference of every score, and of the coverage about given reference points. Writes nothing.
The exit status is 1 if a score differs by more than 1e-12 of itself, or any coverage value at all.
"""

from __future__ import annotations

import sys

import numpy as np
import scoringrules
import tarp

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.statistics.vectors import TARP, energy_score_rows, pre_rank_case, variogram_score_rows

ROWS, DRAWS, SIZE = 40, 30, 5


def scores(rng):
    """Name, ours, theirs."""
    y, x = rng.normal(size=(ROWS, SIZE)), rng.normal(size=(ROWS, DRAWS, SIZE))
    w = rng.random((ROWS, DRAWS))
    equal, uneven = kc.Samples(x), kc.Samples(x, weights=w)
    yield "energy score", energy_score_rows(y, equal), scoringrules.es_ensemble(y, x)
    yield "energy score, fair", energy_score_rows(y, equal, fair=True), scoringrules.es_ensemble(y, x, estimator="fair")
    yield "energy score, weighted draws", energy_score_rows(y, uneven), scoringrules.es_ensemble(y, x, ens_w=w)
    for p in (0.5, 1.0, 2.0):
        yield f"variogram score, p = {p}", variogram_score_rows(y, equal, order=p), scoringrules.vs_ensemble(y, x, p=p)
        weighted = scoringrules.vs_ensemble(y, x, ens_w=w, p=p)
        yield f"variogram score, p = {p}, weighted draws", variogram_score_rows(y, uneven, order=p), weighted


def coverage(rng):
    """Shares of draws closer to the reference points than true values: ours, and the histogram of tarp of them."""
    theta, samples = rng.normal(size=(500, 3)), rng.normal(size=(500, 100, 3))
    references = rng.random((500, 3))
    case = pre_rank_case(Case.of(theta, kc.Samples(samples)), TARP, 0, references)
    below, _ = case.predictions.rank_range(case.targets)
    theirs, levels = tarp.get_tarp_coverage(
        np.moveaxis(samples, 1, 0), theta, references=references, num_alpha_bins=50, norm=False
    )
    counts, _ = np.histogram(below / 100, bins=levels, density=True)
    ours = np.concatenate([[0.0], np.cumsum(counts) * np.diff(levels)])
    return ours, theirs


def main():
    rng, wrong = np.random.default_rng(0), False
    for name, ours, theirs in scores(rng):
        difference = float(np.max(np.abs(ours - theirs) / np.abs(theirs)))
        wrong |= difference > 1e-12
        print(f"{name}: {difference:.1e} relative")
    ours, theirs = coverage(rng)
    difference = float(np.abs(ours - theirs).max())
    print(f"TARP, 50 levels: {difference:.1e}")
    sys.exit(int(wrong or difference > 1e-12))


if __name__ == "__main__":
    main()
