"""kernelcal: can a probabilistic model be believed?"""

__version__ = "0.1.0"

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
from kernelcal.statistics import SKCE, Estimate, skce
