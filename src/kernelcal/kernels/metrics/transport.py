"""Least cost of moving the weights of one mixture to those of another."""

from __future__ import annotations

import numpy as np

from kernelcal.errors import MissingExtraError

__all__ = ["least_costs"]


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
