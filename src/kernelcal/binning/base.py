"""What every binning offers, and the checks that binnings share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.errors import InputError

__all__ = ["Binning", "Bins", "checked_choice", "checked_count", "one_column"]


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows put into bins.

    Attributes
    ----------
    index : numpy.ndarray of shape (n,)
        Bin of every row, 0 to size - 1.
    size : int
        Number of bins, empty ones included where they are listed.
    lower, upper : numpy.ndarray of shape (size,), optional
        Edges, for bins of one probability.
    """

    index: np.ndarray
    size: int
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None

    @property
    def count(self) -> np.ndarray:
        """Rows in each bin, shape (size,)."""
        return np.bincount(self.index, minlength=self.size)


class Binning(ABC):
    """A rule that puts rows into bins; it sees the predictions (and case weights), never the targets.

    A binning is a frozen dataclass. ``str(binning)`` is what results print, such as ``15 equal-width bins``.
    """

    @abstractmethod
    def assign(self, p: np.ndarray, weights: np.ndarray | None = None) -> Bins:
        """Bins of predictions of shape (n, d) with n >= 1; d = 1 for questions about one probability."""

    @abstractmethod
    def __str__(self) -> str: ...


def checked_count(value: Any, name: str, example: str) -> int:
    """Return a whole number that is at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be a whole number, at least 1, got {value!r}: for example {example}")
    return int(value)


def checked_choice(value: Any, name: str, choices: tuple[str, ...]) -> None:
    """Refuse what is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}")


def one_column(p: np.ndarray, binning: Binning) -> np.ndarray:
    """Return the one probability a row, shape (n,), or refuse several."""
    if p.shape[1] != 1:
        raise InputError(
            f"{type(binning).__name__} orders the values of one probability, but the question has {p.shape[1]} a row: "
            "use UniformBins() or MedianVarianceBins(), or ask question='class-wise' or 'top label'"
        )
    return p[:, 0]
