"""Pseudo-surprises of scores where every model is asked about an outcome of its own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from kernelcal.inference.intervals.surprises import Error, pseudo_rows
from kernelcal.predictions import ClassPredictions

__all__ = ["OwnSurprises"]


class OwnSurprises:
    """Pseudo-differences of scores of models each of which has an outcome of its own.

    Outcomes of two models are taken as independent given the predictions, each as its model expects it. What counts
    as a surprise is any pair of outcomes but the likeliest of both. With ``S_a`` the score of model a under its own
    law, ``E (S_a - S_b - d)^2`` over all pairs of outcomes has a closed form by the first two moments of each; the
    pair of the likeliest ones is taken off.

    Parameters
    ----------
    batches : sequence of ClassPredictions
        One a model, of the same rows.
    scores : callable
        Scores of every outcome, shape (n, m), from probabilities of this shape.
    """

    def __init__(self, batches: Sequence[ClassPredictions], scores: Callable[[np.ndarray], np.ndarray]) -> None:
        self.n = len(batches[0])
        some = pseudo_rows(self.n)
        tables = [batch.table()[some].astype(np.float64) for batch in batches]
        values = [scores(table) for table in tables]
        rows = np.arange(len(tables[0]))
        best = [table.argmax(axis=1) for table in tables]
        self.means = [(p * s).sum(axis=1) for p, s in zip(tables, values, strict=True)]
        self.squares = [(p * s**2).sum(axis=1) for p, s in zip(tables, values, strict=True)]
        self.largest = [p[rows, k] for p, k in zip(tables, best, strict=True)]
        self.likely = [s[rows, k] for s, k in zip(values, best, strict=True)]

    def errors(self, rows: np.ndarray, a: int, b: int) -> Error:
        """Standard error of the mean of differences of two models, for a number of surprises."""
        mean, n = float(rows.mean()), self.n
        own = float(((rows - mean) ** 2).sum())
        first, second = self.means[a], self.means[b]
        whole = self.squares[a] + self.squares[b] - 2 * first * second - 2 * mean * (first - second) + mean**2
        together = self.largest[a] * self.largest[b]
        total = float((1 - together).sum())
        beyond = float((whole - together * (self.likely[a] - self.likely[b] - mean) ** 2).sum())
        more = max(beyond, 0.0) / total if total > 0 else 0.0
        return lambda surprises: math.sqrt((own + surprises * more) / ((n + surprises - 1) * (n + surprises)))
