"""What a model said: one family of distributions a file, and adapters from what people have."""

from kernelcal.predictions.adapters import as_predictions
from kernelcal.predictions.base import Predictions, checked_index, made, trusted
from kernelcal.predictions.bernoulli import Bernoulli
from kernelcal.predictions.beta import Beta
from kernelcal.predictions.binomial import Binomial
from kernelcal.predictions.categorical import Categorical
from kernelcal.predictions.classes import ClassPredictions, checked_classes
from kernelcal.predictions.counts import CountPredictions
from kernelcal.predictions.diagonal_normal import DiagonalNormal
from kernelcal.predictions.dirichlet import Dirichlet
from kernelcal.predictions.gamma import Gamma
from kernelcal.predictions.isotropic_normal import IsotropicNormal
from kernelcal.predictions.langevin import langevin_draws
from kernelcal.predictions.laplace import Laplace
from kernelcal.predictions.log_normal import LogNormal
from kernelcal.predictions.mixture import Mixture
from kernelcal.predictions.multivariate_normal import MultivariateNormal
from kernelcal.predictions.negative_binomial import NegativeBinomial
from kernelcal.predictions.normal import Normal
from kernelcal.predictions.numbers import numbers as finite_numbers
from kernelcal.predictions.numbers import positive_numbers, together
from kernelcal.predictions.parameters import Reading
from kernelcal.predictions.parametric import Parametric
from kernelcal.predictions.poisson import Poisson
from kernelcal.predictions.quantiles import Quantiles
from kernelcal.predictions.real import RealPredictions
from kernelcal.predictions.samples import Samples
from kernelcal.predictions.score import Score
from kernelcal.predictions.score_predictions import ScorePredictions
from kernelcal.predictions.student_t import StudentT
from kernelcal.predictions.targets import checked_pair
from kernelcal.predictions.uniform import Uniform
from kernelcal.predictions.unnormalized import UnnormalizedDensity
from kernelcal.predictions.vector_normal import VectorNormal
from kernelcal.predictions.weights import checked_weights
from kernelcal.predictions.wrappers import Logits, LogProbs, Percent

__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "ClassPredictions",
    "CountPredictions",
    "DiagonalNormal",
    "Dirichlet",
    "Gamma",
    "IsotropicNormal",
    "Laplace",
    "LogNormal",
    "LogProbs",
    "Logits",
    "Mixture",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "Parametric",
    "Percent",
    "Poisson",
    "Predictions",
    "Quantiles",
    "Reading",
    "RealPredictions",
    "Samples",
    "Score",
    "ScorePredictions",
    "StudentT",
    "Uniform",
    "UnnormalizedDensity",
    "VectorNormal",
    "as_predictions",
    "checked_classes",
    "checked_index",
    "checked_pair",
    "checked_weights",
    "finite_numbers",
    "langevin_draws",
    "made",
    "positive_numbers",
    "together",
    "trusted",
]
