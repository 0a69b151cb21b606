"""Signals of class predictions: the failures that are met most often, two of them with a direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import ClassVar, Self

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.dependence import MeanLaw
from kernelcal.pairs import threaded_map
from kernelcal.predictions import Bernoulli, ClassPredictions
from kernelcal.randomness import some_rows
from kernelcal.statistics.base import Prepared, Statistic
from kernelcal.statistics.signals.class_words import ClassWords

__all__ = [
    "ClassBins",
    "ClassSignals",
    "Cleared",
    "PreparedClassSignals",
    "class_bins",
    "edges_of",
    "shared_intercepts",
]


_ROWS = 4096
_FEW, _MANY = 2, 20
_ENTRIES = 2**17  # probabilities that edges are made from
# Partitions: bins as a multiple of n^(2/5), and how far places go by ranks, not by width
_ONE, _SEVERAL = ((0.9, 0.0), (1.1, 0.25)), ((0.8, 0.5),)
_SMALLEST = 0.25  # beside the variance of a bin: one that hardly ever holds an event must not rule the sum


def stated(probabilities: np.ndarray) -> np.ndarray:
    """Probabilities whose events are counted: of two classes those of the second, which tell all."""
    return probabilities[:, 1:] if probabilities.shape[1] == 2 else probabilities


def class_bins(probabilities: np.ndarray, weights: np.ndarray | None = None) -> tuple[ClassBins, ...]:
    """Partitions of the stated probabilities, from the predictions alone.

    Of one probability there are two, of about ``0.9 n^(2/5)`` equally wide bins and of ``1.1 n^(2/5)`` that are finer
    where rows are: where one has an edge the other has none, and their sum sees more than either. Of several classes
    there is one, of ``0.8 n^(2/5)`` bins. The exponent is that of the best rate over Lipschitz alternatives.

    References
    ----------
    Lee, Huang, Hassani, Dobriban (2023), T-Cal: an optimal test for the calibration of predictive models.
    """
    ways = _ONE if probabilities.shape[1] == 2 else _SEVERAL
    return tuple(ClassBins(edges_of(probabilities, weights, *way), probabilities, weights) for way in ways)


def edges_of(probabilities: np.ndarray, weights: np.ndarray | None, rate: float, by_rank: float) -> np.ndarray:
    """Inner edges of ``rate n^(2/5)`` bins, at most 19 increasing numbers.

    A probability's place is partly its distance from the smallest one, as a share of their range, and to the share
    `by_rank` its rank among all, which weights count. Probabilities 0 and 1 take no part.
    """
    number = int(np.clip(round(rate * len(probabilities) ** 0.4), _FEW, _MANY))
    own = stated(probabilities)
    rows = some_rows(len(own), max(1, _ENTRIES // own.shape[1]))
    p = own[rows].astype(np.float64)
    mass = np.broadcast_to(1.0 if weights is None else weights[rows, None], p.shape)
    inside = (p > 0) & (p < 1) & (mass > 0)
    p, mass = p[inside], mass[inside]
    order = np.argsort(p, kind="stable")
    p, mass = p[order], mass[order]
    if len(p) == 0 or p[0] == p[-1]:
        return np.empty(0)
    ranks = (np.cumsum(mass) - mass / 2) / mass.sum()
    places = by_rank * ranks + (1 - by_rank) * (p - p[0]) / (p[-1] - p[0])
    return np.unique(np.interp(np.arange(1, number) / number, places, p))


class ClassBins:
    """Bins of fixed predictions: what each expects, and which one a label falls into.

    Attributes
    ----------
    index : numpy.ndarray of uint8, shape (n, m)
        Bin of every probability; of two classes the first has none of its own, one past the last.
    expected, variance : numpy.ndarray of shape (number,)
        Of the events in every bin, which count their weights.
    """

    def __init__(self, edges: np.ndarray, probabilities: np.ndarray, weights: np.ndarray | None) -> None:
        self.weights, self.number = weights, len(edges) + 1
        n, m = probabilities.shape
        self.index = np.empty((n, m), dtype=np.uint8)
        self.expected, self.variance = np.zeros(self.number), np.zeros(self.number)
        for part in _blocks(n, m):
            p = probabilities[part].astype(np.float64)
            self.index[part] = np.searchsorted(edges, p, side="right")
            if m == 2:
                self.index[part, 0] = self.number
            w = np.ones(len(p)) if weights is None else weights[part]
            rows = np.arange(len(p))[:, None] * (self.number + 1)
            held = np.bincount((rows + self.index[part]).ravel(), p.ravel(), minlength=len(p) * (self.number + 1))
            shares = held.reshape(len(p), -1)[:, : self.number]
            self.expected += w @ shares
            self.variance += w**2 @ np.maximum(shares * (1 - shares), 0.0)

    def counts(self, bins: np.ndarray, rows: slice) -> np.ndarray:
        """Events in every bin, of some rows whose labels fall into bins of shape (B, rows): shape (B, number)."""
        draws, columns = len(bins), self.number + 1
        offsets = columns * np.arange(draws, dtype=np.int64)[:, None]
        w = None if self.weights is None else np.tile(self.weights[rows], draws)
        counts = np.bincount((bins + offsets).ravel(), w, minlength=draws * columns)
        return counts.reshape(draws, columns)[:, : self.number].astype(np.float64)

    def chi_square(self, counts: np.ndarray) -> np.ndarray:
        """``sum_b (N_b - E_b)^2 / (V_b + 1/4)`` of counts of shape (B, number): shape (B,)."""
        return ((counts - self.expected) ** 2 / (self.variance + _SMALLEST)).sum(axis=1)


_INTERCEPTS = 64  # classes with an intercept of their own; the others, expected less often, share one
_VARIES = 1e-9  # of the variance: what is left by rounding alone is no slope


def shared_intercepts(expected: np.ndarray) -> np.ndarray:
    """Number of the intercept of every class: its own, or of many classes a common one of those expected least."""
    m = len(expected)
    if m <= _INTERCEPTS:
        return np.arange(m)
    intercepts = np.full(m, _INTERCEPTS - 1)
    intercepts[np.argsort(-expected, kind="stable")[: _INTERCEPTS - 1]] = np.arange(_INTERCEPTS - 1)
    return intercepts


@dataclass(frozen=True, eq=False)
class Cleared:
    """The score ``sum_i w_i (log p_i[y_i] - shift[y_i])``, uncorrelated with the counts of classes if calibrated.

    Attributes
    ----------
    shift : numpy.ndarray of shape (m,)
        ``c = F^+ a`` of every class, with the covariances F of the counts of classes and a of the counts with the sum
        of log probabilities, given the predictions.
    expected : float
        Expectation of the score under calibration.
    varies : bool
        Whether anything is left: of predictions that are all the same frequencies tell everything.

    Notes
    -----
    With residuals r the score less its expectation is ``sum_i w_i <log p_i - c, r_i>``: the efficient score of the
    slope in ``softmax(a log p + b)`` at a = 1, b = 0. Above 64 classes those expected least share an intercept.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, for two classes.
    """

    shift: np.ndarray
    expected: float
    varies: bool

    @classmethod
    def of(cls, predictions: ClassPredictions, weights: np.ndarray | None, expected: np.ndarray) -> Self:
        """Sum over rows; `expected` holds the expected counts."""
        probabilities = predictions.table()
        n, m = probabilities.shape
        intercepts = shared_intercepts(expected)
        number = int(intercepts.max()) + 1
        joined = None if number == m else np.eye(number)[intercepts]
        among, along, variance, mean = np.zeros((number, number)), np.zeros(number), 0.0, 0.0
        for part in _blocks(n, m):
            p = probabilities[part].astype(np.float64)
            w = np.ones(len(p)) if weights is None else weights[part]
            logs = predictions.finite_logs(part)
            own = (p * logs).sum(axis=1, keepdims=True)
            gains = p * (logs - own)
            shares, gained = (p, gains) if joined is None else (p @ joined, gains @ joined)
            squared = w**2
            among += np.diag(squared @ shares) - (shares * squared[:, None]).T @ shares
            along += squared @ gained
            variance += float(squared @ (gains * (logs - own)).sum(axis=1))
            mean += float(w @ own[:, 0])
        shift = np.linalg.pinv(among, rcond=1e-12, hermitian=True) @ along
        left = variance - float(along @ shift)
        own_shift = shift[intercepts]
        return cls(own_shift, mean - float(own_shift @ expected), left > _VARIES * variance)


_LOOKED_UP = 2**18  # numbers, which stay in the cache
_AT_ONCE = 2**18  # numbers of a part of one probability: 2 MiB


@dataclass(frozen=True)
class ClassSignals(Statistic):
    """Slope, bias and binned error of class predictions, and labels that the predictions had ruled out.

    ``slope``: are the predictions too sharp or not sharp enough? ``|sum_i <log p_i - c, r_i>|``, the derivative of the
    likelihood in the (inverse) temperature, cleared of the classes' frequencies: c holds what makes the sum
    uncorrelated with every count under calibration (the efficient score beside an intercept for every class). A shift
    of all log odds thus moves ``bias`` alone. Where log probabilities do not vary beyond the classes, for
    instance for one and the same prediction, it is 0. Impossible labels are left out here: one wrong zero must not
    hide the direction of all other rows.

    ``bias``: is a class predicted too often or too seldom? ``max_k |N_k - E_k| / sqrt(V_k + 1)`` with the count
    N_k, its expectation ``E_k = sum_i p_ik`` and its variance ``V_k = sum_i p_ik (1 - p_ik)``. The 1 keeps a class
    that is expected less than once from ruling the maximum.

    ``bins``: do events of one probability happen as often as it says? The root of the chi-square ``sum_b (N_b - E_b)^2
    / (V_b + 1/4)`` over some ``n^(2/5)`` bins of the probability, 2 to 20, a mean over two partitions; of three and
    more classes over bins of all their probabilities together.

    ``impossible``: number of labels whose predicted probability was exactly 0. It is 0 in every draw, so one such
    label is proof.

    Notes
    -----
    Case weights w multiply every row: ``N_k = sum_i w_i 1[y_i = k]``, ``V_k = sum_i w_i^2 p_ik (1 - p_ik)``.
    Cost: O(n m + n min(m, 64)^2) once and O(n) a draw.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import ClassSignals
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> [member.name for member in kc.calibration_test(y, p, statistic=ClassSignals(), draws=99).members]
    ['slope', 'bias', 'bins']
    """

    def prepare(self, predictions: ClassPredictions, weights: np.ndarray | None = None) -> PreparedClassSignals:
        """Sum what the predictions say."""
        if isinstance(predictions, Bernoulli):
            return PreparedBinarySignals(predictions, weights)
        return PreparedClassSignals(predictions, weights)


class PreparedClassSignals(Prepared):
    """Signals of fixed predictions, with their directions."""

    names = ("impossible label", "slope", "bias", "bins")
    directed: tuple[str, ...] = ("slope", "bias")
    only_if_clear = ("slope",)
    aimless = "no single direction: how frequencies deviate changes from prediction to prediction"
    engine = "sums over rows"
    proof: ClassVar[float] = 1.0  # what one outcome that was ruled out adds to the first member

    def __init__(self, predictions: ClassPredictions, weights: np.ndarray | None = None) -> None:
        self.predictions, self.weights = predictions.map_arrays(to_numpy), weights
        self.p = predictions.table()
        self.bytes_per_draw = 64 * self.p.shape[1]
        if predictions.question == "top label":  # what a mean says of confidence needs no slope
            self.directed = ("bias",)

    @cached_property
    def bins(self) -> tuple[ClassBins, ...]:
        """Partitions of the probabilities, made when the first labels are looked at: a plan needs none."""
        return class_bins(self.p, self.weights)

    @cached_property
    def cleared(self) -> Cleared:
        """The score of the slope."""
        return Cleared.of(self.predictions, self.weights, self.expected)

    @property
    def expected(self) -> np.ndarray:
        """Expected count of every class."""
        return self._moments[0]

    @property
    def variance(self) -> np.ndarray:
        """Its variance."""
        return self._moments[1]

    @cached_property
    def _moments(self) -> np.ndarray:
        n, m = self.p.shape
        found = np.zeros((2, m))
        for part in _blocks(n, m):
            p = self.p[part].astype(np.float64)
            w = np.ones(len(p)) if self.weights is None else self.weights[part]
            found[0] += w @ p
            found[1] += w**2 @ (p * (1 - p))
        return found

    def counts(self, labels: np.ndarray) -> np.ndarray:
        """How often each class occurs (the sum of its weights), for labels of shape (B, n): shape (B, m)."""
        draws, m = len(labels), len(self.expected)
        offsets, counts = m * np.arange(draws, dtype=np.int64)[:, None], np.zeros(draws * m)
        for part in _parts(*labels.shape):
            w = None if self.weights is None else np.tile(self.weights[part], draws)
            counts += np.bincount((labels[:, part] + offsets).ravel(), w, minlength=draws * m)
        return counts.reshape(draws, m)

    def bias(self, labels: np.ndarray) -> np.ndarray:
        """Standardised count of each class, positive where it occurs more often than predicted: (B, m)."""
        return (self.counts(labels) - self.expected) / np.sqrt(self.variance + 1)

    def values(self, labels: np.ndarray) -> np.ndarray:
        """Number of impossible labels, slope and bias without direction, and the binned error, shape (B, 4)."""
        impossible, slope, binned = self.sums(labels)
        return np.stack([impossible, np.abs(slope), np.abs(self.bias(labels)).max(axis=1), binned], axis=1)

    def slope(self, labels: np.ndarray) -> np.ndarray:
        """Cleared slope, positive where predictions are not sharp enough: shape (B,)."""
        return self.sums(labels)[1]

    def sums(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number of impossible labels, cleared slope (positive: under-confident) and binned error: (B,) each."""
        draws = len(labels)
        total, impossible = np.full(draws, -self.cleared.expected), np.zeros(draws, dtype=np.int64)
        binned = [np.zeros((draws, bins.number)) for bins in self.bins]
        for part in _parts(*labels.shape):
            own = labels[:, part]
            at = own + self.p.shape[1] * np.arange(part.stop - part.start)  # flat places: half the time of two indices
            scores, ruled_out = self._scores(part, own, at)
            total += scores.sum(axis=1) if self.weights is None else scores @ self.weights[part]
            impossible += ruled_out
            for bins, counts in zip(self.bins, binned, strict=True):
                counts += bins.counts(bins.index[part].ravel().take(at), part)
        return impossible, total if self.cleared.varies else np.zeros(draws), self._binned(binned)

    def _scores(self, part: slice, labels: np.ndarray, at: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Cleared log probabilities of labels at flat places of some rows, and how many of a draw were ruled out.

        Logarithms are of all classes where these are fewer than the draws, else of the labels alone.
        """
        few = self.p.shape[1] <= len(labels)
        known = self.p if self.predictions.logs is None else np.asarray(self.predictions.logs)
        values = known[part] if few else known[part].ravel().take(at)
        with np.errstate(divide="ignore"):
            logs = np.log(values, dtype=np.float64) if self.predictions.logs is None else values.astype(np.float64)
        ruled_out = np.isneginf(logs)
        scores = np.where(ruled_out, 0.0, logs) - (self.cleared.shift if few else self.cleared.shift[labels])
        if few:
            scores, nothing = scores.ravel().take(at), not ruled_out.any()
            ruled_out = np.zeros((len(labels), 1), dtype=bool) if nothing else ruled_out.ravel().take(at)
        return scores, ruled_out.sum(axis=1)

    def _binned(self, counts: Sequence[np.ndarray]) -> np.ndarray:
        """Root of the mean chi-square over partitions."""
        found = [bins.chi_square(own) for bins, own in zip(self.bins, counts, strict=True)]
        return np.asarray(np.sqrt(np.mean(found, axis=0)))

    @cached_property
    def words(self) -> ClassWords:
        """What may be said of a direction."""
        return ClassWords(self.predictions, self.weights, self.expected, self.variance)

    def clear(self, name: str, labels: np.ndarray, law: MeanLaw | None = None) -> bool:
        """Tell whether a signal deviates by the spread of the observed rows too, for one set of labels."""
        return self.words.clear(name, labels, law)

    def named(
        self,
        found: list[str],
        pvalues: dict[str, float],
        labels: np.ndarray,
        fired: str,
        alpha: float,
        law: MeanLaw | None = None,
    ) -> list[str]:
        """Signals to name of those that speak against calibration: the sure and clear ones, or else the first one.

        A slope is named only where it is clear: a logit shift alone leaves one that no recalibration finds.
        """
        sure = [name for name in found if name == found[0] or pvalues[name] <= alpha / len(self.directed)]
        clear = [name for name in sure if self.clear(name, labels, law)]
        return clear or [name for name in found if name not in self.only_if_clear][:1]

    def sentence(self, name: str, labels: np.ndarray, law: MeanLaw | None = None) -> str:
        """Say in which direction a signal deviates, for one set of labels."""
        return self.words.sentence(name, labels, self.counts(labels[None])[0], law)


class PreparedBinarySignals(PreparedClassSignals):
    """The same of one probability: all are linear in labels 0 and 1, and many draws one matrix product."""

    def counts(self, labels: np.ndarray) -> np.ndarray:
        """How often each class occurs (the sum of its weights), for labels of shape (B, n): shape (B, 2)."""
        positive = labels @ self.weights if self.weights is not None else labels.sum(axis=1, dtype=np.int64)
        total = labels.shape[1] if self.weights is None else self.weights.sum()
        return np.stack([total - positive, positive], axis=1).astype(np.float64)

    def sums(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Number of impossible labels, cleared slope (positive: under-confident) and binned error: (B,) each."""
        parts = row_slices(labels.shape[1], max(1, _AT_ONCE // max(len(labels), 1)))
        found = threaded_map(lambda part: labels[:, part].astype(np.float64) @ self._gains[part], parts, None)
        sums = np.sum(found, axis=0) + self._at_zero
        slope = sums[:, 1] - self.cleared.expected if self.cleared.varies else np.zeros(len(labels))
        counts = np.split(sums[:, 2:], np.cumsum([bins.number for bins in self.bins])[:-1], axis=1)
        return np.rint(sums[:, 0]).astype(np.int64), slope, self._binned(counts)

    @cached_property
    def _terms(self) -> tuple[np.ndarray, np.ndarray]:
        """What a row adds to every sum, for label 0 and for label 1: shape (n, 2 + bins) each."""
        n, w = len(self.p), 1.0 if self.weights is None else self.weights[:, None]
        scores = (self.predictions.finite_logs(slice(None)) - self.cleared.shift) * w
        held = np.concatenate([np.eye(bins.number)[bins.index[:, 1]] for bins in self.bins], axis=1) * w
        ruled_out = [self.predictions.impossible(np.full(n, k)) for k in (0, 1)]
        zero, one = (np.column_stack([ruled_out[k], scores[:, k], held * k]) for k in (0, 1))
        return zero, one

    @cached_property
    def _at_zero(self) -> np.ndarray:
        return self._terms[0].sum(axis=0)

    @cached_property
    def _gains(self) -> np.ndarray:
        """What label 1 adds to label 0."""
        return self._terms[1] - self._terms[0]


@lru_cache(maxsize=16)
def _blocks(n: int, m: int) -> list[slice]:
    """Slices of rows that fit the cache."""
    return row_slices(n, _ROWS, m)


@lru_cache(maxsize=16)
def _parts(draws: int, n: int) -> list[slice]:
    """Slices of rows: what is looked up for all draws at once stays in the cache."""
    return row_slices(n, _LOOKED_UP // max(draws, 1))
