"""kernelcal: can a probabilistic model be believed?"""

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

from kernelcal.surroundings import expect_interrupts as _expect_interrupts

_expect_interrupts()  # before anything that takes time; of the command alone

if TYPE_CHECKING:  # what a name is; when it is asked for it is imported from its room, see `__getattr__`
    from kernelcal import datasets
    from kernelcal.binning import EdgeBins, EqualMassBins, MedianVarianceBins, QuantileBins, UniformBins
    from kernelcal.dispatch import compare, evaluate, explain
    from kernelcal.errors import InputError, KernelcalError, KernelcalWarning, MissingExtraError, NoClosedFormError
    from kernelcal.evaluation import plan
    from kernelcal.inference import (
        DefaultFamily,
        calibration_test,
        class_reliability,
        confidence_interval,
        equivalence_test,
        pit_test,
        register_statistic,
        reliability,
        simplex_calibration,
    )
    from kernelcal.kernels import (
        MMD,
        Brownian,
        Coordinatewise,
        Dirac,
        Euclidean,
        FiniteKernel,
        FisherDivergence,
        GaussHermite,
        Gaussian,
        GaussLegendre,
        Hellinger,
        InverseMultiquadric,
        KernelFisherDivergence,
        Laplacian,
        Linear,
        Matern32,
        Matern52,
        MixtureWasserstein,
        MonteCarlo,
        PowerExponential,
        RationalQuadratic,
        Spectral,
        TotalVariation,
        Wasserstein,
        median_lengthscale,
    )
    from kernelcal.lenses import ClassWise, Groups, OneClass, Relabel, TopK, TopLabel
    from kernelcal.monitor import Monitor
    from kernelcal.pairs import ExactPairs, Nystrom, RandomFourier
    from kernelcal.predictions import (
        Bernoulli,
        Beta,
        Binomial,
        Categorical,
        DiagonalNormal,
        Dirichlet,
        Gamma,
        IsotropicNormal,
        Laplace,
        Logits,
        LogNormal,
        LogProbs,
        Mixture,
        MultivariateNormal,
        NegativeBinomial,
        Normal,
        Percent,
        Poisson,
        Quantiles,
        Samples,
        Score,
        StudentT,
        Uniform,
        UnnormalizedDensity,
        as_predictions,
        langevin_draws,
    )
    from kernelcal.recalibration import TemperatureScaling
    from kernelcal.reporting import report
    from kernelcal.sketch import Sketch
    from kernelcal.statistics import (
        CKCE,
        ECE,
        JKCE,
        KCCSD,
        MMCE,
        SKCE,
        UCME,
        IncompleteCholesky,
        accuracy,
        brier_decomposition,
        brier_score,
        central_coverage,
        ckce,
        claimed_levels,
        coordinate,
        crps,
        ece,
        highest_density_coverage,
        jkce,
        kccsd,
        log_score,
        mce,
        mean_squared_error,
        mmce,
        negative_log_likelihood,
        pinball_loss,
        pit,
        pit_histogram,
        quantile_calibration,
        rank_histogram,
        skce,
        ucme,
        weighted_interval_score,
    )

__all__ = [
    "CKCE",
    "ECE",
    "JKCE",
    "KCCSD",
    "MMCE",
    "MMD",
    "SKCE",
    "UCME",
    "Bernoulli",
    "Beta",
    "Binomial",
    "Brownian",
    "Categorical",
    "ClassWise",
    "Coordinatewise",
    "DefaultFamily",
    "DiagonalNormal",
    "Dirac",
    "Dirichlet",
    "EdgeBins",
    "EqualMassBins",
    "Euclidean",
    "ExactPairs",
    "FiniteKernel",
    "FisherDivergence",
    "Gamma",
    "GaussHermite",
    "GaussLegendre",
    "Gaussian",
    "Groups",
    "Hellinger",
    "IncompleteCholesky",
    "InputError",
    "InverseMultiquadric",
    "IsotropicNormal",
    "KernelFisherDivergence",
    "KernelcalError",
    "KernelcalWarning",
    "Laplace",
    "Laplacian",
    "Linear",
    "LogNormal",
    "LogProbs",
    "Logits",
    "Matern32",
    "Matern52",
    "MedianVarianceBins",
    "MissingExtraError",
    "Mixture",
    "MixtureWasserstein",
    "Monitor",
    "MonteCarlo",
    "MultivariateNormal",
    "NegativeBinomial",
    "NoClosedFormError",
    "Normal",
    "Nystrom",
    "OneClass",
    "Percent",
    "Poisson",
    "PowerExponential",
    "QuantileBins",
    "Quantiles",
    "RandomFourier",
    "RationalQuadratic",
    "Relabel",
    "Samples",
    "Score",
    "Sketch",
    "Spectral",
    "StudentT",
    "TemperatureScaling",
    "TopK",
    "TopLabel",
    "TotalVariation",
    "Uniform",
    "UniformBins",
    "UnnormalizedDensity",
    "Wasserstein",
    "accuracy",
    "as_predictions",
    "brier_decomposition",
    "brier_score",
    "calibration_test",
    "central_coverage",
    "ckce",
    "claimed_levels",
    "class_reliability",
    "compare",
    "confidence_interval",
    "coordinate",
    "crps",
    "datasets",
    "ece",
    "equivalence_test",
    "evaluate",
    "explain",
    "highest_density_coverage",
    "jkce",
    "kccsd",
    "langevin_draws",
    "log_score",
    "mce",
    "mean_squared_error",
    "median_lengthscale",
    "mmce",
    "negative_log_likelihood",
    "pinball_loss",
    "pit",
    "pit_histogram",
    "pit_test",
    "plan",
    "quantile_calibration",
    "rank_histogram",
    "register_statistic",
    "reliability",
    "report",
    "simplex_calibration",
    "skce",
    "ucme",
    "weighted_interval_score",
]

_NAMES = {  # of every room, as they are imported above
    "binning": "EdgeBins EqualMassBins MedianVarianceBins QuantileBins UniformBins",
    "dispatch": "compare evaluate explain",
    "errors": "InputError KernelcalError KernelcalWarning MissingExtraError NoClosedFormError",
    "evaluation": "plan",
    "inference": (
        "DefaultFamily calibration_test class_reliability confidence_interval equivalence_test pit_test "
        "register_statistic reliability simplex_calibration"
    ),
    "kernels": (
        "MMD Brownian Coordinatewise Dirac Euclidean FiniteKernel FisherDivergence GaussHermite Gaussian "
        "GaussLegendre Hellinger InverseMultiquadric KernelFisherDivergence Laplacian Linear Matern32 Matern52 "
        "MixtureWasserstein MonteCarlo PowerExponential RationalQuadratic Spectral TotalVariation Wasserstein "
        "median_lengthscale"
    ),
    "lenses": "ClassWise Groups OneClass Relabel TopK TopLabel",
    "monitor": "Monitor",
    "pairs": "ExactPairs Nystrom RandomFourier",
    "predictions": (
        "Bernoulli Beta Binomial Categorical DiagonalNormal Dirichlet Gamma IsotropicNormal Laplace Logits "
        "LogNormal LogProbs Mixture MultivariateNormal NegativeBinomial Normal Percent Poisson Quantiles Samples "
        "Score StudentT Uniform UnnormalizedDensity as_predictions langevin_draws"
    ),
    "recalibration": "TemperatureScaling",
    "reporting": "report",
    "sketch": "Sketch",
    "statistics": (
        "CKCE ECE JKCE KCCSD MMCE SKCE UCME IncompleteCholesky accuracy brier_decomposition brier_score "
        "central_coverage ckce claimed_levels coordinate crps ece highest_density_coverage jkce kccsd log_score "
        "mce mean_squared_error mmce negative_log_likelihood pinball_loss pit pit_histogram quantile_calibration "
        "rank_histogram skce ucme weighted_interval_score"
    ),
}
_ROOM_OF = {name: room for room, names in _NAMES.items() for name in names.split()}
_ROOMS = {
    "arrays",
    "binning",
    "cases",
    "comparison",
    "covariates",
    "datasets",
    "defaults",
    "dependence",
    "dispatch",
    "errors",
    "evaluation",
    "explanation",
    "inference",
    "io",
    "kernels",
    "lenses",
    "losses",
    "measures",
    "monitor",
    "pairs",
    "plots",
    "predictions",
    "randomness",
    "ranks",
    "recalibration",
    "registry",
    "reporting",
    "residuals",
    "runs",
    "sketch",
    "sklearn",
    "statistics",
    "stream",
    "survival",
    "tables",
    "testing",
    "torchmetrics",
}


def __getattr__(name: str) -> Any:
    """Import a name or a room when it is asked for: ``import kernelcal`` by itself loads nearly nothing."""
    room = _ROOM_OF.get(name)
    if room is not None:
        found = getattr(importlib.import_module(f"kernelcal.{room}"), name)
        globals()[name] = found
        return found
    if name in _ROOMS:
        return importlib.import_module(f"kernelcal.{name}")
    raise AttributeError(f"module 'kernelcal' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_ROOMS})
