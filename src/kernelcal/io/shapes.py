"""Arrays of one file that must fit together: rows, targets, and what is predicted of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.class_names import common_start
from kernelcal.io.selection import listed

__all__ = ["check_shapes", "refuse_another_order"]


def refuse_another_order(groups: Sequence[Sequence[str]]) -> None:
    """Columns a, b beside mu_b, mu_a: paired one by one they would be wrong."""
    for one, other in pairwise(groups):
        if len(one) != len(other) or len(one) < 2:
            continue
        ends, others = ([name[len(common_start(names)) :] for name in names] for names in (one, other))
        if ends != others and set(ends) == set(others):
            raise InputError(
                f"the columns {listed(one)} and {listed(other)} are paired one by one, but stand in another order: "
                "name them as lists a,b,c in one order"
            )


def check_shapes(form: str, arrays: Mapping[str, np.ndarray], columns: Mapping[str, Sequence[str]]) -> None:
    """Refuse arrays of different lengths, and predictions of more or fewer numbers than there are targets."""
    y, named = arrays["target"], {role: listed(names) for role, names in columns.items()}
    for role, array in arrays.items():
        if len(array) != len(y):
            turned = array.ndim == 2 and array.shape[1] == len(y)
            hint = ": one row a prediction is expected, turn the array round" if turned else ""
            raise InputError(f"{len(y)} targets in {named['target']}, but {len(array)} rows in {named[role]}{hint}")
    for role in ("mean", "std", "variance"):
        if role in arrays and arrays[role].shape != y.shape:
            raise InputError(
                f"{_numbers(y)} in {named['target']}, but {_numbers(arrays[role])} in {named[role]}: one mean and one "
                "standard deviation a target are expected"
            )
    if form in ("samples", "quantiles"):
        _check_many(form, arrays[form], y, named)


def _check_many(form: str, array: np.ndarray, y: np.ndarray, named: Mapping[str, str]) -> None:
    """Draws of shape (n, S) or, for vectors, (n, S, d); quantiles of shape (n, Q)."""
    if array.ndim < 2 or array.shape[1] < 2:
        raise InputError(
            f"{named[form]} is one number a row, but a prediction takes several {form}: name all of their columns, "
            f"such as --{form} 'm_*', or one array with a row a prediction"
        )
    vectors = form == "samples" and y.ndim == 2
    if array.ndim != 2 + vectors or array.shape[2:] != y.shape[1:]:
        shape = "(n, S) for one number a row, (n, S, d) for vectors of d" if form == "samples" else "(n, Q)"
        raise InputError(
            f"{_numbers(y)} in {named['target']}, but {named[form]} has shape {array.shape}: {form} have shape {shape}"
        )


def _numbers(array: np.ndarray) -> str:
    width = int(np.prod(array.shape[1:], dtype=np.int64))
    return "1 number a row" if width == 1 else f"{width} numbers a row"
