"""Sums over lists of pairs: those inside consecutive blocks of rows, and the first diagonals above the main one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from kernelcal.arrays import Array, namespace, row_slices, to_numpy
from kernelcal.kernels import AlignedPairs, Kernel, Points
from kernelcal.pairs.base import Engine, QuadraticForms, Sums
from kernelcal.pairs.engines import ExactPairs
from kernelcal.predictions import Predictions
from kernelcal.residuals import FeatureResidual, Residual

__all__ = ["AlignedForms", "BandMatrix", "BlockDiagonal", "SuperDiagonals"]


_ALIGNED_UP_TO = 64  # rows a block; above, every block is large enough for the engine
_PAIRS = 16_384  # pairs at once: enough that calls cost nothing, few enough that they fit the cache


@dataclass(frozen=True)
class BlockDiagonal(Engine):
    """Pairs inside blocks of consecutive rows; an incomplete last block is dropped.

    Small blocks are summed all at once (first rows with second rows, first with third, ..., as many of these as
    make a good number of pairs together), large blocks one after the other by another engine.
    """

    size: int
    engine: Engine

    def prepare(self, kernels: Sequence[Kernel], predictions: Predictions, residual: Residual) -> QuadraticForms:
        """Do what depends on the predictions alone."""
        if self.size <= _ALIGNED_UP_TO and isinstance(self.engine, ExactPairs):
            return _Aligned(self.size, kernels, predictions, residual)
        starts = range(0, len(predictions) - self.size + 1, self.size)
        parts = [slice(start, start + self.size) for start in starts]
        forms = [self.engine.prepare(kernels, predictions[part], residual[part]) for part in parts]
        return _Separate(parts, forms)


class _Separate(QuadraticForms):
    def __init__(self, parts: list[slice], forms: list[QuadraticForms]) -> None:
        self.parts, self.forms = parts, forms
        self.label = f"blocks of {parts[0].stop:,} rows, {forms[0].label}"
        self.bytes_per_draw = max(form.bytes_per_draw for form in forms)

    def of(self, targets: np.ndarray) -> Sums:
        return _total([form.of(targets[part]) for part, form in zip(self.parts, self.forms, strict=True)])

    def by_block(self, targets: np.ndarray) -> np.ndarray:
        pairs = zip(self.parts, self.forms, strict=True)
        return np.array([float(to_numpy(form.of(targets[part]).off_diagonal)) for part, form in pairs])

    def batch(self, targets: np.ndarray) -> Sums:
        return _total([form.batch(targets[:, part]) for part, form in zip(self.parts, self.forms, strict=True)])


def _total(sums: list[Sums]) -> Sums:
    off_diagonal, diagonal = sums[0].off_diagonal, sums[0].diagonal
    for other in sums[1:]:
        off_diagonal, diagonal = off_diagonal + other.off_diagonal, diagonal + other.diagonal
    return Sums(off_diagonal, diagonal)


class AlignedForms(QuadraticForms):
    """Sums over lists of pairs: first rows with second rows, all at once, list after list."""

    def __init__(
        self,
        pairs: Sequence[tuple[slice, slice]],
        kernels: Sequence[Kernel],
        predictions: Predictions,
        residual: Residual,
        label: str,
    ) -> None:
        self.pairs, self.kernels, self.residual, self.label = pairs, tuple(kernels), residual, label
        self.points = Points(predictions)
        self.bytes_per_draw = 24 * len(predictions) * residual.dimension

    def _values(self, kernel: Kernel, rows: Any, columns: Any) -> Array:
        return kernel.evaluate(AlignedPairs(self.points, rows, columns))

    def _parts(self) -> Iterable[tuple[Any, Any]]:
        """Rows and columns of the pairs that are summed at once."""
        return self.pairs

    def lists(self, targets: np.ndarray) -> Iterator[Array]:
        """Values K_ij <r_i, r_j> of the first kernel, part after part."""
        inner = self.residual.inner(targets)
        for rows, columns in self._parts():
            yield self._values(self.kernels[0], rows, columns) * inner.aligned(rows, columns)

    def of(self, targets: np.ndarray) -> Sums:
        """Sums of the first kernel for one set of targets."""
        total: Any = 0.0
        for values in self.lists(targets):
            total = total + namespace(values).sum(values)
        return Sums(2 * total, 0 * total)

    def batch(self, targets: np.ndarray) -> Sums:
        """Sums of all kernels for many sets of targets."""
        inner = _inner_of_draws(self.residual, targets)
        total = np.zeros((len(targets), len(self.kernels)))
        for rows, columns in self.pairs:
            r = inner(rows, columns)
            for s, kernel in enumerate(self.kernels):
                total[:, s] += r @ to_numpy(self._values(kernel, rows, columns))
        return Sums(2 * total, 0 * total)


class _Aligned(AlignedForms):
    """Small blocks: their first rows with their second rows, their first with their third, and so on."""

    def __init__(self, size: int, kernels: Sequence[Kernel], predictions: Predictions, residual: Residual) -> None:
        self.blocks = len(predictions) // size
        end = self.blocks * size
        pairs = [(slice(a, end, size), slice(b, end, size)) for a, b in combinations(range(size), 2)]
        super().__init__(pairs, kernels, predictions, residual, f"blocks of {size:,} rows, exact pairs")

    def _parts(self) -> Iterable[tuple[Any, Any]]:
        return _together(self.pairs)

    def by_block(self, targets: np.ndarray) -> np.ndarray:
        total: Any = 0.0
        for values in self.lists(targets):
            total = total + to_numpy(values).reshape(-1, self.blocks).sum(axis=0)
        return 2 * total


def _together(pairs: Sequence[tuple[slice, slice]]) -> Iterator[tuple[Any, Any]]:
    """Join pairs of short slices into pairs of index arrays of about `_PAIRS` rows; long slices stay, uncopied."""
    blocks = len(range(*pairs[0][0].indices(pairs[0][0].stop)))
    step = _PAIRS // blocks
    if step < 2:
        yield from pairs
        return
    for part in row_slices(len(pairs), step):
        first, second = (np.array([side.start for side in sides]) for sides in zip(*pairs[part], strict=True))
        starts = np.arange(blocks) * pairs[0][0].step
        yield (first[:, None] + starts).ravel(), (second[:, None] + starts).ravel()


def _inner_of_draws(residual: Residual, targets: np.ndarray) -> Callable[[slice, slice], np.ndarray]:
    """Inner products pair by pair for many sets of targets: a function of rows and columns, giving (B, pairs)."""
    if isinstance(residual, FeatureResidual):
        r = residual.batch(targets)
        return lambda rows, columns: np.einsum("nbk,nbk->bn", r[rows], r[columns])
    inners = [residual.double().inner(row) for row in targets]
    return lambda rows, columns: np.stack([inner.aligned(rows, columns) for inner in inners])


@dataclass(frozen=True)
class SuperDiagonals(Engine):
    """Pairs (i, i + r) with r = 1, ..., R: an incomplete U-statistic, linear in the rows.

    Parameters
    ----------
    number : int
        R.
    """

    number: int

    def prepare(self, kernels: Sequence[Kernel], predictions: Predictions, residual: Residual) -> QuadraticForms:
        """Do what depends on the predictions alone."""
        n, several = len(predictions), "s" * (self.number > 1)
        pairs = [(slice(0, n - r), slice(r, n)) for r in range(1, self.number + 1)]
        label = f"{self.number:,} superdiagonal{several}, exact pairs"
        return _Diagonals(pairs, kernels, predictions, residual, label)


class _Diagonals(AlignedForms):
    def by_pair(self, targets: np.ndarray) -> list[np.ndarray]:
        return [to_numpy(values) for values in self.lists(targets)]


class BandMatrix:
    """Symmetric matrix h_ij of one set of targets that is zero on its diagonal and beyond R places from it.

    Parameters
    ----------
    diagonals : sequence of R arrays
        Values h_{i, i + r}, of shape (n - r,).
    n : int
        Number of rows.
    """

    def __init__(self, diagonals: Sequence[np.ndarray], n: int) -> None:
        self.diagonals, self.n = diagonals, n

    def __len__(self) -> int:
        return self.n

    @property
    def pairs(self) -> int:
        """Pairs that are not zero, both orders counted."""
        return 2 * sum(len(values) for values in self.diagonals)

    def quadratic(self, columns: np.ndarray, *, diagonal: bool = True) -> np.ndarray:
        """Return c'Hc for every column c, shape (n, B) -> (B,): O(n R B)."""
        total = np.zeros(columns.shape[1])
        for r, values in enumerate(self.diagonals, start=1):
            total += 2 * (values @ (columns[:-r] * columns[r:]))
        return total
