"""The main job: everything about one model."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.inference import Interval, TestResult, calibration_test, confidence_interval
from kernelcal.lenses import Lens, seen
from kernelcal.predictions import Bernoulli, ClassPredictions, checked_pair, checked_weights
from kernelcal.statistics import SKCE, Estimate, accuracy, brier_score, ece, log_score
from kernelcal.suspicions import suspicions
from kernelcal.tables import Table

__all__ = ["Evaluation", "evaluate"]

# n^2 (m + 30) up to which the exact estimate takes less than about half a minute on two cores
_MULTIPLICATIONS = 3e12
_INTERVAL = 2e11  # the same for an interval over all pairs; above, the standard error comes from blocks
_WEIGHTED_UP_TO = 8_000  # rows; the interval with case weights is a bootstrap over all pairs
_BLOCKS = 30  # at least, for the normal law of their values
_DRAWS = 999  # at least, for percentiles
_LEVEL = 0.05


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` found.

    Attributes
    ----------
    n, n_classes : int
        Rows and classes.
    accuracy, log_score, brier_score : float
        Share of right top labels; mean of -log p of the label; mean squared error of the probabilities.
    eces : tuple of Estimate
        Expected calibration errors, each named with its question and bins.
    skce : Estimate
        Squared kernel calibration error, unbiased; for very many rows the block estimator, unbiased as well.
    interval : Interval or None
        Confidence interval of the SKCE, with its nominal level and method; None for many rows with case weights.
    test : TestResult
        Exact test of the default family.
    question : str or None
        What a lens asked, None for the classes themselves.
    one_probability : bool
        Whether there is one probability a row.
    seconds : float
        Time taken.
    notes : tuple of str
        What the reader must know.
    """

    n: int
    n_classes: int
    accuracy: float
    log_score: float
    brier_score: float
    eces: tuple[Estimate, ...]
    skce: Estimate
    interval: Interval | None
    test: TestResult
    question: str | None
    one_probability: bool
    seconds: float
    notes: tuple[str, ...]

    @property
    def pvalue(self) -> float:
        """P-value of the exact test."""
        return self.test.pvalue

    @property
    def root(self) -> float:
        """Root of the positive part of the SKCE, in units of probability; 0 where the estimate is negative."""
        return math.sqrt(max(float(self.skce), 0.0))

    @property
    def verdict(self) -> str:
        """One sentence."""
        p = f"p = {self.pvalue:.3g}"
        if self.pvalue > _LEVEL:
            few = "; with so few rows only gross miscalibration would show" if self.n < 100 else ""
            return f"No evidence against calibration ({p}, exact test){few}."
        words = "; ".join(self.test.directions)
        return f"Calibration is rejected ({p}, exact test): {words}."

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; an infinite log score becomes None."""
        own = {"n": self.n, "n_classes": self.n_classes, "question": self.question, "accuracy": self.accuracy}
        scores = {
            "log_score": self.log_score if math.isfinite(self.log_score) else None,
            "brier_score": self.brier_score,
        }
        eces = [estimate.to_dict() for estimate in self.eces]
        parts = {"ece": eces, "skce": self.skce.to_dict(), "skce_root": self.root, "test": self.test.to_dict()}
        parts["interval"] = None if self.interval is None else self.interval.to_dict()
        end = {"pvalue": self.pvalue, "verdict": self.verdict, "seconds": self.seconds, "notes": list(self.notes)}
        return {**own, **scores, **parts, **end}

    def _table(self) -> Table:
        test = self.test
        brier = "Brier score, one probability" if self.one_probability else "Brier score, sum over classes"
        threshold = self.one_probability and self.question != "top label"
        stopped = ", stopped early" if test.stopped_early else ""
        rows = [
            ("rows, classes", f"{self.n:,}, {self.n_classes:,}"),
            *([("question", self.question)] if self.question else []),
            ("accuracy, threshold 1/2" if threshold else "accuracy", f"{self.accuracy:.4f}"),
            ("log score", f"{self.log_score:.4f} nats"),
            (brier, f"{self.brier_score:.4f}"),
            *((f"{e.name}, {e.options['bins']}", f"{float(e):.4f}") for e in self.eces),
            (f"SKCE, {self.skce.estimator}", f"{float(self.skce):.3e}, {_root_in_words(self)}"),
            *_interval_in_words(self.interval),
            ("p-value, exact", f"{test.pvalue:.4g} ({test.draws:,} draws{stopped})"),
            *([("strongest evidence", test.fired)] if test.pvalue < 1 else []),
            ("verdict", self.verdict),
            ("engines", f"SKCE: {self.skce.engine}; test: {test.engine}"),
            ("seconds", f"{self.seconds:.1f}"),
        ]
        return Table("Calibration of class predictions", rows, self.notes)

    def summary(self) -> str:
        """Return the short table as text."""
        return self._table().text()

    def __repr__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        return self._table().html()


def _interval_in_words(interval: Interval | None) -> list[tuple[str, str]]:
    if interval is None:
        return []
    low, high = interval.root
    return [(f"root of SKCE, {100 * interval.level:g} % interval", f"{low:.4f} to {high:.4f}")]


def _root_in_words(result: Evaluation) -> str:
    return f"root {result.root:.4f}" if float(result.skce) >= 0 else "negative: no root"


def evaluate(
    y: Any,
    predictions: Any,
    *,
    lens: Lens | None = None,
    weights: Any = None,
    classes: Any = None,
    normalize: bool = False,
    level: float = 0.95,
    draws: int = 999,
    rng: Any = 0,
    early_stopping: bool = True,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Is this model calibrated, how far off, in which direction, and with what certainty?

    Parameters
    ----------
    y : array of shape (n,)
        Targets: class numbers 0 to m - 1, booleans, or labels named by `classes`.
    predictions : Predictions or what `as_predictions` takes
        Predicted probabilities; wrap logits, log-probabilities and percentages to say what they are.
    lens : Lens, optional
        A simpler question, such as `TopLabel`; everything is then about it.
    weights : array of shape (n,), optional
        Case weights, not negative, for every figure and for the test.
    classes, normalize
        As for `as_predictions`.
    level : float
        Nominal coverage of the interval.
    draws, rng, early_stopping, progress
        As for `calibration_test`.

    Returns
    -------
    Evaluation
        Prints as a short table.

    Raises
    ------
    InputError
        With the row and the remedy.

    Notes
    -----
    The SKCE uses the Laplacian kernel at the median Euclidean distance and all pairs; for very many rows it uses
    blocks, which is unbiased for the same quantity, and says so. The p-value belongs to the default family of
    `calibration_test`, whose assumptions apply.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> p = np.random.default_rng(0).uniform(size=200)
    >>> y = kc.Bernoulli(p).sample(rng=1)[0]
    >>> kc.evaluate(y, p).verdict
    'No evidence against calibration (p = ..., exact test).'
    """
    started = time.perf_counter()
    labels, batch = seen(*checked_pair(y, predictions, classes=classes, normalize=normalize), lens)
    own = checked_weights(weights, len(batch))
    if len(batch) < 2:
        raise InputError("evaluate needs at least 2 rows, got 1: calibration is a property of many predictions")
    batch = batch.map_arrays(to_numpy)
    if progress is not None:
        progress(0, draws)  # the estimate comes before the draws, and is long for many rows
    plain, options = batch.without_names(), {"weights": own, "draws": draws, "rng": rng}
    skce = _skce(batch, _MULTIPLICATIONS)(labels, plain, weights=own)
    named = labels if batch.classes is None else np.array(batch.classes, dtype=object)[labels]
    test = calibration_test(named, batch, early_stopping=early_stopping, progress=progress, **options)
    return Evaluation(
        n=len(batch),
        n_classes=batch.n_classes,
        accuracy=accuracy(labels, plain, weights=own),
        log_score=log_score(labels, plain, weights=own),
        brier_score=brier_score(labels, plain, weights=own),
        eces=tuple(ece(labels, plain, question=question, weights=own) for question in _questions(batch)),
        skce=skce,
        interval=_interval(labels, plain, test.pvalue, level, **options),
        test=test,
        question=batch.question,
        one_probability=isinstance(batch, Bernoulli),
        seconds=time.perf_counter() - started,
        notes=tuple(dict.fromkeys(suspicions(labels, plain) + test.notes + skce.notes)),
    )


def _questions(batch: ClassPredictions) -> tuple[str | None, ...]:
    """Questions of the binned errors; None is what a lens has asked."""
    if not isinstance(batch, Bernoulli):
        return ("top label",)
    return ("top label", "positive class") if batch.question is None else (None,)


def _skce(batch: ClassPredictions, work: float, blocks: int = 1) -> SKCE:
    """All pairs while they take at most so many multiplications, else at least so many blocks."""
    n, m = len(batch), batch.n_classes
    if float(n) * n * (m + 30) <= work:
        return SKCE()
    size = int(np.clip(work / (float(n) * (m + 30)), 2, max(n // blocks, 2)))
    return SKCE(estimator="block", block_size=size)


def _interval(
    labels: np.ndarray, batch: ClassPredictions, pvalue: float, level: float, **options: Any
) -> Interval | None:
    """Interval for the SKCE of all pairs; where these are too many, from the values of blocks."""
    weighted = options["weights"] is not None
    if weighted and len(batch) > _WEIGHTED_UP_TO:
        return None
    statistic = SKCE() if weighted else _skce(batch, _INTERVAL, _BLOCKS)
    options["draws"] = max(options["draws"], _DRAWS)
    return confidence_interval(labels, batch, statistic=statistic, level=level, pvalue=pvalue, **options)
