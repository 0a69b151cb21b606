"""False alarms of the monitor in the ways that people use it: late labels, ties, shards, horizons, restarts.

    python experiments/monitor/uses.py                 # 200 streams of each use: some 2 minutes on one core
    python experiments/monitor/uses.py --streams 20

Predictions are calibrated. Every use is a function of a random generator that tells whether an alarm `ever` was raised,
at any look that it makes. Uses that break the guarantee stand last, and have no bound. Writes
docs/tables/monitor_uses.csv; the exit status is 1 if a share is above the 99.9 % point of the binomial law with alpha.
"""

from __future__ import annotations

import argparse
import copy
import csv
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np
from scipy.special import expit
from scipy.stats import binom, poisson
from settings import AHEAD, binary, classes, happened, overlapping

import kernelcal as kc

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

ALPHA, ROWS, DAY = 0.05, 1000, 100


def ever(y, predictions, **options):
    """Whether one monitor of these rows raises the alarm."""
    return kc.Monitor(ALPHA, **options).update(y, predictions).alarm is not None


def rounded(rng):
    """Five different predictions, which are right."""
    p = rng.integers(1, 6, ROWS) / 6
    return ever(happened(rng, p), p)


def certain(rng):
    """Half of the predictions are 0 or 1, and are right."""
    p = np.where(rng.random(ROWS) < 0.5, rng.integers(0, 2, ROWS), rng.uniform(size=ROWS))
    return ever(happened(rng, p), p)


def certain_classes(rng):
    """One class of three is ruled out in every row."""
    p = rng.dirichlet([0.5] * 3, ROWS) * (np.arange(3) != rng.integers(0, 3, (ROWS, 1)))
    p /= p.sum(axis=1, keepdims=True)
    return ever((p.cumsum(axis=1) < rng.random((ROWS, 1))).sum(axis=1).clip(0, 2), p)


def tied_quantiles(rng):
    """Quantiles of counts, which outcomes often equal."""
    rate, levels = rng.uniform(0.5, 6, ROWS), [0.1, 0.25, 0.5, 0.75, 0.9]
    return ever(rng.poisson(rate), kc.Quantiles(poisson.ppf(levels, rate[:, None]), levels))


def tied_ensembles(rng):
    """Members and outcomes are small counts."""
    rate = rng.uniform(0.5, 3, ROWS)
    return ever(rng.poisson(rate), kc.Samples(rng.poisson(rate[:, None], (ROWS, 10)).astype(float)))


def confidence(rng):
    """The most probable of ten classes."""
    y, batch = classes(rng, ROWS, 10)
    return kc.Monitor(ALPHA).update(y, batch, lens=kc.TopLabel()).alarm is not None


def follows_outcomes(rng):
    """Predictions of tomorrow that know what happened today."""
    p, y, score = np.empty(ROWS), np.empty(ROWS, dtype=int), 0.0
    for t in range(ROWS):
        p[t] = expit(score)
        y[t] = rng.random() < p[t]
        score = 0.9 * score + y[t] - p[t] + 0.5 * rng.normal()
    return ever(y, p)


def late(rng):
    """Labels come up to 500 rows late, whatever they are."""
    y, batch = binary(rng, ROWS)
    order = np.argsort(np.arange(ROWS) + rng.uniform(0, 500, ROWS))
    return ever(y[order], batch.p[order])


def sorted_by_prediction(rng):
    """Every day's rows are given from the least probable to the most."""
    y, batch = binary(rng, ROWS)
    order = np.lexsort((batch.p, np.arange(ROWS) // DAY))
    return ever(y[order], batch.p[order])


def lanes(rng):
    """Overlapping forecasts in three lanes."""
    return ever(*overlapping(rng, ROWS), horizon=AHEAD)


def shards(rng):
    """Ten shards of consecutive rows, watched by ten workers, looked at as they are joined."""
    whole = kc.Monitor(ALPHA)
    for k in range(10):
        whole.merge(kc.Monitor(ALPHA, rng=k).update(*binary(rng, ROWS // 10)))
    return whole.alarm is not None


def shards_of_lanes(rng):
    """Overlapping forecasts in six shards: lanes go on where the first ended."""
    (y, batch), whole = overlapping(rng, ROWS), kc.Monitor(ALPHA, horizon=AHEAD)
    for rows in np.array_split(np.arange(ROWS), 6):
        whole.merge(kc.Monitor(ALPHA, horizon=AHEAD).update(y[rows], batch[rows]))
    return whole.alarm is not None


def beside(rng):
    """Two models of the same outcomes, one of which knows more; the mean is looked at five times."""
    low, high = rng.uniform(0, 0.5, ROWS), rng.uniform(0.5, 1, ROWS)
    p = np.where(rng.random(ROWS) < 0.5, low, high)
    y, two = happened(rng, p), [kc.Monitor(ALPHA, rng=k) for k in range(2)]
    for rows in np.split(np.arange(ROWS), 5):
        two[0].update(y[rows], p[rows])
        two[1].update(y[rows], ((low + high) / 2)[rows])
        if copy.deepcopy(two[0]).merge(two[1], "beside").alarm is not None:
            return True
    return False


def rekeyed(rng):
    """A day that is refused, since its key was taken, and is given again under another one."""
    monitor = kc.Monitor(ALPHA)
    for k in range(ROWS // DAY):
        y, batch = binary(rng, DAY)
        try:
            monitor.update(y, batch, key=k // 2)
        except kc.InputError:
            monitor.update(y, batch, key=f"{k // 2} again")
    return monitor.alarm is not None


def late_if_it_happened(rng):
    """Labels that are 1 come 500 rows late, the others at once."""
    y, batch = binary(rng, ROWS)
    order = np.argsort(np.arange(ROWS) + 500 * y, kind="stable")
    return ever(y[order], batch.p[order])


def sorted_by_outcome(rng):
    """Every day's rows are given with those of label 0 first."""
    y, batch = binary(rng, ROWS)
    order = np.lexsort((y, np.arange(ROWS) // DAY))
    return ever(y[order], batch.p[order])


def begun_anew(rng):
    """A state a day, each with alpha of its own."""
    return any(ever(*binary(rng, DAY)) for _ in range(ROWS // DAY))


KEPT = {
    "predictions of five values": rounded,
    "half of the predictions certain": certain,
    "three classes, one ruled out": certain_classes,
    "quantiles that outcomes equal": tied_quantiles,
    "ensembles of small counts": tied_ensembles,
    "confidence, ten classes": confidence,
    "predictions that follow outcomes": follows_outcomes,
    "labels late at random": late,
    "days sorted by prediction": sorted_by_prediction,
    "overlapping, horizon 3": lanes,
    "ten shards one after the other": shards,
    "shards with horizon 3": shards_of_lanes,
    "two models beside each other": beside,
    "days given again under another key": rekeyed,
}
SLOW = (shards, shards_of_lanes, beside)  # half as many streams
BROKEN = {
    "labels of 1 late": late_if_it_happened,
    "days sorted by outcome": sorted_by_outcome,
    "a new state a day, for ten days": begun_anew,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--streams", type=int, default=200)
    options = parser.parse_args()
    lines, above = [], 0
    for at, (name, use) in enumerate({**KEPT, **BROKEN}.items()):
        streams = options.streams // 2 if use in SLOW else options.streams
        share = np.mean([use(np.random.default_rng([43, at, k])) for k in range(streams)])
        bound = binom.ppf(0.999, streams, ALPHA) / streams
        above += name in KEPT and share > bound
        lines.append([name, streams, f"{share:.3f}", f"{bound:.3f}" if name in KEPT else ""])
        print(*lines[-1], sep="  ", flush=True)
    with open(outputs.tables() / "monitor_uses.csv", "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([["use", "streams", "alarms ever", "binomial bound"], *lines])
    print(f"{above} uses above their bound")
    return 1 if above else 0


if __name__ == "__main__":
    raise SystemExit(main())
