"""Lengthscales of target kernels from the predictions alone, so that exact tests stay exact."""

from __future__ import annotations

import numpy as np

from kernelcal.arrays import concrete
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.stationary import Stationary
from kernelcal.predictions import Predictions, RealPredictions

__all__ = ["resolve_target", "target_lengthscale"]


def target_lengthscale(predictions: RealPredictions) -> float:
    """Median predicted standard deviation, the distance at which two outcomes of one prediction differ.

    It is the `width` of the predictions, which stands for it where there is no variance.

    For vectors it is the root of the sum of squares over the components. Predictions without spread are left out;
    where none has any, 1.0. No target is looked at, and the draws of an ensemble enter symmetrically.
    """
    std = concrete(predictions.width)
    if std is None:
        raise InputError("lengthscale='median' needs values, which jax.jit does not have: give a number")
    sizes = np.sqrt((np.asarray(std, dtype=np.float64).reshape(len(predictions), -1) ** 2).sum(axis=1))
    return float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else 1.0


def resolve_target(kernel: Kernel, predictions: Predictions) -> Kernel:
    """Replace every ``lengthscale="median"`` of a target kernel for numbers by its number."""
    if not isinstance(predictions, RealPredictions):
        return kernel

    def leaf(k: Kernel) -> Kernel:
        if isinstance(k, Stationary) and isinstance(k.lengthscale, str):
            return k.with_lengthscale(target_lengthscale(predictions))
        return k

    return kernel.map_leaves(leaf)
