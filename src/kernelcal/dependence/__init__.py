"""Rows that depend on each other: what is known of them, how strongly they do, and draws that depend alike."""

from kernelcal.dependence.latent import (
    Coupling,
    Scores,
    SharedPart,
    Stretches,
    lagged_correlations,
    shared_correlation,
)
from kernelcal.dependence.means import ClusterMeans, MeanLaw, StretchMeans, mean_law
from kernelcal.dependence.structure import Dependence
from kernelcal.dependence.suspicion import suspicions

__all__ = [
    "ClusterMeans",
    "Coupling",
    "Dependence",
    "MeanLaw",
    "Scores",
    "SharedPart",
    "StretchMeans",
    "Stretches",
    "lagged_correlations",
    "mean_law",
    "shared_correlation",
    "suspicions",
]
