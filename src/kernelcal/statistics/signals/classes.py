"""Signals of class predictions: the two failures that are met most often, each with a direction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.pairs import threaded_map
from kernelcal.predictions import Bernoulli, ClassPredictions
from kernelcal.statistics.base import Prepared, Statistic
from kernelcal.statistics.signals.clear import clear_of_zero

__all__ = ["ClassSignals", "PreparedClassSignals"]


_ROWS = 4096
_LOOKED_UP = 2**22  # numbers
_CLASSES_NAMED = 3
_AT_ONCE = 2**18  # numbers of a part of one probability: 2 MiB


@dataclass(frozen=True)
class ClassSignals(Statistic):
    """Bias and slope of class predictions, and labels that the predictions had ruled out.

    ``bias``: is a class predicted too often or too seldom? ``max_k |N_k - E_k| / sqrt(V_k + 1)`` with the count
    N_k, its expectation ``E_k = sum_i p_ik`` and its variance ``V_k = sum_i p_ik (1 - p_ik)``. The 1 keeps a class
    that is expected less than once from ruling the maximum.

    ``slope``: are the predictions too sharp or not sharp enough? ``|sum_i <log p_i, r_i>|``, that is the log
    score minus its expectation; the derivative of the likelihood in the (inverse) temperature. Impossible labels are
    left out here: one wrong zero must not hide the direction of all other rows.

    ``impossible``: number of labels whose predicted probability was exactly 0. It is 0 in every draw, so one such
    label is proof.

    Notes
    -----
    Case weights w multiply every row: ``N_k = sum_i w_i 1[y_i = k]``, ``V_k = sum_i w_i^2 p_ik (1 - p_ik)``.
    Cost: O(n m) once and O(n) a draw.
    """

    def prepare(self, predictions: ClassPredictions, weights: np.ndarray | None = None) -> PreparedClassSignals:
        """Sum what the predictions say."""
        if isinstance(predictions, Bernoulli):
            return PreparedBinarySignals(predictions, weights)
        return PreparedClassSignals(predictions, weights)


class PreparedClassSignals(Prepared):
    """Signals of fixed predictions, with their directions."""

    names = ("impossible label", "slope", "bias")
    directed = ("slope", "bias")
    aimless = "no single direction: how frequencies deviate changes from prediction to prediction"
    engine = "sums over rows"

    def __init__(self, predictions: ClassPredictions, weights: np.ndarray | None = None) -> None:
        self.predictions, self.weights = predictions.map_arrays(to_numpy), weights
        self.p = to_numpy(predictions.probabilities)
        n, m = self.p.shape
        self.bytes_per_draw = 64 * m
        self.expected, self.variance = np.zeros(m), np.zeros(m)
        self.expected_score = 0.0
        for part in row_slices(n, _ROWS):
            p = self.p[part].astype(np.float64)
            w = np.ones(len(p)) if weights is None else weights[part]
            self.expected += w @ p
            self.variance += w**2 @ (p * (1 - p))
            self.expected_score += float(w @ (p * self.predictions.finite_logs(part)).sum(axis=1))

    def counts(self, labels: np.ndarray) -> np.ndarray:
        """How often each class occurs (the sum of its weights), for labels of shape (B, n): shape (B, m)."""
        draws, m = len(labels), len(self.expected)
        offsets, counts = m * np.arange(draws, dtype=np.int64)[:, None], np.zeros(draws * m)
        for part in _parts(labels):
            w = None if self.weights is None else np.tile(self.weights[part], draws)
            counts += np.bincount((labels[:, part] + offsets).ravel(), w, minlength=draws * m)
        return counts.reshape(draws, m)

    def bias(self, labels: np.ndarray) -> np.ndarray:
        """Standardised count of each class, positive where it occurs more often than predicted: (B, m)."""
        return (self.counts(labels) - self.expected) / np.sqrt(self.variance + 1)

    def slope(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log score minus its expectation (positive: under-confident) and number of impossible labels: (B,) each."""
        total, impossible = np.full(len(labels), -self.expected_score), np.zeros(len(labels), dtype=np.int64)
        for part in _parts(labels):
            logs = self.predictions[part].log_probability_of(labels[:, part])
            ruled_out = np.isneginf(logs)
            logs[ruled_out] = 0
            total += logs.sum(axis=1) if self.weights is None else logs @ self.weights[part]
            impossible += ruled_out.sum(axis=1)
        return total, impossible

    def values(self, labels: np.ndarray) -> np.ndarray:
        """Number of impossible labels, slope and bias without direction, shape (B, 3)."""
        slope, impossible = self.slope(labels)
        return np.stack([impossible, np.abs(slope), np.abs(self.bias(labels)).max(axis=1)], axis=1)

    def clear(self, name: str, labels: np.ndarray) -> bool:
        """Tell whether a signal deviates by the spread of the observed rows too, for one set of labels."""
        slope, bias = self._clear(labels)
        return bool(slope) if name == "slope" else bool(bias.any())

    def _clear(self, labels: np.ndarray) -> tuple[np.bool_, np.ndarray]:
        """The same of the slope, and of the bias of every class."""
        m, n = len(self.expected), len(labels)
        sums, squares = np.zeros(m + 1), np.zeros(m + 1)
        for part in row_slices(n, _ROWS):
            p = self.p[part].astype(np.float64)
            w = np.ones(len(p)) if self.weights is None else self.weights[part]
            logs = self.predictions.finite_logs(part)
            rows = np.arange(len(p))
            terms = np.column_stack([-p, logs[rows, labels[part]] - (p * logs).sum(axis=1)])
            terms[rows, labels[part]] += 1
            terms *= w[:, None]
            sums += terms.sum(axis=0)
            squares += (terms**2).sum(axis=0)
        several = slice(1, 2) if m == 2 else slice(0, m)  # of two classes one tells all
        bias = clear_of_zero(sums[several], squares[several], n)
        return clear_of_zero(sums[m:], squares[m:], n)[0], np.repeat(bias, 2) if m == 2 else bias

    def sentence(self, name: str, labels: np.ndarray) -> str:
        """Say in which direction a signal deviates, for one set of labels."""
        if name == "slope":
            return "over-confident" if float(self.slope(labels[None])[0][0]) < 0 else "under-confident"
        deviations, counts = self.bias(labels[None])[0], self.counts(labels[None])[0]
        if len(deviations) == 2:
            return self._one_class(1, deviations[1], counts[1])
        clear = self._clear(labels)[1]
        largest = np.argsort(-np.abs(deviations))[:_CLASSES_NAMED]
        first = largest[0]
        strong = [k for k in largest if k == first or (clear[k] and abs(deviations[k]) >= 0.5 * abs(deviations[first]))]
        return ", ".join(self._one_class(k, deviations[k], counts[k]) for k in strong)

    def _one_class(self, k: int, deviation: float, count: float) -> str:
        word = "over-predicted" if deviation < 0 else "under-predicted"
        name, expected = self.predictions.class_name(k), self.expected[k]
        return f"class {name} is {word} ({expected:,.1f} expected, {count:,.10g} observed)"


class PreparedBinarySignals(PreparedClassSignals):
    """The same of one probability: all are linear in labels 0 and 1, and many draws one matrix product."""

    def counts(self, labels: np.ndarray) -> np.ndarray:
        """How often each class occurs (the sum of its weights), for labels of shape (B, n): shape (B, 2)."""
        positive = labels @ self.weights if self.weights is not None else labels.sum(axis=1, dtype=np.int64)
        total = labels.shape[1] if self.weights is None else self.weights.sum()
        return np.stack([total - positive, positive], axis=1).astype(np.float64)

    def slope(self, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Log score minus its expectation (positive: under-confident) and number of impossible labels: (B,) each."""
        parts = row_slices(labels.shape[1], max(1, _AT_ONCE // max(len(labels), 1)))
        sums = threaded_map(lambda part: labels[:, part].astype(np.float64) @ self._gains[part], parts, None)
        logs, impossible = (np.sum(sums, axis=0) + self._at_zero).T
        return logs - self.expected_score, impossible.astype(np.int64)

    @cached_property
    def _terms(self) -> tuple[np.ndarray, np.ndarray]:
        """Log score and whether the label is impossible, of every row: for label 0 and for label 1, shape (n, 2)."""
        logs = self.predictions.finite_logs(slice(None))
        logs *= 1 if self.weights is None else self.weights[:, None]
        labels = np.zeros(len(logs), dtype=np.int64)
        zero, one = (np.stack([logs[:, k], self.predictions.impossible(labels + k)], axis=1) for k in (0, 1))
        return zero, one

    @cached_property
    def _at_zero(self) -> np.ndarray:
        return self._terms[0].sum(axis=0)

    @cached_property
    def _gains(self) -> np.ndarray:
        """What label 1 adds to label 0."""
        return self._terms[1] - self._terms[0]


def _parts(labels: np.ndarray) -> list[slice]:
    """Slices of rows: what is looked up for all draws at once stays below 32 MiB."""
    draws, n = labels.shape
    return row_slices(n, _LOOKED_UP // max(draws, 1))
