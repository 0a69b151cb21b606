"""Levels of quantiles: stated, held by an array, or the number at the end of the names of the columns."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.cells import is_number
from kernelcal.io.selection import listed
from kernelcal.io.sources import Source
from kernelcal.predictions.quantile_checks import SAME_LEVEL

__all__ = ["column_levels", "merged_levels"]

# a number without a sign at the end of a name; the point of q.5 may be part of it or not, so it is none
_AT_THE_END = re.compile(r"(?<![\d.])(\d+(?:\.\d+)?(?:e-\d+)?)$", re.IGNORECASE)
_REMEDY = "say the levels in the order of the columns, such as --quantile-levels 0.05,0.5,0.95"


def column_levels(source: Source, columns: Sequence[str], stated: str | None, width: int) -> np.ndarray:
    """Level of every quantile column, or of every column of one wide array."""
    if stated is None:
        if len(columns) != width:
            raise InputError(f"array {columns[0]!r} has {width} quantiles a row without levels: {_REMEDY}")
        return np.array([_named_level(name) for name in columns])
    levels = source.array(stated) if stated in source.names else _listed_levels(source, stated)
    if levels.shape != (width,):
        found = f"{len(levels)} levels" if levels.ndim == 1 else f"levels of shape {levels.shape}"
        raise InputError(f"{found} in {stated}, but {width} quantiles a row in {listed(columns)}: one level a column")
    _refuse_other_names(columns, levels)
    return levels


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
    return float(found.group(1)) if found else None


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
        if named is not None and 0 < named < 1 and abs(named - level) > SAME_LEVEL:
            raise InputError(
                f"column {name!r} is given level {level:g}, but its name says {named:g}: say the levels in the order "
                f"of the columns, which is {listed(columns)}, or leave out --quantile-levels"
            )


def merged_levels(levels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distinct levels, and which of them each one is; 0.35 and 0.35000000000000003 are the same."""
    order = np.argsort(levels, kind="stable")
    new = np.diff(levels[order], prepend=-np.inf) > SAME_LEVEL
    which = np.empty(len(levels), dtype=np.int64)
    which[order] = np.cumsum(new) - 1
    return levels[order][new], which
