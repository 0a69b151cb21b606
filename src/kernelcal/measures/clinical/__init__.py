"""What clinical prediction models are asked for."""

from kernelcal.measures.clinical.logistic import CalibrationIntercept, CalibrationSlope, ObservedExpected
from kernelcal.measures.clinical.ranking import AUROC
from kernelcal.measures.known import register_measure

__all__ = ["AUROC", "CalibrationIntercept", "CalibrationSlope", "ObservedExpected"]

register_measure(
    "intercept", CalibrationIntercept, summary="calibration in the large, the slope held at 1", field="clinical"
)
register_measure("slope", CalibrationSlope, summary="slope of logistic recalibration", field="clinical")
register_measure("oe", ObservedExpected, summary="observed over expected outcomes", field="clinical")
register_measure("auroc", AUROC, summary="c-statistic, the area under the ROC curve", field="clinical")
