"""Predictions given by quantiles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelcal.arrays import Array, namespace, take_rows
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.quantile_checks import checked_quantiles
from kernelcal.predictions.real import RealPredictions

__all__ = ["Quantiles"]


@dataclass(frozen=True, eq=False)
class Quantiles(RealPredictions):
    """Predictions given by quantiles: a distribution function that is linear between them.

    Parameters
    ----------
    values : array of shape (n, Q)
        Quantiles, a column a level.
    levels : array of shape (Q,)
        Their levels, two or more different numbers in [0, 1]. Unsorted levels are sorted together with the values.
    tails : {"exponential", "linear"}
        What lies outside the outermost quantiles.
    crossing : {"raise", "sort"}
        What happens to a row whose quantiles decrease.
    """

    values: Array
    levels: np.ndarray
    tails: str = "exponential"
    crossing: str = "raise"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        values, levels, notes = checked_quantiles(self.values, self.levels, self.tails, self.crossing)
        object.__setattr__(self, "values", values)
        object.__setattr__(self, "levels", levels)
        object.__setattr__(self, "notes", (*self.notes, *notes))

    def __len__(self) -> int:
        return int(self.values.shape[0])

    def __getitem__(self, index: Any) -> Self:
        return trusted(self, values=take_rows(self.values, checked_index(index)))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to the values; the levels, the same for all rows, stay."""
        return trusted(self, values=function(self.values))

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target: a scalar."""
        return ()

    @property
    def columns(self) -> int:
        """The quantiles."""
        return len(self.levels)

    @property
    def mean(self) -> Array:
        """Means."""
        masses, centres, _ = self._pieces()
        return namespace(centres).sum(masses * centres, axis=-1)

    @property
    def std(self) -> Array:
        """Standard deviations."""
        masses, centres, variances = self._pieces()
        xp = namespace(centres)
        mean = xp.sum(masses * centres, axis=-1, keepdims=True)
        return xp.sqrt(xp.sum(masses * (variances + (centres - mean) ** 2), axis=-1))

    def _pieces(self) -> tuple[Array, Array, Array]:
        """Masses (Q + 1,), centres and variances (..., Q + 1) of the segments, the tails first and last."""
        xp, values = namespace(self.values), self.values
        edges = np.concatenate(([0.0], self.levels, [1.0]))
        masses = xp.asarray(np.diff(edges), dtype=values.dtype)
        lower, upper = self._tail_lengths()
        share, spread = (1.0, 1.0) if self.tails == "exponential" else (0.5, 1 / 12)
        inner = 0.5 * (values[..., 1:] + values[..., :-1])
        width = values[..., 1:] - values[..., :-1]
        first, last = values[..., :1] - share * lower, values[..., -1:] + share * upper
        centres = xp.concat([first, inner, last], axis=-1)
        variances = xp.concat([spread * lower**2, width**2 / 12, spread * upper**2], axis=-1)
        return masses, centres, variances

    def _tail_lengths(self) -> tuple[Array, Array]:
        """Lengths (..., 1) of the tails: their mass divided by the density of the segment beside them."""
        v, q = self.values, self.levels
        lower = (v[..., 1:2] - v[..., :1]) * float(q[0] / (q[1] - q[0]))
        upper = (v[..., -1:] - v[..., -2:-1]) * float((1 - q[-1]) / (q[-1] - q[-2]))
        return lower, upper
