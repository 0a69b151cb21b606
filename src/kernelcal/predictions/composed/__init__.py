"""Predictions made of other things: of draws, of quantiles, of components."""

from kernelcal.predictions.composed.mixture import Mixture
from kernelcal.predictions.composed.quantiles import SAME_LEVEL, Quantiles
from kernelcal.predictions.composed.samples import Samples

__all__ = ["SAME_LEVEL", "Mixture", "Quantiles", "Samples"]
