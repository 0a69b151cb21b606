"""The slope of log probabilities, cleared of the frequencies of classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.predictions import ClassPredictions

__all__ = ["Cleared", "shared_intercepts"]


_ROWS = 4096
_INTERCEPTS = 64  # classes with an intercept of their own; the others, expected less often, share one
_VARIES = 1e-9  # of the variance: what is left by rounding alone is no slope


def shared_intercepts(expected: np.ndarray) -> np.ndarray:
    """Number of the intercept of every class: its own, or of many classes a common one of those expected least."""
    m = len(expected)
    if m <= _INTERCEPTS:
        return np.arange(m)
    intercepts = np.full(m, _INTERCEPTS - 1)
    intercepts[np.argsort(-expected, kind="stable")[: _INTERCEPTS - 1]] = np.arange(_INTERCEPTS - 1)
    return intercepts


@dataclass(frozen=True, eq=False)
class Cleared:
    """The score ``sum_i w_i (log p_i[y_i] - shift[y_i])``, uncorrelated with the counts of classes if calibrated.

    Attributes
    ----------
    shift : numpy.ndarray of shape (m,)
        ``c = F^+ a`` of every class, with the covariances F of the counts of classes and a of the counts with the sum
        of log probabilities, given the predictions.
    expected : float
        Expectation of the score under calibration.
    varies : bool
        Whether anything is left: of predictions that are all the same frequencies tell everything.

    Notes
    -----
    With residuals r the score less its expectation is ``sum_i w_i <log p_i - c, r_i>``: the efficient score of the
    slope in ``softmax(a log p + b)`` at a = 1, b = 0. Above 64 classes those expected least share an intercept.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression, for two classes.
    """

    shift: np.ndarray
    expected: float
    varies: bool

    @classmethod
    def of(cls, predictions: ClassPredictions, weights: np.ndarray | None, expected: np.ndarray) -> Self:
        """Sum over rows; `expected` holds the expected counts."""
        probabilities = to_numpy(predictions.probabilities)
        n, m = probabilities.shape
        intercepts = shared_intercepts(expected)
        number = int(intercepts.max()) + 1
        joined = None if number == m else np.eye(number)[intercepts]
        among, along, variance, mean = np.zeros((number, number)), np.zeros(number), 0.0, 0.0
        for part in row_slices(n, _ROWS):
            p = probabilities[part].astype(np.float64)
            w = np.ones(len(p)) if weights is None else weights[part]
            logs = predictions.finite_logs(part)
            own = (p * logs).sum(axis=1, keepdims=True)
            gains = p * (logs - own)
            shares, gained = (p, gains) if joined is None else (p @ joined, gains @ joined)
            squared = w**2
            among += np.diag(squared @ shares) - (shares * squared[:, None]).T @ shares
            along += squared @ gained
            variance += float(squared @ (gains * (logs - own)).sum(axis=1))
            mean += float(w @ own[:, 0])
        shift = np.linalg.pinv(among, rcond=1e-12, hermitian=True) @ along
        left = variance - float(along @ shift)
        own_shift = shift[intercepts]
        return cls(own_shift, mean - float(own_shift @ expected), left > _VARIES * variance)
