"""Wasserstein distances: by coordinates where there are some, along directions; of mixtures, components are moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import Array, concrete, is_numpy, like, namespace, take_rows
from kernelcal.errors import InputError, MissingExtraError
from kernelcal.kernels.metrics.base import Metric, PairwiseMetric, above_rounding
from kernelcal.predictions import (
    DiagonalNormal,
    IsotropicNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    Normal,
    Samples,
)
from kernelcal.randomness import generator_of

__all__ = ["Bures", "MixtureWasserstein", "SlicedWasserstein", "Wasserstein", "least_costs"]


@dataclass(frozen=True)
class Bures(PairwiseMetric):
    """``|m - m'|^2 + tr C + tr C' - 2 tr (C^1/2 C' C^1/2)^1/2``, which `Wasserstein` uses for full covariances.

    Notes
    -----
    With Cholesky factors ``C = L L'`` the last trace is the sum of the singular values of ``L' L'_2``: no matrix root
    is needed, and small eigenvalues lose no digits to a square root. Distances between covariances below about
    1e-8 of their size are 0.
    """

    def squared_distances(self, p: MultivariateNormal, q: MultivariateNormal) -> Array:
        """Squared distances, leading axes broadcast."""
        xp = namespace(p.mean)
        difference = p.mean - q.mean
        own, other = (xp.sum(x * x, axis=(-2, -1)) for x in (p.factor, q.factor))
        overlap = xp.sum(xp.linalg.svdvals(xp.matmul(xp.matrix_transpose(p.factor), q.factor)), axis=-1)
        bures = above_rounding(own + other - 2 * overlap, own + other)
        return xp.sum(difference * difference, axis=-1) + bures

    def numbers(self, predictions: Any) -> int:
        """The d x d matrix of a pair."""
        return int(predictions.dimension) ** 2

    def largest_exponent(self, predictions: Any) -> float:
        """0: not known."""
        return 0.0


@dataclass(frozen=True)
class Wasserstein(Metric):
    r"""2-Wasserstein distance, the least root mean square way from one distribution to the other.

    In the unit of the targets. Between numbers it is the L2 distance of the quantile functions,
    ``W^2 = \int_0^1 (q(u) - q'(u))^2 du``; between normal distributions ``|m - m'|^2`` plus the squared Bures distance
    of the covariances, ``tr C + tr C' - 2 tr (C^1/2 C' C^1/2)^1/2``.

    ====================  ====================================================================
    family                coordinates
    ====================  ====================================================================
    `Normal`              mean, std
    `Laplace`             loc, sqrt(2) scale
    `Uniform`             mean, std
    `DiagonalNormal`      means, standard deviations
    `IsotropicNormal`     means, sqrt(d) scale
    `Samples`             sorted draws / sqrt(S), for numbers and equal weights
    `Quantiles`           root of mass times centre and standard deviation of each piece
    `MultivariateNormal`  none: distances are computed pair by pair
    ====================  ====================================================================

    Raises
    ------
    InputError
        For other families: `Mixture` has `MixtureWasserstein`, all have `Euclidean`, many `MMD`.

    Notes
    -----
    Hilbertian where the table gives coordinates, and where covariances commute since all are equal or 1 x 1. Between
    other full covariances it is not (2021, App. D.1, says otherwise): `why_not` names alternatives. Cost of pairs: one
    singular value decomposition of a d x d matrix, about 1 microsecond for d = 2 and 7 for d = 10.

    Exact for `Quantiles`: inside a segment, and inside an exponential tail, the quantile functions of all rows are the
    same function up to centre and scale.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), App. D.1 and D.2; Gelbrich (1990).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels.metrics import Wasserstein
    >>> kc.median_lengthscale(kc.Normal([0.0, 3.0], [1.0, 5.0]), metric=Wasserstein())
    5.0
    """

    order: ClassVar[int] = 2

    def coordinates(self, predictions: Any) -> Array:
        """Coordinates of the table, shape (n, k): a family says its own."""
        by_pairs = self.by_pairs(predictions)
        return predictions.wasserstein_coordinates() if by_pairs is None else by_pairs.coordinates(predictions)

    def by_pairs(self, predictions: Any) -> PairwiseMetric | None:
        """Bures distances for full covariances."""
        return Bures() if isinstance(predictions, MultivariateNormal) else None

    def largest_exponent(self, predictions: Any) -> float:
        """2 with coordinates; 0 (not known) for covariances that do not commute."""
        return 2.0 if not isinstance(predictions, MultivariateNormal) or _commute(predictions) else 0.0

    def why_not(self, predictions: Any) -> str:
        """Reason and alternatives, for full covariances."""
        if self.hilbertian(predictions):
            return ""
        return (
            "2-Wasserstein between normal distributions whose covariances do not commute is not the distance of a "
            "Hilbert space: use the metric Euclidean(), or MMD(Gaussian(lengthscale))"
        )


def _commute(predictions: MultivariateNormal) -> bool:
    """Tell whether covariances commute for a reason that is cheap to see: numbers, or one matrix for all rows."""
    cov = concrete(predictions.cov)
    return cov is not None and (cov.shape[-1] == 1 or bool((cov == cov[:1]).all()))


@dataclass(frozen=True)
class SlicedWasserstein(Metric):
    r"""Sliced 2-Wasserstein distance: the root mean square of those of the projections on some directions.

    ``SW^2 = (1/L) sum_l W^2(theta_l'Y, theta_l'Y')`` over L seeded directions on the unit sphere, the mean over the
    whole sphere up to 1 / sqrt(L). In the unit of the targets; of numbers it is `Wasserstein` itself.

    Parameters
    ----------
    directions : int
        Number L.
    rng : int
        Seed of the directions, which all predictions share.

    Raises
    ------
    InputError
        For families other than normal vectors, `Samples` of vectors with equal weights, and numbers that `Wasserstein`
        takes.

    Notes
    -----
    Hilbertian for any number of directions, where `Wasserstein` between full covariances is not: coordinates are means
    and standard deviations of the projections, or their sorted draws. Cost: n L d^2 once, then distances of 2 L numbers
    (or L S). Gradients flow through normal vectors.

    References
    ----------
    Bonneel, Rabin, Peyre, Pfister (2015); Meunier, Pontil, Ciliberto (2022); Glaser, Widmann, Lindsten, Gretton (2023),
    section 2.1.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import SlicedWasserstein
    >>> predictions = kc.MultivariateNormal.isotropic([[0.0, 0.0], [3.0, 4.0]], [1.0, 1.0])
    >>> round(kc.median_lengthscale(predictions, metric=SlicedWasserstein(1000)), 1)  # near 5 / sqrt(2)
    3.5
    """

    order: ClassVar[int] = 2

    directions: int = 64
    rng: int = 0

    def __post_init__(self) -> None:
        for name, value, least in (("directions", self.directions, 1), ("rng", self.rng, 0)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < least:
                raise InputError(f"{name} must be a whole number, at least {least}, got {value!r}")

    def coordinates(self, predictions: Any) -> Array:
        """Means and standard deviations of projections, or sorted projected draws, over the root of their number."""
        if len(getattr(predictions, "event_shape", ())) != 1:
            return Wasserstein().coordinates(predictions)
        theta = self.on_sphere(int(predictions.dimension))
        if isinstance(predictions, Samples):
            return _sorted_projections(predictions, theta)
        if not isinstance(predictions, MultivariateNormal | DiagonalNormal | IsotropicNormal):
            raise InputError(
                f"SlicedWasserstein compares normal vectors and draws of vectors, not {type(predictions).__name__}: "
                "use the metric Euclidean(), or MMD(Gaussian(lengthscale))"
            )
        mean = predictions.mean
        xp, theta = namespace(mean), like(theta, mean)
        if isinstance(predictions, MultivariateNormal):
            sides = xp.matmul(predictions.factor.mT, theta.T)  # (n, d, L): L'theta
            variance = xp.sum(sides * sides, axis=1)
        else:
            variance = (predictions.std * predictions.std) @ (theta * theta).T
        return xp.concat([mean @ theta.T, xp.sqrt(variance)], axis=1) / self.directions**0.5

    def on_sphere(self, dimension: int) -> np.ndarray:
        """Directions, shape (L, d)."""
        drawn = generator_of(self.rng, "directions of projections").standard_normal((self.directions, dimension))
        return np.asarray(drawn / np.linalg.norm(drawn, axis=1, keepdims=True))

    def largest_exponent(self, predictions: Any) -> float:
        """2: a mean of squared L2 distances of quantile functions."""
        return 2.0


def _sorted_projections(predictions: Samples, theta: np.ndarray) -> Array:
    """Sorted draws along every direction over the root of their number, shape (n, L S)."""
    if predictions.weights is not None:
        raise InputError("SlicedWasserstein needs draws of equal weight: use MMD(Gaussian(lengthscale))")
    draws = predictions.draws
    xp = namespace(draws)
    along = xp.sort(draws @ like(theta, draws).T, axis=1)  # (n, S, L)
    return xp.reshape(along, (along.shape[0], -1)) / (along.shape[1] * len(theta)) ** 0.5


@dataclass(frozen=True)
class MixtureWasserstein(PairwiseMetric):
    """Mixture Wasserstein distance ``MW_s = min_w (sum_kl w_kl d(k, l)^s)^(1/s)`` over the couplings w of the weights.

    d is a distance between components, the 2-Wasserstein distance unless another is given: then MW is in the unit of
    the targets. With one component it is that of the components; for s = 2 and the 2-Wasserstein distance it is at
    least the 2-Wasserstein distance of the mixtures.

    Parameters
    ----------
    exponent : float
        The order s, at least 1.
    cost : Metric
        Distance d between components, such as ``MMD(Gaussian(1.0))``, ``Euclidean()`` or
        ``FisherDivergence("standard")``.

    Raises
    ------
    InputError
        For predictions that are no `Mixture`, for components that the cost does not compare (`Wasserstein` takes those
        of one family with closed forms), and for arrays of other libraries than NumPy.
    MissingExtraError
        If three or more components have unequal weights and POT (extra ``transport``) is not installed.

    Notes
    -----
    Not Hilbertian in general (2021, Theorem D.1, says otherwise): `why_not` names alternatives. Cost a pair: K^2
    distances of components, and for K > 2 an assignment (equal weights, about 20 microseconds) or a linear program
    (about 100 microseconds): prefer `MMD` above a thousand rows. Components of unlike families are compared by costs
    that have coordinates of all of them, such as `Euclidean`.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), eq. (D.2); Delon and Desolneux (2020).

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels.metrics import MixtureWasserstein
    >>> from kernelcal.predictions import Mixture, Normal
    >>> mixtures = Mixture([[1.0, 0.0], [0.5, 0.5]], [Normal([0.0, 0.0], 1.0), Normal([4.0, 4.0], 1.0)])
    >>> round(kc.median_lengthscale(mixtures, metric=MixtureWasserstein()), 6)  # half of it moves by 4
    2.828427
    """

    exponent: float = 2.0
    cost: Metric = field(default_factory=Wasserstein)

    def __post_init__(self) -> None:
        if not isinstance(self.exponent, int | float | np.number) or not 1 <= self.exponent < float("inf"):
            raise InputError(f"exponent must be a number of at least 1, got {self.exponent!r}")
        if not isinstance(self.cost, Metric) or isinstance(self.cost, MixtureWasserstein):
            raise InputError(f"cost must be a metric between components such as Wasserstein(), got {self.cost!r}")

    def resolved(self, predictions: Any) -> MixtureWasserstein:
        """Copy with what the cost takes from the predictions, such as a base measure, fixed as numbers."""
        cost = self.cost.resolved(predictions)
        return self if cost is self.cost else MixtureWasserstein(self.exponent, cost)

    def prepare(self, predictions: Any) -> _Seen:
        """Weights, and components as the cost sees them; refuse what is no mixture."""
        if not isinstance(predictions, Mixture):
            raise InputError(
                f"MixtureWasserstein compares mixtures, not {type(predictions).__name__}: use Wasserstein()"
            )
        kinds = tuple(dict.fromkeys(type(component) for component in predictions.components))
        if isinstance(self.cost, Wasserstein) and (len(kinds) > 1 or kinds[0] not in _COMPONENTS):
            known, given = (", ".join(kind.__name__ for kind in part) for part in (_COMPONENTS, kinds))
            raise InputError(
                f"MixtureWasserstein needs components of one family out of {known}, got {given}: use the metric "
                "Euclidean(), MMD(Gaussian(lengthscale)), or MixtureWasserstein(cost=Euclidean())"
            )
        if not is_numpy(predictions.weights):
            raise InputError(
                "MixtureWasserstein solves a transport problem in NumPy and keeps no gradient: pass NumPy arrays, or "
                "use MMD(Gaussian(lengthscale))"
            )
        pairwise = self.cost.by_pairs(predictions.components[0])
        if pairwise is not None and len(kinds) > 1:
            raise InputError(
                f"{self.cost} computes distances pair by pair and compares components of one family, got "
                f"{', '.join(kind.__name__ for kind in kinds)}: use MixtureWasserstein(cost=Euclidean())"
            )
        see = self.cost.coordinates if pairwise is None else pairwise.prepare
        return _Seen(predictions.weights, tuple(see(component) for component in predictions.components))

    def squared_distances(self, p: _Seen, q: _Seen) -> np.ndarray:
        """Squared distances, leading axes broadcast."""
        costs = self._squared_costs(p.parts, q.parts) ** (self.exponent / 2)
        return least_costs(p.weights, q.weights, costs) ** (2 / self.exponent)

    def _squared_costs(self, p: tuple[Any, ...], q: tuple[Any, ...]) -> np.ndarray:
        """Squared distances between all components, shape (..., K, K); their leading axes broadcast."""
        distance: Callable[[Any, Any], np.ndarray] = _squares if self.cost.order == 2 else _squared_sums
        if not isinstance(p[0], np.ndarray):
            distance = (self.cost if isinstance(self.cost, PairwiseMetric) else Bures()).squared_distances
        return np.stack([np.stack([distance(a, b) for b in q], axis=-1) for a in p], axis=-2)

    def numbers(self, predictions: Any) -> int:
        """A matrix of components, and what one distance of components needs."""
        first = predictions.components[0]
        return len(predictions.components) ** 2 + max(first.columns, int(first.dimension) ** 2)

    def largest_exponent(self, predictions: Any) -> float:
        """0: not known."""
        return 0.0

    def why_not(self, predictions: Any) -> str:
        """Reason and alternatives."""
        return (
            "the mixture Wasserstein distance is not the distance of a Hilbert space, since the best coupling changes "
            "from pair to pair: use the metric Euclidean(), or MMD(Gaussian(lengthscale))"
        )


_COMPONENTS = (Normal, Laplace, DiagonalNormal, IsotropicNormal, MultivariateNormal)


@dataclass(frozen=True, eq=False)
class _Seen:
    """Weights of mixtures, and their components as a metric sees them."""

    weights: np.ndarray
    parts: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, index: Any) -> _Seen:
        parts = (take_rows(x, index) if isinstance(x, np.ndarray) else x[index] for x in self.parts)
        return _Seen(self.weights[index], tuple(parts))

    def map_arrays(self, function: Callable[[Array], Array]) -> _Seen:
        parts = (function(x) if isinstance(x, np.ndarray) else x.map_arrays(function) for x in self.parts)
        return _Seen(function(self.weights), tuple(parts))


def _squares(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(((x - y) ** 2).sum(axis=-1))


def _squared_sums(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(x - y).sum(axis=-1) ** 2)


def least_costs(p: np.ndarray, q: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Least mean cost over all couplings, for weights of shape (..., K) and costs (..., K, K): shape (...).

    Two components have two extreme couplings; above, one linear program a pair.
    """
    if costs.shape[-1] == 1:
        return costs[..., 0, 0]
    if costs.shape[-1] == 2:
        return np.minimum(_straight(p, q, costs), _straight(p, q[..., ::-1], costs[..., ::-1]))
    shape = costs.shape[:-2]
    left, right = (np.broadcast_to(w, (*shape, w.shape[-1])).reshape(-1, w.shape[-1]) for w in (p, q))
    pairs = zip(left, right, costs.reshape(-1, *costs.shape[-2:]), strict=True)
    return np.array([_least_cost(a, b, cost) for a, b, cost in pairs]).reshape(shape)


def _straight(p: np.ndarray, q: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Cost of moving as much as possible from the first to the first and from the second to the second."""
    kept = np.minimum(p, q)
    total = kept[..., 0] * costs[..., 0, 0] + kept[..., 1] * costs[..., 1, 1]
    return total + (p - kept)[..., 0] * costs[..., 0, 1] + (p - kept)[..., 1] * costs[..., 1, 0]


def _least_cost(p: np.ndarray, q: np.ndarray, cost: np.ndarray) -> float:
    """One pair: an assignment where the same number of components holds equal weights, else transport."""
    rows, columns = p > 0, q > 0
    a, b, cost = p[rows], q[columns], cost[np.ix_(rows, columns)]
    if len(a) == len(b) and (a == a[0]).all() and (b == a[0]).all():
        from scipy.optimize import linear_sum_assignment  # imported when needed: the import of kernelcal stays light

        return float(cost[linear_sum_assignment(cost)].mean())
    try:
        import ot
    except ImportError:
        raise MissingExtraError("POT", "transport", "MixtureWasserstein with unequal weights") from None
    return float(ot.emd2(a, b, cost))
