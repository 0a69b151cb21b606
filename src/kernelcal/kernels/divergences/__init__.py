"""Distances between predictions that need a kernel between targets or the score function."""

from kernelcal.kernels.divergences.fisher import FisherDivergence, KernelFisherDivergence
from kernelcal.kernels.divergences.ground import ground_lengthscale
from kernelcal.kernels.divergences.mmd import MMD

__all__ = ["MMD", "FisherDivergence", "KernelFisherDivergence", "ground_lengthscale"]
