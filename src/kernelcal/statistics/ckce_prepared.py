"""CKCE of fixed predictions: what depends on them alone is factorised once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import Predictions
from kernelcal.residuals import FeatureResidual, residual_of
from kernelcal.statistics.base import Prepared
from kernelcal.statistics.ckce_features import Features, fourier_features, incomplete_cholesky, pivoted_factor
from kernelcal.statistics.ckce_kernel import gram, refuse_not_finite, two_columns
from kernelcal.statistics.ckce_solve import ByCholesky, ByFeatures, Operator
from kernelcal.statistics.ckce_validation import CrossValidation

if TYPE_CHECKING:
    from kernelcal.statistics.ckce import CKCE

__all__ = ["PreparedCKCE"]

_RESIDUAL_TOLERANCE = 1e-10  # of the sum of |r_i|^2: what a factor of their inner products may leave out


class PreparedCKCE(Prepared):
    """The operator of fixed predictions, ready for many sets of targets.

    Attributes
    ----------
    statistic : CKCE
        The settings.
    predictions : Predictions
        In NumPy and float64, one probability written as two.
    kernel, target_kernel : Kernel
        With their lengthscales.
    residual : Residual
        Residuals times the roots of the weights.
    """

    def __init__(self, statistic: CKCE, predictions: Predictions, weights: np.ndarray | None) -> None:
        n = len(predictions)
        if n < 2:
            raise InputError(f"CKCE needs at least 2 rows, got {n}: a regression on predictions needs several")
        self.statistic, self.n, self.corrected = statistic, n, statistic.estimator == "corrected"
        self.predictions = two_columns(predictions).map_arrays(_double)
        self.kernel, self.target_kernel, notes = statistic.kernels_of(self.predictions)
        self.roots = None if weights is None else np.sqrt(weights)
        self.residual = residual_of(self.predictions, self.target_kernel, self.roots, statistic.integrator)
        self.names, self.notes = ("CKCE",), predictions.notes + notes
        self.regularization = statistic.regularization_of(n)
        self.engine, self._solver = self._prepared()
        dimension = self.residual.dimension
        self.bytes_per_draw = (
            40 * n * dimension if isinstance(self._solver, CrossValidation) else self._solver.bytes_per_draw(dimension)
        )

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values for targets of shape (B, n, ...): shape (B, 1)."""
        return self.with_regularization(targets)[0][:, None]

    def with_regularization(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values and lambda of every set of targets, each of shape (B,)."""
        if isinstance(self._solver, CrossValidation):
            return self._solver.values(targets, corrected=self.corrected)
        values = self._solver.values(self.residual, targets)
        if self.corrected:
            values -= self._solver.noise(self.residual, targets)
        return values, np.full(len(values), self.regularization)

    @property
    def operator(self) -> Operator:
        """The operator, where lambda is a number."""
        assert isinstance(self._solver, Operator)  # callers fix lambda first: see CKCE.fixed
        return self._solver

    def observed(self, targets: np.ndarray) -> np.ndarray:
        """Features of the residuals of one set of targets, shape (n, k); of inner products, their pivoted factor."""
        residual = self.residual
        if isinstance(residual, FeatureResidual):
            return residual.batch(targets[None])[:, 0]
        inner, everything = residual.inner(targets), slice(None)
        factor, _ = pivoted_factor(
            lambda k: inner.block(slice(k, k + 1), everything)[0],
            inner.aligned(everything, everything),
            _RESIDUAL_TOLERANCE,
            None,
            self.target_kernel,
        )
        return factor.T

    def notes_of(self, chosen: float) -> tuple[str, ...]:
        """Say when the best lambda is the first or last candidate."""
        if not isinstance(self._solver, CrossValidation):
            return ()
        candidates = self._solver.candidates
        if candidates[0] < chosen < candidates[-1]:
            return ()
        return ("cross-validation chose the first or last of its candidates: see the value at a given regularization",)

    def _prepared(self) -> tuple[str, Operator | CrossValidation]:
        kernel, n, roots = self.kernel, self.n, self.roots
        validated = isinstance(self.regularization, str)
        c = 0.0 if isinstance(self.regularization, str) else self.regularization * n
        if self.statistic.method == "exact":
            matrix = gram(kernel, self.predictions, roots)
            if validated:
                spectrum = CrossValidation.of_matrix(matrix, kernel, self.residual, roots)
                return f"spectrum of {n:,} x {n:,} values", spectrum
            return f"Cholesky factor, {n:,} x {n:,}", ByCholesky(kernel, matrix, c)
        label, features = self._low_rank()
        if validated:
            phi = np.concatenate([features(rows) for rows in row_slices(n, 8192)])
            return label, CrossValidation.of_features(phi, self.residual, roots)
        return label, ByFeatures(kernel, features, n, c)

    def _low_rank(self) -> tuple[str, Features]:
        statistic, roots = self.statistic, self.roots
        if statistic.method == "cholesky":
            factor, left = incomplete_cholesky(
                self.kernel, self.predictions, roots, statistic.tolerance, statistic.rank
            )
            label = f"incomplete Cholesky factor of rank {len(factor)}, {left:.1e} of the trace left out"
            return label, lambda rows: factor[:, rows].T
        features = fourier_features(self.kernel, self.predictions, statistic.frequencies, statistic.rng)

        def checked(rows: slice) -> np.ndarray:
            phi = features(rows)
            refuse_not_finite(self.kernel, phi)
            return phi if roots is None else phi * roots[rows, None]

        return f"random Fourier features, {statistic.frequencies} frequencies", checked


def _double(x: Any) -> np.ndarray:
    return to_numpy(x).astype(np.float64, copy=False)
