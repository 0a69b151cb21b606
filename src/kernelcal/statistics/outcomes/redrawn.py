"""PIT values of redrawn targets: the random places inside the jumps stay those of the observed ones."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.cases import Case
from kernelcal.predictions import RealPredictions, Samples, count_below, inside, trusted
from kernelcal.randomness import generator_of
from kernelcal.statistics.outcomes.transform import LEAST, MOST, pit_intervals_of

__all__ = ["RandomisedPIT"]


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
        targets, batch = self.batch.draw(uniforms), self.batch
        if type(batch).pit_interval is RealPredictions.pit_interval:
            return batch.cdf_below(targets), batch.cdf(targets)
        low, high = (np.stack(ends) for ends in zip(*map(batch.pit_interval, targets), strict=True))
        return low, high  # asked for one set of targets at a time


def _of_counts(values: np.ndarray, batch: RealPredictions, places: np.ndarray, jumps: np.ndarray) -> RandomisedPIT:
    """Of counts: a table of the values of all counts that can be drawn, unless it is too wide."""
    lowest, highest = (batch.quantile(level) for level in (LEAST, MOST))
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
