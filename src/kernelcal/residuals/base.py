"""The contract of residuals: what an outcome adds to what its prediction said."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.arrays import Array, like, namespace, take_rows, to_double
from kernelcal.errors import InputError
from kernelcal.kernels import Kernel
from kernelcal.predictions import RealPredictions

__all__ = ["FeatureInner", "FeatureResidual", "Inner", "PairResidual", "Residual", "weighted_block", "weighted_pairs"]


class Inner(ABC):
    """Inner products ``R_ij = <r_i, r_j>`` of the residuals of one set of targets."""

    @abstractmethod
    def block(self, rows: Any, columns: Any, cross: Array | None = None) -> Array:
        """R_ij of some rows and columns, an array that may be overwritten; `cross` if it is known already."""

    @abstractmethod
    def aligned(self, rows: Any, columns: Any) -> Array:
        """R_ij of the first row and column, of the second, and so on: shape (rows,)."""


class Residual(ABC):
    """Residuals ``r_i = psi(y_i) - E psi(Z)``, ``Z ~ P_i``, of fixed predictions under a target kernel.

    Or other features of targets that have mean zero under the prediction, such as those of Stein.

    Attributes
    ----------
    weights : numpy.ndarray of shape (n,), or None
        Case weights, by which the residuals are multiplied.
    dimension : int
        Number of numbers that one residual takes, which the engines count as work.
    """

    weights: np.ndarray | None

    @property
    @abstractmethod
    def dimension(self) -> int:
        """Work of one residual."""

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, index: Any) -> Self: ...

    @abstractmethod
    def inner(self, targets: np.ndarray) -> Inner:
        """Inner products for one set of targets."""

    def cross(self, rows: Any, columns: Any) -> Array | None:
        """Part of R_ij that no target changes, worth computing once for many sets of targets; None if there is none."""
        return None

    @abstractmethod
    def bound(self) -> float:
        """Bound of |<r_i, r_j>| without weights."""

    def far_lengths(self) -> np.ndarray | None:
        """Squared length of the residual of an outcome far from what was predicted, without weights, shape (n,).

        By default the bound of all rows; None where residuals have no bound.
        """
        try:
            return np.full(len(self), self.bound())
        except InputError:
            return None

    @abstractmethod
    def double(self) -> Self:
        """Return the same in NumPy and float64."""


class FeatureResidual(Residual):
    """Residuals with finitely many features, so that sums over pairs become matrix products."""

    @abstractmethod
    def features(self, targets: np.ndarray) -> Array:
        """Residuals of one set of targets, shape (n, r), in the library of the predictions."""

    @abstractmethod
    def batch(self, targets: np.ndarray) -> np.ndarray:
        """Residuals of many sets of targets, shape (B, n, ...), as one NumPy array of shape (n, B, r)."""

    def scalars(self, targets: np.ndarray) -> np.ndarray:
        """Residuals of one feature for many sets of targets, shape (B, n, ...): shape (B, n)."""
        return np.ascontiguousarray(self.batch(targets)[:, :, 0].T)

    def inner(self, targets: np.ndarray) -> Inner:
        """Inner products of the features."""
        return FeatureInner(self.features(targets))

    def squared_norms(self, targets: np.ndarray) -> np.ndarray:
        """|r_i|^2 of many sets of targets: shape (B, n)."""
        r = self.batch(targets)
        return np.einsum("nbk,nbk->bn", r, r)


@dataclass(frozen=True, eq=False)
class PairResidual(Residual):
    """Residuals of numbers without features: the predictions stay, and inner products are computed pair by pair."""

    predictions: RealPredictions
    kernel: Kernel

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, index: Any) -> Self:
        weights = None if self.weights is None else self.weights[index]
        rows: dict[str, Any] = {"predictions": self.predictions[index], "weights": weights}
        return replace(self, **rows)

    def double(self) -> Self:
        """Return the same in NumPy and float64."""
        return replace(self, predictions=self.predictions.map_arrays(to_double))


@dataclass(frozen=True, eq=False)
class FeatureInner(Inner):
    """Inner products of features r, shape (n, k)."""

    r: Array

    def block(self, rows: Any, columns: Any, cross: Array | None = None) -> Array:
        """Products of some rows with some columns."""
        return self.r[rows, :] @ self.r[columns, :].T

    def aligned(self, rows: Any, columns: Any) -> Array:
        """Row by row."""
        return namespace(self.r).sum(take_rows(self.r, rows) * take_rows(self.r, columns), axis=1)


def weighted_block(values: Array, weights: np.ndarray | None, rows: Any, columns: Any) -> Array:
    """R_ij of some rows and columns times the weights of both."""
    if weights is None:
        return values
    w = like(weights, values)
    return values * w[rows][:, None] * w[columns]


def weighted_pairs(values: Array, weights: np.ndarray | None, rows: Any, columns: Any) -> Array:
    """R_ij pair by pair times the weights of both."""
    if weights is None:
        return values
    w = like(weights, values)
    return values * w[rows] * w[columns]
