"""Rows with equal predictions, found by whole numbers made of their bits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.arrays import is_numpy, row_slices, to_numpy
from kernelcal.predictions import ClassPredictions, Predictions

__all__ = ["EqualRows", "groups_of"]

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
    if not isinstance(predictions, ClassPredictions) or not is_numpy(predictions.reference):
        return None
    n = len(predictions)
    if n > _LEAST:
        rows = np.random.default_rng(0).integers(n, size=max(_LEAST, int(_SAMPLE * n**0.5)))
        rows = np.unique(rows)
        if len(rows) - len(np.unique(_codes(predictions[rows]))) < _EQUAL:
            return None
    _, first, member = np.unique(_codes(predictions), return_index=True, return_inverse=True)
    if _REPEATED * len(first) > n or not _same(predictions, first, member):
        return None
    return EqualRows(first, member)


def _codes(predictions: ClassPredictions) -> np.ndarray:
    """Whole numbers that are equal for equal rows, and hardly ever for others: sums of bits times odd numbers."""
    p = _numbers(predictions)
    bits = p.view(np.uint32 if p.dtype == np.float32 else np.uint64).astype(np.uint64, copy=False)
    factors = np.random.default_rng(0).integers(2**63, size=bits.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(
        1
    )
    mixed = bits * factors
    mixed ^= mixed >> np.uint64(32)
    return mixed.sum(axis=1, dtype=np.uint64)


def _numbers(predictions: ClassPredictions) -> np.ndarray:
    """Probabilities as floating-point numbers, zeros without a sign: (n, m), or (n, 1) for one probability."""
    p = to_numpy(predictions.reference)
    p = p[:, None] if p.ndim == 1 else p
    return np.ascontiguousarray(p if p.dtype == np.float32 else p.astype(np.float64)) + p.dtype.type(0)


def _same(predictions: ClassPredictions, first: np.ndarray, member: np.ndarray) -> bool:
    p = _numbers(predictions)
    parts = row_slices(len(p), max(1, _COMPARED // p.shape[1]))
    return all(np.array_equal(p[part], p[first[member[part]]]) for part in parts)
