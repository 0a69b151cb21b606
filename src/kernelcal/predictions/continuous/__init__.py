"""Continuous families, of one number and of vectors."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.predictions.continuous.beta import Beta
    from kernelcal.predictions.continuous.dirichlet import Dirichlet
    from kernelcal.predictions.continuous.gamma import Gamma
    from kernelcal.predictions.continuous.independent_normal import DiagonalNormal, IsotropicNormal, VectorNormal
    from kernelcal.predictions.continuous.laplace import Laplace
    from kernelcal.predictions.continuous.log_normal import LogNormal
    from kernelcal.predictions.continuous.multivariate_normal import MultivariateNormal
    from kernelcal.predictions.continuous.normal import Normal, normal_distance
    from kernelcal.predictions.continuous.power_exponential import MultivariatePowerExponential
    from kernelcal.predictions.continuous.student_t import StudentT
    from kernelcal.predictions.continuous.uniform import Uniform
    from kernelcal.predictions.continuous.weibull import Weibull

__all__ = [
    "Beta",
    "DiagonalNormal",
    "Dirichlet",
    "Gamma",
    "IsotropicNormal",
    "Laplace",
    "LogNormal",
    "MultivariateNormal",
    "MultivariatePowerExponential",
    "Normal",
    "StudentT",
    "Uniform",
    "VectorNormal",
    "Weibull",
    "normal_distance",
]
