"""Proper scores and accuracy of class predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.cases import Case
from kernelcal.predictions import Bernoulli

__all__ = [
    "accuracy",
    "accuracy_of",
    "brier_score",
    "brier_score_of",
    "brier_score_rows",
    "brier_score_rows_of",
    "log_score",
    "log_score_of",
    "log_score_rows",
    "log_score_rows_of",
]


_ROWS = 4096  # a float64 copy of wide predictions is made a part at a time


def accuracy(y: Any, predictions: Any, *, weights: Any = None, classes: Any = None) -> float:
    """Share of rows whose label has the largest predicted probability (the first of equals; of two, the second).

    Of predictions seen through the top-label lens it is the share of hits, since the first choice is the choice.

    Examples
    --------
    >>> from kernelcal.statistics import accuracy
    >>> accuracy([0, 1], [[0.9, 0.1], [0.6, 0.4]])
    0.5
    """
    return accuracy_of(Case.of(y, predictions, weights=weights, classes=classes))


def accuracy_of(case: Case) -> float:
    """Accuracy of what was checked already."""
    labels, batch = case.targets, case.of_classes().predictions
    return case.mean(labels == 1 if batch.question == "top label" else batch.top_labels() == labels)


def log_score(y: Any, predictions: Any, *, weights: Any = None, classes: Any = None) -> float:
    """Mean of ``-log p_i[y_i]`` in nats; smaller is better, infinite if a label had probability 0.

    Examples
    --------
    >>> from kernelcal.statistics import log_score
    >>> round(log_score([0, 1], [[0.9, 0.1], [0.6, 0.4]]), 6)
    0.510826
    """
    return log_score_of(Case.of(y, predictions, weights=weights, classes=classes))


def log_score_of(case: Case) -> float:
    """Mean log score of what was checked already."""
    return case.mean(log_score_rows_of(case))


def log_score_rows(y: Any, predictions: Any, *, classes: Any = None) -> np.ndarray:
    """``-log p_i[y_i]`` of every row, in nats, shape (n,).

    Examples
    --------
    >>> from kernelcal.statistics import log_score_rows
    >>> log_score_rows([0, 1], [[0.9, 0.1], [0.6, 0.4]]).round(4)
    array([0.1054, 0.9163])
    """
    return log_score_rows_of(Case.of(y, predictions, classes=classes))


def log_score_rows_of(case: Case) -> np.ndarray:
    """Log score of every row of what was checked already."""
    return 0.0 - case.of_classes().predictions.log_probability_of(case.targets)


def brier_score(y: Any, predictions: Any, *, weights: Any = None, classes: Any = None) -> float:
    """Brier score, smaller is better.

    Mean of ``sum_k (p_ik - 1[y_i = k])^2`` over the classes, in [0, 2]; for `Bernoulli` the usual
    ``(p - y)^2`` of the one probability, which is half of it.

    Examples
    --------
    >>> from kernelcal.statistics import brier_score
    >>> round(brier_score([0, 1, 0, 1], [0.1, 0.35, 0.62, 0.88]), 6)
    0.207825
    """
    return brier_score_of(Case.of(y, predictions, weights=weights, classes=classes))


def brier_score_of(case: Case) -> float:
    """Brier score of what was checked already."""
    return case.mean(brier_score_rows_of(case))


def brier_score_rows(y: Any, predictions: Any, *, classes: Any = None) -> np.ndarray:
    """Brier score of every row, as `brier_score` takes the mean of, shape (n,).

    Examples
    --------
    >>> from kernelcal.statistics import brier_score_rows
    >>> brier_score_rows([0, 1], [[0.9, 0.1], [0.6, 0.4]]).round(4)
    array([0.02, 0.72])
    """
    return brier_score_rows_of(Case.of(y, predictions, classes=classes))


def brier_score_rows_of(case: Case) -> np.ndarray:
    """Brier score of every row of what was checked already."""
    labels, batch = case.targets, case.of_classes().predictions
    if isinstance(batch, Bernoulli):
        found: np.ndarray = (to_numpy(batch.p).astype(np.float64) - labels) ** 2
        return found
    p = batch.table()
    own = np.concatenate(
        [(p[part].astype(np.float64) ** 2).sum(axis=1) for part in row_slices(len(p), _ROWS, p.shape[1])]
    )
    rows: np.ndarray = own - 2 * p[np.arange(len(p)), labels].astype(np.float64) + 1
    return rows
