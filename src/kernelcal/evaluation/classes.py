"""Everything about one model of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.evaluation.base import Evaluation, plain_number
from kernelcal.predictions import Bernoulli, ClassPredictions
from kernelcal.runs import Run
from kernelcal.statistics import ECE, Estimate, accuracy_of, brier_score_of, log_score_of
from kernelcal.statistics.binned import usual_questions

__all__ = ["ClassEvaluation", "class_evaluation"]


_ROWS = 20  # with fewer rows what looks like a mistake happens by chance


@dataclass(frozen=True, repr=False, kw_only=True)
class ClassEvaluation(Evaluation):
    """What `evaluate` found about predictions of classes.

    Attributes
    ----------
    n_classes : int
        Classes.
    accuracy, log_score, brier_score : float
        Share of right top labels; mean of -log p of the label; mean squared error of the probabilities.
    eces : tuple of Estimate
        Expected calibration errors, each named with its question and bins.
    one_probability : bool
        Whether there is one probability a row.
    """

    title: ClassVar[str] = "Calibration of class predictions"
    n_classes: int
    accuracy: float
    log_score: float
    brier_score: float
    eces: tuple[Estimate, ...]
    one_probability: bool

    @property
    def skce(self) -> Estimate:
        """The estimate: the squared kernel calibration error."""
        return self.estimate

    def scores(self) -> dict[str, Any]:
        """Return scores as plain values for JSON; an infinite log score becomes None."""
        own = {"n_classes": self.n_classes, "accuracy": self.accuracy, "log_score": plain_number(self.log_score)}
        return {**own, "brier_score": self.brier_score, "ece": [estimate.to_dict() for estimate in self.eces]}

    def headline(self) -> list[tuple[str, str]]:
        """Return accuracy, scores and the first binned error."""
        return [
            ("accuracy", f"{self.accuracy:.4f}"),
            ("log score", f"{self.log_score:.4f}"),
            ("Brier", f"{self.brier_score:.4f}"),
            *((f"{e.name}, {e.options['bins']}", f"{float(e):.4f}") for e in self.eces[:1]),
        ]

    def score_rows(self) -> list[tuple[str, str]]:
        """Return names and values of the scores for the table."""
        brier = "Brier score, one probability" if self.one_probability else "Brier score, sum over classes"
        threshold = self.one_probability and self.question != "top label"
        return [
            ("rows, classes", f"{self.n:,}, {self.n_classes:,}"),
            *([("question", self.question)] if self.question else []),
            ("accuracy, threshold 1/2" if threshold else "accuracy", f"{self.accuracy:.4f}"),
            ("log score", f"{self.log_score:.4f} nats"),
            (brier, f"{self.brier_score:.4f}"),
            *((f"{e.name}, {e.options['bins']}", f"{float(e):.4f}") for e in self.eces),
        ]


def class_evaluation(
    case: Case,
    run: Run,
    notes: tuple[str, ...],
    **common: Any,
) -> ClassEvaluation:
    """Add accuracy, scores and binned errors to what all evaluations have in common."""
    share = accuracy_of(case)
    batch = case.predictions
    return ClassEvaluation(
        n_classes=batch.n_classes,
        accuracy=share,
        log_score=log_score_of(case),
        brier_score=brier_score_of(case),
        eces=tuple(ECE(question=question).estimated(case) for question in usual_questions(batch)),
        one_probability=isinstance(batch, Bernoulli),
        notes=tuple(dict.fromkeys(class_suspicions(case, share) + notes)),
        **common,
    )


def class_suspicions(case: Case, share: float) -> tuple[str, ...]:
    """Sentences about mistakes that are often made: the wrong column, hard predictions, predicted labels as targets.

    `share` is the accuracy.
    """
    batch = case.predictions
    if len(batch) < _ROWS:
        return ()
    found = []
    if batch.n_classes == 2 and share < 0.2:
        found.append(
            f"the more probable class is right in {share:.1%} of the rows only, the other one in {1 - share:.1%}: is "
            "this the probability of the other class, or are the classes in the wrong order?"
        )
    if _hard(batch):
        found.append(
            "all predictions are 0 or 1: if these are predicted labels, pass the predicted probabilities; labels "
            "alone say nothing about calibration"
        )
    elif share == 1:
        found.append("the target is the most probable class in every row: is it the predicted, not the true label?")
    return tuple(found)


def _hard(batch: ClassPredictions) -> bool:
    p = to_numpy(batch.probabilities)
    return bool(np.all((p == 0) | (p == 1)))
