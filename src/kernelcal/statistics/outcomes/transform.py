"""Probability integral transform: where in the predicted distribution the outcome lies."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.predictions import inside
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
    low, high = batch.pit_interval(case.targets)
    return low, high
