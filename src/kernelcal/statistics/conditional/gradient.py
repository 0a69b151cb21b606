"""The CKCE in the operations of PyTorch and JAX, so that its gradient flows: a penalty in training."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import Array, concrete, is_numpy, like, namespace
from kernelcal.kernels import CrossPairs, Kernel, Points, Spectral
from kernelcal.pairs import ExactPairs, RandomFourier
from kernelcal.predictions import Predictions
from kernelcal.residuals import FeatureResidual, Residual
from kernelcal.statistics.conditional.engines import ConditionalEngine, fourier_features
from kernelcal.statistics.conditional.kernel import refuse_many, refuse_not_finite

__all__ = ["flows", "traced_value"]


_ALL = slice(None)


def flows(predictions: Predictions, target_kernel: Kernel, engine: ConditionalEngine, regularization: Any) -> bool:
    """Tell whether the value is made where the predictions lie, with its gradient.

    NumPy arrays have none; a pivoted factor and cross-validation choose by values; spectral features of numbers are
    those of NumPy.
    """
    if is_numpy(predictions.reference) or isinstance(target_kernel, Spectral):
        return False
    return isinstance(engine, ExactPairs | RandomFourier) and not isinstance(regularization, str)


def traced_value(
    predictions: Predictions,
    kernel: Kernel,
    residual: Residual,
    targets: np.ndarray,
    regularization: float,
    engine: ConditionalEngine,
    *,
    corrected: bool,
) -> tuple[Array, str]:
    """CKCE of one set of targets in the library of the predictions, and what computed it.

    With ``c = lambda n`` and ``A = K + c I`` the value is ``sum_ij M_ij <r_i, r_j>`` with ``M = A^-1 K A^-1``, eq. (7);
    in the primal ``|(Phi'Phi + c I)^-1 Phi' r|^2``, eq. (9). Corrected, without ``i = j``.

    Parameters
    ----------
    predictions : Predictions
        One probability written as two.
    kernel : Kernel
        Prediction kernel, its lengthscale a number.
    residual : Residual
        Residuals times the roots of the case weights.
    targets : numpy.ndarray of shape (n,) or (n, d)
        Observed.
    regularization : float
        lambda.
    engine : ExactPairs or RandomFourier
        How K is used.
    corrected : bool
        Whether pairs of a row with itself are left out.

    Notes
    -----
    Cost: a system of n equations (or of D features) and its gradient, about three times the value.
    """
    n = len(predictions)
    if isinstance(engine, RandomFourier):
        phi = fourier_features(kernel, predictions, engine.frequencies, engine.rng)(_ALL)
        label = f"random Fourier features, {engine.frequencies} frequencies"
        return _primal(phi, residual, targets, regularization * n, corrected), label
    refuse_many(n)
    values = kernel.evaluate(CrossPairs(Points(predictions), _ALL, _ALL))
    known = concrete(values)
    if known is not None:
        refuse_not_finite(kernel, known)
    values = _with_roots(values, residual)
    label = f"solved system, {n:,} x {n:,}"
    return _dual(values, residual, targets, regularization * n, corrected), label


def _with_roots(values: Array, residual: Residual) -> Array:
    if residual.weights is None:
        return values
    roots = like(residual.weights, values)
    return values * roots * roots[:, None]


def _dual(k: Array, residual: Residual, targets: np.ndarray, c: float, corrected: bool) -> Array:
    xp = namespace(k)
    system = k + c * like(np.eye(k.shape[0]), k)
    if isinstance(residual, FeatureResidual) and not corrected:
        r = residual.features(targets)
        s = xp.linalg.solve(system, r)
        return xp.sum(s * (r - c * s))  # K s = r - c s
    left = xp.linalg.solve(system, k)  # A^-1 K, and K and A commute
    m = xp.linalg.solve(system, left.T).T
    inner = residual.inner(targets)
    return _summed(m, inner.block(_ALL, _ALL), inner.aligned(_ALL, _ALL), corrected)


def _primal(phi: Array, residual: Residual, targets: np.ndarray, c: float, corrected: bool) -> Array:
    xp = namespace(phi)
    if residual.weights is not None:
        phi = phi * like(residual.weights, phi)[:, None]
    system = phi.T @ phi + c * like(np.eye(phi.shape[1]), phi)
    if isinstance(residual, FeatureResidual) and not corrected:
        b = xp.linalg.solve(system, phi.T @ residual.features(targets))
        return xp.sum(b * b)
    q = xp.linalg.solve(system, phi.T)
    inner = residual.inner(targets)
    return _summed(q.T @ q, inner.block(_ALL, _ALL), inner.aligned(_ALL, _ALL), corrected)


def _summed(m: Array, inner: Array, own: Array, corrected: bool) -> Array:
    xp = namespace(m)
    total = xp.sum(m * inner)
    return total - xp.sum(xp.linalg.diagonal(m) * own) if corrected else total
