"""Families of counts."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.predictions.counts.base import CountPredictions, count_quantile
    from kernelcal.predictions.counts.binomial import Binomial
    from kernelcal.predictions.counts.negative_binomial import NegativeBinomial
    from kernelcal.predictions.counts.poisson import Poisson

__all__ = ["Binomial", "CountPredictions", "NegativeBinomial", "Poisson", "count_quantile"]
