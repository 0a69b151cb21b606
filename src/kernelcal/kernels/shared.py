"""One kernel for several models: what each would choose, and the median of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernelcal.kernels.base import Kernel
from kernelcal.kernels.stationary import Stationary

__all__ = ["shared_kernel"]


def shared_kernel(kernel: Kernel, batches: Sequence[Any], resolved: Callable[[Kernel, Any], Kernel]) -> Kernel:
    """Resolve a kernel for every batch, and give each lengthscale the median over the batches.

    Differences of models are differences of what they predict only where the kernel is the same. Metrics that take a
    base measure from the predictions take that of the first batch.
    """
    kernels = [resolved(kernel, batch) for batch in batches]
    medians = iter(np.median([_lengthscales(k) for k in kernels], axis=0).tolist())

    def leaf(k: Kernel) -> Kernel:
        return k.with_lengthscale(next(medians)) if isinstance(k, Stationary) else k

    return kernels[0].map_leaves(leaf)


def _lengthscales(kernel: Kernel) -> list[float]:
    found: list[float] = []

    def leaf(k: Kernel) -> Kernel:
        if isinstance(k, Stationary):
            found.append(float(k.lengthscale))
        return k

    kernel.map_leaves(leaf)
    return found
