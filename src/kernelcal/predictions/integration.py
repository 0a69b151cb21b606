"""Continuous ranked probability score from the distribution function, for families without a closed form."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import row_slices

__all__ = ["LEVELS", "crps_by_quadrature", "crps_by_sum"]

_ORDER = 16  # nodes of a panel
# panels end at quantiles: denser in the middle, and so far out that the square of what remains is nothing
_TAILS = 2.0 ** -np.array([1.5, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 26, 34, 50])
LEVELS = np.concatenate([_TAILS[::-1], [0.5], 1 - _TAILS])
_VALUES = 2**21  # numbers at a time: 16 MiB
_REST = 1e-15  # probability that the sum over counts leaves out on either side


def crps_by_quadrature(predictions: Any, y: np.ndarray) -> np.ndarray:
    """Integrate ``(F(x) - 1[y <= x])^2`` by Gauss-Legendre rules between quantiles, kinks and the outcome."""
    nodes, weights = np.polynomial.legendre.leggauss(_ORDER)
    size = _ORDER * len(predictions[:1].breaks())
    parts = row_slices(len(y), _VALUES // size)
    return np.concatenate([_integral(predictions[part], y[part], nodes, weights) for part in parts])


def _integral(predictions: Any, y: np.ndarray, nodes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    ends = np.sort(np.concatenate([predictions.breaks(), y[None]]), axis=0)
    half = np.diff(ends, axis=0)[:, None] / 2
    x = ends[:-1, None] + half * (1 + nodes[:, None])
    cdf = predictions.cdf(x.reshape(-1, len(y))).reshape(x.shape)
    return (half * weights[:, None] * np.where(x < y, cdf, 1 - cdf) ** 2).sum(axis=(0, 1))


def crps_by_sum(predictions: Any, y: np.ndarray) -> np.ndarray:
    """Sum ``(F(k) - 1[y <= k])^2`` over counts; on either side a probability of at most 1e-15 is left out."""
    score = np.empty(len(y))
    for part in row_slices(len(y), 256):
        score[part] = _sum(predictions[part], y[part])
    return score


def _sum(predictions: Any, y: np.ndarray) -> np.ndarray:
    first = int(np.minimum(predictions.quantile(_REST), y).min())
    last = int(np.maximum(predictions.quantile(1 - _REST), y).max())
    total = np.zeros(len(y))
    for chunk in row_slices(last - first + 1, _VALUES // len(y)):
        k = np.arange(first + chunk.start, first + chunk.stop, dtype=np.float64)[:, None]
        cdf = predictions.cdf(np.broadcast_to(k, (len(k), len(y))))
        total += ((cdf - (y <= k)) ** 2).sum(axis=0)
    return total
