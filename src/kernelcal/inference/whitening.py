"""Quadratic forms ``z' V^+ z`` with the pseudo-inverse of a covariance matrix."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["ROUNDING", "Whitening"]

ROUNDING = 1e-12  # of the squares whose difference a variance is, and of the largest eigenvalue: below is no variance
_CLEARLY = 1e4  # a squared deviation in directions without variance counts above so many times the rounding


@dataclass(frozen=True, eq=False)
class Whitening:
    """Pseudo-inverse of a covariance matrix V, through its correlation matrix.

    Locations far from all predictions have tiny variances and are as good as others: the correlation matrix tells them
    from rounding, the covariance matrix does not.

    Attributes
    ----------
    scale : numpy.ndarray of shape (J,)
        Standard deviations.
    vectors : numpy.ndarray of shape (J, J)
        Eigenvectors of the correlation matrix.
    values : numpy.ndarray of shape (J,)
        Eigenvalues, ascending.
    cutoff : float
        Eigenvalues below so much of the largest are left out.
    """

    scale: np.ndarray
    vectors: np.ndarray
    values: np.ndarray
    cutoff: float

    @classmethod
    def of(cls, matrix: np.ndarray, squares: np.ndarray, cutoff: float = ROUNDING) -> Whitening:
        """Decompose a covariance matrix; `squares` are the sizes of the numbers that its diagonal came from.

        A variance below rounding is zero, and rounding is the unit there.
        """
        variance, rounding = np.diag(matrix), ROUNDING * squares
        varies = variance > rounding
        scale = np.sqrt(np.maximum(variance, rounding))
        scale[scale == 0] = 1.0  # far from every prediction: the sum is zero as well
        correlation = np.where(np.outer(varies, varies), matrix / np.outer(scale, scale), 0.0)
        values, vectors = np.linalg.eigh(correlation)
        return cls(scale, vectors, values, cutoff)

    @property
    def kept(self) -> np.ndarray:
        """Which eigenvalues are used."""
        return self.values > self.cutoff * max(float(self.values[-1]), 0.0)

    @property
    def rank(self) -> int:
        """Rank of the matrix, above the cutoff."""
        return int(self.kept.sum())

    def squares(self, z: np.ndarray, *, leaving: bool = True) -> np.ndarray:
        """``z' V^+ z`` of vectors of shape (B, J).

        Vectors that clearly leave the range of V, which no draw with this covariance does, get the square of what is
        outside added, in units of rounding; without `leaving` it is left out.
        """
        w, kept = (z / self.scale) @ self.vectors, self.kept
        inside = (w[:, kept] ** 2 / self.values[kept]).sum(axis=1)
        if not leaving:
            return inside
        rounding = ROUNDING * max(float(self.values[-1]), 1.0)
        outside = (w[:, self.values <= rounding] ** 2).sum(axis=1) / rounding
        return inside + np.where(outside > _CLEARLY, outside, 0.0)
