"""Densities known through their score function, or up to a constant."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.predictions.densities.functions import refuse_unusable_functions, refuse_unusable_scores
    from kernelcal.predictions.densities.langevin import langevin_draws
    from kernelcal.predictions.densities.score import Score, ScorePredictions
    from kernelcal.predictions.densities.unnormalized import UnnormalizedDensity

__all__ = [
    "Score",
    "ScorePredictions",
    "UnnormalizedDensity",
    "langevin_draws",
    "refuse_unusable_functions",
    "refuse_unusable_scores",
]
