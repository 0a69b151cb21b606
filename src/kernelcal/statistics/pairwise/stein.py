"""Kernel calibration-conditional Stein discrepancy: SKCE for predictions known through their score function."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import numbers
from kernelcal.errors import InputError
from kernelcal.kernels import FisherDivergence, Gaussian, Kernel, Laplacian, Stationary, leaves, resolve_target
from kernelcal.pairs import FeatureEngine
from kernelcal.predictions import DiagonalNormal, Normal, Predictions, RealPredictions, ScorePredictions
from kernelcal.predictions.densities import refuse_unusable_functions
from kernelcal.randomness import generator_of
from kernelcal.residuals import Residual, SteinResidual
from kernelcal.statistics.functions import function_of
from kernelcal.statistics.pairwise.pair_means import PairMean

__all__ = ["KCCSD", "is_median", "kccsd", "median_distance", "normal_of", "with_lengthscale"]


_ROWS = 1_000  # half a million pairs tell the median to about 1e-3


def median_distance(targets: np.ndarray) -> float:
    """Median of the distances between targets of shape (n,) or (n, d), those that are 0 left out.

    Above 1,000 rows a seeded subsample of them is used. Targets that are all equal give 1.
    """
    from scipy.spatial.distance import pdist  # imported when needed: the import of kernelcal stays light

    rows = np.asarray(targets, dtype=np.float64).reshape(len(targets), -1)
    if len(rows) > _ROWS:
        rows = rows[generator_of(0, "rows of a median distance").choice(len(rows), _ROWS, replace=False)]
    distances = pdist(rows)
    return float(np.median(distances[distances > 0])) if (distances > 0).any() else 1.0


def normal_of(targets: np.ndarray) -> RealPredictions:
    """One normal distribution with the mean and the standard deviations of the targets; 1 where they are all equal."""
    mean, std = targets.mean(axis=0), targets.std(axis=0)
    std = np.where(std > 0, std, 1.0)
    return Normal(mean[None], std[None]) if targets.ndim == 1 else DiagonalNormal(mean[None], std[None])


def is_median(kernel: Kernel) -> bool:
    """Tell whether a lengthscale of a kernel is to be chosen."""
    return any(isinstance(leaf, Stationary) and isinstance(leaf.lengthscale, str) for leaf in leaves(kernel))


def with_lengthscale(kernel: Kernel, lengthscale: float) -> Kernel:
    """Copy with a lengthscale wherever one is to be chosen."""
    return kernel.map_leaves(lambda k: k.with_lengthscale(lengthscale) if is_median(k) else k)  # type: ignore[attr-defined]


@dataclass(frozen=True, kw_only=True)
class KCCSD(PairMean):
    """Kernel calibration-conditional Stein discrepancy: mean of ``k_P(P_i, P_j) h_ij`` over pairs of rows.

    ``h_ij = l s_i.s_j + sum_k d^2 l/(dy_k dy'_k) + s_i.grad_y' l + s_j.grad_y l``, with the target kernel
    ``l = l(y_i, y_j)`` and the score functions
    ``s_i = grad_y log p_i(y_i)``. Under ``P_i`` its mean is zero, for densities
    that are positive and smooth: it is `SKCE` with residuals that need neither normalising constants nor expectations.

    Parameters
    ----------
    prediction_kernel : Kernel, optional
        k_P. Default `Laplacian` at the median Euclidean distance of the predictions; for `Score` and
        `UnnormalizedDensity` without coordinates `Gaussian` at the median `kernels.FisherDivergence`.
    target_kernel : Kernel, optional
        l, twice differentiable: `Gaussian`, `InverseMultiquadric`, `RationalQuadratic`, `Matern52`, sums, products
        and multiples of them. Default `Gaussian` at the median predicted standard deviation. Score functions without
        draws or sampler tell neither that nor where to compare: by default the median distance between the observed
        targets and their mean and spread are used then, and the result says so.
    matrix : array of shape (d, d) or (d,), optional
        Positive semi-definite matrix B on the coordinates of the targets, or its diagonal: the operator-valued kernel
        ``k_P B``. Default the identity.
    estimator, block_size, superdiagonals, engine
        As for `SKCE`; the engine must sum exact pairs.

    Raises
    ------
    InputError
        For options that do not fit together, for targets outside the support, and for score functions that are NaN,
        with the row.

    Notes
    -----
    Predictions need a score function, the method ``score``: `Normal`, `Laplace`, `MultivariateNormal` of all kinds,
    their mixtures, `Score` and `UnnormalizedDensity`. Score functions do not see the proportions of modes that lie far
    apart, so neither does this statistic: where there are such modes and draws from the predictions, use `SKCE`.

    Cost of exact pairs: O(n^2 d), some 4 d multiplications a pair. PyTorch and JAX predictions keep their gradient.
    Assumes that rows are independent given the predictions.

    References
    ----------
    Glaser, Widmann, Lindsten, Gretton (2023), eqs. 9 and 10; Jitkrittum, Kanagawa, Schoelkopf (2020).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics.pairwise.stein import KCCSD
    >>> statistic = KCCSD(prediction_kernel=kc.Gaussian(1.0), target_kernel=kc.InverseMultiquadric(1.0))
    >>> round(float(statistic([0.0, 2.0, 1.0], kc.Normal([0.0, 1.0, 0.0], [1.0, 1.0, 2.0]))), 6)
    -0.14761

    >>> from kernelcal.statistics.pairwise.stein import kccsd
    >>> kccsd([0.0, 2.0], kc.Normal([0.0, 1.0], [1.0, 1.0]), prediction_kernel=kc.Laplacian(1.0))
    KCCSD
    -----
    KCCSD              -0.248935
    estimator          unbiased
    rows               2
    prediction kernel  Laplacian(lengthscale=1.0, metric=Euclidean())
    target kernel      Gaussian(lengthscale=1.0, metric=Euclidean())
    engine             exact pairs
    """

    label: ClassVar[str] = "KCCSD"
    settings: ClassVar[tuple[str, ...]] = ("matrix",)

    matrix: Any = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.engine, FeatureEngine):
            raise InputError(
                f"Stein residuals have no features, which {type(self.engine).__name__} needs: use ExactPairs(), or for "
                "many rows estimator='incomplete' or 'block'"
            )
        if self.matrix is not None:
            given = numbers(self.matrix)
            rows = given.tolist()  # as tuples, so that settings can be compared
            object.__setattr__(self, "matrix", tuple(map(tuple, rows)) if given.ndim == 2 else tuple(rows))

    def kernel_of(self, predictions: Predictions, weights: np.ndarray | None = None) -> Kernel:
        """Prediction kernel as given, or that of score functions, or of means and standard deviations."""
        if self.prediction_kernel is not None:
            return self.prediction_kernel
        scores = isinstance(predictions, ScorePredictions) and predictions.coordinates is None
        return Gaussian(metric=FisherDivergence()) if scores else Laplacian()

    def target_kernel_of(self, predictions: Predictions, weights: np.ndarray | None = None) -> Kernel:
        """Target kernel as given or a Gaussian."""
        return resolve_target(self.target_kernel or Gaussian(), predictions, weights)

    def residual_of(self, predictions: Predictions, target_kernel: Kernel, weights: np.ndarray | None) -> Residual:
        """Stein features."""
        if not isinstance(predictions, RealPredictions):
            raise InputError(
                "KCCSD needs densities of numbers or vectors, which have a score function, got "
                f"{type(predictions).__name__}: use SKCE for classes"
            )
        return SteinResidual.of(predictions, target_kernel, weights, self.matrix)

    def seeing(self, targets: np.ndarray, predictions: Any) -> tuple[Self, tuple[str, ...]]:
        """Let the observed targets say where to look, and how far, if the predictions are score functions and no more.

        No exact test is possible then, whose level this could harm.
        """
        if isinstance(predictions, ScorePredictions):
            refuse_unusable_functions(predictions, targets)
        if not isinstance(predictions, ScorePredictions) or predictions.described:
            return self, ()
        notes = []
        prediction_kernel, target_kernel = self.prediction_kernel, self.target_kernel or Gaussian()
        if prediction_kernel is None and predictions.coordinates is None:
            prediction_kernel = Gaussian(metric=FisherDivergence(normal_of(targets)))
            notes.append("the prediction kernel compares score functions where a normal with the targets' moments lies")
        if is_median(target_kernel):
            target_kernel = with_lengthscale(target_kernel, median_distance(targets))
            notes.append("the lengthscale of the target kernel is the median distance between the observed targets")
        return replace(self, prediction_kernel=prediction_kernel, target_kernel=target_kernel), tuple(notes)


kccsd = function_of(KCCSD)
