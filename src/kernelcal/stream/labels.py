"""What a column of labels holds in all parts, learned once: a part may show only some of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.cells import missing, typed

__all__ = ["Labels"]

_MOST = 10_000


@dataclass(frozen=True, eq=False)
class Labels:
    """Different labels of all rows.

    Attributes
    ----------
    values : numpy.ndarray
        In order: numbers or booleans if all are, else text.
    """

    values: np.ndarray

    @classmethod
    def of(cls, texts: Iterable[Iterable[Any]], name: str) -> Self:
        """Gather what the parts hold; numbers may be written 1 and 1.0."""
        found: set[str] = set()
        for some in texts:
            found.update(str(text).strip() for text in some if not missing(text))
            if len(found) > _MOST:
                raise InputError(
                    f"column {name!r} holds more than {_MOST:,} different texts, which are too many for labels: name "
                    "the target with --target NAME"
                )
        return cls(typed(sorted(found)))

    @property
    def texts(self) -> set[str]:
        """Labels that are text; none where all are numbers."""
        return {value for value in self.values.tolist() if isinstance(value, str)}

    def as_read(self, column: np.ndarray) -> np.ndarray:
        """Cells of some rows as what all rows are: the text "1" is text if another part holds "cat"."""
        if column.dtype.kind != "O":
            return column
        cells = column.tolist()
        book = {cell: None if missing(cell) else str(cell).strip() for cell in set(cells)}
        none = None in book.values()
        if self.values.dtype.kind == "O" and not none:
            return np.array([book[cell] for cell in cells], dtype=np.str_)
        if self.values.dtype.kind in "if":
            numbers = {cell: np.nan if text is None else float(text) for cell, text in book.items()}
            return np.array([numbers[cell] for cell in cells])
        return np.array([book[cell] for cell in cells], dtype=object)
