"""Measures of vectors."""

from kernelcal.measures.known import register_measure
from kernelcal.measures.vectors.scores import EnergyScore, VariogramScore

__all__ = ["EnergyScore", "VariogramScore"]

register_measure("energy", EnergyScore, summary="energy score, the CRPS of vectors", field="vectors")
register_measure(
    "variogram", VariogramScore, summary="variogram score, of dependence between components", field="vectors"
)
