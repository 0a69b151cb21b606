"""Scores of quantile forecasts by the quantiles alone: weighted interval score, interval scores, widths."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import SAME_LEVEL, Quantiles
from kernelcal.statistics.scores.pinball import pinball_rows, quantile_of
from kernelcal.tables import Grid, Shown

__all__ = [
    "WeightedIntervalScore",
    "central_pairs",
    "weighted_interval_score",
    "weighted_interval_score_of",
    "weighted_interval_score_rows",
    "weighted_interval_score_rows_of",
]


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
