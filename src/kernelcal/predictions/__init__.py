"""What a model said: one family of distributions a file, and adapters from what people have."""

from kernelcal.predictions.adapters import as_predictions
from kernelcal.predictions.base import Predictions, trusted
from kernelcal.predictions.bernoulli import Bernoulli
from kernelcal.predictions.categorical import Categorical
from kernelcal.predictions.classes import ClassPredictions
from kernelcal.predictions.normal import Normal
from kernelcal.predictions.real import RealPredictions
from kernelcal.predictions.targets import checked_classes_pair, checked_pair
from kernelcal.predictions.weights import checked_weights
from kernelcal.predictions.wrappers import Logits, LogProbs, Percent

__all__ = [
    "Bernoulli",
    "Categorical",
    "ClassPredictions",
    "LogProbs",
    "Logits",
    "Normal",
    "Percent",
    "Predictions",
    "RealPredictions",
    "as_predictions",
    "checked_classes_pair",
    "checked_pair",
    "checked_weights",
    "trusted",
]
