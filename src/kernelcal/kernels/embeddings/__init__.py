"""Expectations of target kernels under predictions."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.kernels.embeddings.base import Embedding, TargetPairs, operations, point, refuse_metric
    from kernelcal.kernels.embeddings.integrators import GaussHermite, GaussLegendre, Integrator, MonteCarlo
    from kernelcal.kernels.embeddings.planning import MEAN, cross_of, mean_of, plan
    from kernelcal.kernels.embeddings.structure import merged

__all__ = [
    "MEAN",
    "Embedding",
    "GaussHermite",
    "GaussLegendre",
    "Integrator",
    "MonteCarlo",
    "TargetPairs",
    "cross_of",
    "mean_of",
    "merged",
    "operations",
    "plan",
    "point",
    "refuse_metric",
]
