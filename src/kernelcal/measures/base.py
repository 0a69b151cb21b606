"""What a measure is: a number that a field calls calibration, of fixed predictions and many sets of targets."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import Bernoulli, ClassPredictions, Samples
from kernelcal.statistics import Estimate, Prepared, Statistic

__all__ = ["Measure", "PreparedMeasure", "positive_probabilities", "serves_one_probability"]

ONE_PROBABILITY = "one probability a row, of an outcome that happens or not"


class PreparedMeasure(Prepared):
    """A measure of fixed predictions, ready for many sets of targets.

    A subclass has `measured`, and `influences` or `noise` where there is an interval. What exact tests look at,
    `values`, follows: of a measure for which both sides speak against calibration the value and its negative.

    Attributes
    ----------
    measure : Measure
        What was prepared.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> from kernelcal.measures import Brier
    >>> ready = Brier().prepare(kc.Bernoulli([0.2, 0.7, 0.6]), np.ones(3))
    >>> ready.measured(np.array([[0, 1, 1], [1, 0, 0]])).round(4)
    array([0.0967, 0.4967])
    """

    engine = "one pass"

    def __init__(self, measure: Measure, *, notes: tuple[str, ...] = (), bytes_per_draw: int = 1024) -> None:
        self.measure, self.notes, self.bytes_per_draw = measure, notes, bytes_per_draw
        self.names = (f"{measure.name}, high", f"{measure.name}, low") if measure.signed else (measure.name,)

    @abstractmethod
    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Value for every set of targets: shape (B, n, ...) to (B,); NaN where it is not defined."""

    def influences(self, targets: np.ndarray) -> np.ndarray | None:
        """What every row of one set of targets, shape (n, ...), adds: shape (n,); None where the value is not smooth.

        Numbers psi_i, with the weighted mean 0, for which the value differs from the true one by about
        ``sum w_i psi_i / sum w_i``. They are those of the value itself, whatever `Measure.scale` is.
        """
        return None

    def noise(self, targets: np.ndarray, factors: np.ndarray) -> np.ndarray | None:
        """Value of residuals that are multiplied by factors, (B, n): shape (B,); None where it is no seminorm of these.

        For measures ``D(y - prediction)`` with ``D(a + b) <= D(a) + D(b)`` and ``D(-a) = D(a)``: the value differs from
        the true one by at most D of the noise, which factors -1 and 1 imitate.
        """
        return None

    def one_sided(self, targets: np.ndarray, confidence_level: float) -> tuple[float, float] | None:
        """Ends of the interval of independent rows that are all alike, so that no row tells the noise; None of others.

        Where none of rows with the probabilities q_i is an exception, which happens with the probability
        ``prod (1 - q_i)``, their sum is at most ``-log((1 - level) / 2)``.
        """
        return None

    def remark(self, value: float) -> str:
        """What the reader must know of this value; nothing by default."""
        return ""

    def apart(self, targets: np.ndarray) -> float:
        """How much `noise` with factors of 1 is above the value of one set of targets: 0 where it is that.

        A value from which noise was subtracted estimates what the seminorm does, and has the interval of that.
        """
        return 0.0

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values as tests rank them, shape (B, 1 or 2); a value that is not defined is no evidence, -inf everywhere."""
        return self.ranked(self.measured(targets))

    def ranked(self, values: np.ndarray) -> np.ndarray:
        """Values of sets of targets, shape (B,), as tests rank them: shape (B, 1 or 2)."""
        found = np.asarray(values, dtype=np.float64)[:, None]
        both = np.hstack([found, -found]) if self.measure.signed else found
        return np.where(np.isnan(both), -np.inf, both)


class Measure(Statistic):
    """A number that a field calls calibration, with all that it takes not to stand alone.

    Measures are frozen dataclasses, whose fields are their settings. They are statistics: called with data they
    estimate, and `calibration_test` takes them. `measure` puts beside the value its mean under calibration, an
    interval and an exact p-value.

    Attributes
    ----------
    name : str
        What tables call it, such as ``calibration slope``.
    unit : str
        Unit of the value, for tables; empty for pure numbers.
    ideal : float or None
        Value of calibrated predictions of endlessly many rows; None where it depends on the predictions.
    signed : bool
        Whether values on both sides of what is expected speak against calibration; else large ones.
    scale : {"plain", "log", "logit"}
        On which the noise is symmetric: logarithms for ratios, logits for shares.
    limits : tuple of float
        Ends of its range, which no interval exceeds.
    serves : str
        Which predictions it takes, in words: ``for ...``.
    no_interval : str
        Why there is none, where there is none.
    mean_of_rows : bool
        Whether the value is a mean over rows of something of each row alone: what is expected under calibration is then
        the same however rows depend on each other.

    Examples
    --------
    >>> from kernelcal.measures import Brier, Measure
    >>> isinstance(Brier(), Measure), Brier().name
    (True, 'Brier score')
    """

    name: ClassVar[str]
    unit: ClassVar[str] = ""
    ideal: ClassVar[float | None] = None
    signed: ClassVar[bool] = False
    scale: ClassVar[str] = "plain"
    limits: ClassVar[tuple[float, float]] = (-np.inf, np.inf)
    serves: ClassVar[str] = ONE_PROBABILITY
    no_interval: ClassVar[str] = ""
    mean_of_rows: ClassVar[bool] = False

    @abstractmethod
    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Do what depends on the predictions (and case weights) alone, before any outcome is seen."""

    def of_members(self, pooled: Samples) -> np.ndarray | None:
        """Values of every row where each of its members in turn is the outcome and the others are the draws, (n, M).

        Only of means over rows; None: predictions of the others are made for every swap.
        """
        return None

    def takes(self, predictions: Any) -> bool:
        """Tell whether it is a measure of such predictions; default: of one probability a row."""
        return serves_one_probability(predictions)

    def refuse(self, predictions: Any) -> None:
        """Refuse predictions that it is no measure of, with the remedy."""
        if not self.takes(predictions):
            raise InputError(
                f"{self.name} is for {self.serves}, got {_described(predictions)}{_way(self, predictions)}"
            )

    def estimated(self, case: Case) -> Estimate:
        """Estimate from what was checked already."""
        case = case.in_numpy
        prepared = self.checked(case.predictions, case.weights)
        shown = case.in_cells if prepared.by_cells else case
        value = prepared.measured(shown.targets[None])[0]
        question = case.predictions.question
        options = {} if question is None else {"question": question}
        notes = (*prepared.notes, *case.predictions.notes)
        return Estimate(float(value), self.name, "plug-in", len(case), prepared.engine, options, notes)

    def checked(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedMeasure:
        """Prepare what it serves, and refuse other predictions."""
        self.refuse(predictions)
        return self.prepare(predictions, weights)


def serves_one_probability(predictions: Any) -> bool:
    """Tell whether predictions are one probability a row: of two classes."""
    return isinstance(predictions, ClassPredictions) and predictions.n_classes == 2


def positive_probabilities(predictions: Any) -> np.ndarray:
    """Return probabilities of class 1 of two, shape (n,)."""
    return np.asarray(predictions.table(), dtype=np.float64)[:, 1]


def _described(predictions: Any) -> str:
    kind = type(predictions).__name__
    return f"{kind} of {predictions.n_classes} classes" if isinstance(predictions, ClassPredictions) else kind


def _way(measure: Measure, predictions: Any) -> str:
    """What to do: one question about several classes, where the measure is one of answers to it."""
    if isinstance(predictions, ClassPredictions) and predictions.n_classes > 2:
        with contextlib.suppress(InputError):
            measure.refuse(Bernoulli(np.full(1, 0.5)))
            return ": ask one question, lens=kernelcal.OneClass(label) or lens=kernelcal.TopLabel()"
    return "; kernelcal.measures.serving(predictions) names the measures of these"
