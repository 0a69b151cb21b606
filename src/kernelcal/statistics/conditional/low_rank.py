"""Low rank in place of K: random Fourier features, and the pivoted incomplete Cholesky factor."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.errors import InputError
from kernelcal.kernels import AlignedPairs, Euclidean, Kernel, Linear, Points, Scaled, Stationary, Sum
from kernelcal.pairs import BlockPoints, Tile
from kernelcal.predictions import Predictions
from kernelcal.randomness import generator_of
from kernelcal.residuals import residual_of
from kernelcal.statistics.conditional.kernel import MeanEmbedding, mean_features, refuse_not_finite

__all__ = ["Features", "fourier_features", "incomplete_cholesky", "pivoted_factor"]


Features = Callable[[slice], np.ndarray]  # rows -> their features, shape (rows, D)
_DIAGONAL_ROWS = 4096
_NEGATIVE = -1e-8  # of the largest diagonal entry: below, it is no rounding


def fourier_features(kernel: Kernel, predictions: Predictions, frequencies: int, rng: int) -> Features:
    """``[p, cos(w.p) / sqrt(D), sin(w.p) / sqrt(D)]``: the linear parts as they are, profiles by their spectrum."""
    parts = _parts(kernel, predictions, frequencies, generator_of(rng, "random Fourier features of the CKCE"))
    return lambda rows: np.hstack([part(rows) for part in parts])


def _parts(kernel: Kernel, predictions: Predictions, size: int, rng: np.random.Generator) -> list[Features]:
    if isinstance(kernel, Sum):
        return [p for k in (kernel.left, kernel.right) for p in _parts(k, predictions, size, rng)]
    if isinstance(kernel, Scaled):
        root, inside = kernel.factor**0.5, _parts(kernel.kernel, predictions, size, rng)
        return [lambda rows, part=part: root * part(rows) for part in inside]  # type: ignore[misc]
    if isinstance(kernel, Stationary):
        return [_waves(kernel, predictions, size, rng)]
    x = _linear(kernel, predictions)
    return [lambda rows: x[rows]]


def _waves(kernel: Stationary, predictions: Predictions, size: int, rng: np.random.Generator) -> Features:
    x = Points(predictions).coordinates(kernel.metric)
    w = kernel.frequencies(rng, size, x.shape[1]).T
    amplitude = (kernel.amplitude / size) ** 0.5

    def features(rows: slice) -> np.ndarray:
        phase = x[rows] @ w
        return np.hstack([amplitude * np.cos(phase), amplitude * np.sin(phase)])

    return features


def _linear(kernel: Kernel, predictions: Predictions) -> np.ndarray:
    if isinstance(kernel, Linear):
        return np.asarray(Euclidean().coordinates(predictions))
    if isinstance(kernel, MeanEmbedding):
        means = mean_features(residual_of(predictions, kernel.kernel, None, kernel.integrator), kernel.kernel)
        if means is not None:
            return np.asarray(means)
        cure = "target_kernel=kernelcal.kernels.Spectral(kernelcal.Gaussian()) or prediction_kernel=Gaussian()"
    else:
        cure = "sums of Linear() and profiles such as Gaussian()"
    raise InputError(
        f"{kernel} has no Fourier features: use {cure}, or engine=kernelcal.IncompleteCholesky(), which serves any "
        "kernel"
    )


def incomplete_cholesky(
    kernel: Kernel, predictions: Predictions, roots: np.ndarray | None, tolerance: float, rank: int | None
) -> tuple[np.ndarray, float]:
    """Pivoted incomplete Cholesky factor of the kernel matrix of predictions, times the roots of their weights."""
    weights, points = np.ones(len(predictions)) if roots is None else roots, BlockPoints(predictions, (kernel,))

    def column(k: int) -> np.ndarray:
        values = kernel.evaluate(Tile(points, slice(k, k + 1), slice(None), shared=False))[0]
        return np.asarray(values * weights * weights[k])

    return pivoted_factor(column, _diagonal(kernel, predictions) * weights**2, tolerance, rank, kernel)


def pivoted_factor(
    column: Callable[[int], np.ndarray], diagonal: np.ndarray, tolerance: float, rank: int | None, kernel: Kernel
) -> tuple[np.ndarray, float]:
    """Pivoted incomplete Cholesky factor G of shape (rank, n), ``A ~ G'G``, and the share of the trace it leaves out.

    ``A - G'G`` is positive semi-definite, so its trace bounds its norm. Each step takes the row that is worst
    explained, until the trace that is left is at most `tolerance` times that of A, or `rank` is reached.
    """
    n, left = len(diagonal), diagonal.copy()
    trace, largest = left.sum(), left.max()
    factor = np.empty((64, n))
    for k in range(min(n, rank or n)):
        pivot = int(np.argmax(left))
        _refuse_negative(kernel, left, largest)
        if left.sum() <= tolerance * trace or left[pivot] <= 1e-14 * largest:
            return factor[:k], max(float(left.sum() / trace), 0.0)
        if k == len(factor):
            factor = np.concatenate([factor, np.empty_like(factor)])
        factor[k] = (column(pivot) - factor[:k, pivot] @ factor[:k]) / left[pivot] ** 0.5
        left -= factor[k] ** 2
        left[pivot] = 0.0
    return factor[: min(n, rank or n)], max(float(left.sum() / trace), 0.0)


def _diagonal(kernel: Kernel, predictions: Predictions) -> np.ndarray:
    points, parts = Points(predictions), row_slices(len(predictions), _DIAGONAL_ROWS)
    values = np.concatenate([np.asarray(kernel.evaluate(AlignedPairs(points, part, part))) for part in parts])
    refuse_not_finite(kernel, values)
    return values.astype(np.float64)


def _refuse_negative(kernel: Kernel, left: np.ndarray, largest: float) -> None:
    if not left.min() >= _NEGATIVE * largest or not largest > 0:
        raise InputError(
            f"{kernel} is not positive definite over these predictions: choose another metric or profile, such as "
            "Gaussian()"
        )
