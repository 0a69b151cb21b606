"""Mean scores as measures: what a score is, what the forecasts expect of themselves, and whether both agree."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.measures.base import Measure, PreparedMeasure
from kernelcal.predictions import ClassPredictions, Quantiles, RealPredictions
from kernelcal.statistics import crps_rows_of, weighted_interval_score_rows_of

__all__ = ["CRPS", "RankedProbabilityScore", "Rows", "ScoreMeasure", "WeightedInterval"]


Rows = Callable[[np.ndarray], np.ndarray]
"""From targets of shape (n,) to the score of every row, shape (n,)."""


class PreparedScore(PreparedMeasure):
    """The mean over rows of a score, with case weights."""

    def __init__(self, measure: ScoreMeasure, rows: Rows, weights: np.ndarray | None, notes: tuple[str, ...]) -> None:
        super().__init__(measure, notes=notes)
        self.rows, self.weights = rows, weights

    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Mean score for targets of shape (B, n), shape (B,)."""
        return np.array([self._mean(self.rows(one)) for one in targets])

    def influences(self, targets: np.ndarray) -> np.ndarray:
        """Scores less their mean."""
        scores = self.rows(targets)
        return np.asarray(scores - self._mean(scores))

    def _mean(self, scores: np.ndarray) -> float:
        w = self.weights
        return float(scores.mean() if w is None else np.where(w > 0, scores, 0.0) @ w / w.sum())


class ScoreMeasure(Measure):
    """A mean over rows of a score; a subclass says the score of every row.

    Attributes
    ----------
    proper : bool
        Whether it is a proper score, 0 at best, so that there is skill in it.

    Notes
    -----
    A score judges calibration and sharpness together, and no value of it is that of calibrated forecasts. What it is
    on average if outcomes are as forecast does depend on the forecasts alone: a score above that says that they are
    wrong or too sure, below that they are not sure enough. Redrawn outcomes give this mean and an exact p-value.
    """

    signed: ClassVar[bool] = True
    mean_of_rows: ClassVar[bool] = True
    proper: ClassVar[bool] = True
    limits: ClassVar[tuple[float, float]] = (0.0, np.inf)

    @abstractmethod
    def score(self, predictions: Any) -> tuple[Rows, tuple[str, ...]]:
        """Score of every row as a function of the targets, and what the reader must know."""

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedScore:
        """Do what depends on the predictions and case weights alone."""
        self.refuse(predictions)
        rows, notes = self.score(predictions)
        return PreparedScore(self, rows, weights, notes)

    def rows_of(self, case: Case) -> np.ndarray:
        """Score of every row of what was checked already, shape (n,)."""
        case = case.in_numpy
        self.refuse(case.predictions)
        prepared = self.prepare(case.predictions, case.weights)
        shown = case.in_cells if prepared.by_cells else case
        return prepared.rows(shown.targets)


def of_one_number(predictions: Any) -> bool:
    """Tell whether predictions are of one number a row, with a distribution function."""
    return isinstance(predictions, RealPredictions) and not predictions.event_shape and predictions.has_cdf


@dataclass(frozen=True, kw_only=True)
class CRPS(ScoreMeasure):
    """Continuous ranked probability score, as `statistics.crps`, in the unit of the target.

    Parameters
    ----------
    fair : bool
        Of ensembles: the unbiased score of the law that the members come from.

    Raises
    ------
    InputError
        For predictions that are not of one number.

    References
    ----------
    Gneiting, Raftery (2007), Strictly proper scoring rules, prediction, and estimation; Ferro (2014) for ``fair``.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.measures.forecasting import CRPS
    >>> round(float(CRPS()([0.0, 2.0], kc.Normal([0.0, 0.0], [1.0, 1.0]))), 4)
    0.8432
    """

    name: ClassVar[str] = "CRPS"
    serves: ClassVar[str] = "predictions of one number"

    fair: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.fair, bool):
            raise InputError(f"fair must be True or False, got {self.fair!r}")

    def takes(self, predictions: Any) -> bool:
        """Tell whether predictions are of one number."""
        return of_one_number(predictions)

    def score(self, predictions: Any) -> tuple[Rows, tuple[str, ...]]:
        """Score of every row as a function of the targets."""
        return lambda y: crps_rows_of(Case(y, predictions), fair=self.fair), ()


@dataclass(frozen=True, kw_only=True)
class WeightedInterval(ScoreMeasure):
    """Weighted interval score of quantile forecasts, as `statistics.weighted_interval_score`.

    Raises
    ------
    InputError
        For predictions that are not given by quantiles.

    References
    ----------
    Bracher, Ray, Gneiting, Reich (2021), Evaluating epidemic forecasts in an interval format.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.measures.forecasting import WeightedInterval
    >>> round(float(WeightedInterval()([5.0], kc.Quantiles([[1.0, 2.0, 4.0]], [0.1, 0.5, 0.9]))), 6)
    1.866667
    """

    name: ClassVar[str] = "weighted interval score"
    serves: ClassVar[str] = "quantile forecasts"

    def takes(self, predictions: Any) -> bool:
        """Tell whether predictions are given by quantiles."""
        return isinstance(predictions, Quantiles)

    def score(self, predictions: Any) -> tuple[Rows, tuple[str, ...]]:
        """Score of every row as a function of the targets."""
        return lambda y: weighted_interval_score_rows_of(Case(y, predictions)), ()


@dataclass(frozen=True, kw_only=True)
class RankedProbabilityScore(ScoreMeasure):
    """Ranked probability score of ordered classes; of two classes the Brier score ``(p - y)^2``.

    Mean of ``sum_{k < m} (P(class <= k) - 1[y <= k])^2``: classes count in their order, so that a forecast of the class
    beside the observed one costs less than one far away.

    Raises
    ------
    InputError
        For predictions that are not of classes.

    Notes
    -----
    That of scoringrules and xskillscore, which do not divide by m - 1. Cost: O(n m).

    References
    ----------
    Epstein (1969), A scoring system for probability forecasts of ranked categories.

    Examples
    --------
    >>> from kernelcal.measures.forecasting import RankedProbabilityScore
    >>> round(float(RankedProbabilityScore()([2], [[0.1, 0.2, 0.3, 0.4]])), 6)  # .1^2 + .3^2 + .4^2
    0.26
    """

    name: ClassVar[str] = "ranked probability score"
    serves: ClassVar[str] = "class probabilities, classes in their order"

    def takes(self, predictions: Any) -> bool:
        """Tell whether predictions are of three classes or more: of two it serves, and is the Brier score."""
        return isinstance(predictions, ClassPredictions) and predictions.n_classes > 2

    def refuse(self, predictions: Any) -> None:
        """Refuse predictions that are not of classes."""
        if not isinstance(predictions, ClassPredictions):
            super().refuse(predictions)

    def score(self, predictions: Any) -> tuple[Rows, tuple[str, ...]]:
        """Score of every row: every class as the outcome, looked up."""
        upto = np.cumsum(np.asarray(predictions.table(), dtype=np.float64), axis=1)[:, :-1]
        below, above = np.cumsum(upto**2, axis=1), np.cumsum((1 - upto[:, ::-1]) ** 2, axis=1)[:, ::-1]
        both = np.pad(below, ((0, 0), (1, 0))) + np.pad(above, ((0, 0), (0, 1)))
        rows = np.arange(len(both))
        note = f"{self.name}: classes are taken in the order {_in_order(predictions)}"
        return lambda y: both[rows, y], (note,) if predictions.n_classes > 2 else ()


def _in_order(predictions: Any) -> str:
    names = [str(predictions.class_name(k)) for k in range(predictions.n_classes)]
    return ", ".join(names if len(names) <= 6 else [*names[:3], "...", names[-1]])
