"""Repeated predictions: one row for all that are equal, their residuals added up. Exact, for any kernel."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.pairs.base import KernelProducts, QuadraticForms, Sums
from kernelcal.pairs.feature_tiles import FeatureTiles
from kernelcal.pairs.group_residual import GroupResidual
from kernelcal.pairs.groups import EqualRows, groups_of
from kernelcal.residuals import ClassResidual

__all__ = ["Collapsed", "CollapsedForms"]

_SECONDS = 1e-9  # in which a label is counted
_KEPT_UP_TO = 4_000  # predictions: the kernel matrix takes 128 MiB
_ALL = slice(None)


class Collapsed(KernelProducts):
    """Sums with a kernel that has one row for all equal predictions, its matrix (u, u) held."""

    def __init__(self, kernel: np.ndarray, groups: EqualRows) -> None:
        self.kernel, self.groups = kernel, groups

    @cached_property
    def diagonal(self) -> np.ndarray:
        """Values K_ii."""
        return np.asarray(np.diag(self.kernel)[self.groups.member])

    def apply(self, columns: np.ndarray, exponent: int = 1) -> np.ndarray:
        """Sums over j != i of ``K_ij^exponent c_j`` for every row i and column c, shape (n, J)."""
        sums = self.kernel**exponent @ self.groups.total(columns)
        return sums[self.groups.member] - (self.diagonal**exponent)[:, None] * columns

    def triples(self, values: np.ndarray) -> float:
        """Sum of ``K_ij K_jk K_ki v_i v_j v_k`` over ordered triples of different rows, for v of shape (n,).

        All triples, less those in which two rows are one: three times the pairs, of which twice the single rows.
        """
        powers = self.groups.total(np.stack([values, values**2, values**3], axis=1)).T
        k, own = self.kernel, np.diag(self.kernel)
        whole = (k * powers[0]) @ (k * powers[0])
        pairs = (own * powers[1]) @ (k**2 @ powers[0])
        return float(np.einsum("ab,ba,a->", whole, k, powers[0]) - 3 * pairs + 2 * (own**3 @ powers[2]))


class CollapsedForms(QuadraticForms):
    """Exact pairs of unique predictions: their residuals are sums, and the rows' own pairs are taken out.

    ``sum_{i != j} K_ij <r_i, r_j> = sum_ab K_ab <R_a, R_b> - sum_i K_ii |r_i|^2`` with the sums R_a of the residuals of
    equal predictions.
    """

    def __init__(self, tiles: FeatureTiles, groups: EqualRows, residual: ClassResidual) -> None:
        self.tiles, self.groups = tiles, groups
        self.residual = GroupResidual(residual, groups)
        unique = tiles.predictions[groups.first]
        self.forms = FeatureTiles(tiles.shape, tiles.threads, tiles.kernels, unique, self.residual)
        several = "s" * (len(groups) > 1)
        self.label = f"exact pairs of {len(groups):,} unique prediction{several}"
        self.bytes_per_draw = self.forms.bytes_per_draw

    @property
    def seconds(self) -> float:
        """Time of one set of targets, roughly."""
        return self.forms.seconds + _SECONDS * len(self.groups.member)

    @property
    def seconds_per_draw(self) -> float:
        """The same for each of many sets of targets and each kernel."""
        return self.forms.seconds_per_draw + _SECONDS * len(self.groups.member) / len(self.tiles.kernels)

    @classmethod
    def of_repeated(cls, tiles: FeatureTiles) -> CollapsedForms | None:
        """Return unique predictions in the place of tiles, where there are few."""
        if not isinstance(tiles.residual, ClassResidual):
            return None
        groups = groups_of(tiles.predictions)
        return None if groups is None else cls(tiles, groups, tiles.residual)

    @cached_property
    def products(self) -> KernelProducts | None:
        """Sums with the kernel matrix of the unique predictions, where it may be held."""
        if len(self.groups) > _KEPT_UP_TO:
            return None
        return Collapsed(self.forms.kernel_rows(_ALL), self.groups)

    def of(self, targets: np.ndarray) -> Sums:
        """Sums of the first kernel for one set of targets."""
        sums = self.batch(targets[None])
        return Sums(sums.off_diagonal[0, 0], sums.diagonal[0, 0])

    def batch(self, targets: np.ndarray) -> Sums:
        """Sums of all kernels for many sets of targets."""
        counts = self.residual.counts(targets)
        r = self.residual.of_counts(counts)
        groups = np.einsum("bak,bak->ba", r, r) @ self._diagonals
        rows = self.residual.norms(targets, counts) @ self._diagonals
        different = self.forms.by_columns(np.ascontiguousarray(r.transpose(1, 0, 2)))
        return Sums(different + (groups - rows), rows)

    @cached_property
    def _diagonals(self) -> np.ndarray:
        """K_aa of every kernel, shape (u, kernels)."""
        return np.stack([to_numpy(d).astype(np.float64) for d in self.forms._diagonals], axis=1)

    def kernel_rows(self, rows: slice, columns: slice = _ALL) -> np.ndarray:
        """Values of the first kernel for some rows and columns."""
        return self.tiles.kernel_rows(rows, columns)
