"""Measures of vectors: scores, and mean ranks among draws."""

from kernelcal.measures.known import register_measure
from kernelcal.measures.vectors.ranks import RankByBandDepth, RankByDependence, RankByMean, RankBySpread
from kernelcal.measures.vectors.scores import EnergyScore, VariogramScore

__all__ = ["EnergyScore", "RankByBandDepth", "RankByDependence", "RankByMean", "RankBySpread", "VariogramScore"]

for _name, _make, _summary in (
    ("energy", EnergyScore, "energy score, the CRPS of vectors"),
    ("variogram", VariogramScore, "variogram score, of dependence of components"),
    ("rank-mean", RankByMean, "mean rank of outcomes among draws by the mean of components"),
    ("rank-spread", RankBySpread, "mean rank by the variance between components"),
    ("rank-dependence", RankByDependence, "mean rank by distances between components"),
    ("rank-depth", RankByBandDepth, "mean rank by band depth"),
):
    register_measure(_name, _make, summary=_summary, field="vectors")
