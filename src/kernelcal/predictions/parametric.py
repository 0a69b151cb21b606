"""Families whose predictions are a few numbers a row: what follows from the names of these numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from kernelcal.arrays import Array, as_array, take_rows, to_numpy
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.numbers import inside
from kernelcal.predictions.real import RealPredictions

__all__ = ["Parametric"]


class Parametric(RealPredictions):
    """Predictions of one number, described by arrays of shape (n,) that the family names in `given_by`.

    A subclass is a dataclass with these fields. It says mean, standard deviation, density, distribution function
    and quantiles; rows, libraries and draws follow.
    """

    def __len__(self) -> int:
        return int(getattr(self, self.given_by[0]).shape[0])

    def __getitem__(self, index: Any) -> Self:
        index = checked_index(index)
        return self.map_arrays(lambda x: take_rows(x, index))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to every parameter."""
        return trusted(self, **{name: function(getattr(self, name)) for name in self.given_by})

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target: a scalar."""
        return ()

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Invert the distribution function."""
        return self._quantile(inside(uniforms))

    def in_numpy(self) -> tuple[np.ndarray, ...]:
        """Parameters in NumPy and double precision, in their order."""
        return tuple(to_numpy(getattr(self, name)).astype(np.float64) for name in self.given_by)

    @staticmethod
    def numbers_of(y: Array) -> np.ndarray:
        """Targets in NumPy and double precision."""
        return to_numpy(as_array(y)).astype(np.float64)
