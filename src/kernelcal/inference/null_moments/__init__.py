"""What is known of a statistic under calibration, given the predictions: moments, spectra, covariances."""

from kernelcal.inference.null_moments.chi_square import ChiSquareSum, pearson_tail
from kernelcal.inference.null_moments.location_forms import EmpiricalForm, KnownForm, LocationForm
from kernelcal.inference.null_moments.moments import KnownNull, known_null

__all__ = ["ChiSquareSum", "EmpiricalForm", "KnownForm", "KnownNull", "LocationForm", "known_null", "pearson_tail"]
