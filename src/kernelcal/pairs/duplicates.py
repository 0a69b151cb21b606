"""Repeated predictions: one row for all that are equal, their residuals added up. Exact, for any kernel."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.errors import InputError
from kernelcal.pairs.base import KernelProducts, QuadraticForms, Sums, threaded_map
from kernelcal.pairs.tile_sums import FeatureTiles
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.randomness import generator_of
from kernelcal.residuals import ClassResidual, FeatureResidual

__all__ = ["Collapsed", "CollapsedForms", "EqualRows", "GroupResidual", "groups_of"]


_REPEATED = 4  # rows a prediction, on average, from which on collapsing pays
_SAMPLE, _LEAST, _EQUAL = 10, 5_000, 20  # roots of n and rows of a sample, and equal rows in it at the least
_COMPARED = 2**20  # numbers compared at once


@dataclass(frozen=True, eq=False)
class EqualRows:
    """Rows with equal predictions.

    Attributes
    ----------
    first : numpy.ndarray of shape (u,)
        A row of every group.
    member : numpy.ndarray of shape (n,)
        Group of every row.
    """

    first: np.ndarray
    member: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    def total(self, values: np.ndarray) -> np.ndarray:
        """Add up over the rows of every group: shape (n, J) -> (u, J)."""
        return np.stack([np.bincount(self.member, column, len(self)) for column in values.T], axis=1)


def groups_of(predictions: Predictions) -> EqualRows | None:
    """EqualRows of equal predictions of classes, or None where there are more than n / 4 of them.

    Most predictions have few equal ones or none, which a seeded sample of ``10 sqrt(n)`` rows shows: of n / 4
    predictions it would meet more than a hundred twice.
    """
    given = predictions.reference if isinstance(predictions, ClassPredictions) else None
    if not isinstance(given, np.ndarray):
        return None
    n = len(given)
    if n > _LEAST:
        seeded, size = generator_of(0, "rows that are looked at for equal ones"), max(_LEAST, int(_SAMPLE * n**0.5))
        rows = np.unique(seeded.integers(n, size=size))
        if len(rows) - len(np.unique(_codes(_numbers(given[rows])))) < _EQUAL:
            return None
    p = _numbers(given)
    _, first, member = np.unique(_codes(p), return_index=True, return_inverse=True)
    if _REPEATED * len(first) > n or not _same(p, first, member):
        return None
    return EqualRows(first, member)


def _codes(p: np.ndarray) -> np.ndarray:
    """Whole numbers that are equal for equal rows, and hardly ever for others: sums of bits times odd numbers."""
    bits = p.view(np.uint32 if p.dtype == np.float32 else np.uint64).astype(np.uint64, copy=False)
    mixed = bits * _odd_factors(bits.shape[1])
    mixed ^= mixed >> np.uint64(32)
    return mixed.sum(axis=1, dtype=np.uint64)


@cache
def _odd_factors(size: int) -> np.ndarray:
    """The same numbers in every run; those of a hash are no random numbers to any data."""
    factors = generator_of(0, "factors of a hash").integers(2**63, size=size, dtype=np.uint64)
    return factors * np.uint64(2) + np.uint64(1)


def _numbers(p: np.ndarray) -> np.ndarray:
    """Probabilities as floating-point numbers, zeros without a sign: (n, m), or (n, 1) for one probability."""
    p = p[:, None] if p.ndim == 1 else p
    return np.ascontiguousarray(p if p.dtype == np.float32 else p.astype(np.float64)) + p.dtype.type(0)


def _same(p: np.ndarray, first: np.ndarray, member: np.ndarray) -> bool:
    parts = row_slices(len(p), max(1, _COMPARED // p.shape[1]))
    return all(np.array_equal(p[part], p[first[member[part]]]) for part in parts)


_MANY = 20_000  # rows; below, threads cost more than they save


class GroupResidual(FeatureResidual):
    """Sums of the residuals of equal predictions: for targets of all rows, the residuals of the groups.

    A group's sum follows from how often each label occurs in it, case weights counted.
    """

    weights = None  # they are in the counts

    def __init__(self, residual: ClassResidual, groups: EqualRows) -> None:
        self.residual, self.groups = residual.double(), groups
        self.mean = self.residual.mean[groups.first]
        ones = np.ones(len(groups.member)) if residual.weights is None else residual.weights
        self.total = np.bincount(groups.member, ones, len(groups))

    @property
    def dimension(self) -> int:
        """Number of features r."""
        return self.residual.dimension

    def __len__(self) -> int:
        return len(self.groups)

    def __getitem__(self, index: Any) -> Any:
        raise InputError("residuals of equal predictions are added up for all rows at once")

    def bound(self) -> float:
        """Bound for single rows."""
        return self.residual.bound()

    def double(self) -> GroupResidual:
        """Return itself: it is in NumPy and float64."""
        return self

    @cached_property
    def _codes(self) -> np.ndarray:
        """Number of the first label of every row's group."""
        return self.groups.member * len(self.residual.label_features)

    def counts(self, targets: np.ndarray, exponent: int = 1) -> np.ndarray:
        """How often each label occurs in each group, a row counted by a power of its weight: (B, n) -> (B, u, m)."""
        weights, size = self.residual.weights, len(self) * len(self.residual.label_features)
        own = None if weights is None else weights**exponent
        threads = None if targets.shape[1] >= _MANY else 1
        found = threaded_map(lambda labels: np.bincount(self._codes + labels, own, size), targets, threads)
        return np.stack(found).reshape(len(targets), len(self), -1).astype(np.float64, copy=False)

    def of_counts(self, counts: np.ndarray) -> np.ndarray:
        """Sums of residuals, shape (B, u, r)."""
        features = self.residual.class_features
        return (counts if features is None else counts @ features) - self.total[:, None] * self.mean

    def features(self, targets: np.ndarray) -> np.ndarray:
        """Sums of one set of targets, shape (u, r)."""
        return self.of_counts(self.counts(targets[None]))[0]

    def batch(self, targets: np.ndarray) -> np.ndarray:
        """Sums of many sets of targets, shape (B, n): an array (u, B, r)."""
        return self.of_counts(self.counts(targets)).transpose(1, 0, 2)

    def norms(self, targets: np.ndarray, counts: np.ndarray) -> np.ndarray:
        """Sums of the squared norms of the single residuals, (B, u); `counts` are those of the targets."""
        if self.residual.weights is not None:
            counts = self.counts(targets, 2)
        return np.einsum("bak,ak->ba", counts, self._squares)

    @cached_property
    def _squares(self) -> np.ndarray:
        """|psi_k - mean_a|^2 for every label and group."""
        features, mean = self.residual.class_features, self.mean
        if features is None:
            own = mean**2
            return np.maximum(own.sum(axis=1, keepdims=True) - own, 0.0) + (1 - mean) ** 2
        return np.stack([((row - mean) ** 2).sum(axis=1) for row in features], axis=1)


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

    @property
    def seconds_per_column(self) -> float:
        """Time of one column: rows are added up and looked up, unique predictions multiplied."""
        return 3e-8 * len(self.groups.member) + 2.5e-10 * len(self.groups) ** 2

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
        groups = tiles.found.once(groups_of)
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
