"""Sums of residuals over clusters: whether these differ by more than a shared part, and what flipped signs say."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.dependence import Dependence, Scores
from kernelcal.kernels import Standardised
from kernelcal.predictions import Bernoulli, ClassPredictions, QuantileCells, Quantiles
from kernelcal.randomness import generator_of
from kernelcal.statistics import Prepared

__all__ = [
    "ClusterSums",
    "FlippedSums",
    "explaining",
    "flipped_values",
    "observed_and_flipped",
    "under_signs",
]


class ClusterSums(Prepared):
    """Sums over clusters of residuals, alone and times location and width: ``V_j = sum_g S_gj^2 / sum_i s_ij^2``.

    In V_j residuals are taken less their mean over all rows: an error that all clusters have alike is no difference
    between them, nor is one that makes every residual larger.
    """

    engine = "sums over clusters"

    def __init__(self, scores: Scores, case: Case, rows: Dependence) -> None:
        assert rows.clusters is not None
        self.scores, self.weights, self.clusters, self.groups = scores, case.weights, rows.clusters, rows.groups
        self.by = explaining(case.predictions)
        self.of_width = not isinstance(case.predictions, ClassPredictions)
        number = self.by.shape[1] * (1 + self.of_width)
        self.names = tuple(f"sums of clusters {k + 1}" for k in range(number))
        self.bytes_per_draw = 32 * len(case)

    def of(self, targets: np.ndarray) -> np.ndarray:
        """Sums over clusters of targets (B, n): shape (B, G, J)."""
        return self._summed(self._of_rows(targets))

    def values(self, targets: np.ndarray) -> np.ndarray:
        """How much more residuals of one cluster are alike than those of others, shape (B, J)."""
        rows = self._of_rows(targets)
        share = np.full(rows.shape[1], 1 / rows.shape[1]) if self.weights is None else self.weights / self.weights.sum()
        rows -= share[:, None] * rows.sum(axis=1, keepdims=True)
        own, between = (rows**2).sum(axis=1), (self._summed(rows) ** 2).sum(axis=1)
        return np.asarray(np.divide(between, own, out=np.zeros_like(own), where=own > 0))

    def _of_rows(self, targets: np.ndarray) -> np.ndarray:
        """Weighted scores, and of numbers how much larger their squares are than 1, each times what explains."""
        e = self.scores(targets)
        parts = np.stack([e, e**2 - 1] if self.of_width else [e], axis=-1)[..., None] * self.by[:, None, :]
        rows = parts.reshape(*e.shape, -1)
        return rows if self.weights is None else rows * self.weights[:, None]

    def _summed(self, rows: np.ndarray) -> np.ndarray:
        sums = np.zeros((len(rows), self.groups, rows.shape[2]))
        for b in range(len(rows)):
            np.add.at(sums[b], self.clusters, rows[b])
        return sums


def explaining(predictions: Any) -> np.ndarray:
    """One, and location and log width of every prediction on their own scale, centred; constant columns left out."""
    if isinstance(predictions, Bernoulli):
        p = np.clip(to_numpy(predictions.p).astype(np.float64), 1e-6, 1 - 1e-6)
        columns = _robust(np.log(p / (1 - p))[:, None])
    elif isinstance(predictions, Quantiles | QuantileCells):
        q = to_numpy(predictions.values).astype(np.float64)
        columns = _robust(np.column_stack([q[:, q.shape[1] // 2], q[:, -1] - q[:, 0]]))
    else:
        columns = to_numpy(Standardised().resolved(predictions).coordinates(predictions)).astype(np.float64)
    columns = columns - columns.mean(axis=0)
    return np.column_stack([np.ones(len(columns)), columns[:, columns.any(axis=0)]])


def _robust(columns: np.ndarray) -> np.ndarray:
    """Columns less their medians in units of the quartiles' distance, held within 6 of them."""
    low, middle, high = np.quantile(columns, [0.25, 0.5, 0.75], axis=0)
    spread = np.where(high > low, (high - low) / 1.349, columns.std(axis=0))
    return np.asarray(np.clip((columns - middle) / np.where(spread > 0, spread, 1.0), -6, 6))


@dataclass(frozen=True, eq=False)
class FlippedSums:
    """Signs of clusters (draws + 1, G), as observed in row 0, and values of J sums under them, (draws + 1, J)."""

    signs: np.ndarray
    values: np.ndarray


def flipped_values(sums: np.ndarray, draws: int, rng: object) -> FlippedSums:
    """``|sum_g e_g S_gj| / sqrt(sum_g S_gj^2)`` with random signs e_g.

    Parameters
    ----------
    sums : numpy.ndarray of shape (G, J)
        Sums over clusters.
    draws : int
        Sets of signs.
    rng
        Seed.

    Notes
    -----
    Valid for many clusters whose sums are symmetric about 0. A set of signs and its opposite are the same: with G
    clusters no p-value is below ``2^(1 - G)``.
    """
    signs = observed_and_flipped(len(sums), draws, rng)
    return FlippedSums(signs, under_signs(sums, signs))


def observed_and_flipped(clusters: int, draws: int, rng: object) -> np.ndarray:
    """Signs of clusters, shape (draws + 1, G): ones, as observed, in row 0, and random ones below."""
    signs = generator_of(rng, "signs of clusters").integers(0, 2, size=(draws, clusters)) * 2.0 - 1.0
    return np.concatenate([np.ones((1, clusters)), signs])


def under_signs(sums: np.ndarray, signs: np.ndarray) -> np.ndarray:
    """``|sum_g e_g S_gj| / sqrt(sum_g S_gj^2)`` of sums (G, J) under signs (B, G), shape (B, J)."""
    spread = np.sqrt((sums**2).sum(axis=0))
    return np.asarray(np.abs(signs @ (sums / np.where(spread > 0, spread, 1.0))))
