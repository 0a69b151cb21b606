"""Random Fourier features: the kernel as a mean over random frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, like, namespace
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.points import Points
from kernelcal.kernels.stationary import Stationary
from kernelcal.pairs.features import FeatureEngine, FeatureMap
from kernelcal.predictions import Predictions
from kernelcal.randomness import generator_of

__all__ = ["RandomFourier"]


@dataclass(frozen=True)
class RandomFourier(FeatureEngine):
    """Random Fourier features: ``sqrt(2 / D) cos(w.x + b)`` with frequencies w of the kernel.

    Parameters
    ----------
    frequencies : int
        Number of features D; the error of a kernel value is of the order D^(-1/2).
    rng : int or numpy.random.Generator
        Source of the frequencies.

    Notes
    -----
    For profiles with a known spectrum (Laplacian, Gaussian, Matern, rational quadratic, inverse multiquadric)
    in an L2 metric, and the Laplacian in total variation; sums, products and scaled kernels need `Nystrom`.
    Cost: O(n D d) once, O(n D) a draw.
    """

    frequencies: int = 1024
    rng: Any = 0

    def __post_init__(self) -> None:
        if self.frequencies < 1:
            raise InputError(f"frequencies must be at least 1, got {self.frequencies}")

    def describe(self, predictions: Predictions) -> str:
        """Name for the result."""
        return f"random Fourier features, {self.frequencies} frequencies"

    def maps(self, kernels: Sequence[Kernel], predictions: Predictions) -> tuple[FeatureMap, list[int]]:
        """Return the feature map and the number of features of each kernel."""
        rng, points = generator_of(self.rng), Points(predictions)
        single = [self._single(kernel, points, rng) for kernel in kernels]

        def features(rows: slice) -> Array:
            parts = [part(rows) for part in single]
            return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts, axis=1)

        return features, [self.frequencies] * len(kernels)

    def _single(self, kernel: Kernel, points: Points, rng: np.random.Generator) -> FeatureMap:
        if not isinstance(kernel, Stationary):
            raise InputError(
                f"random Fourier features need a single profile, not {type(kernel).__name__}: use kernelcal.Nystrom"
            )
        x = points.coordinates(kernel.metric)
        xp = namespace(x)
        w = like(kernel.frequencies(rng, self.frequencies, x.shape[1]).T, x)
        b = like(rng.uniform(0, 2 * np.pi, self.frequencies), x)
        amplitude = float(np.sqrt(2 * kernel.amplitude / self.frequencies))
        return lambda rows: amplitude * xp.cos(x[rows, ...] @ w + b)
