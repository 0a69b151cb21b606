"""How far apart two predictions are."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.kernels.metrics.base import (
        CLOSE,
        ROUNDED_CLOSE,
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
        left_factor,
        repair,
        right_factor,
        squares,
        view,
    )
    from kernelcal.kernels.metrics.standardised import Standardised
    from kernelcal.kernels.metrics.wasserstein import MixtureWasserstein, SlicedWasserstein, Wasserstein

__all__ = [
    "CLOSE",
    "ROUNDED_CLOSE",
    "CoordinateView",
    "Euclidean",
    "Hellinger",
    "Metric",
    "MetricView",
    "MixtureWasserstein",
    "PairwiseMetric",
    "PairwiseView",
    "SlicedWasserstein",
    "Standardised",
    "TotalVariation",
    "Wasserstein",
    "above_rounding",
    "in_double",
    "left_factor",
    "repair",
    "right_factor",
    "squares",
    "view",
]
