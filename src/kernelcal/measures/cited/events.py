"""Errors of one probability and one event a row: which event is asked, and values for many redrawn outcomes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.lenses import Lens
from kernelcal.measures.base import Measure, PreparedMeasure
from kernelcal.predictions import ClassPredictions
from kernelcal.statistics import Estimate
from kernelcal.statistics.binned import Part, asked, parts_of, question_in_words

__all__ = ["EventMeasure", "EventPart", "PreparedEvents", "SeminormPart"]


_NUMBERS = 2**18  # residuals of several draws that are held at a time: 2 MiB, near the processor


class EventPart(ABC):
    """One event a row, its probability p and weights w of sum 1, ready for many sets of outcomes.

    Parameters
    ----------
    p : numpy.ndarray of shape (n,)
        Probabilities of the event.
    weights : numpy.ndarray of shape (n,), or None
        Case weights.
    """

    def __init__(self, p: np.ndarray, weights: np.ndarray | None) -> None:
        self.p = p
        w = np.ones(len(p)) if weights is None else weights.astype(np.float64)
        self.w = w / w.sum()

    def residuals(self, events: np.ndarray) -> np.ndarray:
        """``w_i (y_i - p_i)`` of events of shape (B, n)."""
        return np.asarray((events - self.p) * self.w)

    @abstractmethod
    def values(self, events: np.ndarray) -> np.ndarray:
        """Errors for events of shape (B, n), shape (B,)."""

    def noise(self, events: np.ndarray, factors: np.ndarray) -> np.ndarray | None:
        """As `PreparedMeasure.noise`, of events of shape (n,)."""
        return None

    def influences(self, events: np.ndarray) -> np.ndarray | None:
        """As `PreparedMeasure.influences`, of events of shape (n,)."""
        return None

    def apart(self, events: np.ndarray) -> float:
        """As `PreparedMeasure.apart`, of events of shape (n,)."""
        return 0.0

    def told(self, events: np.ndarray) -> dict[str, Any]:
        """What an estimate tells besides its value, of events of shape (n,)."""
        return {}


class SeminormPart(EventPart):
    """An error that is even and subadditive in the residuals: the error of a sum is at most the sum of the errors."""

    @abstractmethod
    def of_residuals(self, residuals: np.ndarray) -> np.ndarray:
        """Errors for weighted residuals of shape (B, n), shape (B,)."""

    def values(self, events: np.ndarray) -> np.ndarray:
        """Errors for events of shape (B, n), shape (B,)."""
        return self.of_residuals(self.residuals(events))

    def noise(self, events: np.ndarray, factors: np.ndarray) -> np.ndarray:
        """Errors of residuals times factors."""
        return self.of_residuals(self.residuals(events) * factors)


class PreparedEvents(PreparedMeasure):
    """Errors of the parts of a question; the value is their mean."""

    def __init__(self, measure: EventMeasure, question: str, parts: tuple[tuple[Part, EventPart], ...]) -> None:
        several = (f"{measure.name}: the mean over {len(parts)} classes",) if len(parts) > 1 else ()
        super().__init__(measure, notes=several, bytes_per_draw=64 * max(len(own.p) for _, own in parts))
        self.question, self.parts = question, parts

    def measured(self, targets: np.ndarray) -> np.ndarray:
        """Values for labels of shape (B, n): shape (B,)."""
        return np.asarray(np.mean([self._of(part, own, targets) for part, own in self.parts], axis=0))

    def noise(self, targets: np.ndarray, factors: np.ndarray) -> np.ndarray | None:
        """Mean over the parts, all with the same factors."""
        found = []
        for part, own in self.parts:
            values = own.noise(part.relabel(targets[None])[0], factors)
            if values is None:
                return None
            found.append(values)
        return np.asarray(np.mean(found, axis=0))

    def apart(self, targets: np.ndarray) -> float:
        """Mean over the parts."""
        return float(np.mean([own.apart(part.relabel(targets[None])[0]) for part, own in self.parts]))

    def influences(self, targets: np.ndarray) -> np.ndarray | None:
        """Mean over the parts."""
        found = []
        for part, own in self.parts:
            added = own.influences(part.relabel(targets[None])[0])
            if added is None:
                return None
            found.append(added)
        return np.asarray(np.mean(found, axis=0))

    @staticmethod
    def _of(part: Part, own: EventPart, labels: np.ndarray) -> np.ndarray:
        step = max(1, _NUMBERS // labels.shape[1])
        return np.concatenate([own.values(part.relabel(labels[s])) for s in row_slices(len(labels), step)])


@dataclass(frozen=True, kw_only=True)
class EventMeasure(Measure):
    """What errors of one event a row share; a subclass says how it prepares one part.

    Parameters
    ----------
    question : str or Lens, optional
        As for `ECE`: ``top label``, ``positive class``, ``class-wise`` (the mean over classes) or a `Lens` that asks
        about one event. Default: of one column of probabilities ``positive class``, of several ``top label``.
    """

    ideal: ClassVar[float | None] = 0.0
    limits: ClassVar[tuple[float, float]] = (-1.0, 1.0)
    serves: ClassVar[str] = "class probabilities"

    question: str | Lens | None = None

    @abstractmethod
    def part(self, p: np.ndarray, weights: np.ndarray | None) -> EventPart:
        """Prepare one event a row."""

    def takes(self, predictions: Any) -> bool:
        """Tell whether predictions are of classes."""
        return isinstance(predictions, ClassPredictions)

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> PreparedEvents:
        """Do what depends on the predictions and case weights alone."""
        self.refuse(predictions)
        question = asked(self.question, predictions)
        found = []
        for part in parts_of(question, predictions):
            if part.p.shape[1] > 1 or part.rows is not None:
                raise InputError(
                    f"{self.name} asks about one event a row: ask question='top label', 'class-wise' or a lens such as "
                    "kernelcal.OneClass(label); kernelcal.ECE(question='simplex') and kernelcal.SKCE() ask about all "
                    "classes at once"
                )
            found.append((part, self.part(part.p[:, 0].astype(np.float64), weights)))
        prepared = PreparedEvents(self, question_in_words(question, predictions), tuple(found))
        if predictions.n_classes > 2 and self.question is None:
            prepared.notes += (
                "of several classes the top label is asked: is the most probable class right as often as it claims?",
            )
        return prepared

    def estimated(self, case: Case) -> Estimate:
        """Estimate from what was checked already, with what the part tells."""
        case = case.in_numpy
        prepared = self.prepare(case.predictions, case.weights)
        told: dict[str, Any] = {"question": prepared.question}
        if len(prepared.parts) == 1:
            part, own = prepared.parts[0]
            told |= own.told(part.relabel(case.targets[None])[0])
        return replace(super().estimated(case), options=told)
