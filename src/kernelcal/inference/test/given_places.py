"""From the draws of a test to what columns show: p-values over all places, sentences, and profiles with their bands."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from kernelcal.cases import Case
from kernelcal.inference.given import ColumnProfile, GivenResult, PlaceFinding
from kernelcal.inference.laws import STOP_ABOVE, DrawnValues
from kernelcal.inference.test.place_family import FamilyOfPlaces, FlippedPlaces
from kernelcal.statistics.covariates import ColumnPlace, PreparedPlaces, Saying

__all__ = ["GivenWords"]


_KEPT = 100  # findings of a result
_SPECIFIC = 2.0  # standard errors by which gaps differ from those elsewhere, and are left beside stronger places


class GivenWords:
    """What the places of a test say.

    Parameters
    ----------
    places : PreparedPlaces
        As the test saw them.
    observed : numpy.ndarray of shape (scores, places)
        Observed sums.
    drawn : DrawnValues
        Values of all members in x; the first ones are those of the places.
    case : Case
        What was observed, with the predictions as the test saw them.
    alpha : float
        Level at which places are named.
    flips : numpy.ndarray of shape (draws, kinds), optional
        Largest sums under flipped signs of clusters: p-values are not below those among these.
    """

    def __init__(
        self,
        places: PreparedPlaces,
        observed: np.ndarray,
        drawn: DrawnValues,
        case: Case,
        alpha: float,
        flips: np.ndarray | None = None,
    ) -> None:
        self.places, self.observed, self.drawn, self.case, self.alpha = places, observed, drawn, case, alpha
        self.scores, self.n = places.scores, len(case)
        self.family = FamilyOfPlaces(drawn.values[1:, : len(places.names)], stopped_early=drawn.stopped_early)
        self.flips, self.least = None, np.zeros_like(observed)
        if flips is not None and case.rows is not None and case.rows.clusters is not None:
            self.flips = FlippedPlaces(flips, *places.by_cluster(case.targets, case.rows.clusters), places.single)
            self.least = self.flips.pvalues(one_sided=self.scores.one_sided)
        self.law = "exact" if case.rows is None else case.rows.in_words

    def result(self) -> GivenResult:
        """Everything together."""
        findings = tuple(self._findings())
        order = list(dict.fromkeys(name for found in findings for name in found.columns))
        order += [name for name in self.places.given.names if name not in order]
        profiles = tuple(profile for name in order if (profile := self._profile(name, findings)) is not None)
        return GivenResult(
            n=self.n,
            columns=self.places.given.names,
            places=self.places.number,
            findings=findings,
            pvalue=max(self.drawn.pvalue, 0.0 if self.flips is None else float(self.least.min(initial=1.0))),
            profiles=profiles,
            draws=self.drawn.draws,
            alpha=self.alpha,
            notes=(*self.places.given.notes, *self.places.notes, *self._stopped()),
            law=self.law,
        )

    def _stopped(self) -> tuple[str, ...]:
        if not self.drawn.stopped_early:
            return ()
        return (
            f"the draws stopped early: p-values of places below {STOP_ABOVE} need all of them (early_stopping=False or "
            "--all-draws)",
        )

    @cached_property
    def _sizes(self) -> np.ndarray:
        """Sums without signs; of one-sided scores those below 0 say nothing."""
        return np.maximum(self.observed, 0.0) if self.scores.one_sided else np.abs(self.observed)

    def _findings(self) -> Iterator[PlaceFinding]:
        pvalues = np.ones_like(self.observed)
        for kind, part in enumerate((slice(0, self.places.single), slice(self.places.single, None))):
            if kind < len(self.places.names):
                shape = self._sizes[:, part].shape
                pvalues[:, part] = self.family.pvalues(self._sizes[:, part].ravel(), kind).reshape(shape)
        pvalues = np.maximum(pvalues, self.least)
        score, place = np.nonzero(self.places.looked_at & (self._sizes > 0))
        order = np.lexsort((-self._sizes[score, place], pvalues[score, place]))[:_KEPT]
        chosen = [(int(score[k]), int(place[k])) for k in order]
        told = self._told([pair for pair in chosen if pvalues[pair] <= self.alpha])
        for s, p in chosen:
            yield self._finding(s, p, float(pvalues[s, p]), repeated=(s, p) in told and not told[s, p])

    def _told(self, named: list[tuple[int, int]]) -> dict[tuple[int, int], bool]:
        """Which significant sums are there beside stronger ones; widths beside shifts, which make outcomes spread."""
        found: dict[tuple[int, int], bool] = {}
        kept: list[tuple[int, int]] = []
        for s, p in sorted(named, key=lambda pair: pair[0] in self.scores.about):
            found[s, p] = not self._repeats(s, p, kept)
            kept += [(s, p)] if found[s, p] and self._clear(s, p) and self._specific(s, self.places.places[p]) else []
        return found

    @cached_property
    def _observed_scores(self) -> np.ndarray:
        return np.asarray(self.scores.of(self.case.targets[None])[:, 0])

    def _repeats(self, s: int, p: int, kept: list[tuple[int, int]]) -> bool:
        """Whether a sum is small in rows outside the places that are named, or a trend of its column is."""
        place, outside = self.places.places[p], np.ones(self.n, dtype=bool)
        for t, q in kept:
            other = self.places.places[q]
            trends = place.trend is not None or other.trend is not None
            within = place.trend is not None and len(other.columns) > 1  # a trend may go on outside an intersection
            if trends and not within and s == t and set(place.columns) & set(other.columns):
                return True
            same = s != t and (np.array_equal(place.rows, other.rows) or self.scores.about.get(s) == t)
            if other.trend is None and not same:
                outside[other.rows] = False
        left = place.rows[outside[place.rows]]
        shifts = [self.places.places[q] for t, q in kept if self.scores.about.get(s) == t]
        if len(left) == len(place.rows) and not shifts:
            return False
        w = self.places.weights[left] * (1.0 if place.trend is None else place.trend[left])
        own = self._cleared_squares(s, left, shifts) if s in self.scores.about else self._observed_scores[s, left]
        spread = float(np.sqrt(w**2 @ self.scores.variance[s, left]))
        return not (spread > 0 and np.sign(self.observed[s, p]) * float(w @ own) >= _SPECIFIC * spread)

    def _clear(self, s: int, p: int) -> bool:
        """Whether a shift is significant in units of the spread about the mean of its place, if that is wider."""
        if s not in self.scores.shifts:
            return True
        place = self.places.places[p]
        own, w = self._observed_scores[s, place.rows], self.places.weights[place.rows]
        if not (w > 0).sum() > 1:
            return False
        factor = w * (1.0 if place.trend is None else place.trend[place.rows])
        counted = (w > 0).sum()
        seen = factor**2 @ (own - np.average(own, weights=w)) ** 2 * counted / (counted - 1)
        ratio = seen / max(float(factor**2 @ self.scores.variance[s, place.rows]), 1e-300)
        kind = int(p >= self.places.single)
        size = self._sizes[s, p] / np.sqrt(max(1.0, ratio))
        return bool(max(self.family.pvalues(np.array([size]), kind)[0], self.least[s, p]) <= self.alpha)

    def _cleared_squares(self, s: int, rows: np.ndarray, shifts: list[ColumnPlace]) -> np.ndarray:
        """Squares less 1 of the scores in some rows, less what shifts that are named explain of them."""
        z = self._observed_scores[self.scores.about[s]]
        columns = [np.ones(self.n)]
        for place in shifts:
            if place.trend is None:
                inside = np.zeros(self.n)
                inside[place.rows] = 1.0
                columns.append(inside)
            else:
                columns += [place.trend, place.trend**2, place.trend**3]
        root = np.sqrt(self.places.weights)
        design = np.column_stack(columns)
        fitted = design @ np.linalg.lstsq(design * root[:, None], z * root, rcond=None)[0]
        return np.asarray((z - fitted)[rows] ** 2 - 1)

    def _finding(self, s: int, p: int, pvalue: float, *, repeated: bool) -> PlaceFinding:
        place, saying = self.places.places[p], self.scores.sayings[s]
        inside, outside = self._sides(place)
        observed, predicted = self._figures(s, inside)
        elsewhere = self._figures(s, outside) if self._mass(outside) > 0 else None
        over = f"p = {pvalue:.2g} over all {self.places.number:,} places"
        more = self.observed[s, p] > 0
        if place.trend is None:
            figures = _in_words(saying, observed, predicted) + self._elsewhere(s, outside, more=bool(more))
            words = saying.more if more else saying.less
            sentence = f"where {place.where}, {words} ({figures}, {len(place.rows):,} rows; {over})"
        else:
            assert elsewhere is not None  # for the type checker: a trend has two sides
            sentence = _of_trend(
                place, saying, (observed, predicted), elsewhere, over, more=more, unit=self._unit(place)
            )
        kind = saying.more if more else saying.less
        return PlaceFinding(
            columns=place.columns,
            where=place.where if place.trend is None else _side_of_trend(place),
            kind=kind,
            rows=len(inside),
            observed=observed,
            predicted=predicted,
            elsewhere=elsewhere,
            score=float(self.observed[s, p]),
            pvalue=pvalue,
            sentence=sentence,
            specific=self._specific(s, place),
            repeated=repeated,
            clear=self._clear(s, p),
        )

    def _elsewhere(self, s: int, outside: np.ndarray, *, more: bool) -> str:
        """The figures of all other rows, where these err the same way too."""
        if s in self.scores.about or self._mass(outside) <= 0:
            return ""
        mean, error = self._mean(s, outside)
        if (mean if more else -mean) < _SPECIFIC * error:
            return ""
        return f"; elsewhere {_short(self.scores.sayings[s], self._figures(s, outside))}"

    def _unit(self, place: ColumnPlace) -> str:
        column = next(c for c in self.places.given.columns if c.name == place.columns[0])
        return column.unit

    def _mass(self, rows: np.ndarray) -> float:
        return float(self.places.weights[rows].sum())

    def _figures(self, s: int, rows: np.ndarray) -> tuple[float, float]:
        return self.scores.figures(s, self.case.targets, rows, self.places.weights)

    def _sides(self, place: ColumnPlace) -> tuple[np.ndarray, np.ndarray]:
        """Rows of a place and the others; of a trend its upper and its lower half, of a curve ends and middle."""
        if place.trend is None:
            inside = np.zeros(self.n, dtype=bool)
            inside[place.rows] = True
            return np.flatnonzero(inside), np.flatnonzero(~inside)
        column = next(c for c in self.places.given.columns if c.name == place.columns[0])
        rows = place.rows[self.places.weights[place.rows] > 0]
        x = column.values[rows]
        if place.curved:
            low, high = np.quantile(x, [0.25, 0.75])
            ends = (x <= low) | (x >= high)
            if ends.all():  # few levels: ends are where the curve is above its mean
                ends = place.trend[rows] > 0
            return rows[ends], rows[~ends]
        upper = x > np.median(x)
        upper = upper if upper.any() else x >= np.median(x)
        return rows[upper], rows[~upper]

    def _specific(self, s: int, place: ColumnPlace) -> bool:
        """Whether the gap differs from that elsewhere, by the variances of calibrated outcomes."""
        if place.trend is not None:
            return s not in self.scores.about or self._not_by_shift(s, place)
        inside, outside = self._sides(place)
        if self._mass(outside) <= 0:
            return True
        if s in self.scores.about:
            (a, _), (c, _) = self._figures(s, inside), self._figures(s, outside)
            sizes = 1 / (2 * len(inside)) + 1 / (2 * len(outside))
            return bool(abs(np.log(max(a, 1e-9) / max(c, 1e-9))) >= _SPECIFIC * np.sqrt(sizes))
        sign = np.sign(self.observed[s, self.places.places.index(place)])
        (here, one), (there, other) = self._mean(s, inside), self._mean(s, outside)
        return bool(sign * (here - there) >= _SPECIFIC * np.hypot(one, other))

    def _mean(self, s: int, rows: np.ndarray) -> tuple[float, float]:
        """Mean score of some rows, and its standard error under calibration."""
        w, mass = self.places.weights[rows], self._mass(rows)
        variance = float(w**2 @ self.scores.variance[s, rows])
        return float(w @ self._observed_scores[s, rows]) / mass, float(np.sqrt(variance)) / mass

    def _not_by_shift(self, s: int, place: ColumnPlace) -> bool:
        """Whether a trend of squares is there about a curve of the means too."""
        assert place.trend is not None  # for the type checker: only trends are asked
        z = self.scores.of(self.case.targets[None])[self.scores.about[s], 0, place.rows]
        t, w = place.trend[place.rows], self.places.weights[place.rows]
        design = np.column_stack([np.ones_like(t), t, t * t]) * np.sqrt(w)[:, None]
        left = z * np.sqrt(w) - design @ np.linalg.lstsq(design, z * np.sqrt(w), rcond=None)[0]
        squares = left**2 - np.average(left**2)
        sign = np.sign(self.observed[s, self.places.places.index(place)])
        return bool(sign * (t @ (np.sqrt(w) * squares)) >= _SPECIFIC * np.sqrt(2 * float(w @ (t * t))))

    def _profile(self, name: str, findings: tuple[PlaceFinding, ...]) -> ColumnProfile | None:
        """Finest ranges, or categories, of one column, for the score of its strongest place."""
        column = next(c for c in self.places.given.columns if c.name == name)
        mine = [k for k, p in enumerate(self.places.places[: self.places.single]) if p.columns == (name,)]
        chosen = _partition([(k, self.places.places[k]) for k in mine if self.places.places[k].trend is None])
        sayings = [saying.more for saying in self.scores.sayings] + [saying.less for saying in self.scores.sayings]
        best = next((f.kind for f in findings if name in f.columns and f.pvalue <= self.alpha), sayings[0])
        s = sayings.index(best) % len(self.scores.sayings)
        if self.scores.one_sided:
            s = 0
        if not any(self.places.looked_at[s, k] for k in chosen):
            return None
        critical = self.family.critical(self.alpha)
        gap, low, high = (np.full(len(chosen), np.nan) for _ in range(3))
        for j, k in enumerate(chosen):
            if not self.places.looked_at[s, k]:
                continue
            gap[j] = self.places.gap_at(s, k, self.observed[s, k])
            end = critical if self.flips is None else max(critical, float(self.flips.critical(self.alpha)[s, k]))
            high[j] = self.places.gap_at(s, k, end)
            low[j] = self._lower_end(s, k, end)
        kept = [self.places.places[k] for k in chosen]
        edges = None
        if column.is_number and all(p.bounds for p in kept):
            edges = np.array([kept[0].bounds[0], *(p.bounds[1] for p in kept)])
        return ColumnProfile(
            column=name,
            labels=tuple(p.where.removeprefix(f"{name} ").removeprefix("is ") for p in kept),
            edges=edges,
            gap=gap,
            low=low,
            high=high,
            rows=np.array([len(p.rows) for p in kept]),
            label=self._label(s),
            alpha=self.alpha,
            dates=column.unit == "date",
        )

    def _lower_end(self, s: int, place: int, critical: float) -> float:
        """Lower end of the band; of one-sided scores the mirror of the score that grows downwards."""
        if self.scores.one_sided:
            return -self.places.gap_at(1, place, critical)
        return self.places.gap_at(s, place, -critical)

    def _label(self, s: int) -> str:
        saying = self.scores.sayings[s]
        if s in self.scores.about:
            return f"{saying.more.split(' spread')[0]}: spread, observed - predicted"
        if saying.unit == "share":
            return "mean score of outcomes, observed - claimed"
        if saying.unit:
            return f"{saying.more.split(' are ')[0].split(' is ')[0]}: mean standardised residual"
        words = saying.more.split(" are ")[0].split(" is ")[0]
        return f"{words}: observed - predicted"


def _partition(places: list[tuple[int, ColumnPlace]]) -> list[int]:
    """Positions of ranges that do not overlap, the finest, in order; of categories all."""
    ranges = [(k, p) for k, p in places if p.bounds]
    if not ranges:
        return [k for k, _ in places]
    taken: list[tuple[int, ColumnPlace]] = []
    for k, p in sorted(ranges, key=lambda pair: (len(pair[1].rows), pair[1].bounds)):
        if not any(len(np.intersect1d(p.rows, q.rows, assume_unique=True)) for _, q in taken):
            taken.append((k, p))
    return [k for k, _ in sorted(taken, key=lambda pair: pair[1].bounds)]


def _in_words(saying: Saying, observed: float, predicted: float) -> str:
    if saying.unit.startswith("standard"):
        return f"by {abs(observed):.2g} {saying.unit}"
    if saying.unit.startswith("times"):
        return f"{observed:.2f} {saying.unit}"
    return f"{_share(observed, predicted)} against {_share(predicted, observed)}"


def _share(value: float, beside: float) -> str:
    """Two decimals, or as many as tell small shares apart."""
    digits = (
        2 if min(value, beside) >= 0.095 or abs(value - beside) >= 0.095 else 3 if max(value, beside) >= 0.0095 else 5
    )
    return f"{value:.{digits}f}"


def _short(saying: Saying, figures: tuple[float, float]) -> str:
    observed, predicted = figures
    if saying.unit.startswith(("standard", "times")):
        return f"{observed:+.2f}" if saying.unit.startswith("standard") else f"{observed:.2f}"
    return f"{_share(observed, predicted)} against {_share(predicted, observed)}"


def _side_of_trend(place: ColumnPlace) -> str:
    """Name of a trend, and of the rows whose figures stand beside it."""
    if place.curved:
        return f"curve of {place.where}, both ends"
    return f"trend of {place.where}, upper half"


def _of_trend(
    place: ColumnPlace,
    saying: Saying,
    here: tuple[float, float],
    there: tuple[float, float],
    over: str,
    *,
    more: bool,
    unit: str,
) -> str:
    """Sentence of a trend, or of a curve."""
    one, other = _short(saying, here), _short(saying, there)
    tail = f" {saying.unit}" if saying.unit else ""
    if place.curved:
        words = saying.more if more else saying.less
        where = f"at both ends of {place.where}, compared with its middle"
        return f"{where}, {words} (ends {one}, middle {other}{tail}; {over})"
    way, words = ("later" if unit == "date" else "higher"), saying.the_more if more else saying.the_less
    return f"the {way} {place.where} is, {words} (lower half {other}, upper half {one}{tail}; {over})"
