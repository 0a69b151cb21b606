"""What a row says against its prediction: numbers with mean 0 and known moments if calibrated, and their words."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.predictions import ClassPredictions, Predictions, Quantiles, RealPredictions
from kernelcal.statistics.signals import CellScores

__all__ = ["RowScores", "Saying", "scores_of"]


_CLASSES = 10  # that have a score of their own; of more the first choice, and the most expected ones
_COMPONENTS = 8  # of vectors
_FURTHEST = 50.0  # standard deviations at which scores are held: no single row may overflow a sum


@dataclass(frozen=True)
class Saying:
    """How a score that is too large, or too small, is said.

    Attributes
    ----------
    more, less : str
        As a sentence: ``events are more frequent than predicted``.
    the_more, the_less : str
        After ``the higher x is,``: ``the more frequent are events``.
    unit : str
        After the figure that was observed: empty where ``against`` the predicted one follows.
    """

    more: str
    less: str
    the_more: str
    the_less: str
    unit: str = ""


class RowScores(ABC):
    """Scores of every row, for many sets of targets.

    Attributes
    ----------
    sayings : tuple of Saying
        One a score.
    variance, third : numpy.ndarray of shape (scores, n)
        Second and third central moments of every score under calibration.
    about : mapping of int to int
        Scores that are squares less 1, and of which: their sums are taken about the mean of a place.
    one_sided : bool
        Whether only large values speak against calibration, so that nothing may be subtracted.
    alike : tuple of int
        Scores that say everything, for sums over pairs of rows.
    shifts : tuple of int
        Scores that chance moves further where outcomes spread wider than predicted.
    """

    sayings: tuple[Saying, ...]
    variance: np.ndarray
    third: np.ndarray
    about: dict[int, int]
    alike: tuple[int, ...]
    shifts: tuple[int, ...] = ()
    one_sided: bool = False
    least_variance: float = 0.0  # of a sum that is looked at; of counts one event or so must be uncertain

    @abstractmethod
    def of(self, targets: np.ndarray) -> np.ndarray:
        """Scores of targets of shape (B, n, ...): shape (scores, B, n)."""

    def figures(self, k: int, targets: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """What score k shows in some rows of one set of targets: observed, and predicted."""
        return float(np.average(self.of(targets[None])[k, 0, rows], weights=weights[rows])), 0.0


def scores_of(predictions: Predictions, weights: np.ndarray | None = None) -> RowScores:
    """Scores that belong to a kind of predictions, in NumPy."""
    if isinstance(predictions, Quantiles):
        return QuantileScores(predictions)
    if isinstance(predictions, RealPredictions):
        return NumberScores(predictions)
    assert isinstance(predictions, ClassPredictions)  # for the type checker: there is no third kind
    return ClassScores(predictions, weights)


class ClassScores(RowScores):
    """``1[y = k] - p_k`` of every class, or of the event; of several classes the first choice's too."""

    about: dict[int, int] = {}  # noqa: RUF012 - never changed
    least_variance = 1.0

    def __init__(self, predictions: ClassPredictions, weights: np.ndarray | None = None) -> None:
        p = to_numpy(predictions.probabilities).astype(np.float64)
        n, m = p.shape
        if m == 2:
            self.classes, self.top, columns = np.array([1]), None, p[:, 1:]
            self.sayings = (_of_event(predictions),)
        else:
            expected = p.sum(axis=0) if weights is None else weights @ p
            self.classes = np.sort(np.argsort(-expected, kind="stable")[:_CLASSES])
            self.top = to_numpy(predictions.top_labels())
            columns = np.column_stack([p[np.arange(n), self.top], p[:, self.classes]])
            self.sayings = (_FIRST_CHOICE, *(_of_class(predictions.class_name(int(k))) for k in self.classes))
        self.p = np.ascontiguousarray(columns.T)
        self.variance = self.p * (1 - self.p)
        self.third = self.variance * (1 - 2 * self.p)
        few = m == 2 or m <= _CLASSES
        self.alike = tuple(range(0 if m == 2 or not few else 1, len(self.p)))

    def _hits(self, targets: np.ndarray) -> np.ndarray:
        classes = [targets == k for k in self.classes]
        return np.stack(classes if self.top is None else [targets == self.top, *classes])

    def of(self, targets: np.ndarray) -> np.ndarray:
        """Scores of labels of shape (B, n)."""
        return self._hits(targets) - self.p[:, None, :]

    def figures(self, k: int, targets: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """Share of hits, and what was predicted."""
        hits, w = self._hits(targets[None])[k, 0, rows], weights[rows]
        return float(np.average(hits, weights=w)), float(np.average(self.p[k, rows], weights=w))


def _of_event(predictions: ClassPredictions) -> Saying:
    if predictions.question == "top label":
        return _FIRST_CHOICE
    if predictions.classes is None:
        return _EVENTS
    return _of_class(predictions.class_name(1))


def _of_class(name: object) -> Saying:
    return Saying(
        f"class {name} is more frequent than predicted",
        f"class {name} is rarer than predicted",
        f"the more frequent is class {name} against what was predicted",
        f"the rarer is class {name} against what was predicted",
    )


_EVENTS = Saying(
    "events are more frequent than predicted",
    "events are rarer than predicted",
    "the more frequent are events against what was predicted",
    "the rarer are events against what was predicted",
)
_FIRST_CHOICE = Saying(
    "the first choice is right more often than stated",
    "the first choice is right less often than stated",
    "the more often is the first choice right against what was stated",
    "the less often is the first choice right against what was stated",
)


class NumberScores(RowScores):
    """Normal scores z of every component, and ``z^2 - 1``, whose sums are taken about the mean of a place."""

    def __init__(self, predictions: RealPredictions) -> None:
        self.predictions = predictions
        self.size, n = min(predictions.dimension, _COMPONENTS), len(predictions)
        d = self.size
        self.spread = (to_numpy(predictions.width).reshape(n, -1) > 0)[:, :d].T
        several = bool(predictions.event_shape)
        self.sayings = tuple(_of_shift(k if several else None) for k in range(d)) + tuple(
            _of_width(k if several else None) for k in range(d)
        )
        self.about, self.shifts = {d + k: k for k in range(d)}, tuple(range(d))
        spread = self.spread.astype(np.float64)
        self.variance, self.third = np.concatenate([spread, 2 * spread]), np.concatenate([0 * spread, 8 * spread])
        self.alike = tuple(range(2 * d))

    def _z(self, targets: np.ndarray) -> np.ndarray:
        z = self.predictions.normal_scores(targets).reshape(*targets.shape[:2], -1)[:, :, : self.size]
        z = np.clip(np.nan_to_num(np.moveaxis(z, 2, 0), posinf=_FURTHEST, neginf=-_FURTHEST), -_FURTHEST, _FURTHEST)
        return np.where(self.spread[:, None, :], z, 0.0)

    def of(self, targets: np.ndarray) -> np.ndarray:
        """Scores of targets of shape (B, n, ...)."""
        z = self._z(targets)
        return np.concatenate([z, z * z - self.spread[:, None, :]])

    def figures(self, k: int, targets: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """Mean score, or its standard deviation about that mean."""
        z = self._z(targets[None])[k % self.size, 0, rows]
        mean = float(np.average(z, weights=weights[rows]))
        if k < self.size:
            return mean, 0.0
        w = weights[rows]
        freedom = w.sum() - (w**2).sum() / w.sum()
        return float(np.sqrt(w @ (z - mean) ** 2 / freedom)) if freedom > 0 else 0.0, 1.0


def _of_shift(component: int | None) -> Saying:
    what, are = ("outcomes", "are") if component is None else (f"component {component} of the outcomes", "is")
    return Saying(
        f"{what} {are} higher than predicted",
        f"{what} {are} lower than predicted",
        f"the higher {are} {what} against the predictions",
        f"the lower {are} {what} against the predictions",
        "standard deviations on average",
    )


def _of_width(component: int | None) -> Saying:
    what, s = ("outcomes spread", "") if component is None else (f"component {component} of the outcomes spreads", "s")
    return Saying(
        f"{what} wider than predicted",
        f"{what} less wide than predicted",
        f"the wider {what.removesuffix(' spread' + s)} spread{s} against the predictions",
        f"the less wide {what.removesuffix(' spread' + s)} spread{s} against the predictions",
        "times as wide as predicted",
    )


class QuantileScores(RowScores):
    """Numbers of `CellScores`: high, low, narrow, wide; none decreases in a claim, so that places only add."""

    about: dict[int, int] = {}  # noqa: RUF012 - never changed
    one_sided = True

    def __init__(self, predictions: Quantiles) -> None:
        self.cells = CellScores(predictions.cells)
        n, number = len(predictions), self.cells.number
        drawn = self.cells.table[:, self.cells.cells.drawn] - self.cells.mean.T[:, :, None]
        moments = [np.broadcast_to((drawn**k) @ self.cells.cells.spacings, (number, n)) for k in (2, 3)]
        self.variance, self.third = moments
        self.sayings, self.shifts = _QUANTILES[:number], (0, 1)
        self.alike = tuple(range(number))

    def of(self, targets: np.ndarray) -> np.ndarray:
        """Scores of outcomes or codes of shape (B, n)."""
        return self.cells.table[:, self.cells.codes(targets)] - self._mean

    @cached_property
    def _mean(self) -> np.ndarray:
        return self.cells.mean.T[:, None, :]

    def figures(self, k: int, targets: np.ndarray, rows: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
        """Share of outcomes above all quantiles (below, outside, inside), and what was claimed."""
        lo, hi = self.cells.cells.ends(self.cells.codes(targets))
        size, w, taus = len(self.cells.cells.taus), weights[rows], self.cells.cells.taus
        above, below = lo[rows] >= size, hi[rows] < 1
        found = (above, below, above | below, ~(above | below))[k]
        claimed = (1 - taus[-1], taus[0], 1 - taus[-1] + taus[0], taus[-1] - taus[0])[k]
        return float(np.average(found, weights=w)), float(claimed)


_QUANTILES = tuple(
    Saying(f"outcomes {where} more often than claimed", "", "", "", "share")
    for where in (
        "lie above the quantiles",
        "lie below the quantiles",
        "lie outside the intervals",
        "lie inside the intervals",
    )
)
