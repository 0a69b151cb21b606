"""PIT values: where outcomes lie in their predicted distributions, where redrawn ones lie, and how uniform they are."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.cases import Case
from kernelcal.predictions import RealPredictions, Samples, count_below, inside, trusted
from kernelcal.randomness import generator_of
from kernelcal.statistics.base import Prepared

__all__ = [
    "PreparedUniformity",
    "RandomisedPIT",
    "kuiper",
    "normal_quantiles",
    "pit",
    "pit_intervals",
    "pit_intervals_of",
    "pit_of",
]


_LEAST, _MOST = 2.0**-54, 1 - 2.0**-53  # the range of uniform draws


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


_CELLS = 2**22  # values of distribution functions that are kept: 32 MiB
_NUMBERS = 2**22  # that are drawn at once


@dataclass(frozen=True, eq=False)
class RandomisedPIT:
    """PIT values of one case, and how they are redrawn.

    The value of an outcome y is ``F(y-) + V (F(y) - F(y-))``. The places V are random numbers, but once they are drawn
    they are numbers like others: given V, the value is a function of y alone. So the values of the outcomes, and those
    of targets redrawn from the predictions with *the same* V, are exchangeable if the predictions are calibrated, and
    any statistic of them has an exact rank, at every n and for every V. With fresh uniform numbers in place of redrawn
    targets it would have one only on average over V: where most rows are tied, V alone decides, and the V of a default
    seed are the same for all data of one length.

    - Continuous distribution functions have no jumps, V does nothing, and the redrawn value is a uniform number.
    - Draws: if the outcome is exchangeable with the S draws of its row, each of the S + 1 values of the pool is the
      outcome with the same probability, given the pool. The value of a member z, from the shares of the pool below z
      and at or below z, is a function of z, the pool and V; one member of every row is drawn.
    - Others: a target is drawn, and the transform is computed at it.

    Attributes
    ----------
    values : numpy.ndarray of shape (n,)
        Values of the outcomes.
    continuous : bool
        Whether values are uniform and independent of V.
    uniforms : int
        Uniform numbers that one value takes, as of predictions.
    """

    values: np.ndarray
    batch: RealPredictions
    places: np.ndarray

    @classmethod
    def of(cls, case: Case, rng: Any) -> RandomisedPIT:
        """Values of what was checked already, with the places that a seed gives."""
        low, high = pit_intervals_of(case)
        places = inside(generator_of(rng, "PIT values").random(len(low)))
        values, batch = low + places * (high - low), case.in_numpy.predictions
        if batch.continuous:
            return cls(values, batch, places)
        if isinstance(batch, Samples) and batch.exchangeable:
            return _OfPool(values, _pool(batch.pooled(case.in_numpy.targets), places), places)
        if batch.counts:
            return _of_counts(values, batch, places)
        return _OfTargets(values, batch, places)

    def __len__(self) -> int:
        return len(self.values)

    @property
    def continuous(self) -> bool:
        """Whether the values do not depend on V."""
        return type(self) is RandomisedPIT

    @property
    def uniforms(self) -> int:
        """How many uniform numbers a redrawn value takes."""
        return 1

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Turn uniform numbers into values of redrawn targets, shape (draws, n)."""
        return inside(uniforms)

    def drawn(self, generator: np.random.Generator, draws: int) -> Iterator[np.ndarray]:
        """Values of so many sets of redrawn targets, some sets at a time."""
        each = (len(self),) if self.uniforms == 1 else (len(self), self.uniforms)
        for part in row_slices(draws, max(1, _NUMBERS // int(np.prod(each)))):
            yield self.draw(generator.random((part.stop - part.start, *each)))


class _OfPool(RandomisedPIT):
    """Of ensembles: the batch has the values of all members as its draws, and one of them is picked."""

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Pick the member that plays the outcome."""
        return self.batch.draw(uniforms)


def _pool(pool: Samples, places: np.ndarray) -> Samples:
    members = to_numpy(pool.draws).T
    low, high = pool.cdf_below(members), pool.cdf(members)
    return trusted(pool, draws=(low + places * (high - low)).T)


class _OfTargets(RandomisedPIT):
    """Of any family with jumps: by the targets themselves."""

    @property
    def uniforms(self) -> int:
        """As many as a target takes."""
        return self.batch.uniforms

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Draw targets, and transform them."""
        targets, batch = self.batch.draw(uniforms), self.batch
        if type(batch).pit_interval is RealPredictions.pit_interval:
            low, high = batch.cdf_below(targets), batch.cdf(targets)
        else:  # asked for one set of targets at a time
            low, high = (np.stack(ends) for ends in zip(*map(batch.pit_interval, targets), strict=True))
        return low + self.places * (high - low)


def _of_counts(values: np.ndarray, batch: RealPredictions, places: np.ndarray) -> RandomisedPIT:
    """Of counts: a table of the values of all counts that can be drawn, unless it is too wide."""
    lowest, highest = (batch.quantile(level) for level in (_LEAST, _MOST))
    width = int((highest - lowest).max()) + 1
    if width * len(values) > _CELLS:
        return _OfTargets(values, batch, places)
    steps = batch.cdf(lowest + np.arange(-1, width)[:, None])
    table = steps[:-1] + places * np.diff(steps, axis=0)
    return _OfCounts(values, batch, places, steps[1:].T, table.T)


@dataclass(frozen=True, eq=False)
class _OfCounts(RandomisedPIT):
    """Of counts whose distribution functions, at all counts that a draw can be, are few numbers: shape (n, W) each."""

    levels: np.ndarray
    table: np.ndarray

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """The count is the first whose distribution function reaches the uniform number."""
        return self.table[np.arange(len(self)), count_below(self.levels, inside(uniforms))]


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
    return np.clip(values, _LEAST, _MOST)


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
