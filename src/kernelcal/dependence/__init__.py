"""Rows that depend on each other: what is known of them, how strongly they do, and draws that depend alike."""

from kernelcal.dependence.latent import (
    Coupling,
    Parts,
    Scores,
    SharedPart,
    Stretches,
    lagged_correlations,
    shared_correlation,
)
from kernelcal.dependence.means import mean_error, mean_interval, share_interval
from kernelcal.dependence.structure import Dependence
from kernelcal.dependence.suspicion import suspicions, suspicious_labels, suspicious_series

__all__ = [
    "Coupling",
    "Dependence",
    "Parts",
    "Scores",
    "SharedPart",
    "Stretches",
    "lagged_correlations",
    "mean_error",
    "mean_interval",
    "share_interval",
    "shared_correlation",
    "suspicions",
    "suspicious_labels",
    "suspicious_series",
]
