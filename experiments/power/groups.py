"""Power of the test of groups: the whole family at once, the kernel error alone, and each group by itself.

    python experiments/power/groups.py                # some minutes on one core; writes docs/tables/power_groups.csv
    python experiments/power/groups.py --sets 20      # a look, into a scratch folder

Every data set has groups of which some are wrong. The share of the wrong groups that are found, at 5 % for all groups
together, by

- the whole family of every group under one batch of draws, step-down (what kernelcal does),
- the unbiased SKCE of every group alone, ranked the same way,
- a calibration test of every group by itself, with Bonferroni's correction;

and the share of data sets in which a right group is rejected by the first.
"""

from __future__ import annotations

import numpy as np
from common import DRAWS, LEVEL, TABLES, by_itself
from scipy.special import expit, logit

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.explanation import checked_groups
from kernelcal.explanation.group_test import Null, prepared_groups
from kernelcal.inference import DrawnValues
from kernelcal.inference.laws import family_wise_pvalues, merged_ranks
from kernelcal.kernels import Spectral
from kernelcal.runs import Run

TABLE = TABLES / "power_groups.csv"
SETS = 200
DRAWS_ALONE = 499  # Bonferroni of ten groups needs p-values below .005


def normal(rng, group, bad, scale=1.0, shift=0.0):
    n = len(group)
    mean, std = rng.normal(15, 5, n), rng.uniform(0.5, 2, n)
    noise = rng.normal(size=n)
    return mean + std * np.where(bad, shift + noise / scale, noise), kc.Normal(mean, std)


def binary(rng, group, bad, map_of):
    p = rng.uniform(0.02, 0.98, len(group))
    return (rng.random(len(group)) < np.where(bad, map_of(p), p)).astype(int), kc.Bernoulli(p)


def sharpened(rng, group, bad, power):
    p = rng.dirichlet(np.ones(4), len(group))
    y = kc.Categorical(p).sample(rng)[0]
    q = np.where(bad[:, None], p**power, p)
    return y, kc.Categorical(q / q.sum(axis=1, keepdims=True))


ALTERNATIVES = {  # name: (groups, rows of each, wrong groups, data)
    "calibrated: normal": (8, 100, 0, normal),
    "normal, too narrow .88, all of three": (3, 300, 3, lambda *a: normal(*a, scale=0.88)),
    "normal, too narrow .8, one of eight": (8, 100, 1, lambda *a: normal(*a, scale=0.8)),
    "normal, shift .35 sd, one of eight": (8, 100, 1, lambda *a: normal(*a, shift=0.35)),
    "four classes, power 1.3, all of three": (3, 300, 3, lambda *a: sharpened(*a, 1.3)),
    "four classes, power 1.6, one of eight": (8, 100, 1, lambda *a: sharpened(*a, 1.6)),
    "binary, half as frequent, one of ten": (10, 40, 1, lambda *a: binary(*a, lambda p: 0.5 * p)),
    "binary, slope .5, one of five": (5, 200, 1, lambda *a: binary(*a, lambda p: expit(0.5 * logit(p)))),
    "binary, waves, one of five": (
        5,
        200,
        1,
        lambda *a: binary(*a, lambda p: np.clip(p + 0.2 * np.sin(4 * np.pi * p), 0, 1)),
    ),
}


def pvalues_of_this(y, batch, group, seed):
    null = Null.of(Case.of(y, batch), Run(draws=DRAWS, rng=seed))
    prepared = prepared_groups(null, checked_groups(group, len(y)).groups)
    return prepared.corrected(prepared.ranked(null.ranked(prepared).values))


def pvalues_of_the_kernel_error(y, batch, group, seed):
    null = Null.of(Case.of(y, batch), Run(draws=DRAWS, rng=seed))
    spectral = Spectral(frequencies=16) if isinstance(batch, kc.Normal) else None  # quicker than the closed form
    error = kc.SKCE(target_kernel=spectral).resolved(batch)
    targets = np.concatenate([null.case.targets[None], null.source.targets(batch, 0, DRAWS)])
    pairs, merged = error.prepare(batch), []
    for own in checked_groups(group, len(y)).groups:
        drawn = DrawnValues.of(pairs.part(own.rows).values(targets[:, own.rows]))
        merged.append(merged_ranks(drawn.values, drawn.rank))
    return family_wise_pvalues(*(np.stack(columns, axis=1) for columns in zip(*merged, strict=True)))


def pvalues_alone(y, batch, group, seed):
    parts = [own.rows for own in checked_groups(group, len(y)).groups]
    found = [kc.calibration_test(y[rows], batch[rows], draws=DRAWS_ALONE, rng=seed).pvalue for rows in parts]
    return len(parts) * np.array(found)


TESTS = {
    "whole family": pvalues_of_this,
    "kernel error alone": pvalues_of_the_kernel_error,
    "each group by itself, Bonferroni": pvalues_alone,
}


def shares(name, sets):
    """Share of wrong groups that are found by every test, and of data sets in which the first rejects a right one."""
    number, rows, wrong, data = ALTERNATIVES[name]
    group = np.repeat(np.arange(number), rows)
    found, false = np.zeros(len(TESTS)), 0
    for repetition in range(sets):
        rng = np.random.default_rng([repetition, *name.encode()])
        y, batch = data(rng, group, group < wrong)
        tests = TESTS.values() if wrong else [pvalues_of_this]
        rejected = [test(y, batch, group, repetition) <= LEVEL + 1e-12 for test in tests]
        found += [own[:wrong].mean() for own in rejected] if wrong else 0.0
        false += bool(rejected[0][wrong:].any())
    return found / sets, false / sets


def table(sets, names=None, tell=print):
    yield ["wrong groups", "groups", "rows of each", *TESTS, "a right group rejected"]
    for name in ALTERNATIVES if names is None else names:
        number, rows, wrong, _ = ALTERNATIVES[name]
        found, false = shares(name, sets)
        row = [
            name,
            number,
            rows,
            *(f"{x:.3f}" if wrong else "" for x in found),
            f"{false:.3f}" if wrong < number else "",
        ]
        tell(*row, sep=", ", flush=True)
        yield row


if __name__ == "__main__":
    by_itself(__doc__, table, TABLE, SETS)
