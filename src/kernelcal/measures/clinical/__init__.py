"""What clinical prediction models are asked for."""

from kernelcal.measures.clinical.curve import E50, E90, ICI, CurveFits, Emax
from kernelcal.measures.clinical.logistic import CalibrationIntercept, CalibrationSlope, ObservedExpected
from kernelcal.measures.clinical.ranking import AUROC
from kernelcal.measures.clinical.scores import Brier, HosmerLemeshow, NetBenefit, ScaledBrier
from kernelcal.measures.clinical.table import (
    CalibrationCurve,
    ClinicalTable,
    calibration_curve,
    calibration_curve_of,
    clinical_measures,
    clinical_table,
    clinical_table_of,
)
from kernelcal.measures.known import register_measure

__all__ = [
    "AUROC",
    "E50",
    "E90",
    "ICI",
    "Brier",
    "CalibrationCurve",
    "CalibrationIntercept",
    "CalibrationSlope",
    "ClinicalTable",
    "CurveFits",
    "Emax",
    "HosmerLemeshow",
    "NetBenefit",
    "ObservedExpected",
    "ScaledBrier",
    "calibration_curve",
    "calibration_curve_of",
    "clinical_measures",
    "clinical_table",
    "clinical_table_of",
]

for _name, _make, _summary in (
    ("intercept", CalibrationIntercept, "calibration in the large, the slope held at 1"),
    ("slope", CalibrationSlope, "slope of logistic recalibration"),
    ("oe", ObservedExpected, "observed over expected outcomes"),
    ("ici", ICI, "mean distance from the isotonic calibration curve"),
    ("e50", E50, "median distance from this curve"),
    ("e90", E90, "distance from this curve that nine of ten rows stay within"),
    ("hosmer-lemeshow", HosmerLemeshow, "statistic over ten groups by prediction"),
    ("auroc", AUROC, "c-statistic, the area under the ROC curve"),
    ("brier", Brier, "mean squared difference"),
    ("scaled-brier", ScaledBrier, "share of the variance that is explained, 1 - Brier / (f (1 - f))"),
    ("net-benefit", NetBenefit, "net benefit of treating from a risk of 20 % on"),
):
    register_measure(_name, _make, summary=_summary, field="clinical")
