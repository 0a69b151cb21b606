"""Wasserstein distance between mixtures: components are moved as wholes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import is_numpy
from kernelcal.errors import InputError, MissingExtraError
from kernelcal.kernels.metrics.base import PairwiseMetric
from kernelcal.kernels.metrics.wasserstein import Wasserstein
from kernelcal.predictions import DiagonalNormal, IsotropicNormal, Laplace, Mixture, MultivariateNormal, Normal

__all__ = ["MixtureWasserstein", "least_costs"]


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
