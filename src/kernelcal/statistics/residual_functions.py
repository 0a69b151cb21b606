"""Residual functions at test targets: ``k_Y(z_j, y_i) - E k_Y(z_j, Z_i)``, by features where there are some."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelcal.arrays import Array, like
from kernelcal.kernels import PIT, Dirac, Integrator, Kernel, Spectral, class_matrix, plan, point
from kernelcal.kernels.embeddings import Embedding
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.residuals import FeatureResidual, FourierResidual, PITResidual
from kernelcal.statistics.locations import Locations

__all__ = [
    "ClassFunctions",
    "KernelFunctions",
    "PlaceFunctions",
    "ResidualFunctions",
    "SpectralFunctions",
    "residual_functions",
]


class ResidualFunctions(ABC):
    """The functions ``y_i -> k_Y(z_j, y_i) - E k_Y(z_j, Z_i)`` of n fixed predictions at J test targets.

    Under calibration every one of them has mean zero, given the predictions.

    Attributes
    ----------
    predictions : Predictions
        The n predictions.
    bytes_per_draw : int
        Working memory of one more set of targets.
    """

    predictions: Any
    bytes_per_draw: int

    @abstractmethod
    def values(self, targets: np.ndarray) -> Array:
        """Values for one set of targets, shape (n, J), in the library of the predictions."""

    @abstractmethod
    def sums(self, targets: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """``sum_i c_ij [k_Y(z_j, y_i) - E k_Y(z_j, Z_i)]`` for targets of shape (B, n, ...): shape (B, J).

        The coefficients have shape (n, J).
        """


def residual_functions(
    predictions: Predictions, target_kernel: Kernel, locations: Locations, integrator: Integrator | None = None
) -> ResidualFunctions:
    """Residual functions of predictions under a target kernel at the targets of test locations."""
    if isinstance(predictions, ClassPredictions):
        return ClassFunctions.of(predictions, target_kernel, locations.targets)
    if isinstance(target_kernel, PIT):
        return PlaceFunctions.of(predictions, target_kernel, locations)
    if isinstance(target_kernel, Spectral):
        return SpectralFunctions.of(predictions, target_kernel, locations)
    return KernelFunctions.of(predictions, target_kernel, locations.targets, integrator)


@dataclass(frozen=True, eq=False)
class ClassFunctions(ResidualFunctions):
    """Residual functions between labels: rows of the matrix of the target kernel.

    Attributes
    ----------
    rows : numpy.ndarray of shape (J, m)
        Kernel values of the test labels with every label.
    mean : array of shape (n, J)
        Their expectations.
    """

    predictions: ClassPredictions
    rows: np.ndarray
    mean: Array

    @classmethod
    def of(cls, predictions: ClassPredictions, kernel: Kernel, z: np.ndarray) -> Self:
        """Look the rows up; those of the Dirac kernel need no matrix over all classes."""
        m = predictions.n_classes
        rows = np.equal.outer(z, np.arange(m)).astype(np.float64) if isinstance(kernel, Dirac) else None
        rows = class_matrix(kernel, m)[z] if rows is None else rows
        p = predictions.probabilities
        return cls(predictions, rows, p @ like(rows, p).T)

    @property
    def bytes_per_draw(self) -> int:  # type: ignore[override]
        """Kernel values at one location, and labels."""
        return 24 * int(self.mean.shape[0])

    def values(self, targets: np.ndarray) -> Array:
        """Values for one set of labels."""
        return like(self.rows.T[targets], self.mean) - self.mean

    def sums(self, targets: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Weighted sums, a location at a time."""
        columns = [row[targets] @ c for row, c in zip(self.rows, coefficients.T, strict=True)]
        return np.stack(columns, axis=1) - (coefficients * self.mean).sum(axis=0)


@dataclass(frozen=True, eq=False)
class KernelFunctions(ResidualFunctions):
    """Residual functions between numbers or vectors: kernel values minus those of the embedding.

    Attributes
    ----------
    kernel : Kernel
        Target kernel.
    embedding : Embedding
        Its expectations under the predictions.
    z : array of shape (J, *event_shape)
        Test targets.
    mean : array of shape (n, J)
        Expectations at the test targets.
    integrator : Integrator, optional
        For expectations without a closed form.
    """

    predictions: Any
    kernel: Kernel
    embedding: Embedding
    z: Array
    mean: Array
    integrator: Integrator | None = None

    @classmethod
    def of(cls, predictions: Any, kernel: Kernel, z: np.ndarray, integrator: Integrator | None = None) -> Self:
        """Choose the plan, and compute the expectations once."""
        embedding, z = plan(kernel, predictions, integrator), like(z, predictions.mean)
        p = predictions.map_arrays(lambda x: x[:, None, ...])
        return cls(predictions, kernel, embedding, z, embedding.mean(p, z[None, ...]), integrator)

    @property
    def bytes_per_draw(self) -> int:  # type: ignore[override]
        """Kernel values at one location, and targets."""
        return 8 * int(self.mean.shape[0]) * (3 + self.predictions.dimension)

    def values(self, targets: np.ndarray) -> Array:
        """Values for one set of targets."""
        y = like(targets, self.z)
        return self._point(y[:, None, ...], self.z[None, ...]) - self.mean

    def sums(self, targets: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Weighted sums, a location at a time."""
        columns = [self._point(targets, z) @ c for z, c in zip(self.z, coefficients.T, strict=True)]
        return np.stack(columns, axis=1) - (coefficients * self.mean).sum(axis=0)

    def _point(self, y: Array, z: Array) -> Array:
        return point(self.kernel, y, z, len(self.predictions.event_shape))


@dataclass(frozen=True, eq=False)
class FeatureFunctions(ResidualFunctions):
    """Residual functions that are inner products of features of test targets and of residuals.

    Attributes
    ----------
    residual : FeatureResidual
        Residuals of the predictions.
    z : array of shape (J, *event_shape)
        Test targets.
    features : array of shape (J, r)
        Features of the test targets.
    """

    predictions: Any
    residual: FeatureResidual
    z: Array
    features: Array

    @property
    def bytes_per_draw(self) -> int:  # type: ignore[override]
        """Features of all rows, twice."""
        return 16 * len(self.residual) * self.residual.dimension

    def values(self, targets: np.ndarray) -> Array:
        """Values for one set of targets."""
        return self.residual.features(targets) @ self.features.T

    def sums(self, targets: np.ndarray, coefficients: np.ndarray) -> np.ndarray:
        """Weighted sums: residuals are summed before they meet the test targets."""
        r = self.residual.batch(targets)
        summed = (coefficients.T @ r.reshape(len(r), -1)).reshape(len(self.features), *r.shape[1:])
        return np.einsum("jbk,jk->bj", summed, self.features)


@dataclass(frozen=True, eq=False)
class PlaceFunctions(FeatureFunctions):
    """Residual functions of a `PIT` kernel: a test target has its place in the prediction of its location."""

    residual: PITResidual

    @classmethod
    def of(cls, predictions: Any, kernel: PIT, locations: Locations) -> Self:
        """Compute the features of the places of the test targets."""
        test = PITResidual.of(locations.predictions, kernel)  # type: ignore[arg-type]
        residual = PITResidual.of(predictions, kernel)
        return cls(predictions, residual, locations.targets, test.features(locations.targets))


@dataclass(frozen=True, eq=False)
class SpectralFunctions(FeatureFunctions):
    """Residual functions of a spectral kernel.

    Attributes
    ----------
    kernel : Spectral
        Target kernel.
    """

    residual: FourierResidual
    kernel: Spectral

    @classmethod
    def of(cls, predictions: Any, kernel: Spectral, locations: Locations) -> Self:
        """Compute the features of the test targets: their residuals plus what was predicted."""
        residual = FourierResidual.of(predictions, kernel)
        test = FourierResidual.of(locations.predictions, kernel)  # type: ignore[arg-type]
        features = test.features(locations.targets) + test.mean
        return cls(predictions, residual, locations.targets, features, kernel)
