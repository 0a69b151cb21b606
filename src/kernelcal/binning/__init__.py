"""Binnings: which rows are averaged together, decided from the predictions alone."""

from kernelcal.binning.base import Binning, Bins
from kernelcal.binning.edges import EdgeBins, QuantileBins
from kernelcal.binning.equal_mass import EqualMassBins
from kernelcal.binning.median_variance import MedianVarianceBins
from kernelcal.binning.uniform import UniformBins

__all__ = ["Binning", "Bins", "EdgeBins", "EqualMassBins", "MedianVarianceBins", "QuantileBins", "UniformBins"]
