"""Which rows are looked at before a pass: those whose keys have the smallest identities, in any order of all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kernelcal.stream.formats import Columns

__all__ = ["LOOKED", "join_columns", "smallest", "take_rows"]


LOOKED = 2_048  # rows


def smallest(
    parts: Iterable[tuple[np.ndarray, Any]],
    take: Callable[[Any, np.ndarray], Any],
    join: Callable[[list[Any]], Any],
) -> tuple[np.ndarray, Any]:
    """Rows of the smallest identities among all parts, in their order: the same for any order and any parts.

    Parameters
    ----------
    parts : iterable of (identities, rows)
        Rows in any form.
    take, join : callable
        Some rows by their places, and rows one after the other.

    Returns
    -------
    tuple
        Identities in ascending order, at most 2,048, and their rows; None of no rows. What this gives of some parts may
        be a part again.
    """
    found = np.zeros(0, dtype=np.uint64)
    held: Any = None
    for identities, rows in parts:
        full = len(found) == LOOKED
        places = np.flatnonzero(identities < found[-1]) if full else np.arange(len(identities))
        if len(places):
            some, known = take(rows, places), np.append(found, identities[places])
            order = np.argsort(known, kind="stable")[:LOOKED]
            found, held = known[order], take(some if held is None else join([held, some]), order)
    return found, held


def take_rows(columns: Columns, places: np.ndarray) -> Columns:
    """Some rows of columns."""
    return {name: column[places] for name, column in columns.items()}


def join_columns(parts: list[Columns]) -> Columns:
    """Columns one after the other."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
