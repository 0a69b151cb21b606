"""Negative log-likelihood and squared error of predictions of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import RealPredictions

__all__ = [
    "mean_squared_error",
    "mean_squared_error_of",
    "negative_log_likelihood",
    "negative_log_likelihood_of",
    "negative_log_likelihood_rows",
    "negative_log_likelihood_rows_of",
]


def negative_log_likelihood(y: Any, predictions: Any, *, weights: Any = None) -> float:
    """Mean of ``-log p_i(y_i)`` in nats; smaller is better, infinite if a target was impossible.

    Of continuous targets p_i is a density, so the score depends on the unit of the target and may be negative; of
    counts it is a probability.

    Parameters
    ----------
    y : array of shape (n, ...)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of numbers or vectors.
    weights : array of shape (n,), optional
        Case weights, not negative.

    Raises
    ------
    InputError
        For families without a density, such as `Samples`: a density estimated from draws would be a guess.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import negative_log_likelihood
    >>> round(negative_log_likelihood([0.0, 2.0], kc.Normal([0.0, 0.0], [1.0, 1.0])), 6)
    1.918939
    """
    return negative_log_likelihood_of(Case.of(y, predictions, weights=weights))


def negative_log_likelihood_of(case: Case) -> float:
    """Mean negative log-likelihood of what was checked already."""
    return case.mean(negative_log_likelihood_rows_of(case))


def negative_log_likelihood_rows(y: Any, predictions: Any) -> np.ndarray:
    """``-log p_i(y_i)`` of every row, in nats, shape (n,): see `negative_log_likelihood`.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import negative_log_likelihood_rows
    >>> negative_log_likelihood_rows([0.0, 2.0], kc.Normal([0.0, 0.0], [1.0, 1.0])).round(4)
    array([0.9189, 2.9189])
    """
    return negative_log_likelihood_rows_of(Case.of(y, predictions))


def negative_log_likelihood_rows_of(case: Case) -> np.ndarray:
    """Negative log-likelihood of every row of what was checked already."""
    targets, batch = case.targets, case.of_numbers().in_numpy.predictions
    if type(batch).log_prob is RealPredictions.log_prob:
        raise InputError(
            f"{type(batch).__name__} has no density, so there is no log score: use "
            "kernelcal.statistics.crps, which draws and quantiles have too"
        )
    with np.errstate(divide="ignore"):
        logs = to_numpy(batch.log_prob(targets)).astype(np.float64)
    infinite = np.isposinf(logs)
    if infinite.any():
        row = int(np.argmax(infinite))
        raise InputError(
            f"the density of {type(batch).__name__} in row {row} is infinite at the target {np.round(targets[row], 6)} "
            f"({int(infinite.sum())} such rows), so there is no log score: a value that happens again and again, such "
            "as 0, needs a law with a probability for it; kernelcal.statistics.crps is finite"
        )
    return 0.0 - logs


def mean_squared_error(y: Any, predictions: Any, *, weights: Any = None) -> float:
    """Mean of ``(y_i - mean_i)^2``, over rows and over the coordinates of a target.

    It looks at the predicted mean alone and says nothing about calibration.

    Parameters
    ----------
    y : array of shape (n, ...)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of numbers or vectors.
    weights : array of shape (n,), optional
        Case weights, not negative.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import mean_squared_error
    >>> mean_squared_error([0.0, 2.0], kc.Normal([0.0, 0.0], [1.0, 1.0]))
    2.0
    """
    return mean_squared_error_of(Case.of(y, predictions, weights=weights))


def mean_squared_error_of(case: Case) -> float:
    """Mean squared error of what was checked already."""
    batch = case.of_numbers().predictions
    batch.refuse_without_mean("the mean squared error")
    squares = (case.targets - to_numpy(batch.mean).astype(np.float64)) ** 2
    return case.mean(squares.reshape(len(case), -1).mean(axis=1))
