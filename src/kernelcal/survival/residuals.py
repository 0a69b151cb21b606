"""Martingales of outcomes: residuals, weighted by when in the predicted law they move, and bets on another hazard."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["FUNCTIONS", "WEIGHTS", "Bets", "bets", "residual_features"]


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

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.survival import residual_features
    >>> residual_features(np.array([0.2, 0.9]), np.array([True, False])).shape
    (2, 4)
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


_STAKES = (0.07, 0.15, 0.25, 0.4, 0.6)


@dataclass(frozen=True)
class Bets:
    """What was won against the predictions: evidence that holds whatever censored the rows.

    Attributes
    ----------
    e_value : float
        Product of likelihood ratios of rows, averaged over the bets: its mean is at most 1 under calibration.
    pvalue : float
        ``min(1, 1 / e_value)``: valid whatever independent censoring there was, by Markov's inequality.
    best : str
        The bet that won most.

    Examples
    --------
    >>> from kernelcal.survival import Bets
    >>> Bets(24.0, 0.04, "scale").e_value
    24.0
    """

    e_value: float
    pvalue: float
    best: str

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**vars(self), "e_value": self.e_value if np.isfinite(self.e_value) else None}


def bets(hazard: np.ndarray, event: np.ndarray, slope: np.ndarray) -> Bets:
    r"""Bet that the hazard is ``1 + a g`` times what was predicted, for several a and functions g.

    Parameters
    ----------
    hazard, event : numpy.ndarray of shape (n,)
        Predicted cumulative hazards up to the observed times, and whether the event was seen.
    slope : numpy.ndarray of shape (n,)
        Numbers from -1 to 1 that are known of the predictions.

    Notes
    -----
    For a predictable function g with ``a g > -1`` the process

    .. math:: L = \prod_i (1 + a\, g_i(T_i))^{\delta_i} \exp\Bigl(-a \int_0^{T_i} g_i\, d\Lambda_i\Bigr)

    is a martingale that begins at 1 and is not negative, so that its mean where it stops is at most 1, whenever
    observation stops for reasons that do not look ahead: known or unknown, one law of censoring or many. Here g is 1,
    ``2 v - 1`` with ``v = exp(-Lambda)`` (early against late), and the rank of the predicted risk; the average over
    stakes a of both signs has mean at most 1 as well. Shafer, Vovk (2019), for e-values.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.survival import bets
    >>> hazard = np.random.default_rng(0).exponential(size=200)
    >>> found = bets(2 * hazard, np.ones(200), np.zeros(200))
    >>> found.pvalue < 1e-6, found.best
    (True, 'fewer events than predicted')
    """
    event = np.asarray(event, dtype=np.float64)
    early = 2 * np.exp(-hazard) - 1
    functions = {
        ("more events than predicted", "fewer events than predicted"): (np.ones_like(hazard), hazard),
        ("events earlier than predicted", "events later than predicted"): (early, 2 * -np.expm1(-hazard) - hazard),
        ("risks not extreme enough", "risks too extreme"): (slope, slope * hazard),
    }
    logs, names = [], []
    for words, (at_event, integral) in functions.items():
        for name, sign in zip(words, (1, -1), strict=True):
            for stake in _STAKES:
                a = sign * stake
                logs.append(float(event @ np.log1p(a * at_event) - a * integral.sum()))
                names.append(name)
    total = float(np.logaddexp.reduce(logs) - np.log(len(logs)))
    with np.errstate(over="ignore"):
        return Bets(float(np.exp(total)), float(np.exp(min(0.0, -total))), names[int(np.argmax(logs))])
