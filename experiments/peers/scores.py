"""Scores of forecasts beside scoringrules and xskillscore: values of single rows, to 1e-12.

    pip install scoringrules xskillscore  # no dependencies of kernelcal
    python experiments/peers/scores.py    # a few seconds

Writes docs/tables/peers_scores.csv: of every score both means over the rows and the largest difference of a row,
relative to the mean. The exit status is 1 where one is above 1e-12. Packages that are not installed are left out and
named.
"""

from __future__ import annotations

import csv
import importlib
import sys
import warnings
from pathlib import Path

import numpy as np

import kernelcal as kc
from kernelcal.measures import CRPS, RankedProbabilityScore, ThresholdCRPS, WeightedInterval
from kernelcal.measures.forecasting import IntervalScore
from kernelcal.predictions import Beta, Gamma, Laplace, LogNormal, Poisson, StudentT, Uniform
from kernelcal.statistics import rank_histogram

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "peers_scores.csv"
N = 500
LEVELS = np.array([0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975])
R = np.random.default_rng(3)
MEAN, STD = R.normal(size=N) * 3, R.uniform(0.5, 3, N)
Y = MEAN + STD * R.normal(size=N) * 1.2
NORMAL = kc.Normal(MEAN, STD)
QUANTILES = kc.Quantiles(NORMAL.quantile(LEVELS[:, None]).T, LEVELS)
ENSEMBLE = MEAN[:, None] + STD[:, None] * R.normal(size=(N, 31))
CLASSES = R.dirichlet(np.ones(5), N)
CLASS = R.integers(0, 5, N)
RATE, SHAPE = R.uniform(0.5, 20, N), R.uniform(1, 5, N)
COUNT, POSITIVE, SHARE = R.poisson(RATE * 1.2), R.gamma(SHAPE), R.beta(2, 3, N)


def rows(measure, batch, y):
    return measure.prepare(batch).rows(np.asarray(y))


def by_scoringrules(sr):
    """Name, rows of ours, rows of theirs."""
    yield "CRPS, normal", rows(CRPS(), NORMAL, Y), sr.crps_normal(Y, MEAN, STD)
    student = StudentT(np.full(N, 5.0), MEAN, STD)
    yield "CRPS, Student", rows(CRPS(), student, Y), sr.crps_t(Y, 5.0, MEAN, STD)
    yield "CRPS, Laplace", rows(CRPS(), Laplace(MEAN, STD), Y), sr.crps_laplace(Y, MEAN, STD)
    log_normal = LogNormal(MEAN / 3, STD / 3)
    yield "CRPS, log-normal", rows(CRPS(), log_normal, POSITIVE), sr.crps_lognormal(POSITIVE, MEAN / 3, STD / 3)
    yield "CRPS, gamma", rows(CRPS(), Gamma(SHAPE, np.ones(N)), POSITIVE), sr.crps_gamma(POSITIVE, SHAPE, 1.0)
    yield "CRPS, beta", rows(CRPS(), Beta(SHAPE, SHAPE + 1), SHARE), sr.crps_beta(SHARE, SHAPE, SHAPE + 1)
    uniform = Uniform(MEAN, MEAN + STD)
    yield "CRPS, uniform", rows(CRPS(), uniform, Y), sr.crps_uniform(Y, MEAN, MEAN + STD)
    yield "CRPS, Poisson", rows(CRPS(), Poisson(RATE), COUNT), sr.crps_poisson(COUNT, RATE)
    members = kc.Samples(ENSEMBLE)
    yield "CRPS, ensemble", rows(CRPS(), members, Y), sr.crps_ensemble(Y, ENSEMBLE, estimator="nrg")
    yield "CRPS, ensemble, fair", rows(CRPS(fair=True), members, Y), sr.crps_ensemble(Y, ENSEMBLE, estimator="fair")
    for low, high in ((1.0, np.inf), (-np.inf, 0.5), (-1.0, 2.0)):
        measure = ThresholdCRPS(lower=low, upper=high)
        moved = np.clip(Y, low, high)
        theirs = sr.crps_cnormal(moved, MEAN, STD, low, high)
        yield f"{measure.name}, normal", rows(measure, NORMAL, Y), theirs
        theirs = sr.twcrps_ensemble(Y, ENSEMBLE, low, high, estimator="nrg")
        yield f"{measure.name}, ensemble", rows(measure, members, Y), theirs
    for level in (0.5, 0.8, 0.95):
        low, high = (np.asarray(QUANTILES.at(t)) for t in ((1 - level) / 2, (1 + level) / 2))
        measure = IntervalScore(level=level)
        yield measure.name, rows(measure, QUANTILES, Y), sr.interval_score(Y, low, high, 1 - level)
    values = np.asarray(QUANTILES.values)
    theirs = sr.weighted_interval_score(Y, values[:, 3], values[:, 2::-1], values[:, 4:], np.array([0.5, 0.2, 0.05]))
    yield "weighted interval score", rows(WeightedInterval(), QUANTILES, Y), theirs
    yield "mean pinball loss, twice", rows(WeightedInterval(), QUANTILES, Y), sr.crps_quantile(Y, values, LEVELS)
    categorical = kc.Categorical(CLASSES)
    yield (
        "ranked probability score",
        rows(RankedProbabilityScore(), categorical, CLASS),
        sr.rps_score(CLASS + 1, CLASSES),
    )


def by_xskillscore(xs):
    """The same; ensembles in categories between edges, and ranks."""
    xr = importlib.import_module("xarray")
    y, members = xr.DataArray(Y, dims="row"), xr.DataArray(ENSEMBLE, dims=("row", "member"))
    mean, std = (xr.DataArray(x, dims="row") for x in (MEAN, STD))
    yield "CRPS, normal", rows(CRPS(), NORMAL, Y), xs.crps_gaussian(y, mean, std, dim=[]).values
    yield "CRPS, ensemble", rows(CRPS(), kc.Samples(ENSEMBLE), Y), xs.crps_ensemble(y, members, dim=[]).values
    edges = np.array([-4.0, -1.0, 0.0, 2.0])
    upto = (ENSEMBLE[:, :, None] < edges).mean(axis=1)
    shares = np.diff(upto, prepend=0.0, append=1.0, axis=1)
    place = (Y[:, None] >= edges).sum(axis=1)
    whole = xr.DataArray(np.concatenate([[-np.inf], edges, [np.inf]]), dims="category_edge")
    theirs = xs.rps(y, members, category_edges=whole, dim=[]).values
    yield "ranked probability score, ensemble", rows(RankedProbabilityScore(), kc.Categorical(shares), place), theirs
    theirs = xs.rank_histogram(y, members).values
    yield "rank histogram", rank_histogram(Y, kc.Samples(ENSEMBLE)).counts, theirs


def main() -> int:
    warnings.filterwarnings("ignore", category=RuntimeWarning)
    lines, wrong = [], 0
    for package, values in (("scoringrules", by_scoringrules), ("xskillscore", by_xskillscore)):
        try:
            module = importlib.import_module(package)
        except ImportError:
            print(f"{package} is not installed and is left out")
            continue
        for name, ours, theirs in values(module):
            ours, theirs = np.asarray(ours, dtype=float), np.asarray(theirs, dtype=float)
            known = np.isfinite(theirs)  # 0 / 0 of a censored law all of whose mass lies at one end
            ours, theirs, missing = ours[known], theirs[known], int((~known).sum())
            difference = float(np.abs(ours - theirs).max() / np.abs(theirs).mean())
            wrong += not difference <= 1e-12
            lines.append(
                [package, name, f"{ours.mean():.10g}", f"{theirs.mean():.10g}", f"{difference:.1e}", str(missing)]
            )
            print(*lines[-1], sep="\t")
    with TABLE.open("w", newline="") as stream:
        head = ["peer", "score", "ours", "theirs", "largest difference", "rows of theirs that are NaN"]
        csv.writer(stream, lineterminator="\n").writerows([head, *lines])
    print(f"{wrong} of {len(lines)} scores differ by more than 1e-12 in a row")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
