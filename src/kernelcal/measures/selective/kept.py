"""Selective prediction: accuracy of the answers that are kept, and the area under the risk-coverage curve."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.errors import InputError
from kernelcal.measures.base import Measure, PreparedMeasure, positive_probabilities, serves_one_probability
from kernelcal.predictions import Binomial

__all__ = [
    "Accuracy",
    "ConfidenceOrder",
    "ExcessRiskCoverage",
    "RiskCoverageArea",
    "SelectiveAccuracy",
    "confidences",
    "serves_answers",
]

_OF_ANSWERS = "a confidence that an answer is right, beside whether it is, or how many of several answers are"


def confidences(predictions: Any) -> tuple[np.ndarray, np.ndarray | float]:
    """Probabilities that an answer is right, and how many answers a row has."""
    if isinstance(predictions, Binomial):
        p, trials = np.asarray(predictions.p, dtype=np.float64), np.asarray(predictions.n, dtype=np.float64)
        return p, np.maximum(trials, 1.0)
    return positive_probabilities(predictions), 1.0


def weights_of_answers(predictions: Any, weights: np.ndarray | None) -> np.ndarray:
    """Weights of rows, 0 of those without an answer: none of no answers is wrong."""
    own = np.ones(len(predictions)) if weights is None else weights
    return own * (np.asarray(predictions.n) > 0) if isinstance(predictions, Binomial) else own


def serves_answers(predictions: Any) -> bool:
    """Tell whether predictions are of answers that are right or wrong, one or several a row."""
    return serves_one_probability(predictions) or isinstance(predictions, Binomial)


class ConfidenceOrder:
    """Rows in the order of their confidence, the highest first; rows of one confidence share what they have.

    Every place has the mean weight and the mean error of the rows of its confidence: the curve is then that of a random
    order among them, on average, and no order of the file matters.

    Attributes
    ----------
    order : numpy.ndarray of shape (n,)
        Rows in order.
    starts, sizes : numpy.ndarray of shape (g,)
        Where the rows of one confidence begin, and how many they are.
    """

    def __init__(self, p: np.ndarray, weights: np.ndarray | None) -> None:
        self.w = np.ones(len(p)) if weights is None else weights
        self.order = np.argsort(-p, kind="stable")
        ordered = p[self.order]
        self.starts = np.flatnonzero(np.append(True, ordered[1:] < ordered[:-1]))
        self.sizes = np.diff(np.append(self.starts, len(p)))
        self.total = float(self.w.sum())
        self.each = self.shared(self.w[None])[0]
        self.kept = np.cumsum(self.each)

    def shared(self, values: np.ndarray) -> np.ndarray:
        """Values (B, n) in order, of one confidence their mean."""
        sums = np.add.reduceat(values[:, self.order], self.starts, axis=1)
        return np.asarray(np.repeat(sums / self.sizes, self.sizes, axis=1))

    def risks(self, targets: np.ndarray) -> np.ndarray:
        """Share of wrong answers among those kept so far, shape (B, n)."""
        wrong = 1.0 - np.asarray(targets, dtype=np.float64)
        errors = np.cumsum(self.shared(wrong * self.w), axis=1)
        return np.divide(
            errors, self.kept, out=np.zeros(errors.shape), where=self.kept > 0
        )  # no weight so far: no error


class _PreparedArea(PreparedMeasure):
    def __init__(self, measure: Measure, predictions: Any, weights: np.ndarray | None, excess: bool) -> None:
        p, self.trials = confidences(predictions)
        super().__init__(measure, bytes_per_draw=64 * len(p))
        self.own, self.excess = ConfidenceOrder(p, weights_of_answers(predictions, weights)), excess

    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Mean of the risks over coverages, less that of the best order where it is asked for."""
        right = np.asarray(targets, dtype=np.float64) / self.trials
        if self.own.total == 0:
            return np.full(len(targets), np.nan)  # not one answer
        area = self.own.risks(right) @ self.own.each / self.own.total
        return np.asarray(area - _best(self._risk(right)) if self.excess else area)

    def _risk(self, right: np.ndarray) -> np.ndarray:
        return np.asarray((1.0 - right) @ self.own.w / self.own.total)

    def influences(self, targets: np.ndarray) -> np.ndarray:
        """Derivative of the value by the weight of every row.

        With weights s, errors N and weights kept D at the places, the area is ``sum s N / D``: a row has part in s of
        its own confidence, and in N and D there and everywhere below.
        """
        own = self.own
        y = np.asarray(targets, dtype=np.float64) / self.trials
        risks = own.risks(y[None])[0]
        inner = (np.arange(len(y)) - np.repeat(own.starts, own.sizes) + 1) / np.repeat(own.sizes, own.sizes)
        errors_by = np.divide(own.each, own.kept, out=np.zeros(len(y)), where=own.kept > 0)
        kept_by = -errors_by * risks
        after = [_after(x, own.starts) for x in (errors_by, kept_by)]
        parts = [np.add.reduceat(x * inner, own.starts) for x in (errors_by, kept_by)]
        mean = np.add.reduceat(risks, own.starts) / own.sizes
        place = np.empty(len(y), dtype=np.intp)
        place[own.order] = np.repeat(np.arange(len(own.starts)), own.sizes)
        slope = mean[place] + (after[1] + parts[1])[place] + (1 - y) * (after[0] + parts[0])[place]
        found = slope - float(risks @ own.each / own.total)
        if self.excess:
            risk = float(self._risk(y[None])[0])
            best = -math.log1p(-risk) if risk < 1 else math.inf
            found = found - best * ((1 - y) - risk)
        return np.asarray(found)


def _best(risk: np.ndarray) -> np.ndarray:
    """Area of the best order, all right answers before all wrong ones, of many rows: ``r + (1 - r) log(1 - r)``."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(risk + np.where(risk < 1, (1 - risk) * np.log1p(-np.minimum(risk, 1.0)), 0.0))


def _after(values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Sums over what comes after the rows of one confidence."""
    sums = np.add.reduceat(values, starts)
    return np.asarray(sums[::-1].cumsum()[::-1] - sums)


class _PreparedKept(PreparedMeasure):
    def __init__(self, measure: Measure, predictions: Any, weights: np.ndarray | None, coverage: float) -> None:
        p, self.trials = confidences(predictions)
        super().__init__(measure, bytes_per_draw=16 * len(p))
        counted = weights_of_answers(predictions, None)
        asked = np.flatnonzero(counted) if counted.any() else np.arange(len(p))
        own = ConfidenceOrder(p[asked], None)
        below = np.repeat(own.starts, own.sizes)
        share = np.clip((coverage * len(asked) - below) / np.repeat(own.sizes, own.sizes), 0.0, 1.0)
        self.share = np.zeros(len(p))
        self.share[asked[own.order]] = share
        self.kept = counted * self.share if weights is None else counted * self.share * weights
        self.whole = float(len(p)) if weights is None else float(weights.sum())

    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Share of right answers among the rows that are kept."""
        total = float(self.kept.sum())
        right = np.asarray(targets, dtype=np.float64) / self.trials @ self.kept
        return right / total if total > 0 else np.full(len(targets), np.nan)

    def influences(self, targets: np.ndarray) -> np.ndarray:
        """``kept (y - accuracy) / mean(kept)``; of a row without weight 0."""
        value = float(self.measured(targets[None])[0])
        return np.asarray(self.share * (targets / self.trials - value) * (self.whole / self.kept.sum()))

    def one_sided(self, targets: np.ndarray, confidence_level: float) -> tuple[float, float] | None:
        """Of right answers alone, or wrong ones: ``(tail)^(1 / m)`` of m answers, the end of Clopper and Pearson."""
        value, total = float(self.measured(targets[None])[0]), float(self.kept.sum())
        if value not in (0.0, 1.0):
            return None
        end = ((1 - confidence_level) / 2) ** (float(self.kept.max()) / total)
        return (end, 1.0) if value == 1 else (0.0, 1 - end)


class _OfAnswers(Measure):
    """A measure that is shown unasked where outcomes are known to be right and wrong answers."""

    serves: ClassVar[str] = _OF_ANSWERS

    def takes(self, predictions: Any) -> bool:
        """Tell whether the probability is known to be a confidence in an answer."""
        return serves_one_probability(predictions) and getattr(predictions, "question", None) == "top label"

    def refuse(self, predictions: Any) -> None:
        """Take any probability of two outcomes, and counts of hits, where it is asked for: no hit is a wrong answer."""
        if not serves_answers(predictions):
            super().refuse(predictions)


@dataclass(frozen=True)
class SelectiveAccuracy(_OfAnswers):
    """Accuracy of the answers that are kept if only the surest are: selective accuracy, one minus selective risk.

    Parameters
    ----------
    coverage : float
        Share of the rows that is kept, those with the highest confidence; of rows with one confidence on the border
        each is kept in part.

    Notes
    -----
    Which rows are kept depends on the predictions alone; case weights count inside.

    References
    ----------
    El-Yaniv, Wiener (2010).

    Examples
    --------
    >>> import kernelcal as kc
    >>> float(kc.measures.SelectiveAccuracy(0.5)([1, 1, 0, 0], [0.9, 0.8, 0.7, 0.3]))
    1.0
    """

    coverage: float = 0.8
    signed: ClassVar[bool] = True
    scale: ClassVar[str] = "logit"
    mean_of_rows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        number = isinstance(self.coverage, int | float | np.number) and not isinstance(self.coverage, bool | np.bool_)
        if not number or not 0 < self.coverage <= 1:
            raise InputError(f"coverage is the share of answers that is kept, such as 0.8, got {self.coverage!r}")

    @property
    def name(self) -> str:  # type: ignore[override]
        """What is kept."""
        return f"accuracy of the surest {100 * self.coverage:g} %"

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Choose the rows that are kept."""
        return _PreparedKept(self, predictions, weights, self.coverage)


@dataclass(frozen=True)
class Accuracy(_OfAnswers):
    """Share of right answers; calibrated confidences expect their mean.

    Examples
    --------
    >>> import kernelcal as kc
    >>> float(kc.measures.Accuracy()([1, 1, 0, 0], [0.9, 0.8, 0.7, 0.3]))
    0.5
    """

    name: ClassVar[str] = "accuracy"
    signed: ClassVar[bool] = True
    scale: ClassVar[str] = "logit"
    mean_of_rows: ClassVar[bool] = True

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Keep all rows."""
        return _PreparedKept(self, predictions, weights, 1.0)


@dataclass(frozen=True)
class RiskCoverageArea(_OfAnswers):
    """AURC: mean over coverages of the share of wrong answers among the surest; 0 is best.

    Notes
    -----
    With rows in the order of their confidence the mean over k of the errors among the first k, over k. Rows of one
    confidence count as in a random order, on average. It rewards accuracy and order alike; what calibrated confidences
    of this spread have stands beside it.

    References
    ----------
    Geifman, El-Yaniv (2017); Geifman, Uziel, El-Yaniv (2019).

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.measures.RiskCoverageArea()([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.3])), 4)
    0.3333
    """

    name: ClassVar[str] = "AURC"
    signed: ClassVar[bool] = True
    scale: ClassVar[str] = "logit"

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Put rows in order."""
        return _PreparedArea(self, predictions, weights, excess=False)


@dataclass(frozen=True)
class ExcessRiskCoverage(_OfAnswers):
    """Excess AURC: what the AURC is above that of the best order of as many errors, ``r + (1 - r) log(1 - r)``.

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(float(kc.measures.ExcessRiskCoverage()([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.3])), 4)
    0.1799
    """

    name: ClassVar[str] = "excess AURC"
    limits: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    signed: ClassVar[bool] = True

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Put rows in order."""
        return _PreparedArea(self, predictions, weights, excess=True)
