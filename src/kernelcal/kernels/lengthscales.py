"""Lengthscales from the predictions alone, so that exact tests stay exact."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.arrays import concrete, row_slices
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.metrics import Euclidean, Metric, PairwiseView, in_double
from kernelcal.kernels.profiles import LARGEST, SMALLEST, Stationary
from kernelcal.predictions import Predictions, RealPredictions, as_predictions, checked_weights
from kernelcal.randomness import generator_of

__all__ = ["Medians", "median_lengthscale", "resolve", "resolve_target", "rows_that_count", "target_lengthscale"]


_NORM = {1: "cityblock", 2: "euclidean"}
_KEEP = 2_000_000  # values held at once while selecting from many
_BINS = 4096
_MAX_ROWS, _MAX_ROWS_BY_PAIRS = 2000, 300  # a distance by pairs can cost a hundred times as much
_BLOCK = 2**20  # distances made at once
_FEW, _IN_CACHE = 32, 2**15  # coordinates, and distances that are held while one after the other is added

Medians = dict[Metric, tuple[float, tuple[str, ...]]]  # median distances of some predictions, and what to know of them
Blocks = Callable[[], Iterator[np.ndarray]]  # distances of all pairs i < j, in parts


def median_lengthscale(
    predictions: Any,
    *,
    metric: Metric | None = None,
    include_diagonal: bool = False,
    max_rows: int | str | None = "default",
    rng: Any = 0,
    weights: np.ndarray | None = None,
) -> float:
    """Median distance between predictions, the usual first choice of a lengthscale.

    Parameters
    ----------
    predictions : Predictions or what `as_predictions` takes
        The observed targets are not looked at.
    metric : Metric, optional
        Distance, default `Euclidean`.
    include_diagonal : bool
        False: the median of the distances between different rows that are not zero. True: the median over
        the full n x n matrix, every pair twice and the zero diagonal included, as in the published code of
        Widmann et al. 2019.
    max_rows : int or None
        Above this many rows, the pairs among a seeded subsample of `max_rows` rows are used; default 2,000, and 300
        for a metric that computes distances pair by pair (`PairwiseMetric`). None takes all pairs, in bounded memory.
    rng : int or numpy.random.Generator
        Source of the subsample.
    weights : array of shape (n,), optional
        Case weights: the median counts every distance by the product of both weights, and rows are drawn by theirs.
        Rows that have less than a millionth of the weight together are left out, so that a row of weight 0, and a row
        whose weight tends to 0, has no say.

    Returns
    -------
    float
        Positive; 1.0 if all predictions are equal, where any lengthscale gives the same kernel.

    Notes
    -----
    Cost: O(min(n, max_rows)^2 m) time; without `max_rows` three passes over all pairs, whose distances are computed
    anew in each.

    Examples
    --------
    >>> import kernelcal as kc
    >>> round(kc.median_lengthscale([0.5] * 8 + [0.7, 0.9]), 12)  # most distances are 0: they are left out
    0.2
    """
    batch = as_predictions(predictions)
    counting = None if weights is None else checked_weights(weights, len(batch))
    return _median(batch, metric or Euclidean(), include_diagonal, max_rows, rng, counting)[0]


def resolve(
    kernel: Kernel, predictions: Any, known: Medians | None = None, weights: np.ndarray | None = None
) -> tuple[Kernel, tuple[str, ...]]:
    """Fix what kernels take from the predictions: base measures of metrics, and every ``lengthscale="median"``.

    Also return what the reader must know. Kernels of the same predictions (and case weights) may share the medians that
    are `known`: those that are found here are added.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import resolve
    >>> kernel, notes = resolve(kc.Laplacian(), kc.Bernoulli([0.1, 0.4, 0.9]))
    >>> round(kernel.lengthscale, 3), notes
    (0.5, ())
    """
    medians: Medians = {} if known is None else known
    if weights is not None:
        predictions, weights = _that_count(predictions, weights)
    notes: list[str] = []

    def leaf(k: Kernel) -> Kernel:
        if not isinstance(k, Stationary):
            return k
        metric = k.metric.resolved(predictions if weights is None else predictions[_by_weight(weights, _MAX_ROWS)])
        if not isinstance(k.lengthscale, str):
            return k if metric is k.metric else replace(k, metric=metric)
        if metric not in medians:
            medians[metric] = _median(predictions, metric, False, "default", 0, weights)
        value, more = medians[metric]
        notes.extend(more)
        return replace(k, metric=metric, lengthscale=_usable(value))

    resolved = leaf(kernel) if isinstance(kernel, Stationary) else kernel.map_leaves(leaf)
    return resolved, tuple(dict.fromkeys(notes))


_NEGLIGIBLE = 1e-6  # of the weight: what the lightest rows may have together and still be left out
_ALIKE = 1e-9  # relative difference of weights that count as equal


def rows_that_count(weights: np.ndarray) -> np.ndarray:
    """Rows without the lightest ones, which have less than a millionth of the weight together: their numbers."""
    order = np.argsort(weights, kind="stable")
    return np.sort(order[np.cumsum(weights[order]) > _NEGLIGIBLE * weights.sum()])


def _that_count(predictions: Any, weights: np.ndarray) -> tuple[Any, np.ndarray | None]:
    """Rows without those that hardly weigh anything, and their weights, None where the others weigh the same."""
    rows = rows_that_count(weights)
    own = weights[rows]
    alike = own.max() - own.min() <= _ALIKE * own.max()
    return predictions if len(rows) == len(weights) else predictions[rows], None if alike else own


def _by_weight(weights: np.ndarray, most: int, rng: Any = 0) -> np.ndarray:
    """Rows drawn with replacement, with chances like their weights."""
    generator = generator_of(rng, "rows of a median lengthscale")
    return np.sort(generator.choice(len(weights), most, p=weights / weights.sum()))


def _median(
    predictions: Any,
    metric: Metric,
    include_diagonal: bool,
    max_rows: int | str | None,
    rng: Any,
    weights: np.ndarray | None = None,
) -> tuple[float, tuple[str, ...]]:
    if weights is not None:
        predictions, weights = _that_count(predictions, weights)
    if weights is not None:
        default = _MAX_ROWS if metric.by_pairs(predictions) is None else _MAX_ROWS_BY_PAIRS
        most = default if max_rows == "default" or max_rows is None else int(max_rows)
        if len(weights) <= most:
            return _weighted_median(predictions, metric, include_diagonal, weights)
        predictions = predictions[_by_weight(weights, most, rng)]
    distances = _distances(predictions, metric, max_rows, rng)
    if include_diagonal:
        value = distances.median(zeros=distances.rows, multiplicity=2)
        if value == 0:
            raise InputError("the median over the full matrix is 0: use include_diagonal=False")
        return value, ()
    return _off_diagonal_median(distances)


def _distances(predictions: Any, metric: Metric, max_rows: int | str | None, rng: Any) -> _Distances:
    pairwise = metric.by_pairs(predictions)
    x = concrete(predictions.mean if pairwise is not None else metric.coordinates(predictions))
    if x is None:
        raise InputError("lengthscale='median' needs values, which jax.jit does not have: give a number")
    if max_rows == "default":
        max_rows = _MAX_ROWS if pairwise is None else _MAX_ROWS_BY_PAIRS
    if max_rows is not None and (not isinstance(max_rows, int | np.integer) or max_rows < 2):
        raise InputError(f"max_rows must be a number of at least 2 or None, got {max_rows!r}")
    rows = np.arange(len(x))
    if max_rows is not None and len(x) > max_rows:
        rows = np.sort(generator_of(rng, "rows of a median lengthscale").choice(len(x), max_rows, replace=False))
    if pairwise is not None:
        return _Distances(len(rows), _by_pairs(PairwiseView(pairwise, in_double(predictions[rows])), len(rows)))
    return _Distances(len(rows), _by_norm(x[rows].astype(np.float64, copy=False), _NORM[metric.order]))


def _parts_by_norm(n: int) -> list[slice]:
    step = max(2, _BLOCK // max(n, 1))
    return [slice(first, min(first + step, n)) for first in range(0, n, step)]


def _parts_by_pairs(n: int) -> list[slice]:
    return row_slices(n - 1, _BLOCK // max(n, 1))


def _by_norm(x: np.ndarray, norm: str) -> Blocks:
    def blocks() -> Iterator[np.ndarray]:
        between = _few_coordinates if x.shape[1] <= _FEW else _many_coordinates
        for rows in _parts_by_norm(len(x)):
            inside, after = x[rows], x[rows.stop :]
            yield between(inside, inside, norm)[np.triu_indices(len(inside), 1)]
            yield between(inside, after, norm).ravel()

    return blocks


def _many_coordinates(left: np.ndarray, right: np.ndarray, norm: str) -> np.ndarray:
    """Distances of all rows of the one from all of the other."""
    from scipy.spatial.distance import cdist  # imported when needed: it takes as long as NumPy

    return np.asarray(cdist(left, right, norm))


def _few_coordinates(left: np.ndarray, right: np.ndarray, norm: str) -> np.ndarray:
    """The same coordinate by coordinate, some rows at a time, so that they stay in the cache."""
    found, columns = np.zeros((len(left), len(right))), np.ascontiguousarray(right.T)
    height = max(1, _IN_CACHE // max(len(right), 1))
    gap = np.empty((height, len(right)))
    for first in range(0, len(left), height):
        out = found[first : first + height]
        own = gap[: len(out)]
        for x, y in zip(left[first : first + height].T, columns, strict=True):
            np.subtract(x[:, None], y, out=own)
            out += np.abs(own, out=own) if norm == "cityblock" else np.square(own, out=own)
        if norm != "cityblock":
            np.sqrt(out, out=out)
    return found


def _products_by_norm(weights: np.ndarray) -> Iterator[np.ndarray]:
    """Products of the weights of both rows, in the order of the distances of `_by_norm`."""
    for rows in _parts_by_norm(len(weights)):
        inside = weights[rows]
        yield np.outer(inside, inside)[np.triu_indices(len(inside), 1)]
        yield np.outer(inside, weights[rows.stop :]).ravel()


def _by_pairs(seen: PairwiseView, n: int) -> Blocks:
    def blocks() -> Iterator[np.ndarray]:
        for rows in _parts_by_pairs(n):
            squared = seen.cross(rows, slice(rows.start + 1, n))
            yield np.sqrt(squared[np.triu_indices(len(squared), m=squared.shape[1])])

    return blocks


def _products_by_pairs(weights: np.ndarray) -> Iterator[np.ndarray]:
    """The same in the order of `_by_pairs`."""
    for rows in _parts_by_pairs(len(weights)):
        products = np.outer(weights[rows], weights[rows.start + 1 :])
        yield products[np.triu_indices(len(products), m=products.shape[1])]


def _weighted_median(
    predictions: Any, metric: Metric, include_diagonal: bool, weights: np.ndarray
) -> tuple[float, tuple[str, ...]]:
    """Median of the distances by the products of weights; with the diagonal every pair counts twice."""
    distances = np.concatenate([*_distances(predictions, metric, None, 0), np.zeros(0)])
    own = weights / weights.max()
    pairwise = metric.by_pairs(predictions) is not None
    products = np.concatenate([*(_products_by_pairs if pairwise else _products_by_norm)(own), np.zeros(0)])
    if include_diagonal:
        values, counts = np.append(distances, 0.0), np.append(2 * products, (own**2).sum())
        return weighted_middle(values, counts), ()
    apart = distances > 0
    if not apart.any():
        return 1.0, (_ALL_EQUAL,)
    value, zeros = weighted_middle(distances[apart], products[apart]), 1 - products[apart].sum() / products.sum()
    return value, (_ZEROS.format(zeros),) if zeros >= 0.5 else ()


def weighted_middle(values: np.ndarray, weights: np.ndarray) -> float:
    """Median of numbers that count by their weights: the middle of two where exactly half the weight is below."""
    order = np.argsort(values, kind="stable")
    below, values = np.cumsum(weights[order]), values[order]
    half, rounding = below[-1] / 2, 1e-12 * below[-1]
    lower, upper = np.searchsorted(below, [half - rounding, half + rounding])
    return float((values[lower] + values[min(upper, len(values) - 1)]) / 2)


_ALL_EQUAL = "all predictions are equal: the lengthscale was set to 1, which changes nothing"
_ZEROS = "{:.0%} of the distances between predictions are 0: the median of the others was used"


def _off_diagonal_median(blocks: _Distances) -> tuple[float, tuple[str, ...]]:
    zeros, pairs = blocks.zero_pairs, blocks.pairs
    if zeros == pairs:
        return 1.0, (_ALL_EQUAL,)
    value = blocks.median(skip=zeros)
    if zeros < pairs / 2:
        return value, ()
    return value, (_ZEROS.format(zeros / pairs),)


class _Distances:
    """Distances of all pairs i < j, produced in blocks: the median needs no n x n array."""

    def __init__(self, rows: int, blocks: Blocks) -> None:
        self.rows, self.pairs, self._blocks = rows, rows * (rows - 1) // 2, blocks
        self._all = np.concatenate([*blocks(), np.zeros(0)]) if self.pairs <= _KEEP else None
        self.zero_pairs = sum(int((block == 0).sum()) for block in self)
        self.largest = max((float(block.max()) for block in self if len(block)), default=0.0)

    def __iter__(self) -> Iterator[np.ndarray]:
        return iter([self._all]) if self._all is not None else self._blocks()

    def median(self, *, skip: int = 0, zeros: int = 0, multiplicity: int = 1) -> float:
        """Median of the distances without the `skip` smallest, each counted so often, with extra zeros."""
        total = multiplicity * (self.pairs - skip) + zeros
        middle = ((total - 1) // 2, total // 2)
        ranks = [skip + (k - zeros) // multiplicity if k >= zeros else -1 for k in middle]
        return float(np.mean([0.0 if rank < 0 else self._ranked(rank) for rank in ranks]))

    def _ranked(self, rank: int) -> float:
        """Return the distance of a rank (0 is the smallest), by narrowing an interval that holds it."""
        if rank < self.zero_pairs:
            return 0.0
        if self._all is not None:
            return float(np.partition(self._all, rank)[rank])
        low, high, below, count = 0.0, self.largest, 0, self.pairs  # `below` distances are smaller than `low`
        while count > _KEEP and high - low > 2 * _BINS * max(np.spacing(high), 1e-300):
            edges = np.linspace(low, high, _BINS + 1)
            counts = np.sum([np.histogram(block, _BINS, (low, high))[0] for block in self], axis=0)
            cumulative = below + np.cumsum(counts)
            k = int(np.searchsorted(cumulative, rank, side="right"))
            count, below = int(counts[k]), int(cumulative[k] - counts[k])
            low, high = float(edges[k]), float(edges[k + 1])
        values, counts = self._distinct(low, high)
        return float(values[np.searchsorted(below + np.cumsum(counts), rank, side="right")])

    def _distinct(self, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
        """Distinct distances in [low, high], ascending, and how often each occurs: few values, or many ties."""
        values, counts = np.zeros(0), np.zeros(0, dtype=np.int64)
        for block in self:
            more, often = np.unique(block[(block >= low) & (block <= high)], return_counts=True)
            values, inverse = np.unique(np.concatenate([values, more]), return_inverse=True)
            counts = np.bincount(inverse, np.concatenate([counts, often]), len(values)).astype(np.int64)
        return values, counts


def _usable(lengthscale: float) -> float:
    """Return a lengthscale that kernels take, its multiples too; a more extreme one says the same."""
    return min(max(lengthscale, 1e3 * SMALLEST), LARGEST / 1e3)


def target_lengthscale(predictions: RealPredictions, weights: np.ndarray | None = None) -> float:
    """Median predicted standard deviation, the distance at which two outcomes of one prediction differ.

    It is the `width` of the predictions, which stands for it where there is no variance.

    For vectors it is the root of the sum of squares over the components. Predictions without spread are left out;
    where none has any, 1.0. No target is looked at, and the draws of an ensemble enter symmetrically. With case weights
    it is the weighted median, without the rows that hardly weigh anything.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import target_lengthscale
    >>> target_lengthscale(kc.Normal([0.0, 1.0, 2.0], [1.0, 2.0, 4.0]))
    2.0
    """
    if weights is not None:
        predictions, weights = _that_count(predictions, weights)
    std = concrete(predictions.width)
    if std is None:
        raise InputError("lengthscale='median' needs values, which jax.jit does not have: give a number")
    sizes = np.sqrt((np.asarray(std, dtype=np.float64).reshape(len(predictions), -1) ** 2).sum(axis=1))
    spread = sizes > 0
    if not spread.any():
        return 1.0
    return float(np.median(sizes[spread])) if weights is None else weighted_middle(sizes[spread], weights[spread])


def resolve_target(kernel: Kernel, predictions: Predictions, weights: np.ndarray | None = None) -> Kernel:
    """Replace every ``lengthscale="median"`` of a target kernel for numbers by its number.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import resolve_target
    >>> resolve_target(kc.Gaussian(), kc.Normal([0.0, 1.0, 2.0], 1.5)).lengthscale
    1.5
    """
    if not isinstance(predictions, RealPredictions):
        return kernel

    def leaf(k: Kernel) -> Kernel:
        if isinstance(k, Stationary) and isinstance(k.lengthscale, str):
            return k.with_lengthscale(_usable(target_lengthscale(predictions, weights)))
        return k

    return kernel.map_leaves(leaf)
