"""Kernels: profiles of metrics between predictions, kernels between targets, and their algebra."""

from kernelcal.kernels.bandwidth import median_lengthscale, resolve
from kernelcal.kernels.base import Kernel, Pairs, Product, Scaled, Sum
from kernelcal.kernels.coordinatewise import Coordinatewise
from kernelcal.kernels.embeddings import (
    GaussHermite,
    GaussLegendre,
    Integrator,
    MonteCarlo,
    cross_of,
    mean_of,
    plan,
    point,
)
from kernelcal.kernels.ground_lengthscale import ground_lengthscale
from kernelcal.kernels.metrics import (
    MMD,
    Euclidean,
    FisherDivergence,
    Hellinger,
    KernelFisherDivergence,
    Metric,
    MixtureWasserstein,
    PairwiseMetric,
    TotalVariation,
    Wasserstein,
)
from kernelcal.kernels.points import AlignedPairs, CrossPairs, Points, class_matrix
from kernelcal.kernels.profiles import (
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Matern32,
    Matern52,
    PowerExponential,
    RationalQuadratic,
)
from kernelcal.kernels.simple import Brownian, Dirac, FiniteKernel, Linear
from kernelcal.kernels.spectral import Spectral
from kernelcal.kernels.stationary import Stationary
from kernelcal.kernels.target_lengthscale import resolve_target, target_lengthscale

__all__ = [
    "MMD",
    "AlignedPairs",
    "Brownian",
    "Coordinatewise",
    "CrossPairs",
    "Dirac",
    "Euclidean",
    "FiniteKernel",
    "FisherDivergence",
    "GaussHermite",
    "GaussLegendre",
    "Gaussian",
    "Hellinger",
    "Integrator",
    "InverseMultiquadric",
    "Kernel",
    "KernelFisherDivergence",
    "Laplacian",
    "Linear",
    "Matern32",
    "Matern52",
    "Metric",
    "MixtureWasserstein",
    "MonteCarlo",
    "Pairs",
    "PairwiseMetric",
    "Points",
    "PowerExponential",
    "Product",
    "RationalQuadratic",
    "Scaled",
    "Spectral",
    "Stationary",
    "Sum",
    "TotalVariation",
    "Wasserstein",
    "class_matrix",
    "cross_of",
    "ground_lengthscale",
    "mean_of",
    "median_lengthscale",
    "plan",
    "point",
    "resolve",
    "resolve_target",
    "target_lengthscale",
]
