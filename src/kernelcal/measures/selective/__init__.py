"""What is asked of answers with a confidence in them: how good those are that one would keep."""

from kernelcal.measures.known import register_measure
from kernelcal.measures.selective.curve import RiskCoverage, curve_of, risk_coverage
from kernelcal.measures.selective.kept import Accuracy, ExcessRiskCoverage, RiskCoverageArea, SelectiveAccuracy

__all__ = [
    "Accuracy",
    "ExcessRiskCoverage",
    "RiskCoverage",
    "RiskCoverageArea",
    "SelectiveAccuracy",
    "curve_of",
    "risk_coverage",
]

register_measure("accuracy", Accuracy, summary="share of right answers", field="selective")
register_measure(
    "accuracy-at-80", SelectiveAccuracy, summary="accuracy of the 80 % with the highest confidence", field="selective"
)
register_measure("aurc", RiskCoverageArea, summary="area under the risk-coverage curve", field="selective")
register_measure(
    "excess-aurc", ExcessRiskCoverage, summary="AURC above that of the best order of the answers", field="selective"
)
