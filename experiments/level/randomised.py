"""Level of what is randomised, with the default seed: one set of random places for all data sets of a length.

    python experiments/level/randomised.py                     # 1,000 data sets a setting: ten minutes on two cores
    python experiments/level/randomised.py --repetitions 200

Writes docs/tables/randomised.csv: how often calibrated counts and ensembles, most of whose rows are tied, are rejected
at 5 % by pit_test, and have a bar, rank or quantile level outside its 95 % band. Data are drawn by SciPy. The default
seed draws one null sample of 999 for all data sets with the same predictions, which decides where exactly 5 % lie: the
share beyond the 50th of 1,000 exchangeable values is Beta(50, 950), and the bound is the 99.95 % point of the
beta-binomial law. The last rows are data that a caller simulated with the seed of the
library: by the inverse transform of ``numpy.random.default_rng(seed)``, and by ``sample(rng=seed)``.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # one process a core

import numpy as np
from scipy import stats

import kernelcal as kc

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "randomised.csv"
DRAWS, LEVEL = 999, 0.05


def poisson(rate, n, rng):
    return stats.poisson(rate).rvs(n, random_state=rng), kc.Poisson(np.full(n, rate))


def ensembles(n, rng):
    """Mostly 0, S = 10."""
    wet = stats.bernoulli(0.1).rvs((n, 11), random_state=rng)
    values = wet * stats.gamma(2).rvs((n, 11), random_state=rng)
    return values[:, 0], kc.Samples(values[:, 1:])


def events(n, rng):
    """One trial a row."""
    p = stats.beta(0.5, 0.5).rvs(n, random_state=rng)
    return stats.bernoulli(p).rvs(n, random_state=rng), kc.Binomial(np.ones(n), p)


def zero_inflated(n, rng):
    """A point mass of .9 at 0 beside a normal distribution."""
    y = stats.bernoulli(0.1).rvs(n, random_state=rng) * stats.norm.rvs(size=n, random_state=rng)
    return y, kc.Mixture([0.9, 0.1], [kc.Samples(np.zeros((n, 1))), kc.Normal(np.zeros(n), 1.0)])


SETTINGS = {
    "Poisson(.02)": (partial(poisson, 0.02), (20, 100, 300, 320)),
    "Poisson(3)": (partial(poisson, 3.0), (20, 100, 300)),
    "ensembles, mostly 0": (ensembles, (20, 100, 300)),
    "one trial a row": (events, (20, 100, 300)),
    "point mass and density": (zero_inflated, (20, 100, 300)),
}


def repetition(name, n, k):
    """P-value, and whether anything lies outside the bands."""
    y, batch = SETTINGS[name][0](n, np.random.default_rng([n, k]))
    curve = kc.quantile_calibration(y, batch)
    ranks = kc.rank_histogram(y, batch, draws=DRAWS).outside.any() if isinstance(batch, kc.Samples) else np.nan
    return (
        kc.pit_test(y, batch, draws=DRAWS).pvalue <= LEVEL,
        kc.pit_histogram(y, batch, draws=DRAWS).outside.any(),
        curve.band(draws=DRAWS).outside(curve.shares).any(),
        ranks,
    )


def same_seed(how, n, seed):
    """P-value of data and a test of one seed."""
    rates = stats.gamma(2).rvs(n, random_state=np.random.default_rng([7, seed]))
    batch = kc.Poisson(rates)
    uniform = np.random.default_rng(seed).random(n)
    y = stats.poisson(rates).ppf(uniform) if how == "ppf" else batch.sample(rng=seed)[0]
    return kc.pit_test(y, batch, draws=DRAWS, rng=seed).pvalue <= LEVEL, np.nan, np.nan, np.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--repetitions", type=int, default=1000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    options = parser.parse_args()
    count, rows, broken = options.repetitions, [], 0
    rank = round(LEVEL * (DRAWS + 1))
    bound = stats.betabinom(count, rank, DRAWS + 1 - rank).ppf(0.9995) / count
    asked = [(name, n, partial(repetition, name, n)) for name, (_, sizes) in SETTINGS.items() for n in sizes]
    asked += [(f"seed of the caller, {how}", 200, partial(same_seed, how, 200)) for how in ("ppf", "sample")]
    with ProcessPoolExecutor(options.processes) as pool:
        for name, n, function in asked:
            rates = np.mean(list(pool.map(function, range(count), chunksize=20)), axis=0, dtype=float)
            broken += int((rates > bound).sum())
            rows.append([name, n, *("" if np.isnan(rate) else f"{rate:.3f}" for rate in rates)])
            print(*rows[-1], flush=True)
    rows.append(["bound", "", *[f"{bound:.3f}"] * 4])
    header = ["calibrated data", "n", "pit_test", "pit_histogram", "quantile_calibration", "rank_histogram"]
    with open(TABLE, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    print(f"{broken} rates above their bound, {bound:.3f} ({count} data sets, {DRAWS} draws)")
    return 1 if broken else 0


if __name__ == "__main__":
    raise SystemExit(main())
