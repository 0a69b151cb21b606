"""Conditional kernel calibration error: how far apart two conditional mean operators are."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kernelcal.arrays import is_numpy, row_slices, to_double
from kernelcal.cases import Case
from kernelcal.errors import InputError, KernelcalWarning
from kernelcal.kernels import Integrator, Kernel, positive, resolve
from kernelcal.pairs import ExactPairs, RandomFourier
from kernelcal.predictions import Predictions, Quantiles
from kernelcal.residuals import FeatureResidual, QuantileResidual, residual_of, target_kernel_of
from kernelcal.statistics.base import Estimate, Prepared, Statistic, interpolation_notes, target_notes
from kernelcal.statistics.conditional.engines import (
    ConditionalEngine,
    Features,
    IncompleteCholesky,
    fourier_features,
    incomplete_cholesky,
    pivoted_factor,
    refuse_other_engines,
)
from kernelcal.statistics.conditional.gradient import flows, traced_value
from kernelcal.statistics.conditional.kernel import gram, linear_and_gaussian, refuse_not_finite, two_columns
from kernelcal.statistics.conditional.operator import ByCholesky, ByFeatures, CrossValidation, Operator
from kernelcal.statistics.functions import function_of
from kernelcal.statistics.pairwise import not_definite

__all__ = ["CKCE", "PreparedCKCE", "ckce"]


_ESTIMATORS = ("plug-in", "corrected")
_VALIDATED = "cross-validation"
_RESIDUAL_TOLERANCE = 1e-10  # of the sum of |r_i|^2: what a factor of their inner products may leave out


@dataclass(frozen=True, kw_only=True)
class CKCE(Statistic):
    """Conditional kernel calibration error, ``tr(W R W K)`` with ``W = (K + lambda n I)^-1``.

    The squared Hilbert-Schmidt distance of the conditional mean operators of the targets and of what was predicted,
    given the prediction: the ridge regression of the residuals on the predictions, squared. Unlike the `SKCE` it does
    not weigh a prediction by how often it is made, so models that are confident at different rates can be compared.

    Parameters
    ----------
    prediction_kernel : Kernel, optional
        k_P, positive definite. Default ``p.q + exp(-|p - q|^2 / (2 gamma^2))`` with gamma the median Euclidean
        distance; `Linear` or `Gaussian` alone are options of the paper. Between predictions of numbers ``p.q`` is the
        inner product of the mean embeddings, ``E k_Y(Z, Z')``.
    target_kernel : Kernel, optional
        k_Y between targets; default and ``lengthscale="median"`` as for `SKCE`.
    regularization : float or "cross-validation", optional
        lambda, positive. Default ``n ** (-1 / 4)``. ``cross-validation``: the one of thirteen candidates at which the
        ridge regression of the targets' features on the predictions has the least leave-one-out loss. The candidates
        are 1e-4 to 1 times the mean of k_P(p, p). An exact test chooses it anew in every draw: the level holds, but
        the value then changes more with lambda than with the targets, and there is hardly any power. Test at the
        default.
    estimator : {"plug-in", "corrected"}
        ``plug-in``: the sum over all pairs of rows, as published; never negative, and above 0 for calibrated models
        too, since the pairs of a row with itself hold the noise of the targets. ``corrected``: without these pairs,
        ``sum_{i != j} M_ij <r_i, r_j>`` with ``M = W K W``; its mean is 0 for calibrated models, given their
        predictions, and it may be negative. Models whose targets are noisy to different degrees are compared by it.
    engine : ExactPairs, RandomFourier or IncompleteCholesky
        How K is used. `ExactPairs` (default): Cholesky factor of the n x n matrix; the size of its tiles and its
        threads do not matter here. `RandomFourier`: random Fourier features in the primal, here the cosine and the
        sine of D = ``frequencies`` frequencies of each profile, 2 D features; the error falls as ``D ** (-1 / 2)``, the
        published D is 100, and ``rng`` is a whole number. `IncompleteCholesky`: pivoted incomplete Cholesky factor
        of K, for any kernel.
    integrator : Integrator, optional
        For expectations of the target kernel without a closed form, as for `SKCE`.

    Raises
    ------
    InputError
        For engines that do not serve, kernels that are not finite or not positive definite, fewer than two rows,
        and data that cannot be used.

    Notes
    -----
    Cost with r features of the target kernel (the number of classes m). Exact: n^3 / 3 multiplications and
    8 n^2 bytes once, 2 n^2 r for every set of targets; up to 30,000 rows. `RandomFourier`: n D'^2 with
    ``D' = m + 2 D``, then n D' r. `IncompleteCholesky` of rank D: n D (m + D) and 8 n D bytes, then n D r. Target
    kernels between numbers without features take n^2 kernel values a set of targets, and with `ExactPairs` n^3
    multiplications and 16 n^2 bytes more, once. ``corrected`` takes 2 n^3 / 3 (exact) or n D^2 multiplications more,
    once. ``cross-validation`` takes 9 n^3 (exact) instead, then 15 n^2 r a set of targets.

    Case weights w, of mean 1, enter both empirical operators, ``K_ij sqrt(w_i w_j)`` and ``R_ij sqrt(w_i w_j)``: at a
    given lambda and lengthscale a whole number as weight is the same as so many copies of the row.

    A `Bernoulli` is taken as the two probabilities (1 - p, p). Of NumPy arrays the value is computed in float64; of
    PyTorch and JAX arrays in their library and precision, with its gradient, for `ExactPairs` and `RandomFourier` with
    lambda a number and target kernels that have one (`Dirac` and `FiniteKernel` of classes, `PIT` and `Gaussian` of
    normal laws): as a penalty in training, which the paper proposes. Otherwise such arrays are moved to NumPy, and the
    value has no gradient. Assumes that rows are independent given the predictions.

    References
    ----------
    Moskvichev and Sejdinovic (2025), eqs. 7, 8 and 9; Fine and Scheinberg (2001) for the incomplete factor.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import CKCE
    >>> statistic = CKCE(prediction_kernel=kc.kernels.Linear(), regularization=0.5)
    >>> round(float(statistic([0, 1, 1], [[0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])), 6)
    0.066319

    >>> from kernelcal.statistics import ckce
    >>> ckce([1, 2, 0], [[0.1, 0.8, 0.1], [0.2, 0.5, 0.3], [0.6, 0.2, 0.2]], prediction_kernel=kc.Gaussian(1.0))
    CKCE
    ----
    CKCE               0.0304312
    estimator          plug-in
    rows               3
    prediction kernel  Gaussian(lengthscale=1.0, metric=Euclidean())
    target kernel      Dirac()
    regularization     0.759836
    engine             Cholesky factor, 3 x 3
    """

    prediction_kernel: Kernel | None = None
    target_kernel: Kernel | None = None
    regularization: float | str | None = None
    estimator: str = "plug-in"
    engine: ConditionalEngine = field(default_factory=ExactPairs)
    integrator: Integrator | None = None

    def __post_init__(self) -> None:
        for name in ("prediction_kernel", "target_kernel"):
            given = getattr(self, name)
            if given is not None and not isinstance(given, Kernel):
                raise InputError(f"{name} must be a kernel such as kernelcal.Gaussian(), got {given!r}")
        if not isinstance(self.estimator, str) or self.estimator not in _ESTIMATORS:
            raise InputError(f"estimator must be one of {', '.join(_ESTIMATORS)}, got {self.estimator!r}")
        if isinstance(self.regularization, str) and self.regularization != _VALIDATED:
            raise InputError(f"regularization must be a number or {_VALIDATED!r}, got {self.regularization!r}")
        if self.regularization is not None and not isinstance(self.regularization, str):
            positive("regularization (lambda)", self.regularization)
        refuse_other_engines(self.engine)

    def estimated(self, case: Case) -> Estimate:
        """Estimate; with case weights rows count by their weights."""
        batch = case.predictions
        if not is_numpy(batch.reference) and self._flows(case):
            return self._with_gradient(case)
        prepared = self.prepare(batch, case.weights)
        if not prepared.kernel.positive_definite(prepared.predictions):
            warnings.warn(not_definite(prepared.kernel, prepared.predictions), KernelcalWarning, stacklevel=3)
        (value,), (chosen,) = prepared.with_regularization(case.targets[None])
        notes = prepared.notes + target_notes(batch, self.integrator) + prepared.notes_of(chosen)
        options = self._options(prepared.kernel, prepared.target_kernel, chosen, batch)
        return Estimate(value, "CKCE", self.estimator, len(batch), prepared.engine, options, notes)

    def _options(self, kernel: Kernel, target_kernel: Kernel, chosen: float, batch: Predictions) -> dict[str, Any]:
        options: dict[str, Any] = {"prediction_kernel": kernel, "target_kernel": target_kernel}
        options["regularization"] = float(f"{chosen:.6g}")
        if self.integrator is not None:
            options["integrator"] = self.integrator
        if batch.question is not None:
            options["question"] = batch.question
        return options

    def _flows(self, case: Case) -> bool:
        """Whether the value has a gradient here."""
        target_kernel = target_kernel_of(self.target_kernel, case.predictions, case.weights)
        return flows(case.predictions, target_kernel, self.engine, self.regularization)

    def _with_gradient(self, case: Case) -> Estimate:
        """Estimate in the library of the predictions."""
        n, batch = len(case.targets), two_columns(case.predictions)
        refuse_few(n)
        kernel, target_kernel, notes = self.kernels_of(batch, case.weights)
        if not kernel.positive_definite(batch):
            warnings.warn(not_definite(kernel, batch), KernelcalWarning, stacklevel=4)
        roots = None if case.weights is None else np.sqrt(case.weights)
        residual = residual_of(batch, target_kernel, roots, self.integrator)
        chosen = self.regularization_of(n)
        assert not isinstance(chosen, str)  # for the type checker: cross-validation does not flow
        corrected = self.estimator == "corrected"
        value, engine = traced_value(batch, kernel, residual, case.targets, chosen, self.engine, corrected=corrected)
        notes = (*case.predictions.notes, *notes, *interpolation_notes(case.predictions, target_kernel))
        notes += target_notes(case.predictions, self.integrator)
        options = self._options(kernel, target_kernel, chosen, case.predictions)
        return Estimate(value, "CKCE", self.estimator, n, engine, options, notes)

    def prepare(self, predictions: Predictions, weights: np.ndarray | None = None) -> PreparedCKCE:
        """Resolve lengthscales, and factorise what no target changes."""
        return PreparedCKCE(self, predictions, weights)

    def resolved(self, predictions: Predictions, weights: np.ndarray | None = None) -> CKCE:
        """Fix lengthscales and the default lambda."""
        kernel, target_kernel, _ = self.kernels_of(two_columns(predictions), weights)
        regularization = self.regularization_of(len(predictions))
        return replace(self, prediction_kernel=kernel, target_kernel=target_kernel, regularization=regularization)

    def fixed(self, targets: np.ndarray, predictions: Predictions, weights: np.ndarray | None = None) -> CKCE:
        """Return the same with a number for lambda: where cross-validation chooses it, its choice for these targets."""
        if not isinstance(self.regularization, str):
            return self
        (chosen,) = self.prepare(predictions, weights).with_regularization(targets[None])[1]
        return replace(self, regularization=float(chosen))

    def kernels_of(
        self, predictions: Predictions, weights: np.ndarray | None = None
    ) -> tuple[Kernel, Kernel, tuple[str, ...]]:
        """Prediction and target kernel with their lengthscales, and what the reader must know of them.

        Of one probability they are those of the two, in which it has been written.
        """
        target_kernel = target_kernel_of(self.target_kernel, predictions, weights)
        given = self.prediction_kernel or linear_and_gaussian(predictions, target_kernel, self.integrator)
        kernel, notes = resolve(given, predictions, weights=weights)
        return kernel, target_kernel, notes

    def regularization_of(self, n: int) -> float | str:
        """Return lambda for so many rows, unless the targets are to choose it."""
        return n**-0.25 if self.regularization is None else self.regularization


def refuse_few(n: int) -> None:
    """Refuse a single row."""
    if n < 2:
        raise InputError(f"CKCE needs at least 2 rows, got {n}: a regression on predictions needs several")


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
        refuse_few(n)
        self.statistic, self.n, self.corrected = statistic, n, statistic.estimator == "corrected"
        self.predictions = two_columns(predictions).map_arrays(to_double)
        self.kernel, self.target_kernel, notes = statistic.kernels_of(self.predictions, weights)
        self.roots = None if weights is None else np.sqrt(weights)
        self.residual = residual_of(self.predictions, self.target_kernel, self.roots, statistic.integrator)
        self.names, self.notes = ("CKCE",), predictions.notes + notes
        self.by_cells = isinstance(self.residual, QuantileResidual)
        if isinstance(predictions, Quantiles):
            self.notes += interpolation_notes(predictions, self.target_kernel)
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
            lambda rows: inner.block(slice(rows[0], rows[0] + 1), everything),
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
        engine = self.statistic.engine
        if isinstance(engine, ExactPairs):
            matrix = gram(kernel, self.predictions, roots)
            if validated:
                spectrum = CrossValidation.of_matrix(matrix, kernel, self.residual, roots)
                return f"spectrum of {n:,} x {n:,} values", spectrum
            return f"Cholesky factor, {n:,} x {n:,}", ByCholesky(kernel, matrix, c)
        label, features = self._low_rank(engine)
        if validated:
            phi = np.concatenate([features(rows) for rows in row_slices(n, 8192)])
            return label, CrossValidation.of_features(phi, self.residual, roots)
        return label, ByFeatures(kernel, features, n, c)

    def _low_rank(self, engine: RandomFourier | IncompleteCholesky) -> tuple[str, Features]:
        roots = self.roots
        if isinstance(engine, IncompleteCholesky):
            factor, left = incomplete_cholesky(self.kernel, self.predictions, roots, engine.tolerance, engine.rank)
            label = f"incomplete Cholesky factor of rank {len(factor)}, {left:.1e} of the trace left out"
            return label, lambda rows: factor[:, rows].T
        features = fourier_features(self.kernel, self.predictions, engine.frequencies, engine.rng)

        def checked(rows: slice) -> np.ndarray:
            phi = features(rows)
            refuse_not_finite(self.kernel, phi)
            return phi if roots is None else phi * roots[rows, None]

        return f"random Fourier features, {engine.frequencies} frequencies", checked


ckce = function_of(CKCE)
