"""Scores of predicted quantiles: the pinball loss, and the weighted interval score, which is twice its mean."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import numbers
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import SAME_LEVEL, Quantiles
from kernelcal.tables import Grid, Shown, Table

__all__ = [
    "QUANTILE_LEVELS",
    "PinballLoss",
    "WeightedIntervalScore",
    "absent_levels",
    "checked_levels",
    "pinball_loss",
    "pinball_loss_of",
    "usual_levels",
    "weighted_interval_score",
    "weighted_interval_score_of",
    "weighted_interval_score_rows",
    "weighted_interval_score_rows_of",
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

    Examples
    --------
    >>> import kernelcal as kc
    >>> loss = kc.pinball_loss([0.3, 2.0], kc.Quantiles([[-1.0, 0.0, 1.0]] * 2, [0.1, 0.5, 0.9]))
    >>> loss.losses.round(3), round(loss.mean, 3)
    (array([0.215, 0.575, 0.485]), 0.425)
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


@dataclass(frozen=True, eq=False, repr=False)
class WeightedIntervalScore(Shown):
    """Weighted interval score, its parts, and every central interval.

    Attributes
    ----------
    value : float
        Twice the mean pinball loss over the levels inside (0, 1), in the unit of the target; smaller is better.
        ``float(...)`` gives it.
    spread, over, under : float
        Its parts: widths of intervals, and what lies outside because forecasts were too high or too low.
    nominal : numpy.ndarray of shape (K,)
        Levels 1 - alpha of the central intervals both of whose ends were given.
    share : numpy.ndarray of shape (K,)
        Share of outcomes inside or at the ends.
    interval_score, width : numpy.ndarray of shape (K,)
        Mean ``(u - l) + 2 / alpha (l - y)+ + 2 / alpha (y - u)+``, and mean ``u - l``.
    n : int
        Rows.

    Examples
    --------
    >>> import kernelcal as kc
    >>> score = kc.weighted_interval_score([0.3, 2.0], kc.Quantiles([[-1.0, 0.0, 1.0]] * 2, [0.1, 0.5, 0.9]))
    >>> round(score.value, 3), score.width
    (0.85, array([2.]))
    """

    value: float
    spread: float
    over: float
    under: float
    nominal: np.ndarray
    share: np.ndarray
    interval_score: np.ndarray
    width: np.ndarray
    n: int

    def __float__(self) -> float:
        return self.value

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        parts = {name: getattr(self, name) for name in ("value", "spread", "over", "under")}
        arrays = {name: getattr(self, name).tolist() for name in ("nominal", "share", "interval_score", "width")}
        return {**parts, **arrays, "n": self.n}

    def _table(self) -> Grid:
        parts = f"spread {self.spread:.4g}, over {self.over:.4g}, under {self.under:.4g}"
        rows = [
            [f"{100 * c:.4g} %", f"{100 * s:.1f} %", f"{i:.4g}", f"{w:.4g}"]
            for c, s, i, w in zip(self.nominal, self.share, self.interval_score, self.width, strict=True)
        ]
        title = f"Weighted interval score {self.value:.4g} ({parts})"
        return Grid(title, ["central interval", "inside", "interval score", "width"], rows)


def weighted_interval_score(y: Any, predictions: Any, *, weights: Any = None) -> WeightedIntervalScore:
    """Weighted interval score of quantile forecasts, with its parts and the score of every central interval.

    ``WIS = (|y - m| / 2 + sum_k alpha_k / 2 IS_k) / (K + 1/2)`` for the median m and K central intervals, which is
    twice the mean pinball loss over their 2 K + 1 levels. So it is defined for all other sets of levels too.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predictions : Quantiles
        Predictions; nothing is interpolated between their levels.
    weights : array of shape (n,), optional
        Case weights, not negative.

    Returns
    -------
    WeightedIntervalScore

    Raises
    ------
    InputError
        For predictions that are not `Quantiles`.

    Notes
    -----
    The spread of a level without its opposite is 0: all of its loss is over or under. The score tends to the CRPS as
    levels become many and even; the CRPS of `Quantiles`, which interpolates, is another number. Cost: n Q.

    References
    ----------
    Bracher, Ray, Gneiting, Reich (2021), Evaluating epidemic forecasts in an interval format; Gneiting, Raftery (2007).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import weighted_interval_score
    >>> found = weighted_interval_score([5.0], kc.Quantiles([[1.0, 2.0, 4.0]], [0.1, 0.5, 0.9]))
    >>> round(found.value, 6), found.interval_score  # (3/2 + 0.1 (3 + 10 * 2 * 1 / 2 * 1)) / 1.5
    (1.866667, array([13.]))
    """
    return weighted_interval_score_of(Case.of(y, predictions, weights=weights))


def weighted_interval_score_rows(y: Any, predictions: Any) -> np.ndarray:
    """Score of every row, shape (n,): see `weighted_interval_score`.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import weighted_interval_score_rows
    >>> weighted_interval_score_rows([5.0, 2.0], kc.Quantiles([[1.0, 2.0, 4.0]] * 2, [0.1, 0.5, 0.9])).round(4)
    array([1.8667, 0.2   ])
    """
    return weighted_interval_score_rows_of(Case.of(y, predictions))


def weighted_interval_score_rows_of(case: Case) -> np.ndarray:
    """Score of every row of what was checked already."""
    batch, taus = _quantiles(case)
    losses = [pinball_rows(case.targets, quantile_of(batch, tau), tau) for tau in taus.tolist()]
    return np.asarray(2 * np.mean(losses, axis=0))


def weighted_interval_score_of(case: Case) -> WeightedIntervalScore:
    """Score of what was checked already."""
    y, (batch, taus) = case.targets, _quantiles(case)
    pairs, number = central_pairs(taus), len(taus)
    alone = sorted(set(range(number)) - {k for pair in pairs for k in pair})
    spread, over, under = np.zeros((3, len(case)))
    rows = []
    for i, j in pairs:
        low, high, alpha = (quantile_of(batch, float(taus[i])), quantile_of(batch, float(taus[j])), 2 * taus[i])
        outside = np.maximum(low - y, 0), np.maximum(y - high, 0)
        spread += alpha / number * (high - low)
        over += 2 / number * outside[0]
        under += 2 / number * outside[1]
        inside = case.mean(((y >= low) & (y <= high)).astype(np.float64))
        score = high - low + 2 / alpha * (outside[0] + outside[1])
        rows.append((1 - alpha, inside, case.mean(score), case.mean(high - low)))
    for k in alone:
        q = quantile_of(batch, float(taus[k]))
        over += 2 / number * (1 - taus[k]) * np.maximum(q - y, 0)
        under += 2 / number * taus[k] * np.maximum(y - q, 0)
    width_part, over_part, under_part = (case.mean(part) for part in (spread, over, under))
    nominal, share, scores, width = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    parts = (width_part, over_part, under_part)
    return WeightedIntervalScore(sum(parts), *parts, nominal, share, scores, width, len(case))


def central_pairs(taus: np.ndarray) -> list[tuple[int, int]]:
    """Positions of levels t and 1 - t that are both there, the widest intervals last."""
    found = []
    for i, tau in enumerate(taus):
        j = int(np.abs(taus - (1 - tau)).argmin())
        if tau < 0.5 - SAME_LEVEL and abs(taus[j] - (1 - tau)) < SAME_LEVEL:
            found.append((i, j))
    return found[::-1]


def _quantiles(case: Case) -> tuple[Quantiles, np.ndarray]:
    """Predictions in NumPy, and their levels inside (0, 1)."""
    batch = case.of_numbers().in_numpy.predictions
    if not isinstance(batch, Quantiles):
        raise InputError(
            f"the weighted interval score needs predictions given by quantiles, got {type(batch).__name__}: use "
            "kernelcal.statistics.crps or pinball_loss, or pass kernelcal.Quantiles(values, levels)"
        )
    return batch, batch.cells.taus
