"""The engines: exact pairs in tiles or by a quicker way, features at landmarks (Nystrom), random Fourier features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from kernelcal.arrays import Array, is_numpy, like, namespace, row_slices, to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels import CrossPairs, Kernel, Points, Stationary, rows_that_count
from kernelcal.pairs.base import Engine, QuadraticForms, one_blas_thread
from kernelcal.pairs.duplicates import CollapsedForms
from kernelcal.pairs.features import FeatureEngine, FeatureMap
from kernelcal.pairs.scan import ScanForms
from kernelcal.pairs.tile_sums import FeatureTiles, GramTiles
from kernelcal.pairs.tiles import BlockPoints, Found, Tile
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.randomness import generator_of, some_rows
from kernelcal.registry import Registry
from kernelcal.residuals import FeatureResidual, Residual

__all__ = ["ENGINES", "ExactPairs", "Nystrom", "RandomFourier"]


_COLUMNS = 512  # of a tile
_LEAST, _MOST_ROWS = 128, 256  # rows: with smaller tiles threads wait for the interpreter between short calls
_UNKNOWN = 2**20  # bytes of a second-level cache that nobody tells the size of
_CACHE = "/sys/devices/system/cpu/cpu0/cache/index2/size"


@lru_cache(maxsize=1)
def tile_shape() -> tuple[int, int]:
    """Rows and columns of a tile, of which one array takes half to three quarters of a second-level cache.

    Measured: 192 x 512 on an AMD EPYC (1 MiB), anything from 128 x 512 to 256 x 512 on an Intel Xeon (2 MiB); an array
    that fills the cache by itself takes up to a quarter longer.
    """
    try:
        with open(_CACHE) as file:
            size = int(file.read().strip().removesuffix("K")) * 1024
    except (OSError, ValueError):  # not Linux, or told in other words
        size = _UNKNOWN
    rows = 64 * round(0.75 * size / (64 * 8 * _COLUMNS))
    return min(max(rows, _LEAST), _MOST_ROWS), _COLUMNS


_PRECISIONS = (None, "double", "mixed")
SINGLE_FROM = 8_192  # rows
_VALUES = 2**21  # of kernels with landmarks that are held at once while features are made

_SEEN = 2_048  # rows in which the leading directions of features are found
_EVEN = 0.1  # of the mean variance
_PART = 4096  # rows whose probabilities stay in the cache
_FEWEST = 32  # directions: an error that is no part of the noise may lie in small ones, and so few cost next to nothing
_FASTEST = 1e30  # frequency: single precision holds its products with distances


@dataclass(frozen=True)
class ExactPairs(Engine):
    """Every pair of rows, in tiles that fit the cache; by a scan where predictions lie on a line.

    Parameters
    ----------
    rows, columns : int, optional
        Size of a tile, by default 128 to 256 x 512 as the second-level cache of the machine allows (1 MiB: 192).
        Larger tiles leave the cache; with smaller ones threads wait for the interpreter between short calls.
    threads : int, optional
        Threads over blocks of rows, for NumPy; default all processors. No number changes with the threads,
        and none beyond rounding with the tiles.
    precision : "double" or "mixed", optional
        Of kernel values in an estimate over pairs of classes. Mixed: squared distances in float64, what is made of them
        and its products inside a tile in float32, sums of tiles in float64. Default: mixed from 8,192 rows on. The
        result says so ("kernel values in single precision"). Draws of a test, intervals, predictions of numbers,
        150 classes and more and kernels that are no profile of a distance between probabilities stay in double.

    Notes
    -----
    Cost: O(n^2 m) time and O(n m) memory for one set of targets; no n x n array is held, but where an interval or a
    comparison asks for rows of kernel values: these are kept up to 2,048 rows (32 MiB). From 1,000 rows of one
    probability on, `Laplacian`, `Matern32`, `Matern52` and `kernels.Brownian`, their multiples, sums and products take
    O(n log n) (label "exact scan"). Where four or more rows share a prediction of classes, on average, the u unique
    predictions take O(u^2 m + n) ("exact pairs of ... unique predictions"). In a test of many classes
    the kernel matrices are held where all of them fit 256 MiB, since then a draw only looks up pairs of equal
    targets. The extra ``threads`` (threadpoolctl) holds the linear algebra
    library to one thread a worker, which matters from about 50 classes.

    Mixed precision takes 0.6 times as long for ten classes. A kernel value errs by about 2^-23 of the largest, in no
    direction: the error of an estimate was below 1e-6 standard deviations of its noise under calibration in all 36
    cases that were measured (four profiles, three metrics, 3 to 100 classes, 10,240 and 20,000 rows). At worst, were
    errors of one sign wherever residuals agree, it is 2^-23 times the mean of ``|K_ij <r_i, r_j>|``: about n / 10^7
    standard deviations.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> abs(float(kc.skce(y, p, engine=kc.ExactPairs(rows=16))) - float(kc.skce(y, p))) < 1e-15
    True
    """

    rows: int | None = None
    columns: int | None = None
    threads: int | None = None
    precision: str | None = None

    def __post_init__(self) -> None:
        if self.precision not in _PRECISIONS:
            raise InputError(f"precision must be 'double', 'mixed' or None (by the rows), got {self.precision!r:.60}")
        if min(self.rows or 1, self.columns or 1) < 1 or 0 in (self.rows, self.columns):
            raise InputError(f"a tile has at least one row and column, got {self.rows} x {self.columns}")

    def prepare(self, kernels: Sequence[Kernel], predictions: Predictions, residual: Residual) -> QuadraticForms:
        """Do what depends on the predictions alone."""
        rows, columns = tile_shape()
        shape = (self.rows or rows, self.columns or columns)
        if isinstance(residual, FeatureResidual):
            return _quickest(self._tiles(shape, tuple(kernels), predictions, residual))
        return GramTiles(shape, self.threads, tuple(kernels), predictions, residual)

    def again(self, forms: QuadraticForms, kernels: Sequence[Kernel]) -> QuadraticForms:
        """Prepare other kernels for the predictions and residuals of forms that it has prepared."""
        known = forms.tiles if isinstance(forms, CollapsedForms | ScanForms) else forms
        assert isinstance(known, FeatureTiles | GramTiles)  # for the type checker: it prepares no others
        shape, found = known.shape, known.found
        if isinstance(known, FeatureTiles):
            return _quickest(self._tiles(shape, tuple(kernels), known.predictions, known.residual, found))
        return GramTiles(shape, self.threads, tuple(kernels), known.predictions, known.residual, found)

    def _tiles(
        self,
        shape: tuple[int, int],
        kernels: tuple[Kernel, ...],
        predictions: Predictions,
        residual: FeatureResidual,
        found: Found | None = None,
    ) -> FeatureTiles:
        tiles = FeatureTiles(shape, self.threads, kernels, predictions, residual, found)
        if self.precision == "mixed" or (self.precision is None and tiles.n >= SINGLE_FROM):
            tiles.round_values()
        if tiles.single and self.rows is None:
            tiles.shape = 2 * shape[0], shape[1]  # values take half the cache, and threads wait less for each other
        return tiles


def _quickest(tiles: FeatureTiles) -> QuadraticForms:
    """Tiles, or in their place what takes less time to the same sums: a scan, or one row for equal predictions."""
    others: list[QuadraticForms | None] = [CollapsedForms.of_repeated(tiles)]
    if tiles.dimension <= 2:  # a line is of single numbers, or of two classes, of which one says all
        others.append(ScanForms.of_line(tiles))
    ways = [way for way in others if way is not None]  # none for traced arrays, whose time cannot be told
    return min((*ways, tiles), key=lambda way: way.seconds_per_draw) if ways else tiles


_MOST = 2**40  # features: more would fill any memory


def _refuse_count(number: Any, name: str, example: int) -> None:
    """Refuse what is no number of features."""
    if isinstance(number, bool) or not isinstance(number, int | np.integer) or not 1 <= number <= _MOST:
        raise InputError(f"{name} must be at least 1, a whole number such as {example}, got {number!r:.60}")


@dataclass(frozen=True)
class Nystrom(FeatureEngine):
    """Nystrom features: the kernel seen from landmarks, ``Phi = K(P, Z) K(Z, Z)^(-1/2)``.

    Parameters
    ----------
    landmarks : int
        Number of landmarks D, drawn without replacement from the predictions; of classes half of them are drawn evenly,
        half by the variance of their labels, since a few rows may be all that is unsure.
    rng : int or numpy.random.Generator
        Source of the landmarks.
    share : float
        Of the sum of squared eigenvalues of each kernel over the predictions, which is the variance of its error
        where labels are equally uncertain: features are the fewest directions that hold it, but 32 where there are so
        many. The default keeps all.

    Notes
    -----
    Works for every kernel that is positive semi-definite. Exact where D covers all distinct predictions and the share
    is 1; an exact test keeps its level whatever both are, since directions are of the predictions alone. What a share
    leaves out of an error has about ``sqrt(1 - share)`` of its standard deviation under calibration; where most rows
    have nearly the same prediction one direction holds it all, and the errors of all others lie in the 31 that follow.
    Cost: O(n D (m + D)) once, O(n D) a draw, with a share below 1 the directions in the place of D.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> abs(float(kc.skce(y, p, engine=kc.Nystrom(landmarks=40))) - float(kc.skce(y, p))) < 1e-3
    True
    """

    landmarks: int = 256
    rng: Any = 0
    share: float = 1.0

    def __post_init__(self) -> None:
        _refuse_count(self.landmarks, "landmarks", 200)
        if isinstance(self.share, bool) or not isinstance(self.share, int | float) or not 0 < self.share <= 1:
            raise InputError(f"share must be above 0 and at most 1, such as 0.999, got {self.share!r:.60}")

    def describe(self, predictions: Predictions) -> str:
        """Name for the result, with the number of landmarks that there are."""
        return f"Nystrom features, {min(self.landmarks, len(self._kinds(predictions)))} landmarks"

    def maps(self, kernels: Sequence[Kernel], predictions: Predictions) -> tuple[FeatureMap, list[int]]:
        """Return the feature map and the number of features of each kernel."""
        chosen = self._choose(predictions)
        evaluate = _evaluator(kernels, predictions)
        with one_blas_thread():  # small matrices, whose threads would wait for each other
            roots = [_inverse_root(values) for values in evaluate(chosen, chosen)]
            if self.share < 1:
                candidates = self._candidates(predictions)
                seen = evaluate(candidates[some_rows(len(candidates), _SEEN)], chosen)
                roots = [root @ _leading(v @ root, self.share) for v, root in zip(seen, roots, strict=True)]

        def some_features(rows: slice) -> Array:
            parts = [values @ root for values, root in zip(evaluate(rows, chosen), roots, strict=True)]
            return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts, axis=1)

        step = max(1, _VALUES // (len(kernels) * len(chosen)))

        def features(rows: slice) -> Array:
            """A few rows at a time: values at all landmarks take more memory than the directions that are kept."""
            first, last, _ = rows.indices(len(predictions))
            if last - first <= step:
                return some_features(rows)
            parts = [some_features(slice(k, min(k + step, last))) for k in range(first, last, step)]
            return namespace(parts[0]).concat(parts, axis=0)

        return features, [int(root.shape[1]) for root in roots]

    def _kinds(self, predictions: Predictions) -> np.ndarray:
        """Rows that may stand as landmarks; of one probability one row of each value, so that ties waste none."""
        candidates = self._candidates(predictions)
        if isinstance(predictions, ClassPredictions) and predictions.n_classes == 2:
            p = predictions.table()[:, 1]
            candidates = candidates[np.unique(p[candidates], return_index=True)[1]]
        return candidates

    def _choose(self, predictions: Predictions) -> np.ndarray:
        """Rows to stand as landmarks, of classes half of them by the variance of their labels."""
        rng, kinds = generator_of(self.rng, "landmarks"), self._kinds(predictions)
        size = min(self.landmarks, len(kinds))
        if size == len(kinds) or not isinstance(predictions, ClassPredictions):
            return np.sort(rng.choice(kinds, size, replace=False))
        even, rest = np.split(rng.permutation(kinds), [(size + 1) // 2])
        more = rng.choice(rest, size - len(even), replace=False, p=_chances(predictions, rest))
        return np.sort(np.concatenate([even, more]))

    def _candidates(self, predictions: Predictions) -> np.ndarray:
        return np.arange(len(predictions))

    def counting(self, weights: np.ndarray) -> Nystrom:
        """Return the engine with landmarks among the rows that weigh anything."""
        rows = rows_that_count(weights)
        return self if len(rows) == len(weights) else _NystromAmong(self.landmarks, self.rng, self.share, rows)


@dataclass(frozen=True, eq=False)
class _NystromAmong(Nystrom):
    """Nystrom features with landmarks among some rows."""

    rows: np.ndarray | None = None

    def _candidates(self, predictions: Predictions) -> np.ndarray:
        return super()._candidates(predictions) if self.rows is None else self.rows


def _evaluator(kernels: Sequence[Kernel], predictions: Predictions) -> Callable[[Any, np.ndarray], list[Array]]:
    """Kernel values of rows with landmarks: in place for NumPy, functional elsewhere."""
    if is_numpy(predictions.reference):
        block_points = BlockPoints(predictions)

        def evaluate(rows: Any, columns: np.ndarray) -> list[Array]:
            block = Tile(block_points, rows, columns, shared=len(kernels) > 1)
            return [kernel.evaluate(block) for kernel in kernels]

        return evaluate
    points = Points(predictions)
    return lambda rows, columns: [k.evaluate(CrossPairs(points, rows, columns)) for k in kernels]


def _chances(predictions: ClassPredictions, rows: np.ndarray) -> np.ndarray:
    """Chances of rows to be landmarks, nearly as their labels vary: a few rows may be all that is unsure."""
    table, variance = predictions.table(), np.empty(len(rows))
    for part in row_slices(len(rows), _PART):
        p = table[rows[part]].astype(np.float64)
        variance[part] = (p * (1 - p)).sum(axis=1)
    chances = variance + (_EVEN * variance.mean() or 1.0)  # of all rows some, or there might be too few to choose from
    return np.asarray(chances / chances.sum())


def _leading(phi: Array, share: float) -> Array:
    """Orthonormal directions, the fewest that hold a share of the squared eigenvalues of ``Phi'Phi``, in columns."""
    features = to_numpy(phi).astype(np.float64)
    values, vectors = np.linalg.eigh(features.T @ features)
    left = np.cumsum(values**2)  # eigenvalues ascend
    first = int(np.searchsorted(left, (1 - share) * left[-1])) if len(left) else 0
    first = min(first, max(len(left) - _FEWEST, 0))
    return like(vectors[:, first:], phi)


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

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> kernel = kc.Gaussian()
    >>> exact = float(kc.skce(y, p, prediction_kernel=kernel))
    >>> abs(float(kc.skce(y, p, prediction_kernel=kernel, engine=kc.RandomFourier(512))) - exact) < 0.02
    True
    """

    frequencies: int = 1024
    rng: Any = 0

    def __post_init__(self) -> None:
        _refuse_count(self.frequencies, "frequencies", 256)

    def describe(self, predictions: Predictions) -> str:
        """Name for the result."""
        return f"random Fourier features, {self.frequencies} frequencies"

    def maps(self, kernels: Sequence[Kernel], predictions: Predictions) -> tuple[FeatureMap, list[int]]:
        """Return the feature map and the number of features of each kernel."""
        rng, points = generator_of(self.rng, "random Fourier features"), Points(predictions)
        single = [self._single(kernel, points, rng) for kernel in kernels]

        def features(rows: slice) -> Array:
            parts = [part(rows) for part in single]
            return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts, axis=1)

        return features, [self.frequencies] * len(kernels)

    def _single(self, kernel: Kernel, points: Points, rng: np.random.Generator) -> FeatureMap:
        x = points.coordinates(_stationary(kernel).metric)
        xp = namespace(x)
        waves, shifts, amplitude = self.waves(kernel, x.shape[1], rng)
        w, b = like(waves, x), like(shifts, x)
        return lambda rows: amplitude * xp.cos(x[rows, ...] @ w + b)

    def waves(
        self, kernel: Kernel, dimension: int, generator: np.random.Generator | None = None
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Frequencies of shape (d, D), shifts (D,) and the amplitude of a kernel; of several, those of the first."""
        source = generator_of(self.rng, "random Fourier features") if generator is None else generator
        kernel = _stationary(kernel)
        drawn = kernel.frequencies(source, self.frequencies, dimension).T
        shifts = source.uniform(0, 2 * np.pi, self.frequencies)
        return np.clip(drawn, -_FASTEST, _FASTEST), shifts, float(np.sqrt(2 * kernel.amplitude / self.frequencies))


def _stationary(kernel: Kernel) -> Stationary:
    if not isinstance(kernel, Stationary):
        raise InputError(
            f"random Fourier features need a single profile, not {type(kernel).__name__}: use kernelcal.Nystrom"
        )
    return kernel


ENGINES: Registry[Callable[..., Engine]] = Registry("engine", "or an Engine such as kernelcal.Nystrom(256)")
ENGINES.register("pairs", ExactPairs, summary="all of them, exactly")
ENGINES.register("nystrom", Nystrom, summary="features at landmarks among the predictions")
ENGINES.register("fourier", RandomFourier, summary="random Fourier features")
