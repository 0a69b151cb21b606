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
    "ends_of",
    "kuiper",
    "normal_moments",
    "normal_quantiles",
    "pit",
    "pit_intervals",
    "pit_intervals_of",
    "pit_of",
]


_LEAST, _MOST = 2.0**-54, 1 - 2.0**-53  # the range of uniform draws
_NARROW = 1e-7  # jumps that are as good as their middle, where means over them would be differences of rounded numbers


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
_NUMBERS = 2**18  # that are drawn at once: statistics of their jumps take some 120 bytes each


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
    jumps : numpy.ndarray of shape (n, 2)
        F(y-) and F(y), between which they lie.
    continuous : bool
        Whether values are uniform and independent of V.
    uniforms : int
        Uniform numbers that one value takes, as of predictions.
    """

    values: np.ndarray
    batch: RealPredictions
    places: np.ndarray
    jumps: np.ndarray

    @classmethod
    def of(cls, case: Case, rng: Any) -> RandomisedPIT:
        """Values of what was checked already, with the places that a seed gives."""
        low, high = pit_intervals_of(case)
        places = inside(generator_of(rng, "PIT values").random(len(low)))
        values, batch = low + places * (high - low), case.in_numpy.predictions
        own = (values, batch, places, np.stack([low, high], axis=1))
        if batch.continuous:
            return cls(*own)
        if isinstance(batch, Samples) and batch.exchangeable:
            return _of_pool(values, batch.pooled(case.in_numpy.targets), *own[2:])
        return _of_counts(*own) if batch.counts else _OfTargets(*own)

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

    def ends(self, uniforms: np.ndarray) -> np.ndarray:
        """Turn uniform numbers into F(y-) and F(y) of redrawn targets, shape (draws, n, 2), for every place at once."""
        values = self.draw(uniforms)
        return np.stack([values, values], axis=-1)

    def drawn(self, generator: np.random.Generator, draws: int) -> Iterator[np.ndarray]:
        """Values of so many sets of redrawn targets, some sets at a time."""
        return map(self.draw, self._uniforms(generator, draws))

    def drawn_ends(self, generator: np.random.Generator, draws: int) -> Iterator[np.ndarray]:
        """Ends of so many sets of redrawn targets, some sets at a time."""
        return map(self.ends, self._uniforms(generator, draws))

    def _uniforms(self, generator: np.random.Generator, draws: int) -> Iterator[np.ndarray]:
        each = (len(self),) if self.uniforms == 1 else (len(self), self.uniforms)
        for part in row_slices(draws, max(1, _NUMBERS // int(np.prod(each)))):
            yield generator.random((part.stop - part.start, *each))


@dataclass(frozen=True, eq=False)
class _OfPool(RandomisedPIT):
    """Of ensembles: the batch has the values of all members as its draws, and one of them is picked."""

    low: Samples
    high: Samples

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Pick the member that plays the outcome."""
        return self.batch.draw(uniforms)

    def ends(self, uniforms: np.ndarray) -> np.ndarray:
        """Pick the ends of its jump."""
        return np.stack([self.low.draw(uniforms), self.high.draw(uniforms)], axis=-1)


def _of_pool(values: np.ndarray, pool: Samples, places: np.ndarray, jumps: np.ndarray) -> RandomisedPIT:
    members = to_numpy(pool.draws).T
    low, high = pool.cdf_below(members), pool.cdf(members)
    at, first, last = (trusted(pool, draws=x.T) for x in (low + places * (high - low), low, high))
    return _OfPool(values, at, places, jumps, first, last)


class _OfTargets(RandomisedPIT):
    """Of any family with jumps: by the targets themselves."""

    @property
    def uniforms(self) -> int:
        """As many as a target takes."""
        return self.batch.uniforms

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Draw targets, and transform them."""
        low, high = self._ends(uniforms)
        return low + self.places * (high - low)

    def ends(self, uniforms: np.ndarray) -> np.ndarray:
        """Draw targets, and look up their jumps."""
        return np.stack(self._ends(uniforms), axis=-1)

    def _ends(self, uniforms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return ends_of(self.batch, self.batch.draw(uniforms))


def ends_of(batch: RealPredictions, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F(y-) and F(y) of many sets of targets, shape (B, n) each."""
    if type(batch).pit_interval is RealPredictions.pit_interval:
        return batch.cdf_below(targets), batch.cdf(targets)
    low, high = (np.stack(ends) for ends in zip(*map(batch.pit_interval, targets), strict=True))
    return low, high  # asked for one set of targets at a time


def _of_counts(values: np.ndarray, batch: RealPredictions, places: np.ndarray, jumps: np.ndarray) -> RandomisedPIT:
    """Of counts: a table of the values of all counts that can be drawn, unless it is too wide."""
    lowest, highest = (batch.quantile(level) for level in (_LEAST, _MOST))
    width = int((highest - lowest).max()) + 1
    if width * len(values) > _CELLS:
        return _OfTargets(values, batch, places, jumps)
    steps = batch.cdf(lowest + np.arange(-1, width)[:, None])
    table = steps[:-1] + places * np.diff(steps, axis=0)
    return _OfCounts(values, batch, places, jumps, steps.T, table.T)


@dataclass(frozen=True, eq=False)
class _OfCounts(RandomisedPIT):
    """Of counts whose distribution functions, at all W counts that a draw can be, are few numbers.

    Steps of shape (n, W + 1), that below the least count first, and values inside the jumps of shape (n, W).
    """

    steps: np.ndarray
    table: np.ndarray

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """The count is the first whose distribution function reaches the uniform number."""
        return self.table[np.arange(len(self)), self._counts(uniforms)]

    def ends(self, uniforms: np.ndarray) -> np.ndarray:
        """Its jump is the step to it."""
        rows, counts = np.arange(len(self)), self._counts(uniforms)
        return np.stack([self.steps[rows, counts], self.steps[rows, counts + 1]], axis=-1)

    def _counts(self, uniforms: np.ndarray) -> np.ndarray:
        return count_below(self.steps[:, 1:], inside(uniforms))


_AT_ONCE, _IN_CACHE = 2**17, 2**14  # values that one thread draws, and sorts; memory of larger arrays is fetched anew


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
        self.draws_a_thread = max(2, _AT_ONCE // max(n, 1))
        self.names = ("Anderson-Darling", "Kuiper", "bias", *(("dispersion",) if n > 1 else ()))

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Statistics of numbers of shape (B, n), or of the ends of jumps (B, n, 2): shape (B, statistics)."""
        step = max(1, _IN_CACHE // max(self.n, 1))
        return np.concatenate([self._values(targets[own]) for own in row_slices(len(targets), step)])

    def _values(self, targets: np.ndarray) -> np.ndarray:
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
    edges = np.concatenate([t, np.full((len(t), 1), _MOST)], axis=1)
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
    return np.clip(values, _LEAST, _MOST)


def _anderson_darling(ordered: np.ndarray) -> np.ndarray:
    n = ordered.shape[1]
    odd = 2.0 * np.arange(1, n + 1) - 1
    rest = -ordered
    np.log1p(rest, out=rest)
    return -n - (np.log(ordered) @ odd + rest @ odd[::-1].copy()) / n


def kuiper(ordered: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
    """Root n times the largest distances above and below the diagonal of sorted numbers of shape (B, n).

    Weights of shape (B, n), in the same order, are the steps of the distribution function; None means 1 / n each.
    """
    n = ordered.shape[1]
    if weights is None:
        above = np.arange(1, n + 1) / n - ordered
        return math.sqrt(n) * (above.max(axis=1) - above.min(axis=1) + 1 / n)
    after = np.cumsum(weights, axis=1) / weights.sum(axis=1, keepdims=True)
    before = np.pad(after, ((0, 0), (1, 0)))[:, :-1]
    return math.sqrt(n) * ((after - ordered).max(axis=1) + (ordered - before).max(axis=1))
