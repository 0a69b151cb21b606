"""How far apart two predictions are."""

from kernelcal.kernels.metrics.base import (
    CoordinateView,
    Euclidean,
    Hellinger,
    Metric,
    MetricView,
    PairwiseMetric,
    PairwiseView,
    TotalVariation,
    above_rounding,
    in_double,
    view,
)
from kernelcal.kernels.metrics.standardised import Standardised
from kernelcal.kernels.metrics.wasserstein import MixtureWasserstein, Wasserstein

__all__ = [
    "CoordinateView",
    "Euclidean",
    "Hellinger",
    "Metric",
    "MetricView",
    "MixtureWasserstein",
    "PairwiseMetric",
    "PairwiseView",
    "Standardised",
    "TotalVariation",
    "Wasserstein",
    "above_rounding",
    "in_double",
    "view",
]
