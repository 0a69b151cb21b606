"""Low rank: K is replaced by Phi Phi', and sums over pairs become sums over rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace, to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.points import CrossPairs, Points
from kernelcal.kernels.stationary import Stationary
from kernelcal.pairs.base import Engine, QuadraticForms, Sums
from kernelcal.pairs.blocks import Block, BlockPoints
from kernelcal.pairs.threads import threaded_map
from kernelcal.predictions import ClassPredictions
from kernelcal.residuals import MeanResidual

__all__ = ["FeatureEngine", "Nystrom", "RandomFourier"]

FeatureMap = Callable[[slice], Array]  # rows -> their features of all kernels side by side, (rows, sum of D)
_KEEP_BYTES = 2**29  # features below this size are kept between batches of draws, above they are made anew
_CHUNK_BYTES = 2**26
_DENSE_UP_TO = 24  # classes; above, adding rows label by label beats a matrix product with one-hot columns


@dataclass(frozen=True)
class FeatureEngine(Engine):
    """An engine whose kernel is the product of two feature matrices."""

    @abstractmethod
    def maps(self, kernels: Sequence[Kernel], predictions: ClassPredictions) -> tuple[FeatureMap, list[int]]:
        """Return the map from rows to features of all kernels, and the number of features of each."""

    def prepare(
        self, kernels: Sequence[Kernel], predictions: ClassPredictions, residual: MeanResidual
    ) -> QuadraticForms:
        """Do what depends on the predictions alone."""
        return _Features(*self.maps(kernels, predictions), predictions, residual)


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

    @property
    def label(self) -> str:
        """Name for the result."""
        return f"Nystrom features, {self.landmarks} landmarks"

    def maps(self, kernels: Sequence[Kernel], predictions: ClassPredictions) -> tuple[FeatureMap, list[int]]:
        """Return the feature map and the number of features of each kernel."""
        chosen = self._choose(predictions)
        evaluate = _evaluator(kernels, predictions)
        roots = [_inverse_root(values) for values in evaluate(chosen, chosen)]

        def features(rows: slice) -> Array:
            parts = [values @ root for values, root in zip(evaluate(rows, chosen), roots, strict=True)]
            return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts, axis=1)

        return features, [int(root.shape[1]) for root in roots]

    def _choose(self, predictions: ClassPredictions) -> np.ndarray:
        """Rows to stand as landmarks; with one column, among the distinct values, so that ties waste none."""
        rng, n = np.random.default_rng(self.rng), len(predictions)
        candidates = np.arange(n)
        if predictions.n_classes == 2:
            p = to_numpy(predictions.probabilities)[:, 1]
            candidates = np.unique(p, return_index=True)[1]
        size = min(self.landmarks, len(candidates))
        return np.sort(rng.choice(candidates, size, replace=False))


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

    @property
    def label(self) -> str:
        """Name for the result."""
        return f"random Fourier features, {self.frequencies} frequencies"

    def maps(self, kernels: Sequence[Kernel], predictions: ClassPredictions) -> tuple[FeatureMap, list[int]]:
        """Return the feature map and the number of features of each kernel."""
        rng, points = np.random.default_rng(self.rng), Points(predictions)
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
        w = xp.asarray(kernel.frequencies(rng, self.frequencies, x.shape[1]).T, dtype=x.dtype)
        b = xp.asarray(rng.uniform(0, 2 * np.pi, self.frequencies), dtype=x.dtype)
        amplitude = float(np.sqrt(2 * kernel.amplitude / self.frequencies))
        return lambda rows: amplitude * xp.cos(x[rows, ...] @ w + b)


def _evaluator(kernels: Sequence[Kernel], predictions: ClassPredictions) -> Callable[[Any, np.ndarray], list[Array]]:
    """Kernel values of rows with landmarks: in place for NumPy, functional elsewhere."""
    if is_numpy(predictions.probabilities[:1, ...]):
        block_points = BlockPoints(predictions, kernels)

        def evaluate(rows: Any, columns: np.ndarray) -> list[Array]:
            block = Block(block_points, rows, columns, shared=len(kernels) > 1)
            return [kernel.evaluate(block) for kernel in kernels]

        return evaluate
    points = Points(predictions)
    return lambda rows, columns: [k.evaluate(CrossPairs(points, rows, columns)) for k in kernels]


def _inverse_root(matrix: Array) -> Array:
    """Return W with W W' = the pseudo-inverse of a positive semi-definite matrix."""
    xp = namespace(matrix)
    values, vectors = xp.linalg.eigh(0.5 * (matrix + matrix.T))
    kept = to_numpy(values) > 1e-10 * float(to_numpy(values)[-1])
    first = int(np.argmax(kept))  # eigenvalues ascend
    return vectors[:, first:] / xp.sqrt(values[first:])


class _Features(QuadraticForms):
    """With S = Phi' R: sum over i != j is |S|^2 - sum_i |phi_i|^2 |r_i|^2, for each kernel's features."""

    def __init__(
        self, features: FeatureMap, sizes: list[int], predictions: ClassPredictions, residual: MeanResidual
    ) -> None:
        self.features, self.predictions, self.residual = features, predictions, residual
        self.bounds = np.concatenate([[0], np.cumsum(sizes)])
        self.classes = predictions.n_classes
        self.bytes_per_draw = 24 * int(self.bounds[-1]) * self.classes + 24 * len(predictions)
        self._kept: list[tuple[slice, np.ndarray]] | None = None

    def of(self, labels: np.ndarray) -> Sums:
        r = self.residual.features(labels)
        xp = namespace(r)
        total, diagonal = 0.0, 0.0 * r[0, 0]
        for rows in _chunks(len(self.predictions), 8 * int(self.bounds[1])):
            phi = self.features(rows)[:, : int(self.bounds[1])]
            total = total + phi.T @ r[rows, :]
            diagonal = diagonal + xp.sum(xp.sum(phi * phi, axis=1) * xp.sum(r[rows, :] ** 2, axis=1))
        return Sums(xp.sum(total * total) - diagonal, diagonal)

    def batch(self, labels: np.ndarray) -> Sums:
        draws, kernels = len(labels), len(self.bounds) - 1
        norms = self.residual.squared_norms(labels)
        sums = np.zeros((self.classes, draws, int(self.bounds[-1])))
        mean = np.zeros((int(self.bounds[-1]), self.residual.dimension))
        diagonal = np.zeros((draws, kernels))
        for rows, phi in self._rows_of_features():
            _add_by_label(sums, labels[:, rows], phi)
            mean += phi.T @ to_numpy(self.residual.mean)[rows]
            sizes = np.add.reduceat(phi * phi, self.bounds[:-1], axis=1)
            diagonal += norms[:, rows] @ sizes
        return Sums(self._squares(sums, mean) - diagonal, diagonal)

    def _squares(self, sums: np.ndarray, mean: np.ndarray) -> np.ndarray:
        """|S|^2 for every draw and kernel; S = sums over labels times class features, minus its mean."""
        features = self.residual.class_features
        s = sums if features is None else np.tensordot(features.T, sums, 1)  # residual columns, draws, features
        s -= mean.T[:, None, :]
        squares = np.einsum("kbd,kbd->bd", s, s)
        return np.add.reduceat(squares, self.bounds[:-1], axis=1)

    def _rows_of_features(self) -> Any:
        size = int(self.bounds[-1])
        if self._kept is not None:
            return self._kept
        made = ((rows, to_numpy(self.features(rows))) for rows in _chunks(len(self.predictions), 8 * size))
        if 8 * size * len(self.predictions) > _KEEP_BYTES:
            return made
        self._kept = list(made)
        return self._kept


def _chunks(n: int, bytes_a_row: int) -> list[slice]:
    step = max(1, _CHUNK_BYTES // max(bytes_a_row, 1))
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


def _add_by_label(sums: np.ndarray, labels: np.ndarray, phi: np.ndarray) -> None:
    """Add to sums[k, b] the features of the rows whose label in draw b is k."""
    if len(sums) <= _DENSE_UP_TO:
        _add_dense(sums, labels, phi)
    else:
        threaded_map(lambda b: _add_sparse(sums, b, labels[b], phi), range(len(labels)), None)


def _add_dense(sums: np.ndarray, labels: np.ndarray, phi: np.ndarray) -> None:
    rest = np.broadcast_to(phi.sum(axis=0, dtype=np.float64), sums.shape[1:]).copy()
    for k in range(1, len(sums)):
        part = (labels == k).astype(phi.dtype) @ phi
        sums[k] += part
        rest -= part
    sums[0] += rest


def _add_sparse(sums: np.ndarray, draw: int, labels: np.ndarray, phi: np.ndarray) -> None:
    from scipy import sparse  # imported when needed: it would be a third of the time to import kernelcal

    ones, rows = np.ones(len(labels), dtype=phi.dtype), np.arange(len(labels))
    sums[:, draw] += sparse.csr_matrix((ones, (labels, rows)), shape=(len(sums), len(rows))) @ phi
