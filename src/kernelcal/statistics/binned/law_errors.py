"""Binned errors of whole laws: of counts as of infinitely many classes, of numbers and vectors by mean embeddings."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices, to_double
from kernelcal.binning import Binning, Bins
from kernelcal.errors import InputError
from kernelcal.predictions import Quantiles, RealPredictions
from kernelcal.residuals import FeatureResidual, Residual, residual_of, target_kernel_of
from kernelcal.statistics.binned.bin_table import BinTable

__all__ = ["LawPart", "law_part"]


_NUMBERS = 2**21  # frequencies of several draws that are held at a time
_MOST = 2**25  # probabilities of counts: 256 MiB
_TAIL = 1e-10  # of the law of a count: what lies beyond is one outcome, "more"
_EMBEDDED = ("mmd", "squared mmd")

Distances = Callable[[Any, np.ndarray, np.ndarray, np.ndarray], np.ndarray]


class LawPart:
    """Bins of rows with like means, and how far the law of their outcomes is from their mean predicted law.

    Attributes
    ----------
    name : str
        What is compared.
    bins : Bins
        Bin of every row.
    bytes_per_draw : int
        Working memory of one more set of targets.
    """

    def __init__(
        self, laws: _Laws, name: str, bins: Bins, weights: np.ndarray | None, summary: Any, distances: Distances
    ) -> None:
        self.laws, self.name, self.bins, self.summary, self.distances = laws, name, bins, summary, distances
        self.own = np.ones(len(bins.index)) if weights is None else weights
        self.squares = None if weights is None else np.bincount(bins.index, weights**2, bins.size)
        self.weight = np.bincount(bins.index, self.own, bins.size)
        self.used = np.flatnonzero(self.weight)
        self.expected = _by_bin(laws.expected * self.own[:, None], bins)
        self.bytes_per_draw = 8 * len(bins.index) * (2 + laws.numbers_a_row)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Errors for targets of shape (B, n, ...), shape (B,)."""
        step = max(1, _NUMBERS // (len(self.own) * (1 + self.laws.numbers_a_row)))
        return np.concatenate([self._values(targets[part]) for part in row_slices(len(targets), step)])

    def estimate(self, targets: np.ndarray) -> tuple[float, BinTable]:
        """Error for targets of shape (n, ...), and its bins: rows, and sums of expected and observed features."""
        observed = self.laws.observed(targets[None], self.own, self.bins)[0]
        table = BinTable(self.name, self.bins, self.weight, *_wide(self.expected, observed), self.squares)
        return float(self._values(targets[None])[0]), table

    def _values(self, targets: np.ndarray) -> np.ndarray:
        observed = self.laws.observed(targets, self.own, self.bins)[:, self.used]
        expected, weight = self.expected[self.used], self.weight[self.used]
        if self.summary.corrected:
            whole = ((observed - expected) ** 2).sum(axis=-1) / weight
            noise = self.laws.squares(targets) @ (self.own**2 / self.weight[self.bins.index])
            return np.asarray((whole.sum(axis=1) - noise) / weight.sum())
        own = self.distances(self.summary.distance, expected, observed, weight)
        return np.asarray(own.max(axis=1) if self.summary.norm == "max" else own @ weight / weight.sum())


class _Laws(ABC):
    """Features whose means tell two laws apart.

    Attributes
    ----------
    expected : numpy.ndarray of shape (n, k)
        Means under every prediction.
    numbers_a_row : int
        Numbers that one draw of one row takes.
    """

    expected: np.ndarray
    numbers_a_row: int

    @abstractmethod
    def observed(self, targets: np.ndarray, weights: np.ndarray, bins: Bins) -> np.ndarray:
        """Weighted sums over the rows of every bin for targets of shape (B, n, ...): shape (B, bins, k)."""

    @abstractmethod
    def squares(self, targets: np.ndarray) -> np.ndarray:
        """Squared distances of the features of every outcome from their means, shape (B, n)."""


class _Counts(_Laws):
    """Indicators of the outcomes 0, 1, ..., and of all beyond together, which have a probability of 1e-10 at most."""

    numbers_a_row = 2

    def __init__(self, predictions: RealPredictions) -> None:
        last = float(np.max(predictions.quantile(1 - _TAIL)))
        size = int(last) + 2
        if not np.isfinite(last) or len(predictions) * size > _MOST:
            raise InputError(
                f"a binned error of counts holds the probability of every count up to {last:g} for every row, "
                f"{len(predictions):,} x {size:,} numbers: use distance='mmd', or kernelcal.skce"
            )
        steps = np.arange(size - 1)
        below = np.stack([predictions.cdf(np.full(len(predictions), k)) for k in steps], axis=1)
        self.expected = np.diff(below, axis=1, prepend=0.0, append=1.0)
        self.size = size

    def _codes(self, targets: np.ndarray) -> np.ndarray:
        return np.minimum(targets, self.size - 1).astype(np.int64)

    def observed(self, targets: np.ndarray, weights: np.ndarray, bins: Bins) -> np.ndarray:
        """Numbers of every outcome in every bin."""
        draws, cells = len(targets), bins.size * self.size
        place = bins.index * self.size + self._codes(targets) + cells * np.arange(draws)[:, None]
        each = np.broadcast_to(weights, place.shape).ravel()
        return np.bincount(place.ravel(), each, draws * cells).reshape(draws, bins.size, self.size)

    def squares(self, targets: np.ndarray) -> np.ndarray:
        """``|p|^2 - 2 p_y + 1``."""
        p = self.expected
        return (p**2).sum(axis=1) - 2 * p[np.arange(len(p)), self._codes(targets)] + 1


class _Embedded(_Laws):
    """Residual features under the default target kernel, whose means are 0."""

    def __init__(self, residual: FeatureResidual) -> None:
        self.residual = residual
        self.numbers_a_row = residual.dimension
        self.expected = np.zeros((len(residual), residual.dimension))

    def observed(self, targets: np.ndarray, weights: np.ndarray, bins: Bins) -> np.ndarray:
        """Sums of residuals in every bin."""
        r = self.residual.batch(targets)
        flat = r.reshape(len(r), -1) * weights[:, None]
        return np.moveaxis(_by_bin(flat, bins).reshape(bins.size, *r.shape[1:]), 1, 0)

    def squares(self, targets: np.ndarray) -> np.ndarray:
        """Squared lengths of residuals."""
        return self.residual.squared_norms(targets)


def _wide(expected: np.ndarray, observed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two columns at least: one would be read as the probability of an event."""
    if expected.shape[1] > 1:
        return expected, observed
    return np.hstack([expected, 0 * expected]), np.hstack([observed, 0 * observed])


def _by_bin(rows: np.ndarray, bins: Bins) -> np.ndarray:
    """Sums of rows (n, k) by bin, shape (bins, k)."""
    total = np.zeros((bins.size, rows.shape[1]))
    np.add.at(total, bins.index, rows)
    return total


def law_part(
    predictions: RealPredictions, binning: Binning, weights: np.ndarray | None, summary: Any, distances: Distances
) -> LawPart:
    """Bins of predictions in NumPy by the ranks of their means, with what is compared in them.

    Vectors are ranked by the sum of their means, in units of the spread of each. Equal means share a bin.
    """
    predictions = predictions.map_arrays(to_double)
    bins = binning.assign(_places(predictions)[:, None], weights)
    bins = Bins(bins.index, bins.size)  # edges are those of ranks, which say nothing
    counts = predictions.counts and not predictions.event_shape and summary.distance not in _EMBEDDED
    if counts:
        return LawPart(_Counts(predictions), "law of counts", bins, weights, summary, distances)
    if summary.distance not in _EMBEDDED:
        raise InputError(
            f"ECE asks about classes and counts; between a law of {type(predictions).__name__} and outcomes "
            f"distance={summary.distance!r} is as large as it can be, whatever the law: pass distance='mmd' or "
            "'squared mmd'"
        )
    residual: Residual = residual_of(predictions, target_kernel_of(None, predictions))
    if not isinstance(residual, FeatureResidual) or isinstance(predictions, Quantiles):
        raise InputError(
            f"a binned error of {type(predictions).__name__} has no features to compare: use kernelcal.skce, or for "
            "quantile forecasts kernelcal.statistics.quantile_calibration"
        )
    return LawPart(_Embedded(residual), "law of outcomes", bins, weights, summary, distances)


def _places(predictions: RealPredictions) -> np.ndarray:
    """Ranks of the predicted means over n, in (0, 1), equal ones alike."""
    mean = np.asarray(predictions.centre, dtype=np.float64).reshape(len(predictions), -1)
    spread = mean.std(axis=0)
    order = (mean / np.where(spread > 0, spread, 1)).sum(axis=1)
    values, index, count = np.unique(order, return_inverse=True, return_counts=True)
    return np.asarray(((np.cumsum(count) - (count - 1) / 2 - 0.5) / len(mean))[index]) if len(values) else order
