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
from kernelcal.measures.selective import (
    Accuracy,
    ExcessRiskCoverage,
    RiskCoverage,
    RiskCoverageArea,
    SelectiveAccuracy,
    curve_of,
    risk_coverage,
)

__all__ = [
    "AUROC",
    "E50",
    "E90",
    "FIELDS",
    "ICI",
    "MEASURES",
    "SCALES",
    "Accuracy",
    "BinnedError",
    "Brier",
    "CalibrationIntercept",
    "CalibrationSlope",
    "Emax",
    "ExcessRiskCoverage",
    "HosmerLemeshow",
    "Measure",
    "Measured",
    "MeasuredValue",
    "NetBenefit",
    "ObservedExpected",
    "PreparedMeasure",
    "RiskCoverage",
    "RiskCoverageArea",
    "ScaledBrier",
    "SelectiveAccuracy",
    "asked_measures",
    "curve_of",
    "forget_measure",
    "measure",
    "measured",
    "positive_probabilities",
    "register_measure",
    "risk_coverage",
    "serves_one_probability",
    "serving",
]
