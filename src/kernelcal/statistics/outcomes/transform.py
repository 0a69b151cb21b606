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
    "normal_moments",
    "normal_quantiles",
    "pit",
    "pit_intervals",
    "pit_intervals_of",
    "pit_of",
]


LEAST, MOST = 2.0**-54, 1 - 2.0**-53  # the range of uniform draws
_NARROW = 1e-7  # jumps that are as good as their middle, where means over them would be differences of rounded numbers


class PreparedUniformity(Prepared):
    """Statistics of n numbers in (0, 1), large where they are not uniform.

    - ``Anderson-Darling``: squared distance of the empirical distribution function from the diagonal, divided by its
      variance there; sees all deviations, those of the tails too.
    - ``Kuiper``: sum of the largest distances above and below the diagonal; sees a wrong width well.
    - ``bias``: size of the mean normal quantile, less what it is expected to be.
    - ``dispersion``: distance of the cube root of the variance of the normal quantiles about their mean from its mean
      under calibration. In the cube root too wide and too narrow are seen alike (Wilson and Hilferty 1931), and about
      their mean a shift is not taken for a wrong width. Needs two rows.

    Where a distribution function has jumps, a value lies anywhere between the ends of one. Then the empirical
    distribution function is the mean of those of all places inside, which rises evenly over every jump (Czado,
    Gneiting, Held 2009), and so are the mean of the normal quantiles and that of their squares. No random number is
    left, and of calibrated rows the mean of the normal quantiles is still 0.

    `spread` is what the dispersion is expected to be beyond that of independent uniform numbers, of which jumps leave
    less.
    """

    engine = "one sort of the PIT values"

    def __init__(self, n: int, spread: float = 0.0) -> None:
        self.n, self.bytes_per_draw, self.spread = n, 240 * n, spread
        self.names = ("Anderson-Darling", "Kuiper", "bias", *(("dispersion",) if n > 1 else ()))

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Statistics of numbers of shape (B, n), or of the ends of jumps (B, n, 2): shape (B, statistics)."""
        mean, spread = self.signed(targets)
        if targets.ndim == 2:
            ordered = np.sort(_inside(targets), axis=1)
            columns = [_anderson_darling(ordered), kuiper(ordered), np.abs(mean)]
        else:
            columns = [*_of_function(*_empirical(targets), self.n), np.abs(mean)]
        return np.stack([*columns, np.abs(spread)] if self.n > 1 else columns, axis=1)

    def signed(self, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Mean normal quantile, above 0 where outcomes are high, and dispersion, above 0 for narrow predictions."""
        freedom = max(self.n - 1, 1)
        first, second = normal_moments(targets)
        mean = first.mean(axis=1)
        variance = np.maximum(second.mean(axis=1) - mean**2, 0.0) * self.n / freedom
        return mean, np.cbrt(variance) - (1 - 2 / (9 * freedom)) - self.spread


def normal_moments(targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Normal quantiles of values and their squares; of ends of jumps (..., 2) their means over the jump.

    ``E z = (phi(a) - phi(b)) / (Phi(b) - Phi(a))`` and ``E z^2 = 1 + (a phi(a) - b phi(b)) / (Phi(b) - Phi(a))`` for z
    between the normal quantiles a and b of the ends.
    """
    if targets.ndim == 2:
        z = normal_quantiles(targets)
        return z, z * z
    low, high = targets[..., 0], targets[..., 1]
    ends = normal_quantiles(targets)
    density = np.exp(-0.5 * ends * ends) / math.sqrt(2 * math.pi)
    wide = high - low > _NARROW
    width, middle = np.where(wide, high - low, 1.0), normal_quantiles(0.5 * (low + high))
    slopes = (-np.diff(x)[..., 0] / width for x in (density, ends * density))
    first, second = next(slopes), 1 + next(slopes)
    return np.where(wide, first, middle), np.where(wide, second, middle * middle)


def _empirical(jumps: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean empirical distribution function of ends of jumps (B, n, 2): its bends t, values before and after, slopes.

    Each of shape (B, 2 n); after a bend it rises by the slope up to the next. Narrow jumps are steps at their middles.
    """
    draws, n, _ = jumps.shape
    low, high = _inside(jumps[..., 0]), _inside(jumps[..., 1])
    wide = high - low > _NARROW
    middle = 0.5 * (low + high)
    rise = np.where(wide, 1 / np.where(wide, high - low, 1.0), 0.0) / n
    steps = np.where(wide, 0.0, 1.0 / n)
    bends = np.concatenate([np.where(wide, low, middle), np.where(wide, high, middle)], axis=1)
    order = np.argsort(bends, axis=1)
    t = np.take_along_axis(bends, order, axis=1)
    slope = np.cumsum(np.take_along_axis(np.concatenate([rise, -rise], axis=1), order, axis=1), axis=1)
    step = np.take_along_axis(np.concatenate([steps, np.zeros_like(steps)], axis=1), order, axis=1)
    grown = np.cumsum(slope[:, :-1] * np.diff(t, axis=1), axis=1)
    after = np.concatenate([np.zeros((draws, 1)), grown], axis=1) + np.cumsum(step, axis=1)
    return t, after - step, after, slope


def _of_function(
    t: np.ndarray, before: np.ndarray, after: np.ndarray, slope: np.ndarray, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Anderson-Darling and Kuiper of a distribution function that is linear between its bends.

    With F = a + c' t there and c = c' - 1, ``(F - t)^2 / (t (1 - t)) = a^2 / t + (a + c)^2 / (1 - t) - c^2``.
    """
    edges = np.concatenate([t, np.full((len(t), 1), MOST)], axis=1)
    a, c = after - slope * t, slope - 1
    logs, rest = np.log(edges), np.log1p(-edges)
    pieces = a * a * np.diff(logs) - (a + c) ** 2 * np.diff(rest) - c * c * np.diff(edges)
    first = -np.log1p(-t[:, 0]) - t[:, 0]  # before the first bend F is 0
    distances = np.maximum((after - t).max(axis=1), 0) + np.maximum((t - before).max(axis=1), 0)
    return n * (first + pieces.sum(axis=1)), math.sqrt(n) * distances


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
