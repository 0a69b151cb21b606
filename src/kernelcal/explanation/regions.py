"""Where a witness leaves its band, in plain words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.explanation.smoothed import SHIFT, ClassGaps, QuantileGaps
from kernelcal.explanation.witness import Witness
from kernelcal.predictions import ClassPredictions, Quantiles
from kernelcal.tables import Shown, Table, few_rule

__all__ = ["Region", "regions_of"]


_ROUNDING = 1e-12
_FEW = 5  # rows; of fewer no spread about their own mean is told, but the smoothed one


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
        Mean of the rows there, in their weights: observed minus predicted; of numbers the mean standardised residual,
        and for the width the variance of these about their own mean, minus 1. Where no rows are there, or they do not
        lie on the side of the witness, which sees those around them too, it is the mean of the smoothed gap.
    rows : int
        Rows whose mean it is; 0 for a smoothed gap.
    places : int
        Places in the region.
    sentence : str
        The same in words.

    Examples
    --------
    >>> import kernelcal as kc
    >>> found = kc.explain([0, 1, 1, 1] * 10, [0.2, 0.8, 0.7, 0.3] * 10, draws=99)
    >>> [(region.above, region.sentence) for region in found.regions]
    [(True, 'between 0.254 and 0.77 events are more frequent than predicted (gap +0.5)')]
    """

    name: str
    low: float
    high: float
    above: bool
    gap: float
    rows: int
    places: int
    sentence: str

    def _table(self) -> Table:
        where = f"{self.low:.3g} to {self.high:.3g}"
        gap = ("gap" if self.rows else "smoothed gap", f"{self.gap:+.3g}")
        return Table(self.name, [("where", where), gap, ("finding", self.sentence)])

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {**asdict(self), "gap": self.gap if np.isfinite(self.gap) else None}


@dataclass(frozen=True, eq=False)
class _Found:
    """A region before it is put into words: its component, side, places and rows."""

    k: int
    above: bool
    places: np.ndarray
    rows: np.ndarray


def regions_of(witness: Witness, case: Case) -> tuple[Region, ...]:
    """Regions outside the band: for one probability intervals, else one a component and side."""
    found = []
    for k in range(len(witness.names)):
        for above in (False, True):
            outside = witness.outside[:, k] & ((witness.field[:, k] > 0) == above)
            for places in _runs(outside) if witness.rows is None else [np.flatnonzero(outside)]:
                if len(places):
                    found.append(_Found(k, above, places, _rows_of(witness, case, places)))
    gaps = _row_gaps(case)
    judged = _judged(witness, case.predictions, found)
    regions = [_region(witness, case, one, gaps, judged) for one in found]
    return tuple(sorted(regions, key=lambda region: (witness.names.index(region.name), region.low)))


def _runs(outside: np.ndarray) -> Iterator[np.ndarray]:
    """Places of every run of neighbours."""
    places = np.flatnonzero(outside)
    yield from np.split(places, np.flatnonzero(np.diff(places) > 1) + 1)


def _rows_of(witness: Witness, case: Case, places: np.ndarray) -> np.ndarray:
    """Rows of a region: those between its ends; where predictions are the places, these."""
    if witness.rows is not None:
        return witness.rows[places]
    p = np.asarray(case.predictions.probabilities)[:, 1]
    ends = witness.position[places, 0]
    return np.flatnonzero((p >= ends.min() - _ROUNDING) & (p <= ends.max() + _ROUNDING))


def _row_gaps(case: Case) -> np.ndarray:
    """Gaps of every row, shape (n, components): of classes observed minus predicted, of numbers z for both."""
    batch, targets = case.predictions, case.targets
    if isinstance(batch, Quantiles):
        return QuantileGaps(batch, None).batch(slice(None), targets[None])[:, 0]
    if not isinstance(batch, ClassPredictions):
        return np.repeat(np.asarray(batch.standardised(targets), dtype=np.float64)[:, None], 2, axis=1)
    chosen = ClassGaps(batch, None).chosen
    return (targets[:, None] == chosen) - np.asarray(batch.probabilities, dtype=np.float64)[:, chosen]


def _region(witness: Witness, case: Case, found: _Found, gaps: np.ndarray, judged: str) -> Region:
    k, above, places, batch = found.k, found.above, found.places, case.predictions
    name, position = witness.names[k], witness.position[places, k]
    low, high = float(position.min()), float(position.max())
    width = witness.of_numbers and name != SHIFT and not isinstance(batch, Quantiles)
    own = _mean_of_rows(case, found.rows, gaps[:, k], width=width)
    kept = own is not None and (width or (own > 0) == above)
    smoothed = _smoothed(witness, places, k, width=width)
    gap = own if own is not None and kept else smoothed
    rows = len(found.rows) if kept else 0
    if not witness.of_numbers and witness.rows is None:
        sentence = _on_line(batch, low, high, above, _gap(gap, rows), judged)
    elif not witness.of_numbers:
        sentence = _of_class(name, low, high, above, _gap(gap, rows), _share(witness, places))
    elif isinstance(batch, Quantiles):
        sentence = _of_quantiles(name, low, high, above, gap, _share(witness, places))
    elif width:
        sentence = _of_width(low, high, above, gap, _share(witness, places))
    else:
        beside = _median_beside(gap, gaps[found.rows, k]) if kept else ""
        sentence = _of_shift(low, high, above, f"{abs(gap):.2g} standard deviations{beside}", _share(witness, places))
    return Region(name, low, high, above, gap, rows, len(places), sentence)


def _mean_of_rows(case: Case, rows: np.ndarray, gaps: np.ndarray, *, width: bool) -> float | None:
    """Weighted mean of the gaps of some rows, or their variance minus 1; None where too few count."""
    weights = np.ones(len(rows)) if case.weights is None else case.weights[rows]
    if not weights.sum() > 0 or not np.isfinite(gaps[rows]).all():
        return None
    mean = float(np.average(gaps[rows], weights=weights))
    if not width:
        return mean
    if np.count_nonzero(weights) < _FEW:
        return None
    freedom = 1 - float((weights**2).sum() / weights.sum() ** 2)
    return float(np.average((gaps[rows] - mean) ** 2, weights=weights)) / freedom - 1


def _smoothed(witness: Witness, places: np.ndarray, k: int, *, width: bool) -> float:
    """Mean of the smoothed gap, each place by the rows around it; of the width about the smoothed shift there."""
    mass = witness.mass[places]
    if not mass.sum() > 0:
        return float("nan")
    gap = witness.gap[places]
    own = gap[:, k] - gap[:, witness.names.index(SHIFT)] ** 2 if width else gap[:, k]
    return float(np.average(np.nan_to_num(own), weights=mass))


def _gap(gap: float, rows: int) -> str:
    return f"gap {gap:+.2g}" if rows else f"smoothed gap {gap:+.2g}"


def _share(witness: Witness, places: np.ndarray) -> str:
    return f"{len(places)} of {len(places) if witness.rows is None else len(witness.rows)} predictions looked at"


def _median_beside(mean: float, values: np.ndarray) -> str:
    """The median, where few rows make the mean."""
    median = float(np.median(values))
    return f" on average, median {median:+.2g}" if few_rule(mean, median) else ""


def _on_line(batch: ClassPredictions, low: float, high: float, above: bool, gap: str, judged: str) -> str:
    what = _what(batch)
    than = "more frequent" if above else "rarer"
    where = f"at {low:.3g}" if low == high else f"between {low:.3g} and {high:.3g}"
    return f"{where} {what} {than} than predicted{judged} ({gap})"


def _what(batch: ClassPredictions) -> str:
    if batch.question == "top label":
        return "right first choices are"
    return "events are" if batch.classes is None else f"class {batch.classes[1]} is"


def _judged(witness: Witness, batch: Any, found: list[_Found]) -> str:
    """Over- or under-confident, where the gaps of small and of large probabilities agree about it.

    Events more frequent where they are predicted seldom, and rarer where they are predicted often, are those of
    predictions that are too near to certainty. Gaps of one side alone are those of a base rate: there is no such word.
    Of the top label every gap has the word, since the probability itself is how sure the first choice is.
    """
    if witness.of_numbers or witness.rows is not None:
        return ""
    sides = {above: [witness.position[one.places, 0] for one in found if one.above == above] for above in (True, False)}
    more, fewer = (np.concatenate(places) if places else None for places in (sides[True], sides[False]))
    if batch.question == "top label":
        if more is not None and fewer is not None:
            return ""
        return ": over-confident" if more is None else ": under-confident"
    if more is None or fewer is None:
        return ""
    if more.max() < fewer.min():
        return ": over-confident"
    return ": under-confident" if fewer.max() < more.min() else ""


def _of_class(name: str, low: float, high: float, above: bool, gap: str, share: str) -> str:
    than = "more frequent" if above else "rarer"
    where = f"where it was given {_small(low)} to {_small(high)}"
    return f"class {name} is {than} than predicted {where} ({gap}; {share})"


def _of_shift(low: float, high: float, above: bool, size: str, share: str) -> str:
    word = "higher" if above else "lower"
    return f"outcomes are {word} than predicted {_where_mean(low, high)} (by {size}; {share})"


def _of_width(low: float, high: float, above: bool, excess: float, share: str) -> str:
    """Too narrow or too wide, by the spread about the own mean; what a shift alone does is told as such."""
    ratio, where = float(np.sqrt(max(1 + excess, 0.0))), _where_mean(low, high)
    spread = f"spread {ratio:.2f} times as wide"
    if (ratio > 1) == above:
        word = "narrow" if above else "wide"
        return f"predictions are too {word} {where} (outcomes {spread}; {share})"
    far = "further from" if above else "nearer to"
    return f"outcomes lie {far} the predicted mean than predicted {where} (about their own mean they {spread}; {share})"


def _where_mean(low: float, high: float) -> str:
    return f"where the predicted mean is {_plain(low)} to {_plain(high)}"


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
