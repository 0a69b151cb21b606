"""Residuals under any target kernel: their inner products from point, mean and cross."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.arrays import Array, like, take_rows, to_double
from kernelcal.errors import InputError
from kernelcal.kernels import Integrator, Kernel, Linear, Spectral, has_leaf, plan, point
from kernelcal.kernels.embeddings import Embedding
from kernelcal.predictions import RealPredictions
from kernelcal.residuals.base import Inner, Residual, weighted_block, weighted_pairs

__all__ = ["GramResidual"]


@dataclass(frozen=True, eq=False)
class GramResidual(Residual):
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

    predictions: RealPredictions
    kernel: Kernel
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

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, index: Any) -> GramResidual:
        weights = None if self.weights is None else self.weights[index]
        return replace(self, predictions=self.predictions[index], weights=weights)

    @property
    def dimension(self) -> int:
        """Kernel values a pair: four."""
        return 4

    def bound(self) -> float:
        """Bound of |<r_i, r_j>|: 2 sup k for a kernel that is not negative, else 4 sup |k|."""
        if has_leaf(self.kernel, Linear):
            raise InputError("a linear target kernel of numbers has no bound: use Gaussian() or Laplacian()")
        return (4.0 if has_leaf(self.kernel, Spectral) else 2.0) * self.kernel.bound()

    def double(self) -> GramResidual:
        """Return the same in NumPy and float64."""
        return replace(self, predictions=self.predictions.map_arrays(to_double))

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
