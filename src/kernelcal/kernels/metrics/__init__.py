"""How far apart two predictions are."""

from kernelcal.kernels.metrics.base import Metric
from kernelcal.kernels.metrics.simplex import Euclidean, Hellinger, TotalVariation

__all__ = ["Euclidean", "Hellinger", "Metric", "TotalVariation"]
