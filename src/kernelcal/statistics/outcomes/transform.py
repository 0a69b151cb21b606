"""Probability integral transform: where in the predicted distribution the outcome lies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.predictions import inside
from kernelcal.randomness import generator_of
from kernelcal.statistics.base import Prepared

__all__ = [
    "LEAST",
    "MOST",
    "PreparedUniformity",
    "kuiper",
    "normal_quantiles",
    "pit",
    "pit_intervals",
    "pit_intervals_of",
    "pit_of",
]


LEAST, MOST = 2.0**-54, 1 - 2.0**-53  # the range of uniform draws


class PreparedUniformity(Prepared):
    """Statistics of n numbers in (0, 1), large where they are not uniform.

    - ``Anderson-Darling``: squared distance of the empirical distribution function from the diagonal, divided by its
      variance there; sees all deviations, those of the tails too.
    - ``Kuiper``: sum of the largest distances above and below the diagonal; sees a wrong width well.
    - ``bias``: size of the mean normal quantile, less what it is expected to be.
    - ``dispersion``: distance of the cube root of the variance of the normal quantiles about their mean from its mean
      under calibration. In the cube root too wide and too narrow are seen alike (Wilson and Hilferty 1931), and about
      their mean a shift is not taken for a wrong width. Needs two rows.

    `centre` is what mean and dispersion are expected to be beyond 0 and that of independent uniform numbers. With the
    random places of tied rows held fixed it is not 0, and deviations to one side alone would be seen.
    """

    engine = "one sort of the PIT values"

    def __init__(self, n: int, centre: tuple[float, float] = (0.0, 0.0)) -> None:
        self.n, self.bytes_per_draw, self.centre = n, 48 * n, centre
        self.names = ("Anderson-Darling", "Kuiper", "bias", *(("dispersion",) if n > 1 else ()))

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Statistics of numbers of shape (B, n): shape (B, statistics)."""
        ordered = np.sort(_inside(targets), axis=1)
        mean, spread = self.signed(targets)
        columns = [_anderson_darling(ordered), kuiper(ordered), np.abs(mean)]
        return np.stack([*columns, np.abs(spread)] if self.n > 1 else columns, axis=1)

    def signed(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean normal quantile, above 0 where outcomes are high, and dispersion, above 0 for narrow predictions."""
        quantiles = normal_quantiles(targets)
        freedom = max(self.n - 1, 1)
        variance = quantiles.var(axis=1) * self.n / freedom
        mean, spread = self.centre
        return quantiles.mean(axis=1) - mean, np.cbrt(variance) - (1 - 2 / (9 * freedom)) - spread


def normal_quantiles(values: np.ndarray) -> np.ndarray:
    """Normal quantiles of PIT values: standard normal under calibration.

    Values of exactly 0 and 1 are counted as the nearest that a uniform draw can take, about 8 standard deviations out.
    """
    from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light

    return ndtri(_inside(values))


def _inside(values: np.ndarray) -> np.ndarray:
    return np.clip(values, LEAST, MOST)


def _anderson_darling(ordered: np.ndarray) -> np.ndarray:
    n = ordered.shape[1]
    odd = 2 * np.arange(1, n + 1) - 1
    return -n - (np.log(ordered) + np.log1p(-ordered[:, ::-1])) @ odd / n


def kuiper(ordered: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Root n times the largest distances above and below the diagonal of sorted numbers of shape (B, n).

    Weights of shape (B, n), in the same order, are the steps of the distribution function; None means 1 / n each.
    """
    n = ordered.shape[1]
    if weights is None:
        before, after = np.arange(n) / n, np.arange(1, n + 1) / n
    else:
        after = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
        before = np.pad(after, ((0, 0), (1, 0)))[:, :-1]
    return math.sqrt(n) * ((after - ordered).max(axis=1) + (ordered - before).max(axis=1))


def pit(y: Any, predictions: Any, rng: Any = 0) -> np.ndarray:
    """Randomised probability integral transform, uniform on (0, 1) if the predictions are calibrated.

    ``u = F(y-) + V (F(y) - F(y-))`` with V uniform: the predicted distribution function at the outcome, and a random
    place inside its jump where the outcome has a probability of its own (counts, ties, point masses).

    - `Samples` of S draws: the rank of the outcome among the S + 1 values, random among equal ones,
      ``(below + V (equal + 1)) / (S + 1)``. It is uniform whenever outcome and draws are exchangeable, at every S.
      Draws with unequal weights have no such guarantee: the outcome then gets the weight ``sum_s w_s^2``.
    - `Quantiles`: a random place between the two levels around the outcome. How the distribution goes on between
      the levels and in the tails was not predicted, and the transform does not depend on it. Exact where no outcome
      equals a quantile. How much of the probability of such an outcome lies below its quantile was not predicted: it
      is taken from the level before to its own (of equal quantiles from the first to the last of their levels), and the
      values are only nearly uniform. `calibration_test` and `claimed_levels` make no such choice.

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
    return low + inside(generator_of(rng, "PIT values").random(len(low))) * (high - low)


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
