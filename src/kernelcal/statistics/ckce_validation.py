"""Regularisation of CKCE by leave-one-out cross-validation, from one spectrum for all candidates."""

from __future__ import annotations

import numpy as np

from kernelcal.errors import InputError
from kernelcal.kernels import Kernel
from kernelcal.residuals import ClassResidual, FeatureResidual, FourierResidual, Residual

__all__ = ["CrossValidation"]

CANDIDATES = np.logspace(-4, 0, 13)  # times the mean of k(p, p)
_RANK = 1e-13  # of the largest eigenvalue


class CrossValidation:
    """Choose lambda for every set of targets anew: the CKCE at the lambda that predicts the targets best.

    Left out is one row at a time: ``e_i = (psi_i - H psi_i) / (1 - H_ii)``, ``H = K (K + lambda n I)^-1``, psi the
    features of the targets. The loss is the sum of ``|e_i|^2``. With ``K = U S U'`` one spectrum serves all candidates.
    """

    def __init__(self, vectors: np.ndarray, values: np.ndarray, residual: Residual, roots: np.ndarray | None) -> None:
        if not isinstance(residual, ClassResidual | FourierResidual):
            raise InputError(
                "regularization='cross-validation' needs features of the targets: pass "
                "target_kernel=kernelcal.kernels.Spectral(kernelcal.Gaussian()), or a number as regularization"
            )
        kept = values > _RANK * max(float(values.max()), 0.0)
        self.vectors, self.spectrum, self.residual = vectors[:, kept], values[kept], residual
        self.n = len(vectors)
        self.mean = residual.mean if roots is None else residual.mean * roots[:, None]
        self.candidates = CANDIDATES * float(self.spectrum.sum() / self.n)

    @classmethod
    def of_matrix(
        cls, matrix: np.ndarray, kernel: Kernel, residual: Residual, roots: np.ndarray | None
    ) -> CrossValidation:
        """Spectrum of K: about 9 n^3 multiplications, once."""
        values, vectors = np.linalg.eigh(matrix)
        if values[0] < -1e-8 * values[-1]:
            raise InputError(
                f"{kernel} is not positive definite over these predictions: choose another metric or profile, such as "
                "Gaussian()"
            )
        return cls(vectors, values, residual, roots)

    @classmethod
    def of_features(cls, phi: np.ndarray, residual: Residual, roots: np.ndarray | None) -> CrossValidation:
        """Spectrum of Phi Phi' from that of Phi'Phi: n D^2 multiplications, once."""
        values, vectors = np.linalg.eigh(phi.T @ phi)
        kept = values > _RANK * values[-1]
        return cls(phi @ (vectors[:, kept] / np.sqrt(values[kept])), values[kept], residual, roots)

    def values(self, targets: np.ndarray, *, corrected: bool = False) -> tuple[np.ndarray, np.ndarray]:
        """CKCE and lambda for targets of shape (B, n, ...), each of shape (B,)."""
        residual: FeatureResidual = self.residual
        r = residual.batch(targets)
        chosen = self.candidates[np.argmin(self.losses(r), axis=0)]
        squares = ((self.vectors.T @ r.reshape(self.n, -1)).reshape(-1, *r.shape[1:]) ** 2).sum(axis=2)
        s = self.spectrum[:, None]
        shares = s / (s + chosen * self.n) ** 2
        values = (squares * shares).sum(axis=0)
        if corrected:  # the pairs of a row with itself, sum_i M_ii |r_i|^2
            values -= np.einsum("nb,nbk,nbk->b", self.vectors**2 @ shares, r, r)
        return values, chosen

    def losses(self, r: np.ndarray) -> np.ndarray:
        """Leave-one-out losses of residuals of shape (n, B, r) at every candidate, shape (candidates, B)."""
        psi = r + self.mean[:, None, :]
        inside = self.vectors.T @ psi.reshape(self.n, -1)
        return np.stack([self._loss(psi, inside, c * self.n) for c in self.candidates])

    def _loss(self, psi: np.ndarray, inside: np.ndarray, c: float) -> np.ndarray:
        shrunk = self.spectrum / (self.spectrum + c)
        fitted = (self.vectors @ (shrunk[:, None] * inside)).reshape(psi.shape)
        left_out = 1 - (self.vectors**2) @ shrunk
        return np.einsum("nbk,n->b", (psi - fitted) ** 2, left_out**-2.0)
