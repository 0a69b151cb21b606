"""Expectations of target kernels under predictions."""

from kernelcal.kernels.embeddings.base import Embedding
from kernelcal.kernels.embeddings.integrators import GaussHermite, GaussLegendre, Integrator, MonteCarlo
from kernelcal.kernels.embeddings.plan import plan
from kernelcal.kernels.embeddings.rules import cross_of, mean_of
from kernelcal.kernels.embeddings.targets import TargetPairs, point

__all__ = [
    "Embedding",
    "GaussHermite",
    "GaussLegendre",
    "Integrator",
    "MonteCarlo",
    "TargetPairs",
    "cross_of",
    "mean_of",
    "plan",
    "point",
]
