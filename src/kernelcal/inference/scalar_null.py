"""Exact moments of the unbiased SKCE under calibration, for scalar residuals, without a walk over all pairs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.inference.covariance import Covariance
from kernelcal.pairs import KernelProducts

__all__ = ["ScalarMoments", "scalar_moments"]


@dataclass(frozen=True)
class ScalarMoments:
    """Second, third and what single pairs add to the fourth moment of ``Q = sum_{i != j} K_ij r_i r_j``."""

    variance: float
    third: float
    lumps: float


def scalar_moments(products: KernelProducts, covariance: Covariance) -> ScalarMoments:
    """Compute the moments from those of the residuals: variance v, third moment k and fourth moment f of every row.

    ``Var Q = 2 sum K_ij^2 v_i v_j``, ``E Q^3 = 8 sum K_ij K_jk K_ki v_i v_j v_k + 4 sum K_ij^3 k_i k_j`` and, relative
    to the squared variance, ``8 sum K_ij^4 f_i f_j``, all over different rows.
    """
    v, k, f = covariance.scalar_moments()
    variance = 2 * _form(products, v, 2)
    if variance == 0:
        return ScalarMoments(0.0, 0.0, 0.0)
    third = 8 * products.triples(v) + 4 * _form(products, k, 3)
    return ScalarMoments(variance, third, 8 * _form(products, f, 4) / variance**2)


def _form(products: KernelProducts, values: np.ndarray, exponent: int) -> float:
    return float(values @ products.apply(values[:, None], exponent)[:, 0])
