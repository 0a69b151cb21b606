"""The prediction kernel of the CKCE: linear and Gaussian, its matrix, and the JKCE, the SKCE with that kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, namespace, row_slices, take_rows
from kernelcal.errors import InputError
from kernelcal.kernels import PIT, AlignedPairs, Gaussian, Integrator, Kernel, Linear, QuantileLevels, Spectral
from kernelcal.pairs import BlockPoints, Tile
from kernelcal.predictions import Bernoulli, Categorical, ClassPredictions, Predictions
from kernelcal.residuals import ClassResidual, FourierResidual, GramResidual, Residual, residual_of
from kernelcal.statistics.functions import function_of
from kernelcal.statistics.pairwise import SKCE, PreparedPairMean

__all__ = [
    "JKCE",
    "MeanEmbedding",
    "gram",
    "jkce",
    "linear_and_gaussian",
    "mean_features",
    "refuse_many",
    "refuse_not_finite",
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

    References
    ----------
    Glaser, Widmann, Lindsten, Gretton (2023), section 2.1, the linear kernel on embeddings.

    Examples
    --------
    >>> import kernelcal as kc
    >>> linear = kc.statistics.MeanEmbedding(kc.Gaussian(1.0))
    >>> round(float(kc.skce([0.3, 1.0], kc.Normal([0.0, 1.0], [1.0, 2.0]), prediction_kernel=linear)), 6)
    0.011723
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

    def __post_init__(self) -> None:
        if isinstance(self.kernel, PIT):
            raise InputError(f"all mean embeddings of {self.kernel} are zero: use Gaussian() as prediction_kernel")

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
    """``p.q + exp(-|p - q|^2 / (2 gamma^2))``, gamma the median distance; of numbers the embeddings.

    Between places of outcomes all embeddings are zero, and the Gaussian stands alone.
    """
    if isinstance(predictions, ClassPredictions):
        return Linear() + Gaussian()  # eq. (8) of Moskvichev 2025
    if isinstance(target_kernel, PIT | QuantileLevels):
        return Gaussian()  # calibrated places and claimed levels are the same in all rows: their embeddings are one
    return MeanEmbedding(target_kernel, integrator) + Gaussian()


def two_columns(predictions: Any) -> Any:
    """Write one probability as the two (1 - p, p): inner products are those of the simplex."""
    if not isinstance(predictions, Bernoulli):
        return predictions
    return Categorical(predictions.probabilities, predictions.classes, predictions.notes, predictions.question)


def gram(kernel: Kernel, predictions: Predictions, roots: np.ndarray | None) -> np.ndarray:
    """Matrix of kernel values of all pairs, times the roots of the weights of both: 8 n^2 bytes."""
    n = len(predictions)
    refuse_many(n)
    points, matrix = BlockPoints(predictions), np.empty((n, n))
    for rows in row_slices(n, _STRIP // n):
        matrix[rows] = kernel.evaluate(Tile(points, rows, slice(None), shared=False))
    refuse_not_finite(kernel, matrix)
    if roots is not None:
        matrix *= roots[:, None]
        matrix *= roots
    return matrix


def refuse_many(n: int) -> None:
    """Refuse a matrix that would fill the memory."""
    if n > _MOST_ROWS:
        raise InputError(
            f"engine=kernelcal.ExactPairs() holds an n x n matrix, {8e-9 * n * n:.0f} GB for {n:,} rows, and "
            f"serves up to {_MOST_ROWS:,}: use engine=kernelcal.RandomFourier(100) or "
            "engine=kernelcal.IncompleteCholesky()"
        )


def refuse_not_finite(kernel: Kernel, values: np.ndarray) -> None:
    """Refuse kernel values that are no numbers."""
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        row = int(np.argmax(~np.isfinite(values).reshape(len(values), -1).all(axis=1)))
        raise InputError(
            f"{kernel} is not finite for row {row}: look at that prediction, or choose a bounded "
            "prediction_kernel such as Gaussian()"
        )


@dataclass(frozen=True, kw_only=True)
class JKCE(SKCE):
    """Joint kernel calibration error: the `SKCE` with the kernels of the `CKCE`, to be compared with it.

    Parameters
    ----------
    prediction_kernel : Kernel, optional
        Default ``p.q + exp(-|p - q|^2 / (2 gamma^2))``, gamma the median Euclidean distance, as for `CKCE`.
    target_kernel, estimator, block_size, superdiagonals, engine, integrator
        As for `SKCE`.

    Notes
    -----
    A `Bernoulli` is taken as the two probabilities (1 - p, p). Predictions that are made often count more: under a
    shift of the predictions the value changes, and that of the `CKCE` hardly.

    References
    ----------
    Moskvichev and Sejdinovic (2025), eq. 11.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import JKCE
    >>> round(float(JKCE(prediction_kernel=kc.kernels.Linear())([0, 1], [[0.8, 0.2], [0.3, 0.7]])), 6)
    -0.0456

    >>> from kernelcal.statistics import jkce
    >>> y, p = [0, 1, 1], [[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]]
    >>> float(jkce(y, p)) == float(jkce(y, p, prediction_kernel=kc.kernels.Linear() + kc.Gaussian()))
    True
    """

    label: ClassVar[str] = "JKCE"

    prediction_kernel: Kernel | None = None  # type: ignore[assignment]

    def kernel_of(self, predictions: Predictions, weights: np.ndarray | None = None) -> Kernel:
        """Prediction kernel as given, or linear plus Gaussian."""
        if self.prediction_kernel is not None:
            return self.prediction_kernel
        return linear_and_gaussian(predictions, self.target_kernel_of(predictions, weights), self.integrator)

    def prepare(self, predictions: Predictions, weights: np.ndarray | None = None) -> PreparedPairMean:
        """Resolve lengthscales and make the engine ready."""
        return super().prepare(two_columns(predictions), weights)

    def resolved(self, predictions: Predictions, weights: np.ndarray | None = None) -> Self:
        """Fix the lengthscales of both kernels."""
        return super().resolved(two_columns(predictions), weights)


jkce = function_of(JKCE)
