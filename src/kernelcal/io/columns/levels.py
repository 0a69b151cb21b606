"""Levels of quantiles: stated, held by an array, or the number at the end of the names of the columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns.selection import listed
from kernelcal.io.sources import Source, is_number
from kernelcal.predictions import SAME_LEVEL, common_start

__all__ = [
    "check_shapes",
    "column_levels",
    "merged_levels",
    "refuse_a_lonely_number",
    "refuse_another_order",
    "refuse_points",
]


# a number without a sign at the end of a name; the point of q.5 may be part of it or not, so it is none
_AT_THE_END = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?(?:e-\d+)?)%?$", re.IGNORECASE)
_REMEDY = "say the levels in the order of the columns, --quantile-levels LEVELS, numbers between 0 and 1"


def column_levels(source: Source, columns: Sequence[str], stated: str | None, width: int) -> np.ndarray:
    """Level of every quantile column, or of every column of one wide array."""
    if stated is None:
        if len(columns) != width:
            raise InputError(f"array {columns[0]!r} has {width} quantiles a row without levels: {_REMEDY}")
        percents = _percents(columns)
        if percents is not None:
            return percents / 100
        if len(columns) == 2 and all(_number_in(name) is None for name in columns):
            raise InputError(
                f"the names of {columns[0]} and {columns[1]} do not end in levels: say which share of the outcomes "
                f"they shall hold between them, --interval SHARE, or {_REMEDY}"
            )
        return np.array([_named_level(name) for name in columns])
    levels = source.array(stated) if stated in source.names else _listed_levels(source, stated)
    if levels.shape != (width,):
        found = f"{len(levels)} levels" if levels.ndim == 1 else f"levels of shape {levels.shape}"
        raise InputError(f"{found} in {stated}, but {width} quantiles a row in {listed(columns)}: one level a column")
    _refuse_other_names(columns, levels)
    return levels


def _percents(columns: Sequence[str]) -> np.ndarray | None:
    """Numbers of q5, q50, q95: percents, since they lie alike below and above 50; None where they do not."""
    numbers = [_number_in(name) for name in columns]
    found = np.array([np.nan if number is None else number for number in numbers])
    ordered = np.sort(found)
    even = len(found) > 1 and np.all((found >= 1) & (found <= 99)) and np.allclose(ordered + ordered[::-1], 100)
    return found if even else None


def _listed_levels(source: Source, stated: str) -> np.ndarray:
    cells = [cell.strip() for cell in stated.split(",")]
    wrong = next((cell for cell in cells if not is_number(cell)), None)
    if wrong is not None:
        raise InputError(
            f"--quantile-levels takes numbers such as 0.05,0.5,0.95 or the name of an array, got {wrong!r}. The "
            f"columns are {listed(source.names)}"
        )
    return np.array([float(cell) for cell in cells])


def _number_in(name: str) -> float | None:
    found = _AT_THE_END.search(name)
    if not found:
        return None
    return float(found.group(1)) / (100 if name.endswith("%") else 1)


def _named_level(name: str) -> float:
    level = _number_in(name)
    if level is None:
        raise InputError(
            f"the name of column {name!r} does not end in the level of a quantile, as q0.05 does: {_REMEDY}"
        )
    if not 0 < level < 1:
        doubt = "is it a percentage or a number of the column?" if level >= 1 else "a level lies between 0 and 1:"
        raise InputError(f"the name of column {name!r} ends in {level:g}: {doubt} {_REMEDY[0].upper()}{_REMEDY[1:]}")
    return level


def _refuse_other_names(columns: Sequence[str], levels: np.ndarray) -> None:
    """Names that are levels themselves must be the stated ones: else the columns stand in another order."""
    for name, level in zip(columns, levels, strict=False):
        named = _number_in(name)
        if named is not None and 0 < named < 1 and min(abs(level - own) for own in _meant(name, named)) > SAME_LEVEL:
            raise InputError(
                f"column {name!r} is given level {level:g}, but its name says {named:g}: say the levels in the order "
                f"of the columns, which is {listed(columns)}, or leave out --quantile-levels"
            )


_LOW, _HIGH = (
    re.compile(rf"(?:^|[\W_])(?:{words})(?:[\W_]|$)", re.IGNORECASE)
    for words in ("lower|lo|low|lwr|lb", "upper|hi|high|upr|ub")
)


def _meant(name: str, number: float) -> tuple[float, ...]:
    """Levels that a number in a name may stand for: of an end of an interval the share inside, or that outside."""
    low, high = _LOW.search(name), _HIGH.search(name)
    if bool(low) == bool(high):
        return (number,)
    ends = (number / 2, (1 - number) / 2)
    return (number, *(ends if low else (1 - end for end in ends)))


def merged_levels(levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct levels, and which of them each one is; 0.35 and 0.35000000000000003 are the same."""
    order = np.argsort(levels, kind="stable")
    new = np.diff(levels[order], prepend=-np.inf) > SAME_LEVEL
    which = np.empty(len(levels), dtype=np.int64)
    which[order] = np.cumsum(new) - 1
    return levels[order][new], which


def refuse_a_lonely_number(source: Source, targets: Sequence[str], taken: Sequence[str]) -> None:
    """Refuse a file that holds, beside its target, one column of numbers that are no probabilities."""
    rest = [name for name in source.names if name not in taken]
    if len(rest) == 1 and len(targets) == 1 and source.axes(rest[0]) == source.axes(targets[0]) == 1:
        refuse_points(source.values(rest[0])[:, None], source.values(targets[0]), rest, targets)


def refuse_points(x: np.ndarray, y: np.ndarray, columns: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse one column outside [0, 1] beside a target of more than two numbers: these are predicted numbers."""
    if x.shape[1] != 1 or any(array.dtype.kind not in "fiu" for array in (x, y)):
        return
    outside = np.flatnonzero((x[:, 0] < 0) | (x[:, 0] > 1))
    if not len(outside) or len(np.unique(y[~np.isnan(y)])) < 3:
        return
    row, name = int(outside[0]), columns[0]
    raise InputError(
        f"column {name!r} holds point predictions of the numbers in {targets[0]!r} (row {row} is {x[row, 0]:g}): point "
        "predictions alone cannot be tested for calibration, since they do not say how far off they may be. Name their "
        f"standard deviations, --mean {name} --std NAME, or columns of draws, --samples NAMES, or of quantiles, "
        "--quantiles NAMES"
    )


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
            f"--{form} NAMES, or one array with a row a prediction"
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
