"""Distances between the mean prediction and the frequency of a bin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.registry import Registry

__all__ = ["DISTANCES", "distances"]

DISTANCES: Registry[Callable[[np.ndarray], np.ndarray]] = Registry("distance", "or a function of means and frequencies")
for _name, _function, _is in (
    ("total variation", lambda gap: np.abs(gap, out=gap).sum(axis=-1) / 2, "half of l1"),
    ("l1", lambda gap: np.abs(gap, out=gap).sum(axis=-1), "sum of the absolute gaps"),
    ("euclidean", lambda gap: np.sqrt(np.einsum("...k,...k->...", gap, gap)), "root of the sum of squared gaps"),
    ("squared", lambda gap: np.einsum("...k,...k->...", gap, gap), "sum of squared gaps"),
    ("max", lambda gap: np.abs(gap, out=gap).max(axis=-1), "largest absolute gap"),
):
    DISTANCES.register(_name, _function, summary=_is)


def distances(distance: Any, sums: np.ndarray, counts: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Distance in each bin, shape (B, b), from sums of predictions (b, d), of labels (B, b, d) and of weights (b,)."""
    if not isinstance(distance, str):
        mean = sums / weight[:, None]
        return np.stack([_called(distance, mean, one / weight[:, None]) for one in counts])
    gap = counts - sums
    gap /= weight[:, None]
    if gap.shape[-1] == 1:  # one probability: every norm is |gap|, as is the total variation between Bernoullis
        return gap[..., 0] ** 2 if distance == "squared" else np.abs(gap[..., 0])
    return DISTANCES[distance](gap)


def _called(function: Callable[..., Any], mean: np.ndarray, frequency: np.ndarray) -> np.ndarray:
    values = np.asarray(function(mean, frequency), dtype=np.float64)
    if values.shape != (len(mean),):
        raise InputError(
            f"the distance must return one number a bin, shape ({len(mean)},), from means and frequencies of shape "
            f"{mean.shape}; it returned shape {values.shape}"
        )
    return values
