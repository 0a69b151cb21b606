"""kernelcal: can a probabilistic model be believed?"""

__version__ = "0.1.0"

from kernelcal import datasets
from kernelcal.binning import EqualMassBins, UniformBins
from kernelcal.compare import compare
from kernelcal.dispatch import evaluate
from kernelcal.explain import explain
from kernelcal.inference import (
    DefaultFamily,
    calibration_test,
    confidence_interval,
    equivalence_test,
    pit_test,
    reliability,
)
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
    TotalVariation,
    Wasserstein,
    median_lengthscale,
)
from kernelcal.lenses import ClassWise, Groups, OneClass, TopK, TopLabel
from kernelcal.pairs import ExactPairs, Nystrom, RandomFourier
from kernelcal.predictions import (
    Bernoulli,
    Categorical,
    Laplace,
    Logits,
    LogProbs,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Percent,
    Poisson,
    Quantiles,
    Samples,
    as_predictions,
)
from kernelcal.recalibration import TemperatureScaling
from kernelcal.report import report
from kernelcal.sketch import Sketch
from kernelcal.statistics import CKCE, ECE, MMCE, SKCE, UCME, ckce, ece, mmce, skce, ucme

__all__ = [
    "CKCE",
    "ECE",
    "MMCE",
    "SKCE",
    "UCME",
    "Bernoulli",
    "Categorical",
    "ClassWise",
    "DefaultFamily",
    "Dirac",
    "EqualMassBins",
    "Euclidean",
    "ExactPairs",
    "FiniteKernel",
    "Gaussian",
    "Groups",
    "Hellinger",
    "InverseMultiquadric",
    "Laplace",
    "Laplacian",
    "Linear",
    "LogProbs",
    "Logits",
    "Matern32",
    "Matern52",
    "Mixture",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "Nystrom",
    "OneClass",
    "Percent",
    "Poisson",
    "Quantiles",
    "RandomFourier",
    "Samples",
    "Sketch",
    "TemperatureScaling",
    "TopK",
    "TopLabel",
    "TotalVariation",
    "UniformBins",
    "Wasserstein",
    "as_predictions",
    "calibration_test",
    "ckce",
    "compare",
    "confidence_interval",
    "datasets",
    "ece",
    "equivalence_test",
    "evaluate",
    "explain",
    "median_lengthscale",
    "mmce",
    "pit_test",
    "reliability",
    "report",
    "skce",
    "ucme",
]
