"""Probability integral transform: where in the predicted distribution the outcome lies."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.predictions import Quantiles, RealPredictions, Samples
from kernelcal.predictions.numbers import inside
from kernelcal.randomness import generator_of

__all__ = ["pit", "pit_intervals", "pit_intervals_of", "pit_of"]


def pit(y: Any, predictions: Any, rng: Any = 0) -> np.ndarray:
    """Randomised probability integral transform, uniform on (0, 1) if the predictions are calibrated.

    ``u = F(y-) + V (F(y) - F(y-))`` with V uniform: the predicted distribution function at the outcome, and a random
    place inside its jump where the outcome has a probability of its own (counts, ties, point masses).

    - `Samples` of S draws: the rank of the outcome among the S + 1 values, random among equal ones,
      ``(below + V (equal + 1)) / (S + 1)``. It is uniform whenever outcome and draws are exchangeable, at every S.
      Draws with unequal weights have no such guarantee: the outcome then gets the weight ``sum_s w_s^2``.
    - `Quantiles`: a random place between the two levels around the outcome. How the distribution goes on between
      the levels and in the tails was not predicted, and the transform does not depend on it. An outcome equal to a
      quantile lies between the level before and its own, which is exact for counts with ``P(Y <= quantile) = level``.
      Equal quantiles are a point mass between the first and the last of their levels, as the family says; of a count
      with equal quantiles it is not known how much of it lies below, and the values are only nearly uniform.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of one number.
    rng : int, numpy.random.Generator or None
        Seed of V (SPEC 7). The default is a fixed seed.

    Returns
    -------
    numpy.ndarray of shape (n,)
        Exactly 0 or 1 only where the distribution function is so up to rounding: an outcome far outside.

    Raises
    ------
    InputError
        For vector targets, and families without a distribution function.

    References
    ----------
    Dawid (1984); Smith (1985); Brockwell (2007) for the randomised form.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import pit
    >>> pit([0.0, 3.0], kc.Normal([0.0, 1.0], [1.0, 2.0])).round(4)
    array([0.5   , 0.8413])
    """
    return pit_of(Case.of(y, predictions), rng)


def pit_of(case: Case, rng: Any = 0) -> np.ndarray:
    """Randomised transform of what was checked already."""
    low, high = pit_intervals_of(case)
    return low + inside(generator_of(rng).random(len(low))) * (high - low)


def pit_intervals(y: Any, predictions: Any) -> tuple[np.ndarray, np.ndarray]:
    """Intervals ``(F(y-), F(y))`` inside which `pit` draws: the form without random numbers.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of one number.

    Returns
    -------
    low, high : numpy.ndarray of shape (n,)
        Equal where the distribution function is continuous.

    Raises
    ------
    InputError
        For vector targets, and families without a distribution function.

    References
    ----------
    Czado, Gneiting, Held (2009): the non-randomised histogram averages the uniform laws on these intervals.

    Examples
    --------
    >>> from kernelcal.predictions import Samples
    >>> from kernelcal.statistics import pit_intervals
    >>> pit_intervals([1.0], Samples([[0.0, 0.0, 1.0, 1.0]]))
    (array([0.4]), array([1.]))
    """
    return pit_intervals_of(Case.of(y, predictions))


def pit_intervals_of(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Intervals of what was checked already."""
    batch = case.of_one_number("the probability integral transform").in_numpy.predictions
    return _interval(batch, case.targets)


@singledispatch
def _interval(predictions: RealPredictions, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return predictions.cdf_below(y), predictions.cdf(y)


@_interval.register
def _(predictions: Samples, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    draws = predictions.draws
    weights = np.ones(draws.shape) if predictions.weights is None else predictions.weights
    weights = weights / weights.sum(axis=1, keepdims=True)
    own = (weights**2).sum(axis=1)  # 1 / S for S equal draws
    below = (weights * (draws < y[:, None])).sum(axis=1)
    equal = (weights * (draws == y[:, None])).sum(axis=1)
    return below / (1 + own), (below + equal + own) / (1 + own)


@_interval.register
def _(predictions: Quantiles, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Levels next to the outcome; at equal quantiles, which are a point mass, their levels.

    An outcome equal to one quantile lies between the level below and its own: so counts, whose outcomes are quantiles,
    have uniform values wherever ``P(Y <= quantile) = level``, and continuous outcomes never meet a quantile.
    """
    below = (predictions.values < y[:, None]).sum(axis=1)
    upto = (predictions.values <= y[:, None]).sum(axis=1)
    levels = np.concatenate([[0.0], predictions.levels, [1.0]])  # levels[k] belongs to quantile k - 1
    mass = upto > below + 1
    low = np.where(mass & (below > 0), below + 1, below)  # a tail beside a point mass joins it
    high = np.where(mass & (upto == len(predictions.levels)), upto + 1, np.maximum(upto, below + 1))
    return levels[low], levels[high]
