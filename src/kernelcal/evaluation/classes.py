"""Everything about one model of classes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.evaluation.base import Evaluation, plain_number
from kernelcal.inference import TestResult
from kernelcal.predictions import Bernoulli, ClassPredictions
from kernelcal.runs import Run
from kernelcal.statistics import ECE, Estimate, accuracy_of, brier_score_of, log_score_of
from kernelcal.statistics.binned import usual_questions

__all__ = ["ClassEvaluation", "class_evaluation"]


_ROWS = 20  # with fewer rows what looks like a mistake happens by chance
_ORDERED_UP_TO = 100  # classes
_LEAST = 1e-6  # probability that one row counts with at least: no single label decides the order of the classes
_NATS = 5.0  # log-likelihood ratio, which a right model reaches with probability exp(-5) at most (Markov)
_CLEAR = 4.0  # standard errors
_SHOWN = 10  # names of classes
_VALUES = 3, 11  # different predictions that look like rounded numbers, or a scale
_STEPS = 0.25, 0.2, 0.1, 0.05
_ROUNDED = 0.01  # probability with which frequencies leave half a step by more, if rounding is all
_LOOKED_AT = 1_000  # rows that tell whether there are few values


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
    share_of_events : float or None
        Share of rows of the class whose probability the one column gives, in its weights; None for several columns.
    mean_probability : float or None
        What the one column says of that share: its mean, in the same weights.
    share_above_half : float or None
        Share of rows that a threshold of one half calls that class. With 0 or 1 the accuracy is the share of a class.
    event : str
        Name of that class.

    Examples
    --------
    >>> import kernelcal as kc
    >>> result = kc.evaluate([0, 1, 1, 0] * 5, [0.2, 0.8, 0.7, 0.4] * 5, draws=99)
    >>> result.accuracy, round(result.log_score, 3)
    (1.0, 0.328)
    """

    title: ClassVar[str] = "Calibration of class predictions"
    n_classes: int
    accuracy: float
    log_score: float
    brier_score: float
    eces: tuple[Estimate, ...]
    one_probability: bool
    share_of_events: float | None = None
    event: str = ""
    mean_probability: float | None = None
    share_above_half: float | None = None

    @property
    def accuracy_name(self) -> str:
        """What `accuracy` counts: first choices that are right; of one probability labels on its side of one half."""
        if self.question == "top label":
            return "share right"
        return "accuracy, threshold 1/2" if self.one_probability else "accuracy"

    @property
    def skce(self) -> Estimate:
        """The estimate: the squared kernel calibration error."""
        return self.estimate

    def scores(self) -> dict[str, Any]:
        """Return scores as plain values for JSON; an infinite log score becomes None."""
        own = {"n_classes": self.n_classes, "accuracy": self.accuracy, "accuracy_counts": self.accuracy_name}
        own |= {"share_of_events": self.share_of_events, "mean_probability": self.mean_probability}
        own |= {"share_above_half": self.share_above_half, "log_score": plain_number(self.log_score)}
        return {**own, "brier_score": self.brier_score, "ece": [estimate.to_dict() for estimate in self.eces]}

    def headline(self) -> list[tuple[str, str]]:
        """Return accuracy, scores and the first binned error."""
        return [
            (self.accuracy_name, f"{self.accuracy:.4f}"),
            ("log score", f"{self.log_score:.4f}"),
            ("Brier", f"{self.brier_score:.4f}"),
            *((f"{e.name}, {e.options['bins']}", f"{float(e):.4f}") for e in self.eces[:1]),
        ]

    def _shares(self) -> list[tuple[str, str]]:
        """What happened and what was said on average, of one column: `accuracy` may be neither."""
        sure = self.question == "top label"  # whose share that is right is told as such
        happened = [] if sure else [(f"share of {self.event}", f"{self.share_of_events:.4f}")]
        said = "mean confidence" if sure else f"mean probability of {self.event}"
        return [*happened, (said, f"{self.mean_probability:.4f}")]

    def score_rows(self) -> list[tuple[str, str]]:
        """Return names and values of the scores for the table."""
        brier = "Brier score, one probability" if self.one_probability else "Brier score, sum over classes"
        threshold = self.accuracy_name == "accuracy, threshold 1/2"
        side = {0.0: ", no row reaches it", 1.0: ", all rows reach it"}.get(round(self.share_above_half or 0.0, 12), "")
        return [
            ("rows, classes", f"{self.n:,}, {self.n_classes:,}"),
            *([("question", self.question)] if self.question else []),
            *(self._shares() if self.one_probability else []),
            (self.accuracy_name, f"{self.accuracy:.4f}{side if threshold else ''}"),
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
    p = to_numpy(batch.p).astype(np.float64) if isinstance(batch, Bernoulli) else None
    return ClassEvaluation(
        n_classes=batch.n_classes,
        accuracy=share,
        log_score=log_score_of(case),
        brier_score=brier_score_of(case),
        eces=tuple(ECE(question=question).estimated(case) for question in usual_questions(batch)),
        one_probability=isinstance(batch, Bernoulli),
        share_of_events=None if p is None else case.mean(np.equal(case.targets, 1)),
        mean_probability=None if p is None else case.mean(p),
        share_above_half=None if p is None else case.mean(p >= 0.5),
        event=f"class {batch.class_name(1)}" if batch.n_classes == 2 else "",
        notes=tuple(dict.fromkeys(class_suspicions(case, share, common.get("test")) + notes)),
        **common,
    )


def class_suspicions(case: Case, share: float, test: TestResult | None = None) -> tuple[str, ...]:
    """Sentences about mistakes that are often made: the wrong column, hard predictions, predicted labels as targets.

    `share` is the accuracy. If `test` rejects calibration it is asked whether rounding alone explains that.
    """
    batch = case.predictions
    if len(batch) < _ROWS:
        return ()
    found = [*_other_order(case)]
    if _hard(batch):
        found.append(
            "all predictions are 0 or 1: if these are predicted labels, pass the predicted probabilities; labels "
            "alone say nothing about calibration"
        )
    elif share == 1:
        found.append("the target is the most probable class in every row: is it the predicted, not the true label?")
    elif test is not None and test.pvalue <= test.alpha and isinstance(batch, Bernoulli):
        found += _rounded(case, to_numpy(batch.p).astype(np.float64))
    return tuple(found)


def _rounded(case: Case, p: np.ndarray) -> tuple[str, ...]:
    """Say that probabilities in coarse steps are rejected for no more than their rounding.

    The frequencies of the values lie within half a step of them, up to the chance of the nearest such probabilities:
    the sum of squared distances in standard errors is one that chi-square reaches.
    """
    from scipy.special import chdtri  # imported when needed: the import of kernelcal stays light

    if len(np.unique(p[:_LOOKED_AT])) > _VALUES[1]:
        return ()
    values, of = np.unique(p, return_inverse=True)
    step = next((s for s in _STEPS if np.allclose(values / s, np.rint(values / s), rtol=0, atol=1e-5)), None)
    if step is None or not _VALUES[0] <= len(values) <= _VALUES[1]:
        return ()
    weights = np.ones(len(p)) if case.weights is None else case.weights
    total, squares, events = (np.bincount(of, w) for w in (weights, weights**2, weights * (case.targets == 1)))
    share = events / np.maximum(total, 1e-300)
    nearest = np.clip(share, values - step / 2, values + step / 2)
    error = np.sqrt(squares * np.maximum(nearest * (1 - nearest), 0.0)) / np.maximum(total, 1e-300)
    away = np.where(error > 0, (share - nearest) / np.where(error > 0, error, 1.0), 0.0)
    if (away**2).sum() > chdtri(len(values), _ROUNDED):
        return ()
    return (
        f"the predictions have only {len(values)} different values, in steps of {step:g}, and what happened lies "
        "within half a step of each: rounding alone would explain the evidence. Pass the numbers with all their digits",
    )


def _other_order(case: Case) -> tuple[str, ...]:
    """Say that another order of the classes explains the labels far better.

    Mean log probabilities of every column, in the rows of every label, make a square table; the order of the columns
    with the largest sum is that of the largest likelihood. It must win by so much that a calibrated model reaches it
    with probability exp(-5) at most, over all orders together (Markov). It must also win, clearly by the spread of the
    rows, once every column is centred: a model that is biased but ordered, or that knows nothing, has no other order.
    """
    batch, y = case.predictions, case.targets
    m = batch.n_classes
    if not 2 <= m <= _ORDERED_UP_TO or batch.question is not None:
        return ()
    weights = np.ones(len(y)) if case.weights is None else case.weights
    logs = np.log(np.maximum(batch.table().astype(np.float64), _LEAST))
    table = np.stack([weights[y == k] @ logs[y == k] for k in range(m)])  # label by column
    rows, orders = np.arange(len(y)), math.lgamma(m + 1)
    most = min(table.max(axis=0).sum(), table.max(axis=1).sum()) - np.trace(table)  # that any order could gain
    if most <= _NATS + orders:
        return ()
    from scipy.optimize import linear_sum_assignment  # imported when needed: it takes as long as the import of NumPy

    _, column = linear_sum_assignment(-table)
    gain = float(table[np.arange(m), column].sum() - np.trace(table))
    centred = logs - np.average(logs, axis=0, weights=weights)
    gains = weights * (centred[rows, column[y]] - centred[rows, y])
    clear = gains.sum() > (_CLEAR + math.sqrt(2 * orders)) * math.sqrt(float((gains**2).sum()))
    if gain <= _NATS + orders or not clear:
        return ()
    if m == 2:
        asked = "is this the probability of the other class, or are the classes in the wrong order?"
        cure = _classes_in_order([batch.class_name(1), batch.class_name(0)])
        return (f"1 - p explains the labels far better than p, by {gain:.3g} nats: {asked} {cure}",)
    order = [batch.class_name(int(k)) for k in np.argsort(column)]
    names = ", ".join(map(str, order[:_SHOWN])) + ", ..." * (m > _SHOWN)
    cure = f" {_classes_in_order(order)}" if m <= _SHOWN else ""
    return (
        f"another order of the classes explains the labels far better, by {gain:.3g} nats: are the columns those of "
        f"{names}, in this order?{cure}",
    )


def _classes_in_order(names: list[Any]) -> str:
    """How to say which class every column holds."""
    python = ", ".join(repr(str(name)) if isinstance(name, str) else str(name) for name in names)
    return f"Then say classes=[{python}] (command line: --classes {','.join(map(str, names))})"


def _hard(batch: ClassPredictions) -> bool:
    p = batch.table()
    return bool(np.all((p == 0) | (p == 1)))
