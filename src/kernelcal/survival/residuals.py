"""What outcomes add to predictions of times: martingales, weighted by when in the predicted law they move."""

from __future__ import annotations

import numpy as np

__all__ = ["FUNCTIONS", "WEIGHTS", "residual_features"]


FUNCTIONS = 4  # Legendre polynomials: constant, early or late, in the middle, and one more change
WEIGHTS = 0.5 ** np.arange(FUNCTIONS)


def residual_features(hazard: np.ndarray, event: np.ndarray) -> np.ndarray:
    r"""Integrals of orthonormal functions against the residual process of every row.

    Parameters
    ----------
    hazard : numpy.ndarray of shape (..., n)
        Predicted cumulative hazards H up to the observed times.
    event : numpy.ndarray of shape (..., n)
        1 where the event was seen.

    Returns
    -------
    numpy.ndarray of shape (..., n, 4)

    Notes
    -----
    With ``dM = dN - dLambda`` on the axis ``u = F(t)``, where a calibrated event is uniform whatever the law,

    .. math:: M_k = \int g_k\, dM = \delta\, g_k(U) - \int_0^U \frac{g_k(u)}{1 - u}\, du

    and :math:`g_k` the k-th shifted Legendre polynomial. Each is a martingale stopped at the observed time, so that its
    mean is 0 whatever independent censoring does, and :math:`E M_k M_l = \int g_k g_l P(C > u)\, du`. The first is the
    martingale residual ``event - H``. Written in ``v = 1 - u = exp(-H)``, the integral of :math:`\sum_j c_j v^j` is
    :math:`c_0 H + \sum_{j > 0} c_j (1 - v^j) / j`.
    """
    v = np.exp(-hazard)
    powers = v[..., None] ** np.arange(FUNCTIONS)
    integrals = np.concatenate([hazard[..., None], (1 - powers[..., 1:]) / np.arange(1, FUNCTIONS)], axis=-1)
    return np.asarray(
        np.asarray(event, dtype=np.float64)[..., None] * (powers @ _COEFFICIENTS) - integrals @ _COEFFICIENTS
    )


def _coefficients() -> np.ndarray:
    """Powers of v in the columns' polynomials ``sqrt(2 k + 1) P_k(1 - 2 v)``."""
    found = np.zeros((FUNCTIONS, FUNCTIONS))
    line = np.polynomial.Polynomial([1.0, -2.0])
    for k in range(FUNCTIONS):
        legendre = np.polynomial.Legendre.basis(k).convert(kind=np.polynomial.Polynomial)
        own = np.sqrt(2 * k + 1) * legendre(line).coef
        found[: len(own), k] = own
    return found


_COEFFICIENTS = _coefficients()
