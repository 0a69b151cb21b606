"""Spectral kernels: their expectations are values of the characteristic function, which most families have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, to_numpy
from kernelcal.kernels.embeddings.base import Embedding
from kernelcal.kernels.embeddings.targets import contract, numpy_only
from kernelcal.kernels.spectral import Spectral

__all__ = ["OfSpectrum"]


@dataclass(frozen=True)
class OfSpectrum(Embedding):
    """``sum_k a_k^2 Re[phi(w_k) exp(-i w_k.y)]`` with the characteristic function phi of the prediction.

    Attributes
    ----------
    kernel : Spectral
        Target kernel, its lengthscale a number.
    event_ndim : int
        Number of axes of a target.
    """

    kernel: Spectral
    event_ndim: int

    def mean(self, p: Any, y: Array) -> Array:
        """E k(Z, y)."""
        numpy_only("Spectral()", p.mean, y)
        frequencies, _ = self._nodes(p)
        phases = y @ frequencies.T if self.event_ndim else y[..., None] * frequencies
        return contract(self._features(p), self._weighed(p, np.exp(1j * phases))) + self._constant()

    def cross(self, p: Any, q: Any) -> Array:
        """E k(Z, Z')."""
        numpy_only("Spectral()", p.mean, q.mean)
        return contract(self._features(p), self._features(q)) + self._constant()

    def describe(self) -> tuple[str, ...]:
        """One line."""
        return (f"characteristic function at {self.kernel.frequencies} frequencies: {self.kernel}",)

    def _nodes(self, p: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.kernel.nodes(p.mean.shape[-1] if self.event_ndim else None)

    def _constant(self) -> float:
        return self.kernel.constant(vector=bool(self.event_ndim))

    def _features(self, p: Any) -> np.ndarray:
        """Weighed characteristic function, its real and imaginary parts side by side on a last axis."""
        leading = p.mean.shape[: p.mean.ndim - self.event_ndim]
        flat = p.map_arrays(lambda x: to_numpy(x).reshape(-1, *x.shape[len(leading) :]))
        waves = flat.characteristic(self._nodes(p)[0])
        return self._weighed(p, waves.reshape(*leading, -1))

    def _weighed(self, p: Any, waves: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(waves).view(np.float64) * np.repeat(self._nodes(p)[1], 2)
