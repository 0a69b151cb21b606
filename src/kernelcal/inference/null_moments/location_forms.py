"""The quadratic forms of the calibration mean embedding test, and the pseudo-inverse of a covariance inside them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference.null_moments.location_covariance import known_covariance
from kernelcal.statistics import Prepared
from kernelcal.statistics.test_locations import PreparedUCME

__all__ = ["ROUNDING", "EmpiricalForm", "KnownForm", "LocationForm", "Whitening"]


ROUNDING = 1e-12  # of the squares whose difference a variance is, and of the largest eigenvalue: below is no variance

_CLEARLY = 1e4  # a squared deviation in directions without variance counts above so many times the rounding

# Combinations of locations with a smaller variance are far from normal with few rows: at J = 10, d = 1, n = 16 the
# chi-square law rejects 8.4 % of calibrated models with them, 7.1 % without, at much the same power: experiments/cme.
_CUTOFF = 1e-5


class LocationForm(Prepared):
    """Q at the locations of fixed predictions, for many sets of targets.

    Attributes
    ----------
    n, locations : int
        Rows, and test locations.
    """

    def __init__(self, prepared: PreparedUCME) -> None:
        self.prepared, self.names, self.engine = prepared, ("CME",), prepared.engine
        self.bytes_per_draw = prepared.bytes_per_draw
        self.n, self.locations = prepared.alike.shape

    @abstractmethod
    def rank(self, targets: np.ndarray) -> int:
        """Rank of the covariance for one set of targets."""


class KnownForm(LocationForm):
    """``z' V^+ z`` with the sums z and their covariance V from the predictions."""

    def __init__(self, prepared: PreparedUCME) -> None:
        super().__init__(prepared)
        covariance = known_covariance(prepared.functions, prepared.alike)
        self.whitening = Whitening.of(covariance.matrix, covariance.squares, _CUTOFF)
        self.notes = covariance.notes

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values for targets of shape (B, n, ...): shape (B, 1)."""
        return self.whitening.squares(self.prepared.sums(targets))[:, None]

    def rank(self, targets: np.ndarray) -> int:
        """Rank of V."""
        return self.whitening.rank


class EmpiricalForm(LocationForm):
    """``n m' S^+ m`` with the mean m and the covariance S (ddof 1) of the observed vectors."""

    def __init__(self, prepared: PreparedUCME) -> None:
        super().__init__(prepared)
        if prepared.weights is not None:
            raise InputError("an empirical covariance takes no case weights: use CME(), whose covariance is known")
        if self.n < 2:
            raise InputError(f"an empirical covariance needs at least 2 rows, got {self.n}: use CME()")

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values for targets of shape (B, n, ...): shape (B, 1); every set of targets has its own S."""
        return np.array([[self._value(self.prepared.rows(y))] for y in targets])

    def rank(self, targets: np.ndarray) -> int:
        """Rank of S."""
        return self._whitening(self.prepared.rows(targets)).rank

    def _value(self, rows: np.ndarray) -> float:
        return self.n * float(self._whitening(rows).squares(rows.mean(axis=0)[None], leaving=False)[0])

    @staticmethod
    def _whitening(rows: np.ndarray) -> Whitening:
        return Whitening.of(np.atleast_2d(np.cov(rows, rowvar=False)), (rows**2).mean(axis=0))


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
