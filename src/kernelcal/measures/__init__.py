"""What each field calls calibration: one mechanism, from a value to what it takes not to stand alone."""

from kernelcal.measures.base import Measure, PreparedMeasure, positive_probabilities, serves_one_probability
from kernelcal.measures.cited import BinnedError
from kernelcal.measures.clinical import (
    AUROC,
    E50,
    E90,
    ICI,
    Brier,
    CalibrationCurve,
    CalibrationIntercept,
    CalibrationSlope,
    ClinicalTable,
    Emax,
    HosmerLemeshow,
    NetBenefit,
    ObservedExpected,
    ScaledBrier,
    calibration_curve,
    clinical_measures,
    clinical_table,
    clinical_table_of,
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
    "CalibrationCurve",
    "CalibrationIntercept",
    "CalibrationSlope",
    "ClinicalTable",
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
    "calibration_curve",
    "clinical_measures",
    "clinical_table",
    "clinical_table_of",
    "forget_measure",
    "measure",
    "measured",
    "positive_probabilities",
    "register_measure",
    "serves_one_probability",
    "serving",
]
