"""Power of the test given columns, beside tests of groups that columns are cut into and a regression on the columns.

    python experiments/power/given.py                # five minutes; writes docs/tables/power_given.csv
    python experiments/power/given.py --sets 20      # a look, into a scratch folder

Outcomes depend on columns beyond the prediction, in ways that cancel over all rows. The share of data sets rejected at
5 % by

- the test given the columns (the whole family, and places, trends and intersections of the columns),
- the same test without the columns,
- the test of groups, numbers cut at their quartiles (the smallest p-value over all groups of all columns),
- a regression on the columns, main effects alone: the sum of squares of its fit to the residuals, ranked among redrawn
  outcomes, hence exact.

The data are those of `experiments/given`, and more of their kind.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from common import DRAWS, LEVEL, TABLES, by_itself

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.explanation import checked_groups
from kernelcal.explanation.group_test import Null, prepared_groups
from kernelcal.runs import Run

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "given"))

from simulated import classes, logits, logits_by, normals, quick_start, sites  # noqa: E402  its folder is another

TABLE = TABLES / "power_given.csv"
SETS = 200

ALTERNATIVES = {
    "calibrated, 400 rows, 4 numbers": logits(400, 4),
    "calibrated normal, 300 rows, 3 numbers": normals(300, 3),
    "quick start, 300 rows, 3 categories": quick_start(300, 1.0),
    "quick start, 300 rows, 3 categories, 4 numbers": quick_start(300, 1.0, numbers=4),
    "one of 8 sites, 400 rows": sites(400, 8, 1.2),
    "sign of one of 2 numbers, 400 rows": logits(400, 2, shift=0.5),
    "sign of one of 10 numbers, 400 rows": logits(400, 10, shift=0.5),
    "product of 2 numbers, 400 rows": logits_by(400, 2, lambda z, x: z + 0.8 * np.sign(x[:, 0] * x[:, 1])),
    "waves of one of 2 numbers, 400 rows": logits_by(400, 2, lambda z, x: z + 0.8 * np.sin(3 * x[:, 0])),
    "slope .3 where one of 2 numbers is above 0, 400 rows": logits_by(
        400, 2, lambda z, x: np.where(x[:, 0] > 0, 0.3, 1.7) * z
    ),
    "normal, shift by the sign of one of 3 numbers, 300 rows": normals(300, 3, lambda x: 0.25 * np.sign(x[:, 0])),
    "normal, width by one of 3 numbers, 300 rows": normals(
        300, 3, scale_of=lambda x: np.where(x[:, 0] > 0, 1.25, 0.75)
    ),
    "4 classes, power by one of 2 numbers, 300 rows": classes(300, 2, lambda x: np.where(x[:, 0] > 0, 1.7, 0.4)),
}


def given_columns(y, batch, given, seed):
    return kc.calibration_test(y, batch, given=given, draws=DRAWS, rng=seed).pvalue


def without(y, batch, given, seed):
    return kc.calibration_test(y, batch, draws=DRAWS, rng=seed).pvalue


def of_groups(y, batch, given, seed):
    null = Null.of(Case.of(y, batch), Run(draws=DRAWS, rng=seed))
    prepared = prepared_groups(null, checked_groups(given, len(y)).groups)
    return prepared.corrected(prepared.ranked(null.ranked(prepared).values)).min()


def regression(y, batch, given, seed):
    """Rank of the sum of squares of a linear fit of the columns to the residuals, of all classes or of the outcome."""
    case = Case.of(y, batch).in_numpy
    drawn = case.predictions.sample(np.random.default_rng(seed), DRAWS)
    targets = np.concatenate([case.targets[None], drawn])
    columns = [np.ones(len(y))]
    for values in given.values():
        columns += [values] if values.dtype.kind == "f" else [values == own for own in np.unique(values)[1:]]
    basis = np.linalg.qr(np.column_stack(columns).astype(float))[0]
    if isinstance(case.predictions, kc.Normal):
        residuals = [(targets - case.predictions.mean) / case.predictions.std]
    else:
        table = case.predictions.table()
        residuals = [(targets == k) - table[:, k] for k in range(table.shape[1])]
    fits = sum(((r @ basis) ** 2).sum(axis=1) for r in residuals)
    return float((fits >= fits[0] * (1 - 1e-12)).mean())


TESTS = {
    "given the columns": given_columns,
    "without": without,
    "groups, numbers cut at quartiles": of_groups,
    "regression on the columns": regression,
}


def shares(name, sets):
    """Share of data sets that every test rejects."""
    rejected = np.zeros(len(TESTS))
    for repetition in range(sets):
        y, batch, given = ALTERNATIVES[name](np.random.default_rng([repetition, *name.encode()]))
        rejected += [test(y, batch, given, repetition) <= LEVEL + 1e-12 for test in TESTS.values()]
    return rejected / sets


def table(sets, names=None, tell=print):
    yield ["columns say more", "data sets", *TESTS]
    for name in ALTERNATIVES if names is None else names:
        row = [name, sets, *(f"{share:.3f}" for share in shares(name, sets))]
        tell(*row, sep=", ", flush=True)
        yield row


if __name__ == "__main__":
    by_itself(__doc__, table, TABLE, SETS)
