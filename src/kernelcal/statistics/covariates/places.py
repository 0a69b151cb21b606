"""Sums of scores in places of the columns: ranges and categories, trends, and intersections of two columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from kernelcal.covariates import Covariate, Covariates
from kernelcal.statistics.base import Prepared
from kernelcal.statistics.covariates.scores import RowScores

__all__ = ["ColumnPlace", "PreparedPlaces"]


_RANGES = (2, 4, 8)  # of numbers, of about as many rows each; the last are drawn
_CROSSED = (2, 4)  # ranges of numbers in intersections
_LEVELS = 12  # categories that are looked at alone, the most frequent ones; the others are one
_PAIRED = 10  # columns whose intersections are looked at
_FEWEST = 5.0  # rows, by their weights, of a place that is looked at
_SKEW = 1e-3  # below it a sum is normal


@dataclass(frozen=True, eq=False)
class ColumnPlace:
    """Rows of one kind, or a trend.

    Attributes
    ----------
    columns : tuple of str
        One name, or of an intersection two.
    where : str
        In words: ``age is high (above 61) and site is B``; of a trend the column.
    rows : numpy.ndarray of int
        Rows of the place; of a trend all with a number.
    trend : numpy.ndarray of shape (n,), or None
        Factors of a trend; None for a place.
    curved : bool
        Whether a trend compares both ends with the middle.
    ranges : int
        Into how many ranges its column of numbers was cut; 0 for categories and missing numbers.
    bounds : tuple of float
        Between which numbers it lies; empty for categories, missing numbers and intersections.
    """

    columns: tuple[str, ...]
    where: str
    rows: np.ndarray
    trend: np.ndarray | None = None
    curved: bool = False
    ranges: int = 0
    bounds: tuple[float, ...] = ()


def places_of(column: Covariate, weights: np.ndarray, ranges: Sequence[int]) -> Iterator[ColumnPlace]:
    """Ranges of a column of numbers, or its categories; missing values are a place of their own."""
    name = (column.name,)
    if column.is_number:
        yield from _ranges(column, weights, ranges)
    else:
        counts = np.bincount(column.values[column.values >= 0], minlength=len(column.levels))
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] > 0]
        kept = order if len(order) <= _LEVELS else order[: _LEVELS - 1]
        for k in kept:
            yield ColumnPlace(name, f"{column.name} is {column.levels[k]}", np.flatnonzero(column.values == k))
        if len(kept) < len(order):
            rest = np.isin(column.values, order[len(kept) :])
            yield ColumnPlace(name, f"{column.name} is another one of {len(order):,}", np.flatnonzero(rest))
    if column.missing.any():
        yield ColumnPlace(name, f"{column.name} is missing", np.flatnonzero(column.missing))


def _ranges(column: Covariate, weights: np.ndarray, ranges: Sequence[int]) -> Iterator[ColumnPlace]:
    x = column.values
    for number in ranges:
        cuts = column.cuts(number, weights)
        if not len(cuts):
            continue
        index = np.searchsorted(cuts, x, side="left")
        index[column.missing] = -1
        there = x[~column.missing]
        ends = np.concatenate([[there.min()], cuts, [there.max()]])
        for k in range(len(cuts) + 1):
            rows = np.flatnonzero(index == k)
            where = _range_in_words(column, cuts, k, x[rows])
            yield ColumnPlace((column.name,), where, rows, ranges=number, bounds=(float(ends[k]), float(ends[k + 1])))


def _range_in_words(column: Covariate, cuts: np.ndarray, k: int, values: np.ndarray) -> str:
    name, date = column.name, column.unit == "date"
    low, high = ("early", "late") if date else ("low", "high")
    if len(values) and values.min() == values.max():
        return f"{name} is {column.text(values[0])}"
    if k == 0:
        return f"{name} is {low} (up to {column.text(cuts[0])})"
    if k == len(cuts):
        return f"{name} is {high} ({'after' if date else 'above'} {column.text(cuts[-1])})"
    return f"{name} lies between {column.text(cuts[k - 1])} and {column.text(cuts[k])}"


def trends_of(column: Covariate, weights: np.ndarray, variance: np.ndarray) -> Iterator[ColumnPlace]:
    """Trend and curve of a column of numbers, uncorrelated with the sum over rows, and with each other, if calibrated.

    With standardised numbers x: what is left of x after 1, and of ``x^2`` after 1 and x, in the products ``sum w^2 v``
    with weights w and variances v of the scores: a shift of all log odds moves neither.
    """
    if not column.is_number or len(np.unique(column.values[~column.missing])) < 3:
        return
    x, there = column.standardised(weights), ~column.missing
    mass = weights * variance * there  # a shift of all log odds moves a row by its variance
    basis: list[np.ndarray] = [there.astype(np.float64)]
    for power in (x, x * x):
        left = np.where(there, power, 0.0)
        for known in basis:
            left = left - known * ((mass @ (left * known)) / max(mass @ (known * known), 1e-300))
        if not mass @ (left * left) > 1e-9 * max(mass @ (power * power), 1e-300):
            return
        curved = len(basis) == 2
        yield ColumnPlace((column.name,), column.name, np.flatnonzero(there), trend=left, curved=curved)
        basis.append(left)


class PreparedPlaces(Prepared):
    """Largest standardised sum of a score over all places of single columns, and over those of two columns.

    The sum ``S = sum_{i in place} w_i r_i`` of a score has known variance V and third moment under calibration, and is
    told as a normal quantile of the gamma law with the same moments (`normal_of`), so that sums of rare events and of
    squares are on one scale. Places are ranges of about 1/2, 1/4 and 1/8 of the rows, categories, trends, and
    intersections of halves, quarters and categories of two columns.

    Notes
    -----
    Places depend on the columns alone, so that exact tests stay exact. Cost: ``n`` additions a draw for every range,
    category, and pair of columns: with d columns of numbers about ``n (5 d + d (d - 1))``.
    """

    engine = "sums over rows"

    def __init__(self, given: Covariates, scores: RowScores, weights: np.ndarray | None = None) -> None:
        n = len(given)
        self.given, self.scores, self.notes = given, scores, ()
        self.weights = np.ones(n) if weights is None else weights
        single, crossed = self._single(), self._crossed()
        self.places = (*single, *crossed)
        self.single = len(single)
        self.names = ("columns of x", "pairs of columns of x") if crossed else ("columns of x",)
        self.bytes_per_draw = 8 * (4 * n + 3 * len(self.places)) * len(scores.sayings)
        self.looked_at = self._looked_at()
        if len(given.columns) > _PAIRED:
            self.notes = (
                f"intersections are those of the first {_PAIRED} of {len(given.columns)} columns of x; the others are "
                "looked at alone",
            )

    def _single(self) -> list[ColumnPlace]:
        found: list[ColumnPlace] = []
        for column in self.given.columns:
            found += _distinct(places_of(column, self.weights, _RANGES), found)
            if not self.scores.one_sided:
                found += trends_of(column, self.weights, self.scores.variance[0])
        return found

    def _crossed(self) -> list[ColumnPlace]:
        """Intersections; one with the rows of a single place, as of nested columns, says nothing new."""
        found: list[ColumnPlace] = []
        known = self._single_places
        for one, other in combinations(self.given.columns[:_PAIRED], 2):
            for ranges in _CROSSED:
                pairs = [list(places_of(c, self.weights, (ranges,))) for c in (one, other)]
                if ranges != _CROSSED[0] and not (one.is_number or other.is_number):
                    continue
                found += _distinct(_crossings(pairs[0], pairs[1], len(self.given)), [*known, *found])
        return found

    @cached_property
    def _single_places(self) -> list[ColumnPlace]:
        return [place for place in self._single() if place.trend is None]

    @cached_property
    def matrix(self) -> Any:
        """Factors of every row in every place, weights included, sparse of shape (places, n)."""
        from scipy.sparse import csr_array  # imported when needed: the import of kernelcal stays light

        values = [self.weights[p.rows] if p.trend is None else (self.weights * p.trend)[p.rows] for p in self.places]
        ends = np.concatenate([[0], np.cumsum([len(v) for v in values])])
        columns = np.concatenate([p.rows for p in self.places]) if self.places else np.zeros(0, dtype=np.intp)
        flat = np.concatenate(values) if values else np.zeros(0)
        return csr_array((flat, columns, ends), shape=(len(self.places), len(self.given)))

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        """Variance of every sum, and skewness, each (scores, places)."""
        second = (self.matrix.power(2) @ self.scores.variance.T).T
        third = (self.matrix.power(3) @ self.scores.third.T).T
        with np.errstate(divide="ignore", invalid="ignore"):
            return second, np.where(second > 0, third / second**1.5, 0.0)

    @cached_property
    def _sizes(self) -> tuple[np.ndarray, np.ndarray]:
        """Sum of the weights of every place, and of their squares; 0 for trends."""
        plain = np.array([p.trend is None for p in self.places], dtype=bool)
        own = [self.weights[p.rows] for p in self.places]
        return (
            np.where(plain, [w.sum() for w in own], 0.0),
            np.where(plain, [(w**2).sum() for w in own], 0.0),
        )

    def _looked_at(self) -> np.ndarray:
        """Sums that can say something: of rows enough and, of counts, of events enough; shape (scores, places)."""
        if not self.places:
            return np.zeros((len(self.scores.sayings), 0), dtype=bool)
        mass, squares = self._sizes
        trend = np.array([p.trend is not None for p in self.places])
        with np.errstate(divide="ignore", invalid="ignore"):
            enough = trend | (np.where(squares > 0, mass**2 / squares, 0.0) >= _FEWEST)
        second, _ = self._moments
        # the variance of a count whose weights are 1, in the unit of a row
        unit = np.where(trend | (mass <= 0), 1.0, squares / np.where(mass > 0, mass, 1.0))
        every = (self.matrix != 0).astype(np.float64) @ self.scores.variance.T
        counts = np.where(trend, every.T, second / unit**2)
        return np.asarray(enough & (second > 1e-12) & (counts >= self.scores.least_variance))

    @property
    def number(self) -> int:
        """How many sums are looked at."""
        return int(self.looked_at.sum())

    def normal(self, targets: np.ndarray) -> np.ndarray:
        """Sums as normal quantiles, for targets of shape (B, n, ...): shape (scores, B, places); 0 if not looked at."""
        found = self.scores.of(targets)
        count, draws, n = found.shape
        flat = np.ascontiguousarray(found.reshape(count * draws, n).T)
        sums = (self.matrix @ flat).T.reshape(count, draws, len(self.places))
        second, skewness = self._moments
        with np.errstate(divide="ignore", invalid="ignore"):
            values = normal_of(sums / np.sqrt(second)[:, None, :], skewness[:, None, :])
        plain = np.array([p.trend is None for p in self.places], dtype=bool)
        for k, mean in self.scores.about.items():
            values[k][:, plain] = self._about_mean(sums[k], sums[mean])[:, plain]
        return np.where(self.looked_at[:, None, :], values, 0.0)

    def _about_mean(self, squares: np.ndarray, sums: np.ndarray) -> np.ndarray:
        """Sums of squares less 1 about the mean of a place, of so many degrees of freedom."""
        mass, own = self._sizes
        with np.errstate(divide="ignore", invalid="ignore"):
            total = squares + mass - sums**2 / mass
            mean = mass - own / mass
            freedom = np.maximum(mass**2 / own - 1, 1e-300)
            return normal_of((total / mean - 1) * np.sqrt(freedom / 2), np.sqrt(8 / freedom))

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Largest sums over places of one column, and of two: shape (B, 1 or 2)."""
        return self._largest(self.normal(targets))

    def by_cluster(self, targets: np.ndarray, clusters: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Sums over clusters of every sum, over the root of their squares, (scores, G, places), and these roots.

        Roots are in standard deviations of calibrated, independent rows; sums that are not looked at are 0.
        """
        from scipy.sparse import csr_array  # imported when needed: the import of kernelcal stays light

        n, groups = len(clusters), int(clusters.max()) + 1
        member = csr_array((np.ones(n), (clusters, np.arange(n))), shape=(groups, n))
        scores = self.scores.of(targets[None])[:, 0]
        sums = np.stack([((member * one) @ self.matrix.T).toarray() for one in scores])
        sums = np.where(self.looked_at[:, None, :], sums, 0.0)
        roots = np.sqrt((sums**2).sum(axis=1))
        spread = np.sqrt(np.maximum(self._moments[0], 1e-300))
        return sums / np.where(roots > 0, roots, 1.0)[:, None, :], roots / spread

    def flipped(self, targets: np.ndarray, clusters: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """Largest sums over places whose clusters change their signs, (B, G), each over the root of its squares."""
        sums, _ = self.by_cluster(targets, clusters)
        return self._largest(np.stack([signs @ one for one in sums]))

    def _largest(self, normal: np.ndarray) -> np.ndarray:
        if not self.scores.one_sided:
            normal = np.abs(normal)
        parts = (slice(0, self.single), slice(self.single, None))[: len(self.names)]
        return np.stack([np.maximum(normal[:, :, part].max(axis=(0, 2), initial=0.0), 0.0) for part in parts], axis=1)

    def gap_at(self, k: int, place: int, value: float) -> float:
        """Mean score of a place whose sum is this normal quantile, of squares the spread less 1: an end of a band."""
        mass, own = self._sizes
        if k in self.scores.about:
            freedom = max(mass[place] ** 2 / own[place] - 1, 1e-300)
            ratio = 1 + sum_of(value, float(np.sqrt(8 / freedom))) * np.sqrt(2 / freedom)
            return float(np.sqrt(max(ratio, 0.0)) - 1)
        second, skewness = self._moments
        return float(sum_of(value, skewness[k, place]) * np.sqrt(second[k, place]) / mass[place])


def normal_of(z: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """Normal quantiles of standardised sums of some skewness, nearly (Wilson, Hilferty 1931); monotone in z.

    ``6 / g ((g z / 2 + 1)^(1/3) - 1) + g / 6`` for skewness g.
    """
    g = np.where(np.abs(skewness) < _SKEW, 1.0, skewness)
    return np.asarray(np.where(np.abs(skewness) < _SKEW, z, 6 / g * (np.cbrt(g * z / 2 + 1) - 1) + g / 6))


def sum_of(value: float, skewness: float) -> float:
    """Standardised sum of a normal quantile, the inverse of `normal_of`."""
    if abs(skewness) < _SKEW:
        return value
    return float((((value - skewness / 6) * skewness / 6 + 1) ** 3 - 1) * 2 / skewness)


def _distinct(places: Any, known: Sequence[ColumnPlace]) -> list[ColumnPlace]:
    """Places with rows that are new, and not empty."""
    seen, found = {p.rows.tobytes() for p in known if p.trend is None}, []
    for place in places:
        key = place.rows.tobytes()
        if len(place.rows) and key not in seen:
            seen.add(key)
            found.append(place)
    return found


def _crossings(ones: Sequence[ColumnPlace], others: Sequence[ColumnPlace], n: int) -> Iterator[ColumnPlace]:
    for one in ones:
        inside = np.zeros(n, dtype=bool)
        inside[one.rows] = True
        for other in others:
            rows = other.rows[inside[other.rows]]
            yield ColumnPlace((*one.columns, *other.columns), f"{one.where} and {other.where}", rows)
