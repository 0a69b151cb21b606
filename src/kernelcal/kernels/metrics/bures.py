"""2-Wasserstein distance between normal distributions with full covariances, pair by pair."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelcal.arrays import Array, namespace
from kernelcal.kernels.metrics.base import PairwiseMetric, above_rounding
from kernelcal.predictions import MultivariateNormal

__all__ = ["Bures"]


@dataclass(frozen=True)
class Bures(PairwiseMetric):
    """``|m - m'|^2 + tr C + tr C' - 2 tr (C^1/2 C' C^1/2)^1/2``, which `Wasserstein` uses for full covariances.

    Notes
    -----
    With Cholesky factors ``C = L L'`` the last trace is the sum of the singular values of ``L' L'_2``: no matrix root
    is needed, and small eigenvalues lose no digits to a square root. Distances between covariances below about
    1e-8 of their size are 0.
    """

    def squared_distances(self, p: MultivariateNormal, q: MultivariateNormal) -> Array:
        """Squared distances, leading axes broadcast."""
        xp = namespace(p.mean)
        difference = p.mean - q.mean
        own, other = (xp.sum(x * x, axis=(-2, -1)) for x in (p.factor, q.factor))
        overlap = xp.sum(xp.linalg.svdvals(xp.matmul(xp.matrix_transpose(p.factor), q.factor)), axis=-1)
        bures = above_rounding(own + other - 2 * overlap, own + other)
        return xp.sum(difference * difference, axis=-1) + bures

    def numbers(self, predictions: Any) -> int:
        """The d x d matrix of a pair."""
        return int(predictions.dimension) ** 2

    def largest_exponent(self, predictions: Any) -> float:
        """0: not known."""
        return 0.0
