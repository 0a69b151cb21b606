"""Base measures: where distances between scores look."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["BaseMeasure", "NormalBase", "PointBase"]


class BaseMeasure(ABC):
    """A base measure on vectors of d numbers; base measures are equal, and of equal hash, where their arrays are."""

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Number of numbers d."""

    @abstractmethod
    def points(self, size: int, rng: int) -> np.ndarray:
        """Seeded draws, shape (size, d), or the points that it consists of."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BaseMeasure) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Any, ...]:
        return type(self), tuple((x.shape, x.tobytes()) for x in vars(self).values())


@dataclass(frozen=True, eq=False, repr=False)
class NormalBase(BaseMeasure):
    """Normal base measure.

    Parameters
    ----------
    mean : array of shape (d,)
        Mean.
    factor : array of shape (d,) or (d, d)
        Standard deviations of independent components, or a lower Cholesky factor of the covariance.
    """

    mean: np.ndarray
    factor: np.ndarray

    @property
    def dimension(self) -> int:
        """Number of numbers d."""
        return len(self.mean)

    def points(self, size: int, rng: int) -> np.ndarray:
        """Seeded draws, shape (size, d)."""
        z = np.random.default_rng(rng).standard_normal((size, self.dimension))
        return self.mean + (z * self.factor if self.factor.ndim == 1 else z @ self.factor.T)

    def __repr__(self) -> str:
        if self.factor.ndim == 1:
            return f"normal(mean {_short(self.mean)}, std {_short(self.factor)})"
        std = np.sqrt((self.factor**2).sum(axis=1))
        return f"normal(mean {_short(self.mean)}, std {_short(std)}, correlated)"


@dataclass(frozen=True, eq=False, repr=False)
class PointBase(BaseMeasure):
    """Base measure of equal weights at some points.

    Parameters
    ----------
    values : array of shape (m, d)
        The points.
    """

    values: np.ndarray

    @property
    def dimension(self) -> int:
        """Number of numbers d."""
        return int(self.values.shape[1])

    def points(self, size: int, rng: int) -> np.ndarray:
        """All points, shape (m, d), whatever size is asked for."""
        return self.values

    def __repr__(self) -> str:
        m, d = self.values.shape
        return f"{m} point{'s' * (m > 1)} of {d} number{'s' * (d > 1)}"


def _short(x: np.ndarray) -> str:
    shown = [f"{value:.4g}" for value in x]
    return f"[{', '.join(shown if len(shown) <= 4 else [*shown[:2], '...', *shown[-2:]])}]"
