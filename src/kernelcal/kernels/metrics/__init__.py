"""How far apart two predictions are."""

from kernelcal.kernels.metrics.base import Metric, PairwiseMetric
from kernelcal.kernels.metrics.euclidean import Euclidean
from kernelcal.kernels.metrics.fisher import FisherDivergence
from kernelcal.kernels.metrics.kernel_fisher import KernelFisherDivergence
from kernelcal.kernels.metrics.mixture_wasserstein import MixtureWasserstein
from kernelcal.kernels.metrics.mmd import MMD
from kernelcal.kernels.metrics.simplex import Hellinger, TotalVariation
from kernelcal.kernels.metrics.views import CoordinateView, MetricView, PairwiseView, in_double, view
from kernelcal.kernels.metrics.wasserstein import Wasserstein

__all__ = [
    "MMD",
    "CoordinateView",
    "Euclidean",
    "FisherDivergence",
    "Hellinger",
    "KernelFisherDivergence",
    "Metric",
    "MetricView",
    "MixtureWasserstein",
    "PairwiseMetric",
    "PairwiseView",
    "TotalVariation",
    "Wasserstein",
    "in_double",
    "view",
]
