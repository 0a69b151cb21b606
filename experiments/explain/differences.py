"""Level and power of the approximate test whether groups differ from each other.

    python experiments/explain/differences.py               # ten minutes; writes docs/tables/group_differences.csv
    python experiments/explain/differences.py --share 0.05  # a look, into a scratch folder
    python experiments/explain/differences.py --match five --output tracked  # some rows; others stay

Predictions of the groups differ in law. Under the null hypothesis all groups share one miscalibration, under the
alternatives the first group alone is wrong. Groups are equally large, or of random sizes.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from scipy.special import expit, logit
from scipy.stats import norm

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.explanation import checked_groups
from kernelcal.explanation.differing import difference_of
from kernelcal.runs import Run

sys.path.append(str(Path(__file__).resolve().parents[1]))  # of what all experiments share

import outputs

TABLE = outputs.tables() / "group_differences.csv"
SETTINGS = ((200, 3, "equal"), (260, 10, "unequal"), (500, 5, "unequal"), (2000, 10, "unequal"))
DRAWS, LEVELS = 199, np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def groups_of(rng, n, number, kind):
    if kind == "equal":
        return rng.permutation(np.arange(n) % number)
    share = rng.dirichlet(np.full(number, 1.5)) + 0.06
    return rng.choice(number, size=n, p=share / share.sum())


def first(group):
    return group == 0


def all_of(group):
    return np.ones(len(group), dtype=bool)


def binary(rng, group, true_of, wrong=all_of):
    number = group.max() + 1
    p = rng.beta(np.linspace(0.5, 3, number)[group], np.linspace(3, 0.7, number)[group])
    p = np.clip(p, 1e-4, 1 - 1e-4)
    true = np.where(wrong(group), true_of(p), p)
    return (rng.random(len(group)) < true).astype(int), kc.Bernoulli(p)


def rare(rng, group):
    p = np.clip(rng.beta(0.5, np.linspace(5, 15, group.max() + 1)[group]), 1e-4, 0.9)
    return (rng.random(len(group)) < expit(logit(p) + 0.5)).astype(int), kc.Bernoulli(p)


def normal(rng, group, shift=0.0, scale=1.0, wrong=all_of, heavy=False, moved=0.0):
    number, n = group.max() + 1, len(group)
    mean = rng.normal(np.linspace(-1, 1, number)[group], 1)
    std = rng.uniform(0.5, 1 + np.linspace(0, 1, number)[group])
    noise = rng.standard_t(4, n) / np.sqrt(2) if heavy else rng.normal(size=n)
    bad = wrong(group)
    return mean + std * np.where(bad, shift + scale * noise, noise) + moved * bad, kc.Normal(mean, std)


def five(rng, group, power, wrong=all_of):
    weights = rng.gamma(np.linspace(0.3, 1.5, group.max() + 1)[group][:, None] * np.ones(5)) + 1e-9
    p = weights / weights.sum(axis=1, keepdims=True)
    y = (rng.random(len(group))[:, None] > p.cumsum(axis=1)[:, :-1]).sum(axis=1)
    q = np.where(wrong(group)[:, None], p**power, p)
    return y, kc.Categorical(q / q.sum(axis=1, keepdims=True))


def classes(rng, group, m, law_of, wrong=all_of):
    """Predictions of several classes, and outcomes whose law is a function of them."""
    weights = rng.gamma(np.linspace(0.3, 1.5, group.max() + 1)[group][:, None] * np.ones(m)) + 1e-9
    p = weights / weights.sum(axis=1, keepdims=True)
    true = np.where(wrong(group)[:, None], law_of(p), p)
    true /= true.sum(axis=1, keepdims=True)
    return (rng.random(len(group))[:, None] > true.cumsum(axis=1)[:, :-1]).sum(axis=1), kc.Categorical(p)


def swapped(p):
    """The second and the third class change places."""
    return p[:, [0, 2, 1, *range(3, p.shape[1])]]


def towards_uniform(p):
    return 0.75 * p + 0.25 / p.shape[1]


def frequencies(p):
    """The first class happens half as often, the last one twice as often, others between."""
    return p * np.geomspace(0.5, 2, p.shape[1])


def quantiles(rng, group, **options):
    y, batch = normal(rng, group, **options)
    return y, kc.Quantiles(batch.mean[:, None] + batch.std[:, None] * norm.ppf(LEVELS), LEVELS)


COMMON = {
    "calibrated binary": lambda *a: binary(*a, lambda p: p),
    "bias +.5": lambda *a: binary(*a, lambda p: expit(logit(p) + 0.5)),
    "slope .5": lambda *a: binary(*a, lambda p: expit(0.5 * logit(p))),
    "p^2": lambda *a: binary(*a, lambda p: p**2),
    "waves": lambda *a: binary(*a, lambda p: np.clip(p + 0.12 * np.sin(4 * np.pi * p), 0, 1)),
    "rare p/10 +.5": rare,
    "five power 1.6": lambda *a: five(*a, 1.6),
    "three towards uniform": lambda *a: classes(*a, 3, towards_uniform),
    "five swapped": lambda *a: classes(*a, 5, swapped),
    "ten frequencies": lambda *a: classes(*a, 10, frequencies),
    "normal calibrated": normal,
    "too narrow": lambda *a: normal(*a, scale=1.4),
    "shift .5sd": lambda *a: normal(*a, shift=0.5),
    "shift 1 on y": lambda *a: normal(*a, moved=1.0),
    "t4": lambda *a: normal(*a, heavy=True),
    "quantiles narrow": lambda *a: quantiles(*a, scale=1.4),
}
DIFFERENT = {
    "one bias +.8": lambda *a: binary(*a, lambda p: expit(logit(p) + 0.8), first),
    "one slope .4": lambda *a: binary(*a, lambda p: expit(0.4 * logit(p)), first),
    "one five 2": lambda *a: five(*a, 2.0, first),
    "one three frequencies": lambda *a: classes(*a, 3, frequencies, first),
    "one five swapped": lambda *a: classes(*a, 5, swapped, first),
    "one ten swapped": lambda *a: classes(*a, 10, swapped, first),
    "one narrow 1.4": lambda *a: normal(*a, scale=1.4, wrong=first),
    "one shift .4": lambda *a: normal(*a, shift=0.4, wrong=first),
    "one quant narrow 1.4": lambda *a: quantiles(*a, scale=1.4, wrong=first),
}
SETS = ((COMMON, 300), (DIFFERENT, 60))


def share_rejected(name, data, n, number, kind, sets):
    rejected = tested = 0
    for k in range(sets):
        rng = np.random.default_rng([k, n, number, *name.encode()])
        group = groups_of(rng, n, number, kind)
        y, batch = data(rng, group)
        found = difference_of(Case.of(y, batch), "g", checked_groups(group, n).groups, Run(draws=DRAWS, rng=k))
        tested += found.pvalue is not None
        rejected += found.pvalue is not None and found.pvalue <= 0.05
    return rejected / max(tested, 1)


def rows(share, match=""):
    yield ["miscalibration", *(f"{n:,} rows, {number} {kind} groups" for n, number, kind in SETTINGS)]
    for family, full in SETS:
        for name, data in family.items():
            if match not in name:
                continue
            sets = [max(2, int(share * full // (1 + (n >= 2000)))) for n, _, _ in SETTINGS]
            found = [share_rejected(name, data, *s, m) for s, m in zip(SETTINGS, sets, strict=True)]
            yield [
                f"{'common' if family is COMMON else 'of one group'}: {name.removeprefix('one ')}",
                *(f"{x:.3f}" for x in found),
            ]


def written(made):
    """Rows of the whole table, in order: those that were made, and of others what the table has, if there is one."""
    known = {}
    if TABLE.exists():
        with open(TABLE) as stream:
            known = {row[0]: row for row in csv.reader(stream)}
    known |= {row[0]: row for row in made}
    names = [made[0][0], *(f"common: {name}" for name in COMMON)]
    names += [f"of one group: {name.removeprefix('one ')}" for name in DIFFERENT]
    return [known[name] for name in names if name in known]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--share", type=float, default=1.0, help="share of the repetitions")
    parser.add_argument("--match", default="", help="only miscalibrations whose name holds this; other rows stay")
    options = parser.parse_args()
    found = []
    for row in rows(options.share, options.match):
        found.append(row)
        print(*row, sep=", ", flush=True)
        whole = written(found)
        with open(TABLE, "w", newline="") as stream:
            csv.writer(stream, lineterminator="\n").writerows(whole)


if __name__ == "__main__":
    main()
