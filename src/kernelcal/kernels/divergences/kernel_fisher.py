"""Kernelised Fisher divergence: differences of scores smoothed by a ground kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, like, namespace
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.divergences.base_measures import BaseMeasure, NormalBase, checked_base, fixed_base
from kernelcal.kernels.divergences.fisher import changed_fields
from kernelcal.kernels.divergences.ground import ground_lengthscale
from kernelcal.kernels.divergences.score_functions import (
    ScoreMoments,
    gaussian_moments,
    normal_coordinates,
    psd_root,
    scores_at,
    weighted_moments,
)
from kernelcal.kernels.embeddings import point
from kernelcal.kernels.metrics import Euclidean, Metric
from kernelcal.kernels.profiles import Gaussian

__all__ = ["KernelFisherDivergence"]


@dataclass(frozen=True, repr=False)
class KernelFisherDivergence(Metric):
    """Root of ``E k(X, X') (s_P - s_P')(X).(s_P - s_P')(X')``, X and X' independent draws of a base measure.

    The generalised Fisher divergence of `FisherDivergence` after smoothing by the ground kernel k, so that base points
    in high dimension represent their surroundings. With a Gaussian profile it is the exponentiated KGFD kernel; it is
    not divided by E k(X, X').

    Parameters
    ----------
    kernel : Kernel
        Ground kernel k between outcomes: a profile such as ``Gaussian(1.0)``, or sums, products and multiples of them.
        The lengthscale ``"median"`` is `ground_lengthscale` of the predictions.
    base, size, rng
        As for `FisherDivergence`.

    Raises
    ------
    InputError
        As for `FisherDivergence`, and for a ground kernel that is no profile between outcomes, or so narrow that it is
        0 between all base points.

    Notes
    -----
    Hilbertian. For normal predictions and base measure ``N(m, C)`` with a Gaussian ground kernel the coordinates are
    those of `FisherDivergence` with C replaced by ``C^2 (l^2 I + 2 C)^-1``, times ``det(I + 2 C / l^2)^(-1/4)``. For
    other ground kernels, and for base points, they come from the matrix K of the ground kernel at m base points, as
    exactly as these stand for the base measure. For other predictions the scores at the base points are multiplied with
    a root of K / m^2: r d numbers a row where K has rank r. The matrix is m x m, and its root costs m^3.

    References
    ----------
    Glaser, Widmann, Lindsten, Gretton (2023), Def. 4.4 and eq. (7).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import KernelFisherDivergence
    >>> predictions = kc.Normal([0.0, 3.0], [1.0, 1.0])
    >>> metric = KernelFisherDivergence(kc.Gaussian(1.0), base="standard")
    >>> round(kc.median_lengthscale(predictions, metric=metric), 4)  # 3 times 3^(-1/4)
    2.2795
    """

    order: ClassVar[int] = 2

    kernel: Kernel
    base: Any = "predictions"
    size: int = 100
    rng: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise InputError(f"kernel must be a target kernel such as kernelcal.Gaussian(1.0), got {self.kernel!r}")
        self.kernel.map_leaves(_refuse_no_profile)
        object.__setattr__(self, "base", checked_base(self.base, self.size, self.rng))

    def coordinates(self, predictions: Any) -> Array:
        """Smoothed scores, shape (n, k)."""
        metric = self.resolved(predictions)
        base = fixed_base(metric.base, predictions)
        if predictions.score_is_affine:
            return normal_coordinates(predictions, metric._moments(base))
        points = base.points(metric.size, metric.rng)
        scores = scores_at(predictions, points)
        xp, root = namespace(scores), psd_root(_gram(metric.kernel, points)) / len(points)
        return xp.reshape(xp.matmul(like(root.T, scores), scores), (len(predictions), -1))

    def resolved(self, predictions: Any) -> Self:
        """Copy with the ground lengthscale and the base measure that these predictions choose."""

        def leaf(kernel: Any) -> Kernel:
            median = isinstance(kernel.lengthscale, str)
            return kernel.with_lengthscale(ground_lengthscale(predictions)) if median else kernel

        base = fixed_base(self.base, predictions) if self.base == "predictions" else self.base
        return replace(self, kernel=self.kernel.map_leaves(leaf), base=base)

    def _moments(self, base: BaseMeasure) -> ScoreMoments:
        if isinstance(base, NormalBase) and isinstance(self.kernel, Gaussian):
            return gaussian_moments(base, self.kernel.scale)
        points = base.points(self.size, self.rng)
        return weighted_moments(points, _gram(self.kernel, points))

    def largest_exponent(self, predictions: Any) -> float:
        """2: the ground kernel is positive definite."""
        return 2.0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join([repr(self.kernel), *changed_fields(self)[1:]])})"


def _gram(kernel: Kernel, points: np.ndarray) -> np.ndarray:
    """Matrix of the ground kernel at base points."""
    return np.asarray(point(kernel, points[:, None], points[None], 1))


def _refuse_no_profile(kernel: Any) -> Kernel:
    """Refuse kernels that may be negative or unbounded, and distances that are none between outcomes."""
    if not isinstance(getattr(kernel, "metric", None), Euclidean):
        raise InputError(
            f"the ground kernel of KernelFisherDivergence compares outcomes by their Euclidean distance: use a profile "
            f"such as kernelcal.Gaussian(1.0), not {kernel!r}"
        )
    return kernel
