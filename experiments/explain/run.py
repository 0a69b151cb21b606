"""Coverage of the witness band, family-wise level over groups, and power of both.

    python experiments/explain/run.py                  # some minutes on one core
    python experiments/explain/run.py --share 0.1      # a tenth of the repetitions, into a scratch folder

Every data set has ten groups of equal size and, for the level, three more in a second column; rows are calibrated, or
wrong as the model says. The band and the groups each hold 95 % by themselves. Writes docs/tables/explain.csv.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np
from scipy.stats import binom

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.explanation import checked_groups, explain
from kernelcal.explanation.group_test import Null, prepared_groups
from kernelcal.runs import Run

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "explain.csv"
DRAWS, BAD = 199, "3"


def uniform(rng, n):
    return kc.Bernoulli(rng.uniform(size=n))


def nearly_certain(rng, n):
    return kc.Bernoulli(rng.beta(0.3, 0.3, n))


def five_classes(rng, n):
    return kc.Categorical(rng.dirichlet(np.full(5, 0.3), n))


def numbers(rng, n):
    return kc.Normal(rng.normal(size=n), rng.uniform(0.5, 2, n))


def calibrated(family):
    def data(rng, n, site):
        batch = family(rng, n)
        return batch.sample(rng)[0], batch

    return data


def ten_draws(rng, n, site):
    values = rng.normal(size=(n, 1)) + rng.exponential(size=(n, 11))
    return values[:, 0], kc.Samples(values[:, 1:])


def wrong_above(rng, n, site):
    p = rng.uniform(size=n)
    return rng.random(n) < np.where(p > 0.7, p - 0.2, p), kc.Bernoulli(p)


def wrong_site(rng, n, site):
    p = rng.uniform(size=n)
    return rng.random(n) < np.where(site == int(BAD), 0.5 * p, p), kc.Bernoulli(p)


CALIBRATED = {
    "one probability, uniform": (calibrated(uniform), {200: 1000, 2000: 200}),
    "one probability, nearly certain": (calibrated(nearly_certain), {200: 600}),
    "five classes": (calibrated(five_classes), {200: 400, 2000: 60}),
    "normal numbers": (calibrated(numbers), {200: 300}),
    "ten draws a row (swap)": (ten_draws, {200: 300}),
}
WRONG = {
    "events rarer by 0.2 above 0.7": (wrong_above, {200: 200, 1000: 60}),
    "half as frequent in one group of ten": (wrong_site, {200: 200, 1000: 60}),
}


def repetition(data, n, seed):
    """Whether the witness stays inside, which groups are rejected, and where a region of one probability begins."""
    rng, site = np.random.default_rng([n, seed]), np.arange(n) % 10
    y, batch = data(rng, n, site)
    found = explain(y, batch, draws=DRAWS, rng=seed)
    low = min((region.low for region in found.regions), default=np.nan)
    rejected = rejected_groups(y, batch, {"site": site, "half": np.arange(n) * 3 // n}, seed)
    return not found.regions, {g.name for g in rejected if g.column == "site"}, bool(rejected), low


def rejected_groups(y, batch, groups, seed):
    """What `explain` rejects of groups, without the figures of every group, which take longer."""
    null = Null.of(Case.of(y, batch), Run(draws=DRAWS, rng=seed))
    prepared = prepared_groups(null, checked_groups(groups, len(y)).groups)
    pvalues = prepared.corrected(prepared.ranked(null.ranked(prepared).values))
    return [group for group, p in zip(prepared.groups, pvalues, strict=True) if p <= null.run.alpha]


def shares(data, n, repetitions):
    results = [repetition(data, n, seed) for seed in range(repetitions)]
    inside, sites, rejected, low = zip(*results, strict=True)
    bad = np.mean([BAD in names for names in sites])
    begins = np.nanmean(low) if np.isfinite(low).any() else np.nan
    return float(np.mean(inside)), float(np.mean(rejected)), float(bad), float(begins)


def rows(share):
    for name, (data, sizes) in CALIBRATED.items():
        for n, full in sizes.items():
            count = max(2, int(share * full))
            inside, rejected, _, _ = shares(data, n, count)
            low, high = (binom.ppf(q, count, 0.95) / count for q in (0.0005, 0.9995))
            chance = f"{low:.3f} to {high:.3f}"
            yield [f"calibrated: {name}", n, count, f"{inside:.3f}", chance, f"{rejected:.3f}", "", ""]
    for name, (data, sizes) in WRONG.items():
        for n, full in sizes.items():
            count = max(2, int(share * full))
            inside, rejected, bad, begins = shares(data, n, count)
            found = f"{bad:.3f}" if data is wrong_site else ""
            start = f"{begins:.2f}" if data is wrong_above else ""
            yield [name, n, count, f"{inside:.3f}", "", f"{rejected:.3f}", found, start]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--share", type=float, default=1.0, help="share of the repetitions")
    options = parser.parse_args()
    header = ["model", "n", "data sets", "witness inside its band", "by chance alone at 95 %", "some group rejected"]
    found = [[*header, "the bad group rejected", "first region begins at"]]
    for row in rows(options.share):
        found.append(row)
        print(*row, sep=", ", flush=True)
    with open(TABLE, "w", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows(found)


if __name__ == "__main__":
    main()
