"""Where a witness leaves its band, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernelcal.explanation.smoothed import SHIFT
from kernelcal.explanation.witness import Witness, standardised_field
from kernelcal.predictions import ClassPredictions, Quantiles
from kernelcal.tables import Shown, Table

__all__ = ["Region", "regions_of"]


@dataclass(frozen=True)
class Region(Shown):
    """Predictions at which the witness leaves its band on one side.

    Attributes
    ----------
    name : str
        Class (of two the second), or ``shift`` or ``width``.
    low, high : float
        Range of the predicted probability of the class there; of numbers, of the predicted mean.
    above : bool
        Whether the class is more frequent than predicted (outcomes higher, predictions too narrow).
    gap : float
        Smoothed gap where the witness is furthest outside.
    places : int
        Places in the region.
    sentence : str
        The same in words.
    """

    name: str
    low: float
    high: float
    above: bool
    gap: float
    places: int
    sentence: str

    def _table(self) -> Table:
        where = f"{self.low:.3g} to {self.high:.3g}"
        return Table(self.name, [("where", where), ("smoothed gap", f"{self.gap:+.3g}"), ("finding", self.sentence)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**asdict(self), "gap": self.gap if np.isfinite(self.gap) else None}


def regions_of(witness: Witness, batch: Any) -> tuple[Region, ...]:
    """Regions outside the band: for one probability intervals, else one a component and side."""
    found = []
    for k, name in enumerate(witness.names):
        for above in (False, True):
            outside = witness.outside[:, k] & ((witness.field[:, k] > 0) == above)
            for places in _runs(outside) if witness.rows is None else [np.flatnonzero(outside)]:
                if len(places):
                    found.append(_region(witness, batch, k, name, above, places))
    return tuple(sorted(found, key=lambda region: (witness.names.index(region.name), region.low)))


def _runs(outside: np.ndarray) -> Iterator[np.ndarray]:
    """Places of every run of neighbours."""
    places = np.flatnonzero(outside)
    yield from np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)


def _region(witness: Witness, batch: Any, k: int, name: str, above: bool, places: np.ndarray) -> Region:
    position = witness.position[places, k]
    furthest = places[standardised_field(witness.field, witness.sd)[places, k].argmax()]
    low, high, gap = float(position.min()), float(position.max()), float(witness.gap[furthest, k])
    if witness.rows is None:
        sentence = _on_line(batch, low, high, above, gap)
    else:
        share = f"{len(places)} of {len(witness.rows)} predictions looked at"
        words = _of_class if isinstance(batch, ClassPredictions) else _of_numbers
        words = _of_quantiles if isinstance(batch, Quantiles) else words
        sentence = words(name, low, high, above, gap, share)
    return Region(name, low, high, above, gap, len(places), sentence)


def _on_line(batch: ClassPredictions, low: float, high: float, above: bool, gap: float) -> str:
    what = _what(batch)
    than = "more frequent" if above else "rarer"
    where = f"at {low:.3g}" if low == high else f"between {low:.3g} and {high:.3g}"
    return f"{where} {what} {than} than predicted{_judged(batch, low, high, above)} (gap {gap:+.2g})"


def _what(batch: ClassPredictions) -> str:
    if batch.question == "top label":
        return "right first choices are"
    return "events are" if batch.classes is None else f"class {batch.classes[1]} is"


def _judged(batch: ClassPredictions, low: float, high: float, above: bool) -> str:
    """Over-confident: nearer to certainty than the frequencies are. Across one half there is no such word."""
    if batch.question == "top label" or low >= 0.5:
        return ": under-confident" if above else ": over-confident"
    if high <= 0.5:
        return ": over-confident" if above else ": under-confident"
    return ""


def _of_class(name: str, low: float, high: float, above: bool, gap: float, share: str) -> str:
    than = "more frequent" if above else "rarer"
    where = f"where it was given {_small(low)} to {_small(high)}"
    return f"class {name} is {than} than predicted {where} (gap {gap:+.2g}; {share})"


def _of_numbers(name: str, low: float, high: float, above: bool, gap: float, share: str) -> str:
    where = f"where the predicted mean is {_plain(low)} to {_plain(high)}"
    if name == SHIFT:
        word = "higher" if above else "lower"
        return f"outcomes are {word} than predicted {where} (by {abs(gap):.2g} standard deviations; {share})"
    ratio = float(np.sqrt(max(1 + gap, 0.0)))
    word = "narrow" if above else "wide"
    return f"predictions are too {word} {where} (outcomes spread {ratio:.2f} times as wide; {share})"


def _of_quantiles(name: str, low: float, high: float, above: bool, gap: float, share: str) -> str:
    """The cells that outcomes fall into, which is all that was forecast of them."""
    where = f"where the middle quantile is {_plain(low)} to {_plain(high)}"
    if name == SHIFT:
        what = f"outcomes lie {'above' if above else 'below'} the quantiles more often than claimed"
    else:
        what = f"outcomes lie {'outside' if above else 'inside'} the intervals more often than claimed"
    return f"{what} {where} (mean cell score {gap:+.2g}; {share})"


def _plain(number: float) -> str:
    """Three digits, of large numbers all before the point."""
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"


def _small(probability: float) -> str:
    """Two digits; nobody reads 7.2e-05."""
    return "below 0.001" if 0 < probability < 0.001 else f"{probability:.2g}"
