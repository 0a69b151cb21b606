"""Rows that depend on each other: what is known of them, how strongly they do, and draws that depend alike."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.dependence.latent import (
        Coupling,
        Parts,
        Scores,
        SharedPart,
        Stretches,
        lagged_correlations,
        less_error,
        shared_correlation,
    )
    from kernelcal.dependence.means import ClusterMeans, MeanLaw, StretchMeans, errors_aside, mean_law
    from kernelcal.dependence.shares import binomial_interval, bounded_ends, bounded_interval, share_interval
    from kernelcal.dependence.structure import STRETCHES, Dependence
    from kernelcal.dependence.suspicion import suspicions, suspicious_labels, suspicious_series
    from kernelcal.dependence.units import DependentUnits

__all__ = [
    "STRETCHES",
    "ClusterMeans",
    "Coupling",
    "Dependence",
    "DependentUnits",
    "MeanLaw",
    "Parts",
    "Scores",
    "SharedPart",
    "StretchMeans",
    "Stretches",
    "binomial_interval",
    "bounded_ends",
    "bounded_interval",
    "errors_aside",
    "lagged_correlations",
    "less_error",
    "mean_law",
    "share_interval",
    "shared_correlation",
    "suspicions",
    "suspicious_labels",
    "suspicious_series",
]
