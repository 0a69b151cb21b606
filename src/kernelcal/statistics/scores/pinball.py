"""Pinball loss: how good predicted quantiles are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import numbers
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.tables import Shown, Table

__all__ = ["QUANTILE_LEVELS", "PinballLoss", "checked_levels", "pinball_loss", "pinball_loss_of"]


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
    """

    levels: np.ndarray
    losses: np.ndarray
    n: int

    @property
    def mean(self) -> float:
        """Mean over the levels."""
        return float(self.losses.mean())

    def __float__(self) -> float:
        return self.mean

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"levels": self.levels.tolist(), "losses": self.losses.tolist(), "mean": self.mean, "n": self.n}

    def _table(self) -> Table:
        rows = [(f"level {level:g}", f"{loss:.6g}") for level, loss in zip(self.levels, self.losses, strict=True)]
        return Table("Pinball loss", [("mean", f"{self.mean:.6g}"), ("rows", f"{self.n:,}"), *rows])


def pinball_loss(y: Any, predictions: Any, *, levels: Any = QUANTILE_LEVELS, weights: Any = None) -> PinballLoss:
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
        Levels in (0, 1), default 0.05, 0.1, ..., 0.95.
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
    taus = checked_levels(levels)
    return pinball_loss_of(Case.of(y, predictions, weights=weights), taus)


def pinball_loss_of(case: Case, levels: np.ndarray) -> PinballLoss:
    """Pinball loss of what was checked already."""
    batch = case.of_one_number("the pinball loss").in_numpy.predictions
    losses = [case.mean(_rows(case.targets, batch.quantile(float(tau)), float(tau))) for tau in levels]
    return PinballLoss(levels, np.array(losses), len(case))


def _rows(y: np.ndarray, quantile: np.ndarray, tau: float) -> np.ndarray:
    above = y - quantile
    return np.where(above > 0, tau * above, (tau - 1) * above)


def checked_levels(levels: Any) -> np.ndarray:
    """Return levels in (0, 1) as an array."""
    try:
        values = np.atleast_1d(numbers(levels))
    except (TypeError, ValueError):
        values = np.empty(0)
    if values.ndim != 1 or len(values) == 0 or not np.all((values > 0) & (values < 1)):
        raise InputError(f"levels must be one or more numbers between 0 and 1, such as 0.9 for 90 %, got {levels!r}")
    return values
