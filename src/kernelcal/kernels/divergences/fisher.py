"""Fisher divergence with a base measure: how far apart scores are where the base measure looks."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self

from kernelcal.arrays import Array, namespace
from kernelcal.kernels.divergences.base_measures import checked_base, fixed_base
from kernelcal.kernels.divergences.score_functions import moments, normal_coordinates, scores_at
from kernelcal.kernels.metrics import Metric

__all__ = ["FisherDivergence", "changed_fields"]


@dataclass(frozen=True, repr=False)
class FisherDivergence(Metric):
    r"""Root of the generalised Fisher divergence ``E |s_P(X) - s_P'(X)|^2`` under a base measure of X.

    The score ``s_P = grad log p`` needs no normalising constant, so predictions may be known up to one. Distances are
    in the inverse of the unit of the targets. A Gaussian profile of this metric is the exponentiated GFD kernel.

    Parameters
    ----------
    base : str, batch of one row, or array
        Base measure of X, where differences between predictions count:

        - ``"predictions"``: normal with the mean of the predicted means and independent components, whose variances
          are those of the means plus the mean predicted variance: an outcome of a row drawn at random;
        - ``"standard"``: the standard normal, as in the paper; it looks past predictions that are far from 0;
        - a batch of one row, such as a prior: a normal is used as it is, of others ``size`` points are drawn;
        - an array of base points, shape (m, d), or (m,) for numbers, which weigh equally.
    size : int
        Number of base points that are drawn where there is no closed form.
    rng : int
        Seed of drawn base points: all pairs share them.

    Raises
    ------
    InputError
        For a base measure of another dimension, for predictions without score, and for scores that are not finite at a
        base point, with the row.

    Notes
    -----
    Hilbertian: the L2 norm of coordinates, which are scores. Scores of normal predictions are affine, so that mean m
    and covariance R R' of the base measure suffice, exactly: with precisions P and means mu the coordinates are
    ``P R`` and ``P (m - mu)``, d^2 + d numbers a row for `MultivariateNormal`, 2 d for `DiagonalNormal` and `Normal`
    and d + 1 for `IsotropicNormal`. Otherwise they are the scores at the m base points over sqrt(m): m d numbers a row,
    and the distance has an error of order 1 / sqrt(m), but is that of a Hilbert space for every m. Predictions that
    differ in the weights of far apart modes only have nearly equal scores.

    ``base="predictions"`` takes what it needs from the batch that it is given: `resolved` fixes it where batches are to
    be compared.

    References
    ----------
    Glaser, Widmann, Lindsten, Gretton (2023), Def. 4.1 and 4.2.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import FisherDivergence
    >>> predictions = kc.Normal([0.0, 3.0], [1.0, 1.0])
    >>> kc.median_lengthscale(predictions, metric=FisherDivergence("standard"))
    3.0
    >>> FisherDivergence().resolved(predictions)
    FisherDivergence(base=normal(mean [1.5], std [1.803]))
    """

    order: ClassVar[int] = 2

    base: Any = "predictions"
    size: int = 100
    rng: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "base", checked_base(self.base, self.size, self.rng))

    def coordinates(self, predictions: Any) -> Array:
        """Scores, as numbers that describe them or at base points, shape (n, k)."""
        base = fixed_base(self.base, predictions)
        if predictions.score_is_affine:
            return normal_coordinates(predictions, moments(base))
        scores = scores_at(predictions, base.points(self.size, self.rng))
        return namespace(scores).reshape(scores, (len(predictions), -1)) / math.sqrt(scores.shape[1])

    def resolved(self, predictions: Any) -> Self:
        """Copy with the base measure that these predictions choose."""
        return replace(self, base=fixed_base(self.base, predictions)) if self.base == "predictions" else self

    def largest_exponent(self, predictions: Any) -> float:
        """2: L2 space."""
        return 2.0

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(changed_fields(self))})"


def changed_fields(metric: Any) -> list[str]:
    """Fields of a metric that are not the default, as they are printed."""
    values = ((f.name, getattr(metric, f.name), f.default) for f in fields(metric))
    return [f"{name}={value!r}" for name, value, default in values if value != default]
