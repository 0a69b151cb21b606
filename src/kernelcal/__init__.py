"""kernelcal: can a probabilistic model be believed?"""

__version__ = "0.1.0"

from kernelcal.evaluate import Evaluation, evaluate
from kernelcal.inference import DefaultFamily, TestResult, calibration_test
from kernelcal.kernels import (
    Dirac,
    Euclidean,
    FiniteKernel,
    Gaussian,
    Hellinger,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern32,
    Matern52,
    PowerExponential,
    RationalQuadratic,
    TotalVariation,
    median_lengthscale,
)
from kernelcal.lenses import ClassWise, Groups, OneClass, TopK, TopLabel
from kernelcal.pairs import ExactPairs, Nystrom, RandomFourier
from kernelcal.predictions import Bernoulli, Categorical, Logits, LogProbs, Percent, as_predictions
from kernelcal.statistics import MMCE, SKCE, Estimate, ece, mmce, skce

__all__ = [
    "MMCE",
    "SKCE",
    "Bernoulli",
    "Categorical",
    "ClassWise",
    "DefaultFamily",
    "Dirac",
    "Estimate",
    "Euclidean",
    "Evaluation",
    "ExactPairs",
    "FiniteKernel",
    "Gaussian",
    "Groups",
    "Hellinger",
    "InverseMultiquadric",
    "Laplacian",
    "Linear",
    "LogProbs",
    "Logits",
    "Matern32",
    "Matern52",
    "Nystrom",
    "OneClass",
    "Percent",
    "PowerExponential",
    "RandomFourier",
    "RationalQuadratic",
    "TestResult",
    "TopK",
    "TopLabel",
    "TotalVariation",
    "as_predictions",
    "calibration_test",
    "ece",
    "evaluate",
    "median_lengthscale",
    "mmce",
    "skce",
]
