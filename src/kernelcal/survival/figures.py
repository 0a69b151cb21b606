"""Figures that the field reports: Kaplan-Meier, D-calibration, concordance, and the weighted Brier score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelcal.dependence import errors_aside
from kernelcal.errors import InputError

__all__ = [
    "KaplanMeier",
    "brier_at",
    "brier_scores",
    "concordance",
    "concordances",
    "d_calibration",
    "kaplan_meier",
]


_DECILES = 10
_AT_ONCE = 2**15  # numbers that are counted at once: they stay near the processor


@dataclass(frozen=True, eq=False)
class KaplanMeier:
    """Share that lives on, at the times of events.

    Attributes
    ----------
    times, survival, variance : numpy.ndarray of shape (k,)
        Times of events; ``P(T > t)`` from each on; Greenwood's sum, the variance of its logarithm.
    watched, number : numpy.ndarray of shape (m,)
        Times of rows, and how many were watched up to each at least; of weights as many as they are worth (Kish).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.survival import kaplan_meier
    >>> curve = kaplan_meier(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    >>> curve.times, curve.survival.round(3)
    (array([1., 3.]), array([0.667, 0.   ]))
    """

    times: np.ndarray
    survival: np.ndarray
    variance: np.ndarray
    watched: np.ndarray = field(default_factory=lambda: np.empty(0))
    number: np.ndarray = field(default_factory=lambda: np.empty(0))

    def at(self, t: float) -> float:
        """``P(T > t)``."""
        k = int(np.searchsorted(self.times, t, side="right"))
        return 1.0 if k == 0 else float(self.survival[k - 1])

    def before(self, times: np.ndarray) -> np.ndarray:
        """``P(T >= t)`` at several times."""
        return np.concatenate([[1.0], self.survival])[np.searchsorted(self.times, times, side="left")]

    def known(self, t: float) -> bool:
        """Tell whether ``P(T > t)`` is estimated at all: rows were watched so long, or all had the event before."""
        return self.at(t) == 0 or self._number_at(t) > 0

    def _number_at(self, t: float) -> float:
        return float(np.append(self.number, 0.0)[np.searchsorted(self.watched, t)])

    def interval(self, t: float, confidence_level: float) -> tuple[float, float]:
        """Pointwise interval of ``P(T > t)``, normal on the scale ``log(-log S)``.

        Before the first event that scale has no end: of m rows watched up to t none had the event, and the lower end is
        the binomial one, ``((1 - level) / 2)^(1 / m)``. Where none is left the upper end is that before the last event.
        """
        k = int(np.searchsorted(self.times, t, side="right"))
        s = self.at(t)
        if s == 1:
            number = self._number_at(t)
            return (((1 - confidence_level) / 2) ** (1 / number) if number > 0 else 0.0), 1.0
        if s == 0:
            last = int(np.argmax(self.survival == 0))
            none_left = 1 - ((1 - confidence_level) / 2) ** (1 / self._number_at(float(self.times[last])))
            return 0.0, self.interval(float(self.times[last - 1]), confidence_level)[1] if last else none_left
        wide = errors_aside(confidence_level) * np.sqrt(self.variance[k - 1]) / -np.log(s)
        return float(s ** np.exp(wide)), float(s ** np.exp(-wide))


def kaplan_meier(time: np.ndarray, event: np.ndarray, weights: np.ndarray | None = None) -> KaplanMeier:
    """Estimate survival without a model; events come before censorings of the same time.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.survival import kaplan_meier
    >>> kaplan_meier(np.array([1.0, 2.0, 3.0]), np.array([True, False, True])).survival.round(4)
    array([0.6667, 0.    ])
    """
    time, event, own = _outcomes(time, event, np.ones(np.size(time)) if weights is None else weights, "weights")
    order = np.argsort(time, kind="stable")
    t, w, seen = time[order], own[order], event[order]
    left = np.cumsum(w[::-1])[::-1]
    times, first = np.unique(t, return_index=True)
    died = np.add.reduceat(w * seen, first)
    at_risk, squares = left[first], np.cumsum((w * w)[::-1])[::-1][first]
    some = died > 0
    everyone = np.divide(at_risk**2, squares, out=np.zeros(len(times)), where=squares > 0)
    died, at_risk, squares = died[some], at_risk[some], squares[some]
    with np.errstate(divide="ignore", invalid="ignore"):
        # of weights: the number of rows that the weights at risk are worth (Kish)
        number = at_risk**2 / squares
        variance = np.cumsum(died / at_risk / (number * np.maximum(1 - died / at_risk, 0.0)))
    return KaplanMeier(times[some], np.cumprod(1 - died / at_risk), variance, times, everyone)


def _outcomes(time: Any, event: Any, values: Any, what: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Times, events as booleans, and one more number a row: events as 0 and 1 would be taken for row numbers."""
    try:
        t, more, e = np.asarray(time, dtype=np.float64), np.asarray(values, dtype=np.float64), np.asarray(event)
    except (TypeError, ValueError):
        raise InputError(f"times and {what} must be numbers, one a row, got {str(time)[:40]}") from None
    if t.ndim != 1 or e.shape != t.shape or more.shape != t.shape:
        raise InputError(f"times, events and {what} hold one value a row, got {t.shape}, {e.shape} and {more.shape}")
    if e.dtype.kind != "b" and not (e.dtype.kind in "iuf" and np.isin(e, (0, 1)).all()):
        raise InputError(
            "events must be true or false, or 1 where the event was seen and 0 where it was not: say which values are "
            "events, event=(status == value)"
        )
    if np.isnan(t).any() or np.isnan(more).any():
        row = int(np.argmax(np.isnan(t) | np.isnan(more)))
        raise InputError(f"row {row} has a time or {what} that is missing (NaN): leave such rows out")
    return t, e.astype(bool), more


def d_calibration(hazard: np.ndarray, event: np.ndarray) -> np.ndarray:
    """Chi-square statistic of Haider et al. (2020) over tenths of the predicted survival, shape (...).

    A censored row counts in all tenths that its survival may still reach, in proportion. Its usual law, chi-square
    with 9 degrees of freedom, holds without censoring; with it, the statistic is much smaller.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.survival import d_calibration
    >>> hazard = -np.log(1 - (np.arange(10) + 0.5) / 10)
    >>> round(float(d_calibration(hazard, np.ones(10, bool))), 9)
    0.0
    """
    s = np.maximum(np.exp(-np.asarray(hazard, dtype=np.float64)), 1e-300)
    event = np.broadcast_to(np.asarray(event, dtype=bool), s.shape)
    shape, n = s.shape[:-1], s.shape[-1]
    tenth = np.minimum((s * _DECILES).astype(np.intp), _DECILES - 1)
    place = tenth + _DECILES * np.arange(s.size // n).reshape(*shape, 1)  # one tenth of one set of outcomes
    size, seen, censored = s.size // n * _DECILES, place[event], ~event
    own = np.bincount(seen, minlength=size) + _sum_at(place, 1 - tenth / _DECILES / s, censored, size)
    below = _sum_at(place, 1 / _DECILES / s, censored, size).reshape(*shape, _DECILES)
    later = below[..., ::-1].cumsum(axis=-1)[..., ::-1] - below
    counts, expected = own.reshape(*shape, _DECILES) + later, n / _DECILES
    return np.asarray(((counts - expected) ** 2 / expected).sum(axis=-1))


def _sum_at(place: np.ndarray, values: np.ndarray, where: np.ndarray, size: int) -> np.ndarray:
    return np.bincount(place[where], values[where], minlength=size)


def concordance(time: np.ndarray, event: np.ndarray, risk: np.ndarray) -> float | None:
    """Share of comparable pairs in which the earlier event had the higher risk (Harrell), ties of risk half.

    Comparable are a row with an event and one that was watched longer, or as long without an event. None without any.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.survival import concordance
    >>> concordance(np.array([1.0, 2.0, 3.0]), np.ones(3, bool), np.array([0.9, 0.5, 0.1]))
    1.0
    """
    time, event, risk = _outcomes(time, event, risk, "risks")
    found = float(concordances(time[None], event[None], risk)[0])
    return None if np.isnan(found) else found


def concordances(time: np.ndarray, event: np.ndarray, risk: np.ndarray) -> np.ndarray:
    """Concordance of several sets of outcomes of the same rows, shape (b, n), with the same risks; nan without pairs.

    Cost: the logarithm of n times the numbers.
    """
    sets, n = time.shape
    some = max(1, _AT_ONCE // max(n, 1))
    if sets > some:
        parts = [concordances(time[k : k + some], event[k : k + some], risk) for k in range(0, sets, some)]
        return np.concatenate(parts)
    rank = np.unique(risk, return_inverse=True)[1].reshape(n)
    order = np.lexsort((event, -time), axis=-1)  # from the latest; of equal times censored rows first
    ranks, seen, times = rank[order].ravel(), np.take_along_axis(event, order, -1).ravel(), -np.sort(-time, axis=-1)
    group = np.repeat(np.arange(sets), n)
    smaller, equal = _before(group, ranks)
    # events of one time are not comparable with each other
    new = np.concatenate([np.ones((sets, 1), dtype=bool), np.diff(times, axis=-1) != 0], axis=1).ravel()
    together = np.cumsum(new)[seen]
    own_smaller, own_equal = _before(together, ranks[seen])
    agreeing = smaller[seen] - own_smaller + 0.5 * (equal[seen] - own_equal)
    first = np.searchsorted(together, together)
    number = np.tile(np.arange(n), sets)[seen] - (np.arange(len(together)) - first)
    pairs = np.bincount(group[seen], number, minlength=sets)
    total = np.bincount(group[seen], agreeing, minlength=sets)
    return np.divide(total, pairs, out=np.full(sets, np.nan), where=pairs > 0)


def _before(group: np.ndarray, rank: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Elements before each in its group with a smaller rank, and with an equal one; groups stand together.

    Bit by bit from the highest: those that agree so far stay together in their order, zeros of the bit before ones,
    and a one has passed the zeros that were before it.
    """
    count = len(rank)
    places, found = np.arange(count), np.zeros(count, dtype=np.int64)
    new = np.concatenate([np.ones(min(count, 1), dtype=bool), group[1:] != group[:-1]])
    index = np.arange(count)
    for bit in reversed(range(int(rank.max(initial=0)).bit_length())):
        one = (rank >> bit) & 1
        start = np.maximum.accumulate(np.where(new, index, 0))
        which = np.cumsum(new) - 1
        passed = np.cumsum(one) - one
        ones = passed - passed[start]
        zeros = index - start - ones
        found[places] += one * zeros
        of_group = np.bincount(which, 1 - one).astype(np.int64)[which]
        to = start + np.where(one == 1, of_group + ones, zeros)
        begins = np.zeros(count, dtype=bool)
        begins[start] = True
        begins[(start + of_group)[start + of_group < count]] = True
        moved = np.empty((2, count), dtype=np.int64)
        moved[:, to] = rank, places
        (rank, places), new = moved, begins
    same = np.empty(count, dtype=np.int64)
    same[places] = index - np.maximum.accumulate(np.where(new, index, 0))
    return found, same


def brier_at(
    t: float, survival: np.ndarray, time: np.ndarray, event: np.ndarray, weights: np.ndarray | None = None
) -> float:
    """Mean squared error of ``P(T > t)``, rows weighted by the inverse of the probability of not being censored.

    Graf et al. (1999): ``S^2 / G(T-)`` of rows with an event by t, ``(1 - S)^2 / G(t-)`` of those that live on, 0 of
    those censored before; G is the Kaplan-Meier curve of the censoring times. A row that is censored at t lives on.
    nan where G is 0, and so where the last row was censored before t: who lives on is not known.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.survival import brier_at
    >>> round(brier_at(2.5, np.array([0.2, 0.3, 0.9]), np.array([1.0, 2.0, 3.0]), np.ones(3, bool)), 4)
    0.0467
    """
    time, event, survival = _outcomes(time, event, survival, "survival")
    return float(brier_scores((t,), survival[None], time, event, weights)[0])


def brier_scores(
    horizons: Sequence[float],
    survival: np.ndarray,
    time: np.ndarray,
    event: np.ndarray,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Brier scores at several horizons, whose predictions have shape (horizons, n): the weights are made once."""
    own = np.ones(len(time)) if weights is None else weights
    # of equal times events come first: a censoring at the time of an event is later than it
    censoring = _censoring_curve(time, event, weights)
    before = censoring.before(time)
    now = censoring.before(np.asarray(horizons, dtype=np.float64))
    parts = zip(horizons, survival, now, strict=True)
    return np.array([_brier(t, s, time, event, own, before, float(g)) for t, s, g in parts])


def _brier(
    t: float,
    survival: np.ndarray,
    time: np.ndarray,
    event: np.ndarray,
    own: np.ndarray,
    before: np.ndarray,
    now: float,
) -> float:
    died = event & (time <= t)
    living = ~died & (time >= t)
    if now == 0 or np.any(before[died] == 0):
        return float("nan")
    parts = np.where(died, survival**2 / np.where(died, before, 1.0), 0.0)
    parts = parts + np.where(living, (1 - survival) ** 2 / (now if now > 0 else 1.0), 0.0)
    return float(parts @ own / own.sum())


def _censoring_curve(time: np.ndarray, event: np.ndarray, weights: np.ndarray | None) -> KaplanMeier:
    """Kaplan-Meier of censoring, in which events of the same time have left already."""
    own = np.ones(len(time)) if weights is None else weights
    times = np.unique(time[~event])
    order = np.argsort(time, kind="stable")
    left = np.concatenate([np.cumsum(own[order][::-1])[::-1], [0.0]])
    at_risk = left[np.searchsorted(time[order], times, side="left")]
    gone = _sums(times, time, own * event)
    censored = _sums(times, time, own * ~event)
    share = np.divide(censored, at_risk - gone, out=np.zeros(len(times)), where=censored > 0)  # rows of no weight: 0
    return KaplanMeier(times, np.cumprod(1 - np.minimum(share, 1.0)), np.zeros(len(times)))


def _sums(places: np.ndarray, time: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Sums of values whose times are among the places."""
    k = np.searchsorted(places, time)
    found = (
        (k < len(places)) & (places[np.minimum(k, len(places) - 1)] == time)
        if len(places)
        else np.zeros(len(time), bool)
    )
    return np.bincount(k[found], values[found], minlength=len(places))
