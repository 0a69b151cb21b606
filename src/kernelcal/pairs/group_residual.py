"""Sums of the residuals of equal predictions, from how often each label occurs."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.pairs.groups import EqualRows
from kernelcal.pairs.threads import threaded_map
from kernelcal.residuals import ClassResidual, FeatureResidual

__all__ = ["GroupResidual"]

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
    def _psi(self) -> np.ndarray:
        features = self.residual.class_features
        return np.eye(self.dimension) if features is None else features

    @cached_property
    def _codes(self) -> np.ndarray:
        """Number of the first label of every row's group."""
        return self.groups.member * len(self._psi)

    def counts(self, targets: np.ndarray, exponent: int = 1) -> np.ndarray:
        """How often each label occurs in each group, a row counted by a power of its weight: (B, n) -> (B, u, m)."""
        weights, size = self.residual.weights, len(self) * len(self._psi)
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
        return np.stack([((row - self.mean) ** 2).sum(axis=1) for row in self._psi], axis=1)
