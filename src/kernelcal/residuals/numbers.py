"""Residuals of predictions of numbers: features under a spectral kernel, else inner products alone."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.arrays import Array, like, row_slices, take_rows
from kernelcal.errors import InputError
from kernelcal.kernels import Integrator, Kernel, Linear, Spectral, has_leaf, plan, point
from kernelcal.kernels.embeddings import Embedding
from kernelcal.predictions import RealPredictions
from kernelcal.residuals.base import FeatureResidual, Inner, PairResidual, weighted_block, weighted_pairs

__all__ = ["FourierResidual", "GramResidual"]


@dataclass(frozen=True, eq=False)
class GramResidual(PairResidual):
    """Inner products ``<r_i, r_j> = k(y_i, y_j) - E k(Z_i, y_j) - E k(y_i, Z_j) + E k(Z_i, Z_j)``.

    Attributes
    ----------
    predictions : RealPredictions
        What was predicted.
    kernel : Kernel
        Target kernel.
    embedding : Embedding
        Its expectations under the predictions.
    weights : numpy.ndarray of shape (n,), or None
        Case weights.

    Notes
    -----
    No features exist, so every set of targets costs four kernel values a pair; `Spectral` target kernels have features.
    """

    embedding: Embedding
    weights: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        predictions: RealPredictions,
        kernel: Kernel,
        weights: np.ndarray | None = None,
        integrator: Integrator | None = None,
    ) -> GramResidual:
        """Residual of predictions whose expectations the plan can compute."""
        return cls(predictions, kernel, plan(kernel, predictions, integrator), weights)

    @property
    def dimension(self) -> int:
        """Kernel values a pair: four."""
        return 4

    def bound(self) -> float:
        """Bound of |<r_i, r_j>|: 2 sup k for a kernel that is not negative, else 4 sup |k|."""
        if has_leaf(self.kernel, Linear):
            raise InputError("a linear target kernel of numbers has no bound: use Gaussian() or Laplacian()")
        return (4.0 if has_leaf(self.kernel, Spectral) else 2.0) * self.kernel.bound()

    def far_lengths(self) -> np.ndarray | None:
        """``k(y, y) + E k(Z, Z')``: nothing that was predicted is near y. None for a kernel without a bound."""
        if has_leaf(self.kernel, Linear):
            return None
        predictions = self.double().predictions
        return self.kernel.bound() + np.asarray(self.embedding.cross(predictions, predictions))

    def inner(self, targets: np.ndarray) -> GramInner:
        """Inner products for one set of targets."""
        return GramInner(self, like(targets, self.predictions.mean))

    def cross(self, rows: Any, columns: Any) -> Array:
        """E k(Z_i, Z_j) of some rows and columns, which no target changes."""
        return self.embedding.cross(_rows(self.predictions[rows]), _columns(self.predictions[columns]))


@dataclass(frozen=True, eq=False)
class GramInner(Inner):
    """Inner products for one set of targets."""

    residual: GramResidual
    y: Array

    def block(self, rows: Any, columns: Any, cross: Array | None = None) -> Array:
        """R_ij of some rows and columns; `cross` may be passed where it is known."""
        residual = self.residual
        p, q = _rows(residual.predictions[rows]), _columns(residual.predictions[columns])
        y, z = take_rows(self.y, rows)[:, None, ...], take_rows(self.y, columns)[None, ...]
        cross = residual.embedding.cross(p, q) if cross is None else cross
        return weighted_block(self._values(p, q, y, z, cross), residual.weights, rows, columns)

    def aligned(self, rows: Any, columns: Any) -> Array:
        """R_ij pair by pair."""
        residual = self.residual
        p, q = residual.predictions[rows], residual.predictions[columns]
        values = self._values(p, q, take_rows(self.y, rows), take_rows(self.y, columns), residual.embedding.cross(p, q))
        return weighted_pairs(values, residual.weights, rows, columns)

    def _values(self, p: Any, q: Any, y: Array, z: Array, cross: Array) -> Array:
        embedding, event = self.residual.embedding, len(self.residual.predictions.event_shape)
        values = point(self.residual.kernel, y, z, event)
        if isinstance(values, np.ndarray):
            values -= embedding.mean(p, z)
            values -= embedding.mean(q, y)
            values += cross
            return values
        return values - embedding.mean(p, z) - embedding.mean(q, y) + cross


def _rows(predictions: Any) -> Any:
    return predictions.map_arrays(lambda x: x[:, None, ...])


def _columns(predictions: Any) -> Any:
    return predictions.map_arrays(lambda x: x[None, ...])


_VALUES = 2**21  # numbers of one part: 32 MiB of complex waves


@dataclass(frozen=True, eq=False)
class FourierResidual(FeatureResidual):
    """Residual features ``a_k [cos(w_k.y) - E cos(w_k.Z), sin(w_k.y) - E sin(w_k.Z)]`` of a `Spectral` kernel.

    The expectations are the characteristic function of the prediction, which most families have in closed form.

    Attributes
    ----------
    kernel : Spectral
        Target kernel, its lengthscale a number.
    mean : numpy.ndarray of shape (n, 2 D)
        Expected features of every prediction.
    vector : bool
        Whether targets are vectors.
    weights : numpy.ndarray of shape (n,), or None
        Case weights.

    Notes
    -----
    Cost: O(n D) a set of targets. NumPy only: gradients need the kernel itself.
    """

    kernel: Spectral
    mean: np.ndarray
    vector: bool
    weights: np.ndarray | None = None

    @classmethod
    def of(cls, predictions: RealPredictions, kernel: Spectral, weights: np.ndarray | None = None) -> FourierResidual:
        """Residual of predictions that have a characteristic function."""
        if not isinstance(predictions.mean, np.ndarray):
            raise InputError(
                f"{kernel} is computed in NumPy and keeps no gradient, got an array of "
                f"{type(predictions.mean).__module__.split('.')[0]}: move the predictions to NumPy, or choose a "
                "target_kernel whose expectation has a closed form, such as Gaussian() for normal predictions"
            )
        vector = len(predictions.event_shape) == 1
        frequencies, amplitudes = kernel.nodes(predictions.dimension if vector else None)
        parts = row_slices(len(predictions), max(1, _VALUES // len(amplitudes)))
        waves = np.concatenate([predictions[part].characteristic(frequencies) for part in parts])
        return cls(kernel, _side_by_side(waves, amplitudes), vector, weights)

    def __len__(self) -> int:
        return len(self.mean)

    def __getitem__(self, index: Any) -> FourierResidual:
        weights = None if self.weights is None else self.weights[index]
        return replace(self, mean=self.mean[index], weights=weights)

    @property
    def dimension(self) -> int:
        """Number of features, two a frequency."""
        return self.mean.shape[1]

    def bound(self) -> float:
        """Bound of |<r_i, r_j>|: the features lie on a sphere, so two of them are at most its diameter apart."""
        return 4 * self.kernel.bound()

    def far_lengths(self) -> np.ndarray | None:
        """Of an outcome whose features are orthogonal to those expected: ``k(y, y) + |E psi|^2``."""
        return self.kernel.bound() + np.einsum("nk,nk->n", self.mean, self.mean)

    def double(self) -> FourierResidual:
        """Return itself: it is NumPy and float64."""
        return self

    def features(self, targets: np.ndarray) -> Array:
        """Residuals of one set of targets, shape (n, 2 D)."""
        return self._residuals(self._features(np.asarray(targets)), self.mean, self.weights)

    def batch(self, targets: np.ndarray) -> np.ndarray:
        """Residuals of many sets of targets as one array of shape (n, B, 2 D)."""
        rows = self._features(np.swapaxes(targets, 0, 1))
        weights = None if self.weights is None else self.weights[:, None]
        return self._residuals(rows, self.mean[:, None, :], weights)

    @staticmethod
    def _residuals(rows: np.ndarray, mean: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        rows -= mean
        if weights is not None:
            rows *= weights[..., None]
        return rows

    def _features(self, y: np.ndarray) -> np.ndarray:
        frequencies, amplitudes = self.kernel.nodes(y.shape[-1] if self.vector else None)
        return _side_by_side(_waves(y, frequencies, self.vector), amplitudes)


def _waves(y: np.ndarray, frequencies: np.ndarray, vector: bool) -> np.ndarray:
    """Return exp(i w.y): for multiples of one frequency by powers, which is quicker than as many cosines."""
    if vector:
        return np.exp(1j * (y @ frequencies.T))
    if np.allclose(frequencies, frequencies[0] * np.arange(1, len(frequencies) + 1), rtol=1e-14, atol=0):
        first = np.exp(1j * frequencies[0] * y)
        waves = np.empty((*y.shape, len(frequencies)), dtype=np.complex128)
        waves[..., 0] = first
        for k in range(1, len(frequencies)):
            np.multiply(waves[..., k - 1], first, out=waves[..., k])
        return waves
    return np.exp(1j * y[..., None] * frequencies)


def _side_by_side(waves: np.ndarray, amplitudes: np.ndarray) -> np.ndarray:
    """Complex numbers as pairs of real ones, (..., 2 D), times the amplitudes."""
    pairs = np.ascontiguousarray(waves).view(np.float64)
    return pairs * np.repeat(amplitudes, 2)
