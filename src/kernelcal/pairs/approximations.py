"""Features of prediction kernels: seen from landmarks (Nystrom), or as a mean over random frequencies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, is_numpy, like, namespace, to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels import CrossPairs, Kernel, Points, Stationary
from kernelcal.pairs.features import FeatureEngine, FeatureMap
from kernelcal.pairs.tiles import BlockPoints, Tile
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.randomness import generator_of

__all__ = ["Nystrom", "RandomFourier"]


@dataclass(frozen=True)
class Nystrom(FeatureEngine):
    """Nystrom features: the kernel seen from landmarks, ``Phi = K(P, Z) K(Z, Z)^(-1/2)``.

    Parameters
    ----------
    landmarks : int
        Number of landmarks D, drawn without replacement from the predictions.
    rng : int or numpy.random.Generator
        Source of the landmarks.

    Notes
    -----
    Works for every kernel that is positive semi-definite. Exact where D covers all distinct predictions; an
    exact test keeps its level whatever D. Cost: O(n D (m + D)) once, O(n D) a draw.
    """

    landmarks: int = 256
    rng: Any = 0

    def __post_init__(self) -> None:
        if self.landmarks < 1:
            raise InputError(f"landmarks must be at least 1, got {self.landmarks}")

    def describe(self, predictions: Predictions) -> str:
        """Name for the result, with the number of landmarks that there are."""
        return f"Nystrom features, {len(self._choose(predictions))} landmarks"

    def maps(self, kernels: Sequence[Kernel], predictions: Predictions) -> tuple[FeatureMap, list[int]]:
        """Return the feature map and the number of features of each kernel."""
        chosen = self._choose(predictions)
        evaluate = _evaluator(kernels, predictions)
        roots = [_inverse_root(values) for values in evaluate(chosen, chosen)]

        def features(rows: slice) -> Array:
            parts = [values @ root for values, root in zip(evaluate(rows, chosen), roots, strict=True)]
            return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts, axis=1)

        return features, [int(root.shape[1]) for root in roots]

    def _choose(self, predictions: Predictions) -> np.ndarray:
        """Rows to stand as landmarks; with one column, among the distinct values, so that ties waste none."""
        rng, n = generator_of(self.rng), len(predictions)
        candidates = np.arange(n)
        if isinstance(predictions, ClassPredictions) and predictions.n_classes == 2:
            p = to_numpy(predictions.probabilities)[:, 1]
            candidates = np.unique(p, return_index=True)[1]
        size = min(self.landmarks, len(candidates))
        return np.sort(rng.choice(candidates, size, replace=False))


def _evaluator(kernels: Sequence[Kernel], predictions: Predictions) -> Callable[[Any, np.ndarray], list[Array]]:
    """Kernel values of rows with landmarks: in place for NumPy, functional elsewhere."""
    if is_numpy(predictions.reference):
        block_points = BlockPoints(predictions, kernels)

        def evaluate(rows: Any, columns: np.ndarray) -> list[Array]:
            block = Tile(block_points, rows, columns, shared=len(kernels) > 1)
            return [kernel.evaluate(block) for kernel in kernels]

        return evaluate
    points = Points(predictions)
    return lambda rows, columns: [k.evaluate(CrossPairs(points, rows, columns)) for k in kernels]


def _inverse_root(matrix: Array) -> Array:
    """Return W with W W' = the pseudo-inverse of a positive semi-definite matrix."""
    xp = namespace(matrix)
    values, vectors = xp.linalg.eigh(0.5 * (matrix + matrix.T))
    kept = to_numpy(values) > 1e-10 * float(to_numpy(values)[-1])
    first = int(np.argmax(kept)) if kept.any() else len(kept)  # eigenvalues ascend; a zero matrix has no features
    return vectors[:, first:] / xp.sqrt(values[first:])


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
