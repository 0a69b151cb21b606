"""What each field calls calibration: one mechanism, from a value to what it takes not to stand alone."""

from kernelcal.measures.base import Measure, PreparedMeasure, positive_probabilities, serves_one_probability
from kernelcal.measures.cited import BinnedError
from kernelcal.measures.clinical import AUROC, CalibrationIntercept, CalibrationSlope, ObservedExpected
from kernelcal.measures.intervals import SCALES
from kernelcal.measures.known import FIELDS, MEASURES, asked_measures, forget_measure, register_measure, serving
from kernelcal.measures.main import measure, measured
from kernelcal.measures.result import Measured, MeasuredValue

__all__ = [
    "AUROC",
    "FIELDS",
    "MEASURES",
    "SCALES",
    "BinnedError",
    "CalibrationIntercept",
    "CalibrationSlope",
    "Measure",
    "Measured",
    "MeasuredValue",
    "ObservedExpected",
    "PreparedMeasure",
    "asked_measures",
    "forget_measure",
    "measure",
    "measured",
    "positive_probabilities",
    "register_measure",
    "serves_one_probability",
    "serving",
]
