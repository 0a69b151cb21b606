"""Distances between predictions that need a kernel between targets or the score function."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.kernels.divergences.fisher import FisherDivergence, KernelFisherDivergence
    from kernelcal.kernels.divergences.ground import ground_lengthscale
    from kernelcal.kernels.divergences.mmd import MMD

__all__ = ["MMD", "FisherDivergence", "KernelFisherDivergence", "ground_lengthscale"]
