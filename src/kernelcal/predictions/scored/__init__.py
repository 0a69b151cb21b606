"""Densities known through their score function, or up to a constant."""

from kernelcal.predictions.scored.checks import refuse_unusable_functions, refuse_unusable_scores
from kernelcal.predictions.scored.langevin import langevin_draws
from kernelcal.predictions.scored.score import Score, ScorePredictions
from kernelcal.predictions.scored.unnormalized import UnnormalizedDensity

__all__ = [
    "Score",
    "ScorePredictions",
    "UnnormalizedDensity",
    "langevin_draws",
    "refuse_unusable_functions",
    "refuse_unusable_scores",
]
