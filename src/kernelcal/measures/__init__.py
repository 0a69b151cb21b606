"""What each field calls calibration: one mechanism, from a value to what it takes not to stand alone."""

from kernelcal.measures.base import Measure, PreparedMeasure, positive_probabilities, serves_one_probability
from kernelcal.measures.cited import BinnedError
from kernelcal.measures.clinical import (
    AUROC,
    E50,
    E90,
    ICI,
    Brier,
    CalibrationIntercept,
    CalibrationSlope,
    Emax,
    HosmerLemeshow,
    NetBenefit,
    ObservedExpected,
    ScaledBrier,
)
from kernelcal.measures.intervals import SCALES
from kernelcal.measures.known import FIELDS, MEASURES, asked_measures, forget_measure, register_measure, serving
from kernelcal.measures.main import measure, measured
from kernelcal.measures.result import Measured, MeasuredValue

__all__ = [
    "AUROC",
    "E50",
    "E90",
    "FIELDS",
    "ICI",
    "MEASURES",
    "SCALES",
    "BinnedError",
    "Brier",
    "CalibrationIntercept",
    "CalibrationSlope",
    "Emax",
    "HosmerLemeshow",
    "Measure",
    "Measured",
    "MeasuredValue",
    "NetBenefit",
    "ObservedExpected",
    "PreparedMeasure",
    "ScaledBrier",
    "asked_measures",
    "forget_measure",
    "measure",
    "measured",
    "positive_probabilities",
    "register_measure",
    "serves_one_probability",
    "serving",
]
