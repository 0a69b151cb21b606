"""Low rank in place of K: random Fourier features, and the pivoted incomplete Cholesky factor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, namespace, row_slices, take_rows
from kernelcal.errors import InputError
from kernelcal.kernels import (
    AlignedPairs,
    Euclidean,
    Gaussian,
    Integrator,
    Kernel,
    Linear,
    Points,
    Scaled,
    Spectral,
    Stationary,
    Sum,
)
from kernelcal.pairs import BlockPoints, Tile
from kernelcal.predictions import Bernoulli, Categorical, ClassPredictions, Predictions
from kernelcal.residuals import ClassResidual, FourierResidual, GramResidual, Residual, residual_of

__all__ = [
    "Features",
    "MeanEmbedding",
    "fourier_features",
    "gram",
    "incomplete_cholesky",
    "linear_and_gaussian",
    "mean_features",
    "pivoted_factor",
    "two_columns",
]


_STRIP = 2**20  # kernel values at once: 8 MiB
_MOST_ROWS = 30_000  # 7.2 GB


@dataclass(frozen=True)
class MeanEmbedding(Kernel):
    """Inner product of mean embeddings, ``<m_P, m_Q> = E k(Z, Z')``, ``Z ~ P``, ``Z' ~ Q``.

    For class predictions and `Dirac` this is ``p.q``, the linear part of the kernel of Moskvichev and Sejdinovic
    (2025); so it is the linear kernel of predictions of numbers, and knows neither unit nor origin.

    Parameters
    ----------
    kernel : Kernel
        Target kernel k, its lengthscale a number.
    integrator : Integrator, optional
        How expectations without a closed form are computed.
    """

    kernel: Kernel
    integrator: Integrator | None = None

    def __str__(self) -> str:
        return f"MeanEmbedding({self.kernel})"

    def evaluate(self, pairs: Any) -> Array:
        """Kernel values of the pairs."""
        residual = self._residual(pairs.points)
        means = mean_features(residual, self.kernel)
        if means is None:
            assert isinstance(residual, GramResidual)
            if isinstance(pairs, AlignedPairs):
                p = residual.predictions
                return residual.embedding.cross(p[pairs.rows], p[pairs.columns])
            return residual.cross(pairs.rows, pairs.columns)
        left, right = take_rows(means, pairs.rows), take_rows(means, pairs.columns)
        if isinstance(pairs, AlignedPairs):
            return namespace(means).sum(left * right, axis=1)
        return left @ right.T

    def _residual(self, points: Any) -> Residual:
        """Expectations of all predictions, computed once for the points of a pass."""
        kept: dict[MeanEmbedding, Residual] = vars(points).setdefault("_mean_embeddings", {})
        if self not in kept:
            kept[self] = residual_of(points.predictions, self.kernel, None, self.integrator)
        return kept[self]

    def bound(self) -> float:
        """Bound of the target kernel."""
        return self.kernel.bound()

    def positive_definite(self, points: Any) -> bool:
        """Inner products are, where there is a feature space."""
        return self.kernel.positive_definite(points)


def mean_features(residual: Residual, kernel: Kernel) -> Array | None:
    """Features of mean embeddings, shape (n, r); None where there are only inner products."""
    if not isinstance(residual, ClassResidual | FourierResidual):
        return None
    constant = (
        kernel.constant(vector=residual.vector)
        if isinstance(residual, FourierResidual) and isinstance(kernel, Spectral)
        else 0.0
    )
    if constant == 0:
        return residual.mean
    return np.hstack([residual.mean, np.full((len(residual.mean), 1), constant**0.5)])


def linear_and_gaussian(
    predictions: Predictions, target_kernel: Kernel, integrator: Integrator | None = None
) -> Kernel:
    """``p.q + exp(-|p - q|^2 / (2 gamma^2))``, gamma the median distance; of numbers the embeddings."""
    if isinstance(predictions, ClassPredictions):
        return Linear() + Gaussian()  # eq. (8) of Moskvichev 2025
    return MeanEmbedding(target_kernel, integrator) + Gaussian()


def two_columns(predictions: Any) -> Any:
    """Write one probability as the two (1 - p, p): inner products are those of the simplex."""
    if not isinstance(predictions, Bernoulli):
        return predictions
    return Categorical(predictions.probabilities, predictions.classes, predictions.notes, predictions.question)


def gram(kernel: Kernel, predictions: Predictions, roots: np.ndarray | None) -> np.ndarray:
    """Matrix of kernel values of all pairs, times the roots of the weights of both: 8 n^2 bytes."""
    n = len(predictions)
    if n > _MOST_ROWS:
        raise InputError(
            f"method='exact' holds an n x n matrix, {8e-9 * n * n:.0f} GB for {n:,} rows, and serves up to "
            f"{_MOST_ROWS:,}: use method='fourier' or method='cholesky'"
        )
    points, matrix = BlockPoints(predictions, (kernel,)), np.empty((n, n))
    for rows in row_slices(n, _STRIP // n):
        matrix[rows] = kernel.evaluate(Tile(points, rows, slice(None), shared=False))
    refuse_not_finite(kernel, matrix)
    if roots is not None:
        matrix *= roots[:, None]
        matrix *= roots
    return matrix


def refuse_not_finite(kernel: Kernel, values: np.ndarray) -> None:
    """Refuse kernel values that are no numbers."""
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values).reshape(len(values), -1).all(axis=1)))
        raise InputError(
            f"{kernel} is not finite for row {row}: look at that prediction, or choose a bounded "
            "prediction_kernel such as Gaussian()"
        )


Features = Callable[[slice], np.ndarray]  # rows -> their features, shape (rows, D)
_DIAGONAL_ROWS = 4096
_NEGATIVE = -1e-8  # of the largest diagonal entry: below, it is no rounding


def fourier_features(kernel: Kernel, predictions: Predictions, frequencies: int, rng: int) -> Features:
    """``[p, cos(w.p) / sqrt(D), sin(w.p) / sqrt(D)]``: the linear parts as they are, profiles by their spectrum."""
    parts = _parts(kernel, predictions, frequencies, np.random.default_rng(rng))
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
    raise InputError(f"{kernel} has no Fourier features: use {cure}, or method='cholesky', which serves any kernel")


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
