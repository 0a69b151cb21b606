"""What is known of a statistic under calibration, given the predictions: moments, spectra, covariances."""

from kernelcal.inference.known.chi_square import ChiSquareSum
from kernelcal.inference.known.location_forms import EmpiricalForm, KnownForm, LocationForm
from kernelcal.inference.known.moments import KnownNull, known_null

__all__ = ["ChiSquareSum", "EmpiricalForm", "KnownForm", "KnownNull", "LocationForm", "known_null"]
