"""Binnings: which rows are averaged together, decided from the predictions alone."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.binning.base import Binning, Bins, UniformBins, checked_choice, checked_count
    from kernelcal.binning.edges import EdgeBins, EqualMassBins, MedianVarianceBins, QuantileBins

__all__ = [
    "Binning",
    "Bins",
    "EdgeBins",
    "EqualMassBins",
    "MedianVarianceBins",
    "QuantileBins",
    "UniformBins",
    "checked_choice",
    "checked_count",
]
