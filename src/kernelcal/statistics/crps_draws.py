"""Continuous ranked probability score of draws, by one sort."""

from __future__ import annotations

import numpy as np

from kernelcal.errors import InputError
from kernelcal.predictions import Samples

__all__ = ["crps_of_draws"]


def crps_of_draws(predictions: Samples, y: np.ndarray, *, fair: bool = False) -> np.ndarray:
    """``E|X - y| - E|X - X'| / 2`` over the draws of every row, with their weights.

    With sorted draws x and cumulative weights c, ``E|X - X'| / 2 = sum_j (x_{j+1} - x_j) c_j (1 - c_j)``. For ``fair``
    it is divided by ``1 - sum_s w_s^2``, the weight of pairs of different draws.
    """
    draws, weights = _sorted(predictions)
    distance = (weights * np.abs(draws - y[:, None])).sum(axis=1)
    cumulative = np.cumsum(weights, axis=1)[:, :-1]
    half_spread = (np.diff(draws, axis=1) * cumulative * (1 - cumulative)).sum(axis=1)
    if fair:
        half_spread = half_spread / _pair_weight(weights)
    return distance - half_spread


def _sorted(predictions: Samples) -> tuple[np.ndarray, np.ndarray]:
    draws = predictions.draws.astype(np.float64)
    if predictions.weights is None:
        return np.sort(draws, axis=1), np.full(draws.shape, 1 / draws.shape[1])
    order = np.argsort(draws, axis=1)
    weights = np.take_along_axis(predictions.weights.astype(np.float64), order, axis=1)
    return np.take_along_axis(draws, order, axis=1), weights / weights.sum(axis=1, keepdims=True)


def _pair_weight(weights: np.ndarray) -> np.ndarray:
    alone = (weights > 0).sum(axis=1) < 2
    if alone.any():
        raise InputError(f"fair=True needs at least two draws of positive weight, row {int(np.argmax(alone))} has one")
    return 1 - (weights**2).sum(axis=1)
