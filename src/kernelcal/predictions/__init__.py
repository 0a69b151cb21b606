"""What a model said: families of distributions, one a file, and what people have read as one of them."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.predictions.adapters import Logits, LogProbs, Percent, as_predictions
    from kernelcal.predictions.base import Predictions, checked_classes, checked_index, families, made, trusted
    from kernelcal.predictions.border import (
        NO_SPREAD,
        finite_numbers,
        floating,
        inside,
        is_frame,
        is_in_chunks,
        is_in_parts,
        positive_numbers,
        series_to_array,
        together,
    )
    from kernelcal.predictions.classes import Bernoulli, Categorical, ClassPredictions
    from kernelcal.predictions.compositions import ONE_DRAW, SAME_LEVEL, Mixture, QuantileCells, Quantiles, Samples
    from kernelcal.predictions.continuous import (
        Beta,
        DiagonalNormal,
        Dirichlet,
        Gamma,
        IsotropicNormal,
        Laplace,
        LogNormal,
        MultivariateNormal,
        MultivariatePowerExponential,
        Normal,
        StudentT,
        Uniform,
        VectorNormal,
        Weibull,
    )
    from kernelcal.predictions.counts import Binomial, CountPredictions, NegativeBinomial, Poisson
    from kernelcal.predictions.densities import Score, ScorePredictions, UnnormalizedDensity, langevin_draws
    from kernelcal.predictions.foreign import Reading
    from kernelcal.predictions.label_names import (
        column_numbers,
        columns_of_labels,
        common_start,
        matched,
        negative_and_positive,
        numbered_classes,
    )
    from kernelcal.predictions.log_scale import log_sum
    from kernelcal.predictions.real import Parametric, RealPredictions
    from kernelcal.predictions.special_functions import count_below, smallest_reaching
    from kernelcal.predictions.targets import checked_pair, checked_weights

__all__ = [
    "NO_SPREAD",
    "ONE_DRAW",
    "SAME_LEVEL",
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
    "MultivariatePowerExponential",
    "NegativeBinomial",
    "Normal",
    "Parametric",
    "Percent",
    "Poisson",
    "Predictions",
    "QuantileCells",
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
    "Weibull",
    "as_predictions",
    "checked_classes",
    "checked_index",
    "checked_pair",
    "checked_weights",
    "column_numbers",
    "columns_of_labels",
    "common_start",
    "count_below",
    "families",
    "finite_numbers",
    "floating",
    "inside",
    "is_frame",
    "is_in_chunks",
    "is_in_parts",
    "langevin_draws",
    "log_sum",
    "made",
    "matched",
    "negative_and_positive",
    "numbered_classes",
    "positive_numbers",
    "series_to_array",
    "smallest_reaching",
    "together",
    "trusted",
]
