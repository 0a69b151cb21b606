"""Residuals of predictions of numbers under a spectral kernel: cosines and sines minus what was predicted."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.arrays import Array, row_slices
from kernelcal.errors import InputError
from kernelcal.kernels import Spectral
from kernelcal.predictions import RealPredictions
from kernelcal.residuals.base import FeatureResidual

__all__ = ["FourierResidual"]


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
