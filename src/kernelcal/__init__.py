"""kernelcal: can a probabilistic model be believed?"""

__version__ = "0.1.0"

from kernelcal import datasets
from kernelcal.binning import EqualMassBins, MedianVarianceBins, UniformBins
from kernelcal.evaluate import Evaluation, evaluate
from kernelcal.inference import DefaultFamily, Interval, TestResult, calibration_test, confidence_interval
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
from kernelcal.statistics import ECE, MMCE, SKCE, Estimate, ece, mce, mmce, skce

__all__ = [
    "ECE",
    "MMCE",
    "SKCE",
    "Bernoulli",
    "Categorical",
    "ClassWise",
    "DefaultFamily",
    "Dirac",
    "EqualMassBins",
    "Estimate",
    "Euclidean",
    "Evaluation",
    "ExactPairs",
    "FiniteKernel",
    "Gaussian",
    "Groups",
    "Hellinger",
    "Interval",
    "InverseMultiquadric",
    "Laplacian",
    "Linear",
    "LogProbs",
    "Logits",
    "Matern32",
    "Matern52",
    "MedianVarianceBins",
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
    "UniformBins",
    "as_predictions",
    "calibration_test",
    "confidence_interval",
    "datasets",
    "ece",
    "evaluate",
    "mce",
    "median_lengthscale",
    "mmce",
    "skce",
]
