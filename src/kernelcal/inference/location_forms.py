"""The quadratic forms of the calibration mean embedding test."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference.location_covariance import known_covariance
from kernelcal.inference.whitening import Whitening
from kernelcal.statistics import Prepared
from kernelcal.statistics.ucme import PreparedUCME

__all__ = ["EmpiricalForm", "KnownForm", "LocationForm"]

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
