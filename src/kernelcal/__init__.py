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
from kernelcal.pairs import ExactPairs, Nystrom, RandomFourier
from kernelcal.predictions import Bernoulli, Categorical, Logits, LogProbs, Percent, as_predictions
from kernelcal.statistics import SKCE, Estimate, ece, skce

__all__ = [
    "SKCE",
    "Bernoulli",
    "Categorical",
    "DefaultFamily",
    "Dirac",
    "Estimate",
    "Euclidean",
    "Evaluation",
    "ExactPairs",
    "FiniteKernel",
    "Gaussian",
    "Hellinger",
    "InverseMultiquadric",
    "Laplacian",
    "Linear",
    "LogProbs",
    "Logits",
    "Matern32",
    "Matern52",
    "Nystrom",
    "Percent",
    "PowerExponential",
    "RandomFourier",
    "RationalQuadratic",
    "TestResult",
    "TotalVariation",
    "as_predictions",
    "calibration_test",
    "ece",
    "evaluate",
    "median_lengthscale",
    "skce",
]
