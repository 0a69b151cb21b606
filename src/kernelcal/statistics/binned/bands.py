"""Bands in which calibrated models lie, and how far out a count lies: binomial tails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.predictions import smallest_reaching
from kernelcal.runs import Run
from kernelcal.statistics.binned.bin_table import plain_values
from kernelcal.tables import Grid, Shown

__all__ = ["CountLaw", "NullBand", "drawn_band", "multinomial_band"]


_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class CountLaw:
    """Laws of K counts, each near a binomial one.

    A sum ``X = sum_i w_i e_i`` of independent events of probability p_i is taken for ``unit`` times a binomial
    variable with the mean and the variance of X: ``probability = sum w p^2 / sum w p``,
    ``unit = sum w^2 p (1 - p) / sum w p (1 - p)``. For equal p and weights this is the law itself, and for
    the similar p of a bin near it. It only sets the scale on which counts of different bins are compared: bands made
    with it are exact.

    Attributes
    ----------
    size, probability, unit : numpy.ndarray of shape (K,)
        Number of trials (not always whole), probability, and value of one event.
    most : numpy.ndarray of shape (K,)
        Largest value that X can take.
    whole : bool
        Whether X counts rows, and so takes whole values only.
    binomial : bool
        Whether these are the laws themselves, not only near.
    """

    size: np.ndarray
    probability: np.ndarray
    unit: np.ndarray
    most: np.ndarray
    whole: bool = True
    binomial: bool = False

    @classmethod
    def equal(cls, n: int, probability: Any) -> Self:
        """Binomial laws of n rows."""
        p = np.asarray(probability, dtype=np.float64)
        full = np.full(p.shape, float(n))
        return cls(full, p, np.ones(p.shape), full, binomial=True)

    @classmethod
    def of_bins(cls, p: np.ndarray, index: np.ndarray, bins: int, weights: np.ndarray | None) -> Self:
        """Laws of the events in bins: probabilities p of shape (n,), the bin of every row, and case weights."""
        w = np.ones(len(p)) if weights is None else weights
        sums = [np.bincount(index, values, minlength=bins) for values in (w, w * p, w * p**2, w * w * p * (1 - p))]
        most, mean, squares, variance = (np.asarray(values, dtype=np.float64) for values in sums)
        probability = np.divide(squares, mean, out=np.zeros(bins), where=mean > 0)
        spread = mean - squares
        unit = np.divide(variance, spread, out=np.ones(bins), where=(spread > 0) & (variance > 0))
        size = np.divide(mean, unit * probability, out=np.zeros(bins), where=probability > 0)
        return cls(size, np.minimum(probability, 1.0), unit, most, weights is None)

    def depth(self, values: np.ndarray) -> np.ndarray:
        """Smaller one of ``P(X <= x)`` and ``P(X >= x)``, shape of the values (..., K).

        Of many sets of counts every count that is among them is looked at once.
        """
        if not self.whole or values.ndim != 2 or not values.size:
            return np.minimum(self._up_to(values), self._from(values))
        least = values.min(axis=0)
        most = int((values.max(axis=0) - least).max()) + 1
        if 2 * most > len(values):
            return np.minimum(self._up_to(values), self._from(values))
        counts = least + np.arange(most)[:, None]
        known = np.minimum(self._up_to(counts), self._from(counts))
        return np.take_along_axis(known, (values - least).astype(np.intp), axis=0)

    def ends(self, depth: Any) -> tuple[np.ndarray, np.ndarray]:
        """Smallest and largest value of this depth or more, shape (K,) each."""
        wanted = np.broadcast_to(
            np.asarray(depth) * (1 - 1e-10), self.size.shape
        )  # reached but for rounding is reached
        zero, top = np.zeros_like(self.most), np.maximum(self.most, self.unit * (self.size + 1))
        low = smallest_reaching(self._up_to, wanted, zero, top)
        high = smallest_reaching(lambda x: -self._from(x), -wanted, zero, top)
        if self.whole:
            low, high = np.ceil(low - 1e-6), np.floor(high + 1e-6)
        low, high = np.where(wanted > 0, [low, high], [zero, top])
        return np.clip(low, 0, self.most), np.clip(high, 0, self.most)

    def _up_to(self, values: np.ndarray) -> np.ndarray:
        from scipy.special import betainc

        x, size = values / self.unit, self.size
        inside = x < size - _ROUNDING * np.maximum(size, 1)
        a, b = np.where(inside, size - x, 1.0), np.maximum(x, 0.0) + 1
        return np.where(inside, betainc(a, b, 1 - self.probability), 1.0)

    def _from(self, values: np.ndarray) -> np.ndarray:
        from scipy.special import betainc

        x, size = values / self.unit, self.size
        end = np.where(self.probability < 1, size + 1 - _ROUNDING, size + _ROUNDING * np.maximum(size, 1))
        inside = (x > _ROUNDING) & (x < end)
        a, b = np.where(inside, x, 1.0), np.where(inside, size - x + 1, 1.0)
        return np.where(inside, betainc(a, b, self.probability), np.where(x > _ROUNDING, 0.0, 1.0))


_SHOWN = 30
_ENDS = ("low", "high", "pointwise_low", "pointwise_high")


@dataclass(frozen=True, eq=False)
class NullBand(Shown):
    """Where counts or frequencies of calibrated models lie at K positions, from draws under calibration.

    The depth of a value is the smaller of its two tail probabilities (`CountLaw`). With B draws and
    ``j = floor((1 - confidence_level) (B + 1))`` the simultaneous band holds the values whose depth is at least the
    j-th smallest of ``min_k depth_bk`` over the draws b. Observed values of a calibrated model and the draws are
    exchangeable, so that all K of them lie inside with probability ``confidence_level`` or more, exactly, at every n
    and B. The pointwise band does the same for each k alone; where the counts are binomial it holds the values of depth
    ``(1 - confidence_level) / 2`` or more.

    Attributes
    ----------
    low, high : numpy.ndarray of shape (K,)
        Ends of the simultaneous band, which belong to it.
    pointwise_low, pointwise_high : numpy.ndarray of shape (K,)
        Ends of the pointwise band.
    confidence_level : float
        Share of calibrated models that lie inside.
    draws : int
        Number B of draws.

    References
    ----------
    Broecker, Smith (2007) for consistency bars of reliability diagrams (pointwise); Dwass (1957), Besag, Clifford
    (1989) for the rank of a maximum among draws.

    Examples
    --------
    >>> import kernelcal as kc
    >>> band = kc.reliability([0, 1, 1, 0] * 5, [0.2, 0.8, 0.7, 0.4] * 5, bins=2, draws=99).band
    >>> band.low.round(2), band.high.round(2)
    (array([0. , 0.5]), array([0.6, 1. ]))
    """

    low: np.ndarray
    high: np.ndarray
    pointwise_low: np.ndarray
    pointwise_high: np.ndarray
    confidence_level: float
    draws: int

    @classmethod
    def of(cls, law: CountLaw, depth: np.ndarray, run: Run, smallest: np.ndarray | None = None) -> Self:
        """Band from depths of the draws of a run, shape (B, K), or from the smallest over more positions than these."""
        joint = depth.min(axis=1) if smallest is None else smallest
        j, confidence_level = run.outside, run.confidence_level
        low, high = law.ends(np.sort(joint)[j - 1])
        alone = (1 - confidence_level) / 2 if law.binomial else np.sort(depth, axis=0)[j - 1]
        return cls(low, high, *law.ends(alone), confidence_level, len(depth))

    @classmethod
    def nowhere(cls, size: int, run: Run) -> Self:
        """No band: all ends are NaN, and nothing lies outside."""
        ends = np.full(size, np.nan)
        return cls(ends, ends, ends, ends, run.confidence_level, 0)

    @property
    def known(self) -> bool:
        """Whether there is a band."""
        return self.draws > 0

    def divided(self, by: np.ndarray) -> Self:
        """Band of frequencies from that of counts; NaN at positions without rows."""
        with np.errstate(invalid="ignore"):
            return self._with(lambda end: end / by)

    def at(self, places: np.ndarray) -> Self:
        """Band at some of the positions, in this order."""
        return self._with(lambda end: end[places])

    def among(self, places: np.ndarray, size: int) -> Self:
        """Band at so many positions, of which these are the places; 0 at the others, where nothing is counted."""

        def spread(end: np.ndarray) -> np.ndarray:
            whole = np.zeros(size)
            whole[places] = end
            return whole

        return self._with(spread)

    def _with(self, change: Callable[[np.ndarray], np.ndarray]) -> Self:
        low, high, alone_low, alone_high = (change(getattr(self, name)) for name in _ENDS)
        return type(self)(low, high, alone_low, alone_high, self.confidence_level, self.draws)

    def outside(self, values: np.ndarray) -> np.ndarray:
        """Which values lie outside the simultaneous band, shape (K,)."""
        slack = 1e-9 * (1 + np.abs(values))
        return (values < self.low - slack) | (values > self.high + slack)

    def _table(self) -> Grid:
        ends = [np.asarray(getattr(self, name)) for name in _ENDS]
        rows = [
            [str(k), *(f"{low[k]:.4g} to {high[k]:.4g}" for low, high in (ends[2:], ends[:2]))]
            for k in range(min(len(self.low), _SHOWN))
        ]
        more = (f"the first {_SHOWN} of {len(self.low):,}",) if len(self.low) > _SHOWN else ()
        title = f"Where {self.confidence_level:.0%} of calibrated models lie ({self.draws:,} draws)"
        return Grid(title, ["position", "each alone", "all at once"], rows, more)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, None for NaN."""
        ends = {name: plain_values(getattr(self, name)) for name in _ENDS}
        return {**ends, "confidence_level": self.confidence_level, "draws": self.draws}


def drawn_band(n: int, drawn: Callable[[int], np.ndarray], run: Run) -> NullBand:
    """Band of counts of n rows, from a function that draws so many sets of them, shape (draws, K).

    The law at every position is unknown. Of a first half of the draws come the means, which make a binomial scale; of
    the second half comes the band: whatever the scale is, the band is exact, since it depends on no outcome.
    """
    counts = drawn(2 * run.draws)
    probability = np.clip(counts[: run.draws].mean(axis=0) / n, 0, 1)
    law = replace(CountLaw.equal(n, probability), binomial=False)
    return NullBand.of(law, law.depth(counts[run.draws :]), run)


def multinomial_band(
    n: int,
    probability: np.ndarray,
    run: Run,
    generator: np.random.Generator,
    *,
    cumulative: bool = False,
) -> NullBand:
    """Band of counts with these probabilities, or of their cumulative sums but the last, which is n."""
    drawn = generator.multinomial(n, probability / probability.sum(), size=run.draws)
    if cumulative:
        drawn, probability = drawn.cumsum(axis=1)[:, :-1], np.cumsum(probability)[:-1]
    law = CountLaw.equal(n, probability)
    return NullBand.of(law, law.depth(drawn), run)
