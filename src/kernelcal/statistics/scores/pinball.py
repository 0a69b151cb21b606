"""Pinball loss: how good predicted quantiles are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import numbers
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import SAME_LEVEL, Quantiles
from kernelcal.tables import Shown, Table

__all__ = [
    "QUANTILE_LEVELS",
    "PinballLoss",
    "absent_levels",
    "checked_levels",
    "pinball_loss",
    "pinball_loss_of",
    "pinball_rows",
    "quantile_of",
    "usual_levels",
]


QUANTILE_LEVELS = tuple(k / 20 for k in range(1, 20))


@dataclass(frozen=True, eq=False, repr=False)
class PinballLoss(Shown):
    """Pinball loss at every level.

    Attributes
    ----------
    levels, losses : numpy.ndarray
        Quantile levels, and the mean loss at each, in the unit of the target.
    n : int
        Rows.
    notes : tuple of str
        What the reader must know.
    """

    levels: np.ndarray
    losses: np.ndarray
    n: int
    notes: tuple[str, ...] = ()

    @property
    def mean(self) -> float:
        """Mean over the levels."""
        return float(self.losses.mean())

    def __float__(self) -> float:
        return self.mean

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        arrays = {"levels": self.levels.tolist(), "losses": self.losses.tolist()}
        return {**arrays, "mean": self.mean, "n": self.n, "notes": list(self.notes)}

    def _table(self) -> Table:
        rows = [(f"level {level:g}", f"{loss:.6g}") for level, loss in zip(self.levels, self.losses, strict=True)]
        return Table("Pinball loss", [("mean", f"{self.mean:.6g}"), ("rows", f"{self.n:,}"), *rows], self.notes)


def pinball_loss(y: Any, predictions: Any, *, levels: Any = None, weights: Any = None) -> PinballLoss:
    """Mean over rows of ``(1 - t) (q - y)_+ + t (y - q)_+``, where q is the predicted quantile of level t.

    The quantile is the smallest value whose distribution function reaches the level. Smaller is better; at level 0.5
    it is half of the mean absolute error of the median.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of one number.
    levels : sequence of float
        Levels in (0, 1), of `Quantiles` also 0 and 1. Default: of `Quantiles` the levels that were given, else 0.05,
        0.1, ..., 0.95.
    weights : array of shape (n,), optional
        Case weights, not negative.

    Returns
    -------
    PinballLoss
        ``losses``, one a level; ``float(...)`` is their mean.

    Raises
    ------
    InputError
        For vector targets, families without quantiles and levels outside (0, 1).

    Notes
    -----
    Of `Quantiles`, quantiles of other levels than those given are interpolated, and the result says so.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), A.3.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import pinball_loss
    >>> pinball_loss([1.0], kc.Normal([0.0], [1.0]), levels=[0.25, 0.5]).losses.round(4)
    array([0.4186, 0.5   ])
    """
    taus = None if levels is None else checked_levels(levels, ends=isinstance(predictions, Quantiles))
    return pinball_loss_of(Case.of(y, predictions, weights=weights), taus)


def pinball_loss_of(case: Case, levels: np.ndarray | None = None) -> PinballLoss:
    """Pinball loss of what was checked already; by default at the levels that were given, or the usual ones."""
    batch = case.of_one_number("the pinball loss").in_numpy.predictions
    levels = usual_levels(batch) if levels is None else levels
    losses = [case.mean(pinball_rows(case.targets, quantile_of(batch, tau), tau)) for tau in levels.tolist()]
    absent = absent_levels(batch, levels)
    notes = (f"the quantiles of {', '.join(absent)} were not given: they are interpolated",) if absent else ()
    return PinballLoss(levels, np.array(losses), len(case), notes)


def usual_levels(batch: Any) -> np.ndarray:
    """Levels that were given, of `Quantiles`; else those of twenty equal parts."""
    return batch.levels if isinstance(batch, Quantiles) else np.array(QUANTILE_LEVELS)


def absent_levels(batch: Any, levels: np.ndarray) -> list[str]:
    """Levels that `Quantiles` were not given; none of other families, which have all."""
    if not isinstance(batch, Quantiles):
        return []
    return [f"{tau:g}" for tau in levels if np.abs(batch.levels - tau).min() > SAME_LEVEL]


def quantile_of(batch: Any, tau: float) -> np.ndarray:
    """Quantiles of a level, shape (n,): those that were given as they are."""
    given = isinstance(batch, Quantiles) and not absent_levels(batch, np.array([tau]))
    values = batch.at(tau) if given else batch.quantile(tau)
    return np.asarray(values, dtype=np.float64)


def pinball_rows(y: np.ndarray, quantile: np.ndarray, tau: float) -> np.ndarray:
    """Loss of every row; 0 where a weight of 0 meets a quantile that is infinite."""
    above = y - quantile
    weight = np.where(above > 0, tau, tau - 1)
    return np.where(weight == 0, 0.0, weight * np.where(weight == 0, 0.0, above))


def checked_levels(levels: Any, *, ends: bool = False) -> np.ndarray:
    """Return levels in (0, 1), or in [0, 1] with `ends`, as an array."""
    try:
        values = np.atleast_1d(numbers(levels))
    except (TypeError, ValueError):
        values = np.empty(0)
    inside = (values >= 0) & (values <= 1) if ends else (values > 0) & (values < 1)
    if values.ndim != 1 or len(values) == 0 or not np.all(inside):
        raise InputError(f"levels must be one or more numbers between 0 and 1, such as 0.9 for 90 %, got {levels!r}")
    return values
