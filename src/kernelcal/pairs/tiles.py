"""Kernel values of a block of pairs in NumPy, one matrix product and then in place, and the walk over all blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, lru_cache, partial
from threading import Lock
from typing import Any, Self, TypeVar, cast

import numpy as np

from kernelcal.arrays import Array, InPlace, namespace, place_of, row_slices, stays_single, to_numpy
from kernelcal.kernels import AlignedPairs, Euclidean, Kernel, Metric, Points, smaller
from kernelcal.kernels.metrics import (
    CLOSE,
    ROUNDED_CLOSE,
    MetricView,
    in_double,
    repair,
    squares,
    view,
)
from kernelcal.pairs.base import QuadraticForms, threaded_map
from kernelcal.predictions import Predictions
from kernelcal.residuals import Residual

__all__ = [
    "KEPT_UP_TO",
    "WIDE_FROM",
    "BlockPoints",
    "Coordinates",
    "Found",
    "Tile",
    "TileAt",
    "Tiles",
    "Workspace",
    "upper",
]


_FEW_COORDINATES = 4  # up to here differences are quicker than a product


class _Coordinates:
    """What all coordinates share."""

    native: Callable[[Any, Any, np.ndarray], None]

    def rounded(self, rows: Any, columns: Any, wide: np.ndarray, out: np.ndarray) -> None:
        """What `native` gives, in float32 from float64."""
        self.native(rows, columns, wide)
        np.copyto(out, wide, casting="same_kind")


class _Line(_Coordinates):
    """One coordinate: distances are differences."""

    squared = False

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.dtype = x, x.dtype

    def native(self, rows: Any, columns: Any, out: np.ndarray) -> None:
        """Distances d."""
        np.subtract(self.x[rows], self.x[columns].T, out=out)
        np.abs(out, out=out)


class _L1(_Coordinates):
    """Total variation and its like: one pass over the coordinates."""

    squared = False

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.dtype = x, x.dtype

    def native(self, rows: Any, columns: Any, out: np.ndarray) -> None:
        """Distances d."""
        _cdist(self.x[rows], self.x[columns], "cityblock", out)


class _L2(_Coordinates):
    """Euclidean distances from one product of augmented coordinates; from differences where that is quicker."""

    squared = True

    def __init__(self, x: np.ndarray) -> None:
        self.x, self.dtype, self.few = x, x.dtype, x.shape[1] <= _FEW_COORDINATES
        if self.few:
            return
        n, d = x.shape
        self.left, self.right = np.empty((n, d + 2), dtype=x.dtype), np.empty((d + 2, n), dtype=x.dtype)
        centred = self.left[:, :d]  # as `left_factor` and `right_factor`, without other copies of all rows
        np.subtract(x, x.mean(axis=0), out=centred)  # distances do not change, cancellation does
        self.squares = squares(centred)
        self.right[:d], self.right[d], self.right[d + 1] = centred.T, 1, self.squares
        centred *= -2
        self.left[:, d], self.left[:, d + 1] = self.squares, 1

    def native(self, rows: Any, columns: Any, out: np.ndarray) -> None:
        """Squared distances d^2 = |x|^2 + |x'|^2 - 2 x.x'."""
        if self.few:
            _cdist(self.x[rows], self.x[columns], "sqeuclidean", out)
            return
        np.matmul(self.left[rows], self.right[:, columns], out=out)
        self._repair(rows, columns, out, CLOSE[out.dtype])

    def rounded(self, rows: Any, columns: Any, wide: np.ndarray, out: np.ndarray) -> None:
        """Squared distances from a product in float64, rounded to float32."""
        if self.few:
            super().rounded(rows, columns, wide, out)
            return
        np.matmul(self.left[rows], self.right[:, columns], out=wide)
        np.copyto(out, wide, casting="same_kind")
        self._repair(rows, columns, out, ROUNDED_CLOSE)

    def _repair(self, rows: Any, columns: Any, out: np.ndarray, close: float) -> None:
        scale = float(self.squares[rows].max(initial=0) + self.squares[columns].max(initial=0))
        repair(out, self.x[rows], self.x[columns], close * scale)


def _cdist(left: np.ndarray, right: np.ndarray, norm: str, out: np.ndarray) -> None:
    from scipy.spatial.distance import cdist

    if out.dtype == np.float64:
        cdist(left, right, norm, out=out)
    else:
        out[...] = cdist(left, right, norm)


class _Pairs(_Coordinates):
    """A metric without coordinates. A pair is dear, so it is computed in float64 whatever was given."""

    def __init__(self, seen: MetricView) -> None:
        self.seen, self.squared, self.dtype = seen, seen.squared, np.dtype(np.float64)

    def native(self, rows: Any, columns: Any, out: np.ndarray) -> None:
        """Squared distances d^2."""
        out[...] = self.seen.cross(rows, columns)


Coordinates = _Line | _L1 | _L2 | _Pairs


def _ready(metric: Metric, predictions: Any) -> Coordinates:
    """Predictions ready to give the distances of any block in a metric."""
    if metric.by_pairs(predictions) is not None:
        return _Pairs(view(metric, in_double(predictions)))
    x = _single_or_double(metric.coordinates(predictions))
    if x.shape[1] == 1:
        return _Line(x)
    return _L1(x) if metric.order == 1 else _L2(x)


def _single_or_double(x: Array) -> np.ndarray:
    """Contiguous NumPy array in float32 or float64."""
    x = x if isinstance(x, np.ndarray) else to_numpy(x)
    return np.ascontiguousarray(x if x.dtype in CLOSE else x.astype(np.float64))


class BlockPoints:
    """Predictions made ready for blocks in every metric: for L2 coordinates are centred and augmented."""

    def __init__(self, predictions: Any) -> None:
        self.predictions, self.positions = predictions, np.arange(len(predictions))
        self._by_metric: dict[Metric, Coordinates] = {}
        self._lock = Lock()  # threads ask at once: the first makes what all of them need

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, metric: Metric) -> Coordinates:
        with self._lock:
            if metric not in self._by_metric:
                self._by_metric[metric] = _ready(metric, self.predictions)
            return self._by_metric[metric]

    @cached_property
    def x(self) -> np.ndarray:
        """Euclidean coordinates, shape (n, d)."""
        known = self._by_metric.get(Euclidean())
        if known is None or isinstance(known, _Pairs):
            return _single_or_double(Euclidean().coordinates(self.predictions))
        return known.x


class Workspace:
    """Buffers that are used again for every tile of a block of rows: fresh memory costs more than a product."""

    def __init__(self) -> None:
        self._buffers: list[np.ndarray] = []
        self._taken = 0
        self._wide = np.empty(0)

    def wide(self, shape: tuple[int, int]) -> np.ndarray:
        """Return the one buffer in float64 of what is rounded at once."""
        size = shape[0] * shape[1]
        if self._wide.size < size:
            self._wide = np.empty(size)
        return self._wide[:size].reshape(shape)

    def take(self, shape: tuple[int, int], dtype: Any) -> np.ndarray:
        """Return a contiguous buffer that nobody else holds until `free`."""
        size = shape[0] * shape[1]
        if self._taken == len(self._buffers):
            self._buffers.append(np.empty(size, dtype=dtype))
        elif self._buffers[self._taken].size < size or self._buffers[self._taken].dtype != dtype:
            self._buffers[self._taken] = np.empty(size, dtype=dtype)
        self._taken += 1
        return self._buffers[self._taken - 1][:size].reshape(shape)

    def free(self) -> None:
        """Let all buffers be taken again."""
        self._taken = 0


class Tile:
    """Pairs of some rows with some columns, asked by several kernels: each distance is computed once.

    What a kernel returns lives in the workspace: it must be used before the workspace is freed. Where kernel values
    are wanted in single precision, distances are computed in that of the predictions and then rounded.
    """

    ops = InPlace()

    def __init__(
        self,
        points: BlockPoints,
        rows: Any,
        columns: Any,
        *,
        shared: bool,
        workspace: Workspace | None = None,
        single: bool = False,
    ) -> None:
        self.points, self.rows, self.columns, self.shared, self.single = points, rows, columns, shared, single
        self.workspace = workspace or Workspace()
        self.workspace.free()
        self._cache: dict[Metric, np.ndarray] = {}

    def evaluate(self, kernel: Kernel) -> np.ndarray:
        """Values of one kernel of several, valid until the next one is asked for."""
        self.workspace.free()
        return kernel.evaluate(self)

    def _native(self, metric: Metric) -> np.ndarray:
        source = self.points[metric]
        shape = (len(self.points.positions[self.rows]), len(self.points.positions[self.columns]))
        if self.single and source.dtype != np.float32:
            wide, out = self.workspace.wide(shape), self.workspace.take(shape, np.float32)
            source.rounded(self.rows, self.columns, wide, out)
            return out
        out = self.workspace.take(shape, source.dtype)
        if not self.shared:
            source.native(self.rows, self.columns, out)
            return out
        if metric not in self._cache:
            self._cache[metric] = np.empty_like(out)
            source.native(self.rows, self.columns, self._cache[metric])
        np.copyto(out, self._cache[metric])
        return out

    def distance(self, metric: Metric) -> np.ndarray:
        """Distances d."""
        d = self._native(metric)
        return np.sqrt(d, out=d) if self.points[metric].squared else d

    def squared_distance(self, metric: Metric) -> np.ndarray:
        """Squared distances d^2."""
        d = self._native(metric)
        return d if self.points[metric].squared else np.multiply(d, d, out=d)

    def inner(self) -> np.ndarray:
        """Inner products of the Euclidean coordinates (for classes: of the probabilities)."""
        x = self.points.x
        return x[self.rows] @ x[self.columns].T

    def smaller(self) -> np.ndarray:
        """Smaller one of two numbers, for points that are one number each."""
        x = self.points.x
        return np.asarray(smaller(x[self.rows], x[self.columns].T))

    def equal(self) -> np.ndarray:
        """1 where the Euclidean coordinates are equal, else 0."""
        distance = self._native(Euclidean())
        return (distance == 0).astype(distance.dtype)

    def lookup(self, matrix: np.ndarray) -> np.ndarray:
        """Refuse: predictions are no class labels."""
        return Points(self.points.predictions).lookup(matrix)


Made = TypeVar("Made")
TileAt = tuple[slice, Tile]  # columns and the kernel values' pairs
_STRIP = 2**19  # numbers: 4 MiB, below which threads cost more than they save
KEPT_UP_TO = 2_048  # rows: 32 MiB, kept between passes
WIDE_FROM = 150  # numbers a prediction; above, a matrix product of the predictions is what costs
_DIAGONAL_ROWS = 4096
_ALL = slice(None)


class Found:
    """What is found in predictions whatever the kernels, made once for all tiles that share it."""

    def __init__(self, predictions: Any) -> None:
        self.predictions = predictions
        self._made: dict[Callable[[Any], Any], Any] = {}

    def once(self, make: Callable[[Any], Made]) -> Made:
        """Return what a function makes of the predictions, made when it is first asked for."""
        if make not in self._made:
            self._made[make] = make(self.predictions)
        return cast(Made, self._made[make])


def _own_pairs(predictions: Any) -> list[AlignedPairs]:
    """Pairs of every row with itself, some rows at a time."""
    points = Points(predictions)
    return [AlignedPairs(points, part, part) for part in row_slices(len(predictions), _DIAGONAL_ROWS)]


class Tiles(QuadraticForms):
    """What sums over tiles share: the points, the diagonal, and a walk over the tiles above it.

    What was found in the predictions for other kernels may be passed.
    """

    label = "exact pairs"

    def __init__(
        self,
        shape: tuple[int, int],
        threads: int | None,
        kernels: tuple[Kernel, ...],
        predictions: Predictions,
        residual: Residual,
        found: Found | None = None,
    ) -> None:
        self.shape, self.threads, self.kernels = shape, threads, kernels
        self.predictions, self.residual = predictions, residual
        self.n, self.dimension = len(residual), residual.dimension
        self.bytes_per_draw = 16 * self.n * self.dimension
        self.found = found or Found(predictions)

    @cached_property
    def _points(self) -> BlockPoints:
        return self.found.once(BlockPoints)

    @cached_property
    def _diagonals(self) -> list[Array]:
        """K_ii of every kernel, each of shape (n,)."""
        pairs = self.found.once(_own_pairs)
        pieces = [[kernel.diagonal(part) for part in pairs] for kernel in self.kernels]
        return [piece[0] if len(piece) == 1 else namespace(*piece).concat(piece) for piece in pieces]

    @property
    def _double(self) -> Self:
        """The same in float64: draws are ranked, and float32 would let the last digit decide between equal ones."""
        return self if self._reference.dtype == np.float64 else self._in_double

    @cached_property
    def _in_double(self) -> Self:  # sums must not hold themselves: rows would stay until Python looks for circles
        predictions = self.predictions.map_arrays(lambda x: to_numpy(x).astype(np.float64))
        return type(self)(self.shape, self.threads, self.kernels, predictions, self.residual.double())

    @property
    def _of_rows(self) -> Self:
        return self if self._reference.dtype == np.float32 and stays_single(self._reference) else self._double

    @cached_property
    def _reference(self) -> np.ndarray:
        x = self.predictions.reference
        return x if isinstance(x, np.ndarray) else to_numpy(x)

    def kernel_rows(self, rows: slice, columns: slice = _ALL) -> np.ndarray:
        """Values of the first kernel, of few rows computed once: in float64, unless predictions stay single."""
        if self._of_rows is not self:
            return self._of_rows.kernel_rows(rows, columns)
        if self._kept is not None:
            return self._kept[rows, columns].copy()
        return self._computed(rows, columns)

    def _computed(self, rows: slice, columns: slice = _ALL) -> np.ndarray:
        return self.kernels[0].evaluate(Tile(self._points, rows, columns, shared=False))

    @cached_property
    def _kept(self) -> np.ndarray | None:
        """All values of the first kernel, kept between passes; None for many rows."""
        if self.n > KEPT_UP_TO:
            return None
        self._points  # noqa: B018  made before threads ask for it
        height = max(self.shape[0], _STRIP // self.n)
        parts = [slice(first, min(first + height, self.n)) for first in range(0, self.n, height)]
        return np.concatenate(threaded_map(self._computed, parts, self.threads))

    def _rows_of_tiles(
        self, work: Callable[[slice, Iterator[TileAt]], np.ndarray], *, shared: bool, single: bool = False
    ) -> np.ndarray:
        """Sum over i != j: twice the sum, in a fixed order, of what `work` makes of each block of rows."""
        n = self.n

        def tiles(rows: slice) -> Iterator[TileAt]:
            workspace = Workspace()
            for first in range(rows.start, n, self.shape[1]):
                columns = slice(first, min(first + self.shape[1], n))
                yield columns, Tile(self._points, rows, columns, shared=shared, workspace=workspace, single=single)

        def block_of_rows(start: int) -> np.ndarray:
            rows = slice(start, min(start + self.shape[0], n))
            return work(rows, tiles(rows))

        self._points  # noqa: B018  made before threads ask for it
        return 2 * np.sum(threaded_map(block_of_rows, range(0, n, self.shape[0]), self.threads), axis=0)

    def _functional_tiles(self, larger: int = 1) -> Iterator[tuple[slice, slice, Callable[[Array], Array]]]:
        """Tiles for other libraries: rows, columns, and what sets to zero the pairs i >= j.

        The differences of a tile's pairs fit 64 MiB, or as many times that, in tiles that are as many times `larger`.
        """
        n, step, columns = self.n, larger * self.shape[0], larger * self.shape[1]
        width = max(1, min(columns, larger * 2**23 // (step * self.predictions.columns)))
        for start in range(0, n, step):
            rows = slice(start, min(start + step, n))
            for first in range(start, n, width):
                yield rows, slice(first, min(first + width, n)), partial(_above, offset=first - start)


def _above(values: Array, offset: int) -> Array:
    """Set the pairs i >= j to zero, as a pure function; `offset` is first column minus first row."""
    if offset >= values.shape[0]:
        return values
    xp = namespace(values)
    mask = np.triu(np.ones(values.shape, dtype=bool), 1 - offset)
    return xp.where(xp.asarray(mask, device=place_of(values)), values, xp.zeros_like(values))


def upper(values: np.ndarray, offset: int) -> np.ndarray:
    """Set to zero, in place, the pairs i >= j; `offset` is first column minus first row."""
    width = len(values) - offset
    if width > 0:
        low = _not_above(len(values), min(values.shape[1], width), offset)
        np.copyto(values[:, : low.shape[1]], 0, where=low)
    return values


@lru_cache(maxsize=4)  # most tiles on the diagonal are alike
def _not_above(rows: int, columns: int, offset: int) -> np.ndarray:
    return np.tri(rows, columns, k=-offset, dtype=bool)
