"""One column of what is known of the rows: numbers, among which dates and durations count, or categories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

__all__ = ["Covariate"]


_SPREAD = 1.3489795  # between the quartiles of a normal law, in standard deviations
_FURTHEST = 4.0  # robust standard deviations from the median at which numbers are held


@dataclass(frozen=True, eq=False)
class Covariate:
    """One column.

    Attributes
    ----------
    name : str
        What it is called.
    values : numpy.ndarray of shape (n,)
        Numbers as float64, NaN where one is missing; of categories the number of the level, -1 where it is missing.
    levels : tuple of str
        Names of the categories; empty for numbers.
    unit : str
        ``date`` for days since 1970 and ``duration`` for days, which texts then say; else empty.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.covariates import Covariate
    >>> age = Covariate("age", np.array([30.0, 50.0, np.nan]))
    >>> age.is_number, age.missing
    (True, array([False, False,  True]))
    """

    name: str
    values: np.ndarray
    levels: tuple[str, ...] = ()
    unit: str = ""

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Self:
        return replace(self, values=self.values[rows])

    @property
    def is_number(self) -> bool:
        """Whether values have an order and distances."""
        return not self.levels

    @property
    def missing(self) -> np.ndarray:
        """Rows without a value, as booleans."""
        return np.isnan(self.values) if self.is_number else self.values < 0

    @property
    def varies(self) -> bool:
        """Whether two rows differ; a missing value differs from any other."""
        first = self.values[:1]
        equal = (self.values == first) | (self.missing & self.missing[:1])
        return not bool(equal.all())

    def text(self, value: float) -> str:
        """Return a number as people write it."""
        if self.unit == "date":
            seconds = np.datetime64(round(value * 86_400), "s")
            return str(seconds.astype("datetime64[D]") if seconds.astype(int) % 86_400 == 0 else seconds)
        text = f"{value:.4g}" if abs(value) < 1e4 or value != round(value) else f"{value:,.0f}"
        return f"{text} days" if self.unit == "duration" else text

    def cuts(self, number: int, weights: np.ndarray) -> np.ndarray:
        """Numbers that part rows into at most so many ranges of about equal weight: a range ends with its cut.

        Of few different numbers every cut is one of them, and no range is empty.
        """
        there = ~self.missing & (weights > 0)
        order = np.argsort(self.values[there], kind="stable")
        x, mass = self.values[there][order], np.cumsum(weights[there][order])
        if not len(x):
            return np.empty(0)
        at = np.searchsorted(mass, mass[-1] * np.arange(1, number) / number * (1 - 1e-12))
        found = np.unique(x[np.minimum(at, len(x) - 1)])
        return found[found < x[-1]]

    def standardised(self, weights: np.ndarray) -> np.ndarray:
        """Numbers less their median, in robust standard deviations (of the quartiles), at most 4; missing ones 0."""
        there = ~self.missing & (weights > 0)
        x, w = self.values[there], weights[there]
        low, middle, high = weighted_quantiles(x, w, (0.25, 0.5, 0.75)) if len(x) else (0.0, 0.0, 0.0)
        spread = (high - low) / _SPREAD
        if not spread > 0 and len(x):
            spread = float(np.sqrt(np.average((x - middle) ** 2, weights=w)))
        found = np.clip((self.values - middle) / (spread if spread > 0 else 1.0), -_FURTHEST, _FURTHEST)
        return np.where(self.missing, 0.0, found)


def weighted_quantiles(values: np.ndarray, weights: np.ndarray, levels: Sequence[float]) -> tuple[float, ...]:
    """Smallest numbers at or below which lies at least so much of the weight."""
    order = np.argsort(values, kind="stable")
    mass = np.cumsum(weights[order])
    at = np.searchsorted(mass, mass[-1] * np.asarray(levels) * (1 - 1e-12))
    return tuple(float(x) for x in values[order][np.minimum(at, len(values) - 1)])
