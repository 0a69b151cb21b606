"""Bands in which calibrated models lie: pointwise, and all positions at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelcal.runs import Run
from kernelcal.statistics.bin_table import plain_values
from kernelcal.statistics.count_law import CountLaw
from kernelcal.tables import Grid, Shown

__all__ = ["NullBand", "multinomial_band"]

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
