"""Continuous ranked probability score of the families: closed forms, and quadrature where there are none."""

from __future__ import annotations

import math
from functools import singledispatch

import numpy as np

from kernelcal.predictions import Laplace, Mixture, NegativeBinomial, Normal, Poisson, Quantiles, RealPredictions
from kernelcal.statistics.crps_integral import crps_by_quadrature, crps_by_sum
from kernelcal.statistics.crps_quantiles import crps_of_quantiles

__all__ = ["crps_form"]

_STEP = 0.125  # of the trapezoidal rule: its error is about exp(-pi^2 / (2 step))
_REACH = 40.0  # in log s: beyond it less than 1e-17 of the integral is left


@singledispatch
def crps_form(predictions: RealPredictions, y: np.ndarray) -> np.ndarray:
    """Return ``E|X - y| - E|X - X'| / 2`` for every row."""
    return crps_by_sum(predictions, y) if predictions.counts else crps_by_quadrature(predictions, y)


@crps_form.register
def _(predictions: Normal, y: np.ndarray) -> np.ndarray:
    mean, std = (x.astype(np.float64) for x in (predictions.mean, predictions.std))
    return _normal_distance(y - mean, std) - std / math.sqrt(math.pi)  # eq. (21) of Gneiting and Raftery 2007


@crps_form.register
def _(predictions: Laplace, y: np.ndarray) -> np.ndarray:
    scale = predictions.scale.astype(np.float64)
    z = np.abs(y - predictions.loc) / scale
    return scale * (z + np.exp(-z) - 0.75)


@crps_form.register
def _(predictions: Mixture, y: np.ndarray) -> np.ndarray:
    if all(isinstance(part, Normal) for part in predictions.components):
        return _normal_mixture(predictions, y)
    return crps_by_sum(predictions, y) if predictions.counts else crps_by_quadrature(predictions, y)


@crps_form.register
def _(predictions: Quantiles, y: np.ndarray) -> np.ndarray:
    return crps_of_quantiles(predictions, y)


@crps_form.register
def _(predictions: Poisson, y: np.ndarray) -> np.ndarray:
    """``E|X - X'| = 2 r e^{-2r} (I_0(2r) + I_1(2r))``, and ``E X 1[X <= y] = r F(y - 1)``."""
    from scipy.special import ive

    rate = predictions.rate.astype(np.float64)
    distance = y * (2 * predictions.cdf(y) - 1) + rate * (1 - 2 * predictions.cdf_below(y))
    return distance - rate * (ive(0, 2 * rate) + ive(1, 2 * rate))


@crps_form.register
def _(predictions: NegativeBinomial, y: np.ndarray) -> np.ndarray:
    """``E X 1[X <= y] = mean F(y - 1; size + 1)`` with the same success probability."""
    mean, size = (x.astype(np.float64) for x in (predictions.mean, predictions.dispersion))
    biased = NegativeBinomial(mean * ((size + 1) / size), size + 1)
    distance = y * (2 * predictions.cdf(y) - 1) + mean * (1 - 2 * biased.cdf_below(y))
    return distance - _negative_binomial_spread(mean, size) / 2


def _normal_distance(shift: np.ndarray, std: np.ndarray) -> np.ndarray:
    """``E|N(shift, std^2)|``, the function A of Grimit et al. 2006."""
    from scipy.special import ndtr  # imported when needed: the import of kernelcal stays light

    z = shift / std
    return std * (z * (2 * ndtr(z) - 1) + math.sqrt(2 / math.pi) * np.exp(-0.5 * z * z))


def _normal_mixture(predictions: Mixture, y: np.ndarray) -> np.ndarray:
    """``sum_k w_k A(y - m_k, s_k^2) - sum_kl w_k w_l A(m_k - m_l, s_k^2 + s_l^2) / 2``, eq. (5) of Grimit et al."""
    w = predictions.weights.astype(np.float64).T
    mean, std = (np.stack([getattr(p, name) for p in predictions.components], dtype=np.float64) for name in _MOMENTS)
    score = (w * _normal_distance(y - mean, std)).sum(axis=0)
    for k in range(len(w)):
        score -= w[k] * (w[k] * std[k] / math.sqrt(math.pi))
        others = _normal_distance(mean[k] - mean[:k], np.hypot(std[k], std[:k]))
        score -= w[k] * (w[:k] * others).sum(axis=0)
    return score


_MOMENTS = ("mean", "std")


def _negative_binomial_spread(mean: np.ndarray, size: np.ndarray) -> np.ndarray:
    """``E|X - X'|`` for two independent counts.

    For whole d, ``|d| = (1/pi) int_0^pi (1 - cos(d t)) / (1 - cos t) dt`` (Fejer's kernel), so the expectation takes
    the squared modulus of the characteristic function, ``(1 + 2 v (1 - cos t) / size)^{-size}`` with the variance v.
    With s = tan(t/2) = e^x the integrand decays on both sides, and the trapezoidal rule converges exponentially.
    """
    variance = mean * (1 + mean / size)
    total = np.zeros_like(mean)
    for x in np.arange(-_REACH - 0.5 * math.log1p(float(variance.max())), _REACH, _STEP):
        s = math.exp(x)
        half_gap = s * s / (1 + s * s)  # (1 - cos t) / 2
        total -= np.expm1(-size * np.log1p(4 * variance * half_gap / size)) / s
    return total * _STEP / math.pi
