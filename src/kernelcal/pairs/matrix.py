"""The matrix h_ij = K_ij <r_i, r_j> of one set of targets, used a strip of rows at a time and never stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from kernelcal.arrays import row_slices, stays_single
from kernelcal.errors import InputError
from kernelcal.pairs.base import KernelProducts, QuadraticForms, threaded_map
from kernelcal.pairs.tiles import KEPT_UP_TO
from kernelcal.residuals import ClassResidual, FeatureInner, FeatureResidual, Residual

__all__ = ["PairMatrix", "joint_sums", "map_strips", "strip_rows"]


_STRIP = 2**19  # numbers: 4 MiB
_COLUMNS = 512  # of a tile
_DENSE_UP_TO = 8_000  # rows: 512 MiB
_RUNS = 256  # rows
_SECONDS, _BESIDE = 2.5e-10, 30  # of a feature of a pair; its kernel value takes as long as so many features
_AT_ONCE = 2**22  # numbers of products of features: 32 MiB
_STRIPS_AT_ONCE = 16  # their results are held, and added in a fixed order
_ALL = slice(None)


def strip_rows(n: int) -> list[slice]:
    """Slices of rows whose strips of n columns fit the cache."""
    height = max(16, _STRIP // max(n, 1))
    return [slice(first, min(first + height, n)) for first in range(0, n, height)]


def map_strips(n: int, work: Callable[[slice], np.ndarray]) -> list[np.ndarray]:
    """Apply `work` to every strip of rows, threaded; results in order."""
    return threaded_map(work, strip_rows(n), None)


class PairMatrix:
    """Symmetric matrix h_ij of the first kernel of prepared forms, for one set of targets.

    Cost of every method: O(n^2 m) for the entries and what it does with them; memory for some strips of rows. The sums
    of rows take O(n log n) a product of two features for kernels that scan, O(n) for few unique predictions.

    Attributes
    ----------
    forms : QuadraticForms
        Kernels of the predictions.
    residual : Residual
        In NumPy and float64; of more than 16 million probabilities in single precision as these are.
    inner : Inner
        Inner products of the residuals of the targets.
    features : numpy.ndarray of shape (n, r), or None
        Residuals of the targets, where they have features.
    """

    def __init__(self, forms: QuadraticForms, residual: Residual, targets: np.ndarray) -> None:
        single = (
            isinstance(residual, ClassResidual) and residual.mean.dtype == np.float32 and stays_single(residual.mean)
        )
        self.forms, self.residual = forms, residual if single else residual.double()
        self.features: np.ndarray | None = None
        if isinstance(self.residual, FeatureResidual):
            self.features = np.asarray(self.residual.features(targets))
        self.inner = self.residual.inner(targets) if self.features is None else FeatureInner(self.features)
        self.n = len(targets)

    def __len__(self) -> int:
        return self.n

    @property
    def pairs(self) -> int:
        """Pairs off the diagonal, both orders counted."""
        return self.n * (self.n - 1)

    def rows(self, rows: slice) -> np.ndarray:
        """Entries of some rows, the diagonal included, shape (rows, n); few rows are computed once."""
        if self._whole is not None:
            return self._whole[rows]
        return self._computed(rows)

    @cached_property
    def _whole(self) -> np.ndarray | None:
        if self.n > KEPT_UP_TO:
            return None
        return np.concatenate(map_strips(self.n, self._computed))

    def _computed(self, rows: slice, columns: slice = _ALL) -> np.ndarray:
        """Kernel values times inner products, a tile after the other: what one is made of stays in the cache.

        Kernel values of few rows are kept: with products of features these are one tile.
        """
        first, stop, _ = columns.indices(self.n)
        width = self.n if self.n <= KEPT_UP_TO and self.features is not None else _COLUMNS
        strip = np.empty((len(range(*rows.indices(self.n))), stop - first))
        for start in range(first, stop, width):
            part = slice(start, min(start + width, stop))
            out = strip[:, part.start - first : part.stop - first]
            np.multiply(self.forms.kernel_rows(rows, part), self.inner.block(rows, part), out=out)
        return strip

    @cached_property
    def ready(self) -> bool:
        """Whether what all rows need is made, which is asked before threads do."""
        self.forms.kernel_rows(slice(0, 1), slice(0, 1))
        return True

    def _map(self, work: Callable[[slice], np.ndarray]) -> list[np.ndarray]:
        self._whole  # noqa: B018  made before threads ask for it
        return map_strips(self.n, work)

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Entries h_ii, shape (n,)."""
        return self._sums[0]

    @cached_property
    def row_sums(self) -> np.ndarray:
        """Sums of h_ij over all j, shape (n,)."""
        return self._sums[1]

    @cached_property
    def row_squares(self) -> np.ndarray:
        """Sums of h_ij^2 over j != i, shape (n,)."""
        return self._sums[2]

    @cached_property
    def square_sum(self) -> float:
        """Sum of h_ij^2 over all pairs of different rows."""
        return float(self.row_squares.sum())

    @property
    def summed(self) -> bool:
        """Whether the sums of rows are made."""
        return "row_sums" in vars(self)

    @property
    def by_pairs(self) -> bool:
        """Whether sums of rows take a walk over all pairs, which gives the value of the estimator, too."""
        return self.n > KEPT_UP_TO and self._products is None

    @property
    def _products(self) -> KernelProducts | None:
        """What sums rows without a walk over pairs, where that is quicker: a product a pair of features is made."""
        products = self.forms.products
        if products is None or self.features is None:
            return None
        number = self.features.shape[1]
        seconds = (number + number * (number + 1) / 2) * products.seconds_per_column
        return products if seconds < _SECONDS * self.n**2 * (number + _BESIDE) else None

    def known(self, diagonal: np.ndarray, sums: np.ndarray, squares: float) -> None:
        """Take diagonal, sums of rows without it, and the sum of squares, which somebody has made already."""
        vars(self).update(diagonal=diagonal, row_sums=sums + diagonal, square_sum=squares)

    @cached_property
    def _sums(self) -> np.ndarray:
        if self.n <= KEPT_UP_TO:
            return np.concatenate(self._map(self._of_rows), axis=1)
        products = self._products
        if products is None or self.features is None:
            return self._of_pairs()
        return _sums_by_products(products, self.features)

    def _of_rows(self, rows: slice) -> np.ndarray:
        strip = self.rows(rows)
        diagonal = strip[np.arange(len(strip)), np.arange(rows.start, rows.stop)]
        return np.stack([diagonal, strip.sum(axis=1), np.einsum("ij,ij->i", strip, strip) - diagonal**2])

    def _of_pairs(self) -> np.ndarray:
        """The same of many rows: entries above the diagonal are computed once, for their row and their column."""

        def work(rows: slice) -> tuple[np.ndarray, np.ndarray]:
            strip = self.above(rows)
            height = len(strip)
            diagonal, found = np.diag(strip).copy(), []
            for _ in range(2):
                right, below = strip.sum(axis=1), strip[:, height:].sum(axis=0)
                found.append(np.concatenate([right, below]))
                np.square(strip, out=strip)
            found[1][:height] -= diagonal**2
            return diagonal, np.stack(found)

        self.ready  # noqa: B018
        sums, strips = np.zeros((3, self.n)), strip_rows(self.n)
        for first in range(0, len(strips), _STRIPS_AT_ONCE):
            some = strips[first : first + _STRIPS_AT_ONCE]
            for rows, (diagonal, found) in zip(some, threaded_map(work, some, None), strict=True):
                sums[0, rows] = diagonal
                sums[1:, rows.start :] += found
        return sums

    def quadratic(self, columns: np.ndarray, *, diagonal: bool = True) -> np.ndarray:
        """Return c'Hc for every column c, shape (n, B) -> (B,), with or without the diagonal of H.

        H is symmetric: entries above the diagonal are computed once and counted twice, one matrix product a strip.
        """

        def work(rows: slice) -> np.ndarray:
            strip = self.above(rows)
            square = strip[:, : len(strip)]
            square *= 0.5
            if not diagonal:
                np.fill_diagonal(square, 0)
            return 2 * np.einsum("ib,ib->b", strip @ columns[rows.start :], columns[rows])

        self.ready  # noqa: B018
        return np.sum(map_strips(self.n, work), axis=0)

    def above(self, rows: slice) -> np.ndarray:
        """Entries of some rows from the diagonal on, shape (rows, n - first row), to be overwritten."""
        whole = self.__dict__.get("_whole")  # made already, or not worth making for one pass
        if whole is not None:
            return whole[rows, rows.start :].copy()
        return self._computed(rows, slice(rows.start, self.n))

    def some_rows(self, rows: slice) -> np.ndarray:
        """Entries of rows at any regular distance, shape (rows, n), to be overwritten."""
        self.ready  # noqa: B018
        return self._computed(rows)

    def run_sums(self, first: np.ndarray, last: np.ndarray) -> np.ndarray:
        """Sums of h_ij over a run of columns j of every row, ``first[i] <= j < last[i]``, shape (n,).

        Both rise with the row, as where rows that are left out beside each other lie together: the cost is that of the
        runs and of squares of 256 rows.
        """

        def work(rows: slice) -> np.ndarray:
            columns = slice(int(first[rows.start]), int(last[rows.stop - 1]))
            strip = self._computed(rows, columns)
            place = np.arange(columns.start, columns.stop)
            inside = (place >= first[rows, None]) & (place < last[rows, None])
            return np.einsum("ij,ij->i", strip, inside)

        self.ready  # noqa: B018
        return np.concatenate(threaded_map(work, row_slices(self.n, _RUNS), None))

    def dense(self) -> np.ndarray:
        """Return the whole matrix, for spectra: refused above 8,000 rows."""
        if len(self) > _DENSE_UP_TO:
            raise InputError(
                f"this null law needs the whole {len(self):,} x {len(self):,} matrix; above {_DENSE_UP_TO:,} rows use "
                "null='saddlepoint' or null='exact'"
            )
        return np.concatenate(self._map(self.rows))


def _sums_by_products(products: KernelProducts, r: np.ndarray) -> np.ndarray:
    """Diagonal, row sums and row sums of squares of ``K_ij <r_i, r_j>``; a square is ``sum_fg r_if r_ig r_jf r_jg``."""
    diagonal = products.diagonal * (r * r).sum(axis=1)
    sums = (products.apply(r) * r).sum(axis=1)
    (first, second), squares = np.triu_indices(r.shape[1]), np.zeros(len(r))
    times = np.where(first == second, 1.0, 2.0)
    for part in row_slices(len(first), max(1, _AT_ONCE // len(r))):
        both = r[:, first[part]] * r[:, second[part]]
        squares += (products.apply(both, 2) * both) @ times[part]
    return np.stack([diagonal, sums + diagonal, squares])


def joint_sums(matrices: Sequence[PairMatrix]) -> tuple[np.ndarray, np.ndarray]:
    """Row sums ``s_i = sum_{j != i} h_ij`` of every matrix, shape (M, n), and ``Q = sum_{i != j} h_ij h'_ij``, (M, M).

    The same sums of a difference ``d = h - h'`` follow without another pass: its row sums are differences, and its sum
    of squares is ``Q_hh - 2 Q_hh' + Q_h'h'``. Every matrix knows its own sums afterwards. Cost: every entry above the
    diagonal once, and n^2 M^2 / 2 products.
    """
    n, models = len(matrices[0]), len(matrices)
    sums, products, diagonals = np.zeros((models, n)), np.zeros((models, models)), np.zeros((models, n))

    def work(rows: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        strips = np.stack([matrix.above(rows) for matrix in matrices])
        width = strips.shape[1]
        diagonal = np.diagonal(strips, axis1=1, axis2=2).copy()
        strips[:, :, :width] = np.triu(strips[:, :, :width], 1)
        flat = strips.reshape(models, -1)
        return strips.sum(axis=2), strips.sum(axis=1), flat @ flat.T, diagonal

    for matrix in matrices:
        matrix.ready  # noqa: B018
    strips = strip_rows(n)
    for first in range(0, len(strips), _STRIPS_AT_ONCE):
        some = strips[first : first + _STRIPS_AT_ONCE]
        for rows, (right, below, part, diagonal) in zip(some, threaded_map(work, some, None), strict=True):
            sums[:, rows] += right
            sums[:, rows.start :] += below
            products += 2 * part
            diagonals[:, rows] = diagonal
    for k, matrix in enumerate(matrices):
        matrix.known(diagonals[k], sums[k], float(products[k, k]))
    return sums, products
