"""Scores of predictions of numbers: negative log-likelihood, squared error, CRPS; coordinates of vectors."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import RealPredictions

__all__ = [
    "components_of",
    "coordinate",
    "crps",
    "crps_of",
    "crps_rows",
    "crps_rows_of",
    "mean_squared_error",
    "mean_squared_error_of",
    "mean_squared_error_rows_of",
    "negative_log_likelihood",
    "negative_log_likelihood_of",
    "negative_log_likelihood_rows",
    "negative_log_likelihood_rows_of",
]


def coordinate(predictions: Any, k: int) -> Any:
    """Return the predictions of coordinate k of a vector target: the marginal distribution.

    Parameters
    ----------
    predictions : Predictions
        Vectors of a family that has the method `marginal`: normal vectors, `Samples`, a `Mixture` of them.
    k : int
        Coordinate, from 0.

    Raises
    ------
    InputError
        For a family whose marginals are not known.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.predictions import MultivariateNormal
    >>> from kernelcal.statistics import coordinate
    >>> coordinate(MultivariateNormal([[0.0, 1.0]], [[4.0, 1.0], [1.0, 9.0]]), 1).std
    array([3.])
    """
    return predictions.marginal(k)


def components_of(predictions: RealPredictions) -> list[Any]:
    """Every component of a target as a scalar prediction; none where the marginals are not known."""
    if not predictions.event_shape:
        return [predictions]
    try:
        return [coordinate(predictions, k) for k in range(predictions.dimension)]
    except InputError:
        return []


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
    return case.mean(mean_squared_error_rows_of(case))


def mean_squared_error_rows_of(case: Case) -> np.ndarray:
    """Squared error of every row of what was checked already, of vectors the mean over their coordinates."""
    batch = case.of_numbers().predictions
    batch.refuse_without_mean("the mean squared error")
    squares = (case.targets - to_numpy(batch.mean).astype(np.float64)) ** 2
    return np.asarray(squares.reshape(len(case), -1).mean(axis=1))


def crps(y: Any, predictions: Any, *, weights: Any = None, fair: bool = False) -> float:
    """Mean continuous ranked probability score, in the unit of the target; smaller is better.

    ``CRPS(F, y) = integral of (F(x) - 1[y <= x])^2 dx = E|X - y| - E|X - X'| / 2``. Of a point prediction it is the
    absolute error. For vector targets the mean over the coordinates of the score of each coordinate's own distribution;
    it does not see their dependence.

    Parameters
    ----------
    y : array of shape (n, ...)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of numbers; of vectors: normal vectors, `Samples` and mixtures of them.
    weights : array of shape (n,), optional
        Case weights, not negative.
    fair : bool
        Only for `Samples`. False (default): the score of the draws as a distribution. True: the unbiased estimate
        of the score of the distribution that the draws come from, ``E|X - X'|`` over pairs of different draws; use it
        to compare ensembles of different sizes.

    Returns
    -------
    float

    Raises
    ------
    InputError
        For families without a distribution function or mean, vectors without known coordinates, and ``fair=True`` where
        there are no draws or a row has one draw.

    Notes
    -----
    A family has the score as its method `crps`. Exact up to rounding: `Normal`, `Laplace`, `StudentT`, `Gamma`,
    `LogNormal`, `Beta`, `Uniform`, `Poisson`, `Samples` (O(S log S) a row), `Quantiles` (the integral over its
    piecewise linear distribution function and its tails) and mixtures of normals (O(K^2) a row); of `Dirichlet` the
    mean over its shares. `NegativeBinomial` and `Binomial`: one integral by the trapezoidal rule, error about 1e-12 of
    the mean. Other mixtures: Gauss-Legendre quadrature between the quantiles of the components, relative error about
    1e-9; of counts a sum up to a remaining probability of 1e-15.

    References
    ----------
    Gneiting, Raftery (2007), section 4.2; Grimit, Gneiting, Berrocal, Johnson (2006) for mixtures; Jordan, Krueger,
    Lerch (2019) for the other closed forms; Ferro (2014) for ``fair``.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import crps
    >>> round(crps([0.0], kc.Normal([0.0], [1.0])), 6)
    0.233695
    """
    return crps_of(Case.of(y, predictions, weights=weights), fair=fair)


def crps_of(case: Case, *, fair: bool = False) -> float:
    """Mean score of what was checked already."""
    return case.mean(crps_rows_of(case, fair=fair))


def crps_rows(y: Any, predictions: Any, *, fair: bool = False) -> np.ndarray:
    """Score of every row, shape (n,): see `crps`.

    Examples
    --------
    >>> from kernelcal.predictions import Samples
    >>> from kernelcal.statistics import crps_rows
    >>> crps_rows([0.0, 0.0], Samples([[1.0, 1.0], [-1.0, 1.0]]))
    array([1. , 0.5])
    """
    return crps_rows_of(Case.of(y, predictions), fair=fair)


def crps_rows_of(case: Case, *, fair: bool = False) -> np.ndarray:
    """Score of every row of what was checked already."""
    if not isinstance(fair, bool | np.bool_):
        raise InputError(f"fair must be True or False, got {fair!r:.80}")
    targets, batch = case.targets, case.of_numbers().in_numpy.predictions
    if len(batch.event_shape) > 1:
        raise InputError(f"crps takes numbers and vectors, got targets of shape {batch.event_shape}")
    if batch.event_shape:
        return np.mean([_rows(targets[:, k], coordinate(batch, k), fair) for k in range(batch.dimension)], axis=0)
    return _rows(targets, batch, fair)


def _rows(y: np.ndarray, predictions: RealPredictions, fair: bool) -> np.ndarray:
    return predictions.fair_crps(y) if fair else predictions.crps(y)
