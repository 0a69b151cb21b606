"""Families of vectors."""

from kernelcal.predictions.vectors.dirichlet import Dirichlet
from kernelcal.predictions.vectors.independent_normal import DiagonalNormal, IsotropicNormal, VectorNormal
from kernelcal.predictions.vectors.multivariate_normal import MultivariateNormal

__all__ = ["DiagonalNormal", "Dirichlet", "IsotropicNormal", "MultivariateNormal", "VectorNormal"]
