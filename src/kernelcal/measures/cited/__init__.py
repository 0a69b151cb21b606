"""Calibration errors that papers cite: binned, smooth, cumulative, debiased and cross-fitted ones."""

from kernelcal.measures.cited.binned import BinnedError
from kernelcal.measures.cited.crossfitted import CrossFittedError
from kernelcal.measures.cited.cumulative import CutoffError, KSError, KuiperError
from kernelcal.measures.cited.debiased import DebiasedECE
from kernelcal.measures.cited.events import EventMeasure, EventPart, PreparedEvents, SeminormPart
from kernelcal.measures.cited.scales import TCal
from kernelcal.measures.cited.smooth import SmoothECE
from kernelcal.measures.known import register_measure

__all__ = [
    "BinnedError",
    "CrossFittedError",
    "CutoffError",
    "DebiasedECE",
    "EventMeasure",
    "EventPart",
    "KSError",
    "KuiperError",
    "PreparedEvents",
    "SeminormPart",
    "SmoothECE",
    "TCal",
]

register_measure(
    "ece", BinnedError, summary="binned error of the positive class, 15 bins of equal width", field="cited"
)
for _name, _measure, _summary in (
    ("smece", SmoothECE, "smooth ECE: residuals smoothed by a kernel as wide as the error"),
    ("ks", KSError, "largest cumulative difference: ECCE-MAD, Kolmogorov-Smirnov calibration error"),
    ("kuiper", KuiperError, "range of cumulative differences: ECCE-R"),
    ("cutoff", CutoffError, "largest over intervals of predictions: the Kuiper error by another name"),
    ("debiased-ece", DebiasedECE, "l2 error of 15 bins of equal mass, less the noise of frequencies"),
    ("crossfit", CrossFittedError, "what a recalibration gains on other rows: a lower bound of the L1 error"),
    ("t-cal", TCal, "debiased errors of 2, 4, 8, ... bins in units of their spread: a test"),
):
    register_measure(_name, _measure, summary=_summary, field="cited")
