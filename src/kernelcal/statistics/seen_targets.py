"""What observed targets tell where predictions tell it not: a distance, and where the targets lie."""

from __future__ import annotations

import numpy as np

from kernelcal.kernels import Kernel, Stationary
from kernelcal.predictions import DiagonalNormal, Normal, RealPredictions

__all__ = ["is_median", "median_distance", "normal_of", "with_lengthscale"]

_ROWS = 1_000  # half a million pairs tell the median to about 1e-3


def median_distance(targets: np.ndarray) -> float:
    """Median of the distances between targets of shape (n,) or (n, d), those that are 0 left out.

    Above 1,000 rows a seeded subsample of them is used. Targets that are all equal give 1.
    """
    from scipy.spatial.distance import pdist  # imported when needed: the import of kernelcal stays light

    rows = np.asarray(targets, dtype=np.float64).reshape(len(targets), -1)
    if len(rows) > _ROWS:
        rows = rows[np.random.default_rng(0).choice(len(rows), _ROWS, replace=False)]
    distances = pdist(rows)
    return float(np.median(distances[distances > 0])) if (distances > 0).any() else 1.0


def normal_of(targets: np.ndarray) -> RealPredictions:
    """One normal distribution with the mean and the standard deviations of the targets; 1 where they are all equal."""
    mean, std = targets.mean(axis=0), targets.std(axis=0)
    std = np.where(std > 0, std, 1.0)
    return Normal(mean[None], std[None]) if targets.ndim == 1 else DiagonalNormal(mean[None], std[None])


def is_median(kernel: Kernel) -> bool:
    """Tell whether a lengthscale of a kernel is to be chosen."""
    found: list[bool] = []

    def leaf(k: Kernel) -> Kernel:
        found.append(isinstance(k, Stationary) and isinstance(k.lengthscale, str))
        return k

    kernel.map_leaves(leaf)
    return any(found)


def with_lengthscale(kernel: Kernel, lengthscale: float) -> Kernel:
    """Copy with a lengthscale wherever one is to be chosen."""
    return kernel.map_leaves(lambda k: k.with_lengthscale(lengthscale) if is_median(k) else k)  # type: ignore[attr-defined]
