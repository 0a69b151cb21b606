"""A kernel between numbers or vectors as a finite sum of cosines: residuals then have features."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any

import numpy as np

from kernelcal.arrays import Array, namespace
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.metrics import Euclidean
from kernelcal.kernels.profiles import Gaussian, Stationary
from kernelcal.randomness import generator_of

__all__ = ["Spectral"]


_REACH = 4.0  # in units of 1 / lengthscale: the spectrum of a Gaussian beyond holds 6e-5 of it


@dataclass(frozen=True)
class Spectral(Kernel):
    """Target kernel ``k(y, y') = sum_k a_k^2 cos(w_k.(y - y'))``: the spectrum of another kernel at some frequencies.

    It is positive definite with any frequencies, and its expectations under a prediction are values of the
    characteristic function. Sums over pairs of rows become sums over rows: the cost is linear in n.

    Parameters
    ----------
    kernel : Stationary
        Kernel whose spectrum is taken. For numbers and a `Gaussian` the frequencies are equally spaced up to
        4 / lengthscale and the sum agrees with the kernel to 1e-4 up to ``frequencies`` / 2 lengthscales, beyond which
        it repeats itself. Otherwise they are drawn from the spectrum.
    frequencies : int
        Number of frequencies D.
    rng : int
        Seed of drawn frequencies.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kernel = kc.kernels.Spectral(kc.Gaussian(1.0))
    >>> y = [0.3, 1.9, -0.2]
    >>> predictions = kc.Normal([0.0, 1.0, 0.5], [1.0, 0.5, 1.0])
    >>> near = float(kc.skce(y, predictions, target_kernel=kernel))
    >>> abs(near - float(kc.skce(y, predictions, target_kernel=kc.Gaussian(1.0)))) < 1e-4
    True
    """

    kernel: Stationary = field(default_factory=Gaussian)
    frequencies: int = 16
    rng: int = 0

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Stationary):
            raise InputError(f"Spectral needs a profile such as Gaussian(), got {self.kernel!r}")
        if not isinstance(self.kernel.metric, Euclidean):
            metric = type(self.kernel.metric).__name__
            raise InputError(f"Spectral is a kernel between targets, whose metric is Euclidean, got {metric}")
        if not isinstance(self.frequencies, int) or self.frequencies < 1:
            raise InputError(f"frequencies must be a positive whole number, got {self.frequencies!r}")

    def evaluate(self, pairs: Any) -> Array:
        """Kernel values of pairs of targets."""
        if not hasattr(pairs, "difference"):
            raise InputError("Spectral is a kernel between targets: use it as target_kernel")
        difference = pairs.difference()
        xp, vector = namespace(difference), pairs.vector
        frequencies, amplitudes = self.nodes(difference.shape[-1] if vector else None)
        total = 0 * (difference[..., 0] if vector else difference) + self.constant(vector=vector)
        for w, a in zip(frequencies, amplitudes, strict=True):
            phase = sum(float(c) * difference[..., k] for k, c in enumerate(w)) if vector else float(w) * difference
            total = total + float(a) ** 2 * xp.cos(phase)
        return total

    def nodes(self, dimension: int | None) -> tuple[np.ndarray, np.ndarray]:
        """Frequencies of shape (D,), or (D, d) for vectors of d numbers, and amplitudes a of shape (D,)."""
        return _nodes(self, dimension)

    def bound(self) -> float:
        """Bound of the value at distance 0."""
        return self.kernel.amplitude

    def positive_definite(self, points: Any) -> bool:
        """Always: a sum of cosines with positive weights."""
        return True

    def map_leaves(self, function: Callable[[Kernel], Kernel]) -> Kernel:
        """Rebuild with `function` applied to the kernel inside, where it stays a profile."""
        inside = self.kernel.map_leaves(function)
        return replace(self, kernel=inside) if isinstance(inside, Stationary) else self

    def constant(self, *, vector: bool) -> float:
        """Weight of the frequency 0, which no residual sees."""
        if vector or not isinstance(self.kernel, Gaussian):
            return 0.0
        return _REACH / self.frequencies / math.sqrt(2 * math.pi)


@lru_cache(maxsize=64)
def _nodes(kernel: Spectral, dimension: int | None) -> tuple[np.ndarray, np.ndarray]:
    profile, size = kernel.kernel, kernel.frequencies
    if dimension is None and isinstance(profile, Gaussian):
        step = _REACH / size
        multiples = step * np.arange(1, size + 1)
        weights = 2 * step / math.sqrt(2 * math.pi) * np.exp(-0.5 * multiples**2)
        return multiples / profile.scale, np.sqrt(weights)
    drawn = profile.frequencies(generator_of(kernel.rng, "frequencies of a target kernel"), size, dimension or 1)
    amplitudes = np.full(size, math.sqrt(profile.amplitude / size))
    return (drawn if dimension is not None else drawn[:, 0]), amplitudes
