"""Continuous families of one number."""

from kernelcal.predictions.scalars.beta import Beta
from kernelcal.predictions.scalars.gamma import Gamma
from kernelcal.predictions.scalars.laplace import Laplace
from kernelcal.predictions.scalars.log_normal import LogNormal
from kernelcal.predictions.scalars.normal import Normal, normal_distance
from kernelcal.predictions.scalars.student_t import StudentT
from kernelcal.predictions.scalars.uniform import Uniform

__all__ = ["Beta", "Gamma", "Laplace", "LogNormal", "Normal", "StudentT", "Uniform", "normal_distance"]
