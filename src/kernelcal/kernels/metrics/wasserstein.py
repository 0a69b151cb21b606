"""2-Wasserstein distances: by coordinates where there are some; of mixtures, components are moved as wholes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import Array, concrete, is_numpy, namespace
from kernelcal.errors import InputError, MissingExtraError
from kernelcal.kernels.metrics.base import Metric, PairwiseMetric, above_rounding
from kernelcal.predictions import DiagonalNormal, IsotropicNormal, Laplace, Mixture, MultivariateNormal, Normal

__all__ = ["Bures", "MixtureWasserstein", "Wasserstein", "least_costs"]


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


_COMPONENTS = (Normal, Laplace, DiagonalNormal, IsotropicNormal, MultivariateNormal)


@dataclass(frozen=True)
class MixtureWasserstein(PairwiseMetric):
    """Mixture Wasserstein distance ``MW_s = min_w (sum_kl w_kl W(k, l)^s)^(1/s)`` over the couplings w of the weights.

    W is the 2-Wasserstein distance between components, so the distance is in the unit of the targets. With one
    component it is that of the components; it is at least the 2-Wasserstein distance of the mixtures for s = 2.

    Parameters
    ----------
    exponent : float
        The order s, at least 1.

    Raises
    ------
    InputError
        For predictions that are no `Mixture` of components of one family out of `Normal`, `Laplace`, `DiagonalNormal`,
        `IsotropicNormal` and `MultivariateNormal`, and for arrays of other libraries than NumPy.
    MissingExtraError
        If three or more components have unequal weights and POT (extra ``transport``) is not installed.

    Notes
    -----
    Not Hilbertian in general (2021, Theorem D.1, says otherwise): `why_not` names alternatives. Cost a pair: K^2
    distances of components, and for K > 2 an assignment (equal weights, about 20 microseconds) or a linear program
    (about 100 microseconds): prefer `MMD` above a thousand rows.

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

    def __post_init__(self) -> None:
        if not isinstance(self.exponent, int | float | np.number) or not 1 <= self.exponent < float("inf"):
            raise InputError(f"exponent must be a number of at least 1, got {self.exponent!r}")

    def prepare(self, predictions: Any) -> Mixture:
        """Refuse what is no mixture of components of one known family."""
        if not isinstance(predictions, Mixture):
            raise InputError(
                f"MixtureWasserstein compares mixtures, not {type(predictions).__name__}: use Wasserstein()"
            )
        kinds = tuple(dict.fromkeys(type(component) for component in predictions.components))
        if len(kinds) > 1 or kinds[0] not in _COMPONENTS:
            known, given = (", ".join(kind.__name__ for kind in part) for part in (_COMPONENTS, kinds))
            raise InputError(
                f"MixtureWasserstein needs components of one family out of {known}, got {given}: use the metric "
                "Euclidean(), or MMD(Gaussian(lengthscale))"
            )
        if not is_numpy(predictions.weights):
            raise InputError(
                "MixtureWasserstein solves a transport problem in NumPy and keeps no gradient: pass NumPy arrays, or "
                "use MMD(Gaussian(lengthscale))"
            )
        return predictions

    def squared_distances(self, p: Mixture, q: Mixture) -> np.ndarray:
        """Squared distances, leading axes broadcast."""
        costs = _squared_costs(p.components, q.components) ** (self.exponent / 2)
        return least_costs(p.weights, q.weights, costs) ** (2 / self.exponent)

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


def _squared_costs(p: tuple[Any, ...], q: tuple[Any, ...]) -> np.ndarray:
    """Squared 2-Wasserstein distances between all components, shape (..., K, K); their leading axes broadcast."""
    metric = Wasserstein()
    pairwise = metric.by_pairs(p[0])
    if pairwise is None:
        p, q = (tuple(metric.coordinates(component) for component in side) for side in (p, q))
    distance = _squared_norm if pairwise is None else pairwise.squared_distances
    return np.stack([np.stack([distance(a, b) for b in q], axis=-1) for a in p], axis=-2)


def _squared_norm(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ((x - y) ** 2).sum(axis=-1)


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
