"""Rows that depend on each other: what is known of them, how strongly they do, and draws that depend alike."""

from kernelcal.dependence.latent import (
    Coupling,
    Scores,
    SharedPart,
    Stretches,
    lagged_correlations,
    shared_correlation,
)
from kernelcal.dependence.structure import Dependence
from kernelcal.dependence.suspicion import suspicions
from kernelcal.dependence.units import DependentUnits

__all__ = [
    "Coupling",
    "Dependence",
    "DependentUnits",
    "Scores",
    "SharedPart",
    "Stretches",
    "lagged_correlations",
    "shared_correlation",
    "suspicions",
]
