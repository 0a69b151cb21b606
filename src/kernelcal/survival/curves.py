"""Survival curves of many rows on one grid of times, as libraries for survival hand them out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelcal.errors import InputError

__all__ = ["SurvivalCurves", "curves_of"]


_SORT = ": sort times and columns of the survival together, and keep one of equal times"
_ROUNDING = 1e-6
_LEAST = 1e-12  # survival that is put in the place of 0, which has no logarithm
_FEW = 10  # times, below which it is said what is taken between them


@dataclass(frozen=True, eq=False)
class SurvivalCurves:
    """Probabilities of living on after some times, a row a prediction and a column a time.

    Between two times the hazard is taken as constant: the logarithm of survival is linear, from 1 at time 0 on. After
    the last time nothing is predicted, and rows that were watched longer count as watched up to it.

    Parameters
    ----------
    times : array of shape (m,)
        Times after which survival is predicted, positive and increasing; a first one of 0 may be there.
    survival : array of shape (n, m)
        ``P(T > t)``, falling along every row.

    Raises
    ------
    InputError
        With the row and the time.

    Examples
    --------
    >>> from kernelcal.survival import SurvivalCurves
    >>> curves = SurvivalCurves([1.0, 3.0], [[0.9, 0.5], [0.8, 0.2]])
    >>> curves.survival([2.0, 3.0]).round(4)
    array([0.6708, 0.2   ])
    """

    times: np.ndarray
    table: np.ndarray
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __init__(self, times: Any, survival: Any, *, notes: tuple[str, ...] = ()) -> None:
        grid, table = _checked(times, survival)
        zeros = int((table < _LEAST).sum())
        if zeros:
            notes = (*notes, f"{zeros:,} survival probabilities of 0 were taken as {_LEAST:g}")
        if len(grid) < _FEW:
            notes = (
                *notes,
                f"survival is predicted at {len(grid)} times, and between them the hazard is taken as constant",
            )
        object.__setattr__(self, "times", grid)
        object.__setattr__(self, "table", np.maximum(table, _LEAST))
        object.__setattr__(self, "notes", notes)

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, rows: Any) -> Self:
        return type(self)(self.times, self.table[rows], notes=())

    @property
    def end(self) -> float:
        """Last time that is spoken of."""
        return float(self.times[-1])

    def hazard(self, times: Any) -> np.ndarray:
        """Cumulative hazards ``-log P(T > t)`` at one time a row, shape (..., n); after the end as at the end."""
        t = np.clip(np.asarray(times, dtype=np.float64), 0.0, self.end)
        grid = np.concatenate([[0.0], self.times])
        heights = np.concatenate([np.zeros((len(self), 1)), -np.log(self.table)], axis=1)
        k = np.clip(np.searchsorted(grid, t, side="left") - 1, 0, len(grid) - 2)
        rows = np.arange(len(self))
        low, high = heights[rows, k], heights[rows, k + 1]
        return np.asarray(low + (high - low) * (t - grid[k]) / (grid[k + 1] - grid[k]))

    def survival(self, times: Any) -> np.ndarray:
        """``P(T > t)`` at one time a row, shape (..., n)."""
        return np.exp(-self.hazard(times))

    def inverse(self, hazards: np.ndarray) -> np.ndarray:
        """Times at which every row reaches cumulative hazards of shape (..., n); the end where it does not."""
        grid = np.concatenate([[0.0], self.times])
        heights = np.concatenate([np.zeros((len(self), 1)), -np.log(self.table)], axis=1)
        return np.stack([np.interp(hazards[..., i], heights[i], grid) for i in range(len(self))], axis=-1)

    def quantile(self, level: float) -> np.ndarray:
        """First grid time at which every row has reached a level of its distribution function; else the end."""
        reached = self.table <= 1 - level
        return np.where(reached.any(axis=1), self.times[np.argmax(reached, axis=1)], self.end)


def curves_of(predicted: Any) -> SurvivalCurves | None:
    """Curves of what libraries return, or None: a frame with times as index, or step functions with ``x`` and ``y``."""
    if isinstance(predicted, SurvivalCurves):
        return predicted
    if hasattr(predicted, "index") and hasattr(predicted, "columns"):
        times, table = _numbers(predicted.index, "times, the index of the frame,"), _numbers(predicted, "survival")
        return SurvivalCurves(*_from_zero(times, table.T))
    steps = isinstance(predicted, Sequence | np.ndarray) and len(predicted) > 0
    if steps and all(hasattr(one, "x") and hasattr(one, "y") for one in predicted):
        times = np.asarray(predicted[0].x, dtype=np.float64)
        if any(len(one.x) != len(times) or np.any(np.asarray(one.x) != times) for one in predicted):
            raise InputError(
                "the step functions have different times: evaluate them at common ones, and pass "
                "SurvivalCurves(times, survival)"
            )
        return SurvivalCurves(*_from_zero(times, np.stack([np.asarray(one.y, dtype=np.float64) for one in predicted])))
    return None


def _from_zero(times: np.ndarray, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return (times[1:], table[:, 1:]) if len(times) > 1 and times[0] == 0 else (times, table)


def _numbers(values: Any, what: str) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"{what} of survival curves must be numbers, times of shape (m,) and survival of shape (n, m), got "
            f"{str(values)[:60]}"
        ) from None


def _checked(times: Any, survival: Any) -> tuple[np.ndarray, np.ndarray]:
    grid, table = _numbers(times, "times"), _numbers(survival, "survival")
    if grid.ndim != 1 or table.ndim != 2 or table.shape[1] != len(grid) or len(grid) == 0:
        raise InputError(
            f"survival curves need times of shape (m,) and survival of shape (n, m), got {grid.shape} and {table.shape}"
            + (": transpose the survival" if table.ndim == 2 and table.shape[0] == len(grid) else "")
        )
    grid, table = _from_zero(grid, table)
    if not (np.isfinite(grid).all() and grid[0] > 0 and np.all(np.diff(grid) > 0)):
        raise InputError(f"times of survival curves must be positive, finite and increasing, got {grid[:5]}{_SORT}")
    if np.isnan(table).any():
        row, k = np.argwhere(np.isnan(table))[0]
        raise InputError(
            f"row {row} has no survival at time {grid[k]:g} (missing): leave such rows out, of times, events and "
            "predictions together"
        )
    bad = ~((table >= -_ROUNDING) & (table <= 1 + _ROUNDING))
    if bad.any():
        row, k = np.argwhere(bad)[0]
        raise InputError(
            f"row {row} has survival {table[row, k]:g} at time {grid[k]:g}, expected a probability of living on in "
            "[0, 1]: of cumulative hazards pass numpy.exp(-H), of percentages x / 100"
        )
    rising = np.diff(table, axis=1) > _ROUNDING
    if rising.any():
        row, k = np.argwhere(rising)[0]
        raise InputError(
            f"the survival of row {row} rises from {table[row, k]:g} at time {grid[k]:g} to {table[row, k + 1]:g} at "
            f"{grid[k + 1]:g}: pass probabilities of living on, not of having died (1 - F)"
        )
    return grid, np.minimum.accumulate(np.clip(table, 0.0, 1.0), axis=1)
