"""Predictions seen through a metric: what the engines ask, whether it has coordinates or computes pair by pair."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.arrays import Array, namespace, row_slices, take_rows, to_numpy
from kernelcal.kernels.metrics.base import Metric, PairwiseMetric

__all__ = ["CoordinateView", "MetricView", "PairwiseView", "in_double", "view"]

_NUMBERS_AT_ONCE = 2**19  # 4 MiB of float64 while pairs are computed


class MetricView(ABC):
    """Distances of some rows with some columns: slices or integer arrays of positions.

    Attributes
    ----------
    squared : bool
        Whether `cross` and `aligned` give squared distances, where these are what the metric computes.
    """

    squared: bool

    @abstractmethod
    def cross(self, rows: Any, columns: Any) -> Array:
        """All pairs, shape (rows, columns)."""

    @abstractmethod
    def aligned(self, rows: Any, columns: Any) -> Array:
        """Pair by pair, shape (n,)."""


class CoordinateView(MetricView):
    """Coordinates x of shape (n, d), whose L1 or L2 norm of differences is the distance.

    Differences are exact for close points, and the gradient of d^2 exists everywhere.
    """

    def __init__(self, x: Array, order: int) -> None:
        self.x, self.squared = x, order == 2

    def cross(self, rows: Any, columns: Any) -> Array:
        """All pairs."""
        return self._norm(take_rows(self.x, rows)[:, None, :] - take_rows(self.x, columns)[None, :, :])

    def aligned(self, rows: Any, columns: Any) -> Array:
        """Pair by pair."""
        return self._norm(take_rows(self.x, rows) - take_rows(self.x, columns))

    def _norm(self, difference: Array) -> Array:
        xp = namespace(difference)
        return xp.sum(difference * difference if self.squared else xp.abs(difference), axis=-1)


class PairwiseView(MetricView):
    """Predictions prepared for a pairwise metric; pairs are computed a few at a time, in bounded memory."""

    def __init__(self, metric: PairwiseMetric, predictions: Any) -> None:
        self.metric, self.prepared, self.squared = metric, metric.prepare(predictions), True
        self.at_once = max(1, _NUMBERS_AT_ONCE // max(1, metric.numbers(predictions)))

    def cross(self, rows: Any, columns: Any) -> Array:
        """All pairs: strips of columns, and of rows inside."""
        p, q = self.prepared[rows], self.prepared[columns]
        strips = []
        for strip in _slices(len(q), self.at_once):
            right = q[strip].map_arrays(lambda x: x[None, ...])
            parts = _slices(len(p), self.at_once // max(1, strip.stop - strip.start))
            pieces = [self.metric.squared_distances(p[part].map_arrays(_as_rows), right) for part in parts]
            strips.append(_joined(pieces, 0))
        return _joined(strips, 1)

    def aligned(self, rows: Any, columns: Any) -> Array:
        """Pair by pair."""
        p, q = self.prepared[rows], self.prepared[columns]
        parts = _slices(len(p), self.at_once)
        return _joined([self.metric.squared_distances(p[part], q[part]) for part in parts], 0)


def view(metric: Metric, predictions: Any) -> MetricView:
    """See predictions through a metric: what depends on single predictions is done here, once."""
    pairwise = metric.by_pairs(predictions)
    if pairwise is not None:
        return PairwiseView(pairwise, predictions)
    return CoordinateView(metric.coordinates(predictions), metric.order)


def in_double(predictions: Any) -> Any:
    """Copy of the predictions in NumPy and float64."""
    convert: Callable[[Array], np.ndarray] = lambda x: to_numpy(x).astype(np.float64, copy=False)  # noqa: E731
    return predictions.map_arrays(convert)


def _as_rows(x: Array) -> Array:
    return x[:, None, ...]


def _slices(n: int, step: int) -> list[slice]:
    return row_slices(n, step) or [slice(0, 0)]


def _joined(parts: list[Array], axis: int) -> Array:
    return parts[0] if len(parts) == 1 else namespace(*parts).concat(parts, axis=axis)
