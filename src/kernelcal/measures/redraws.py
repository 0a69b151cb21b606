"""Values of measures under calibration: one set of draws for all measures, of all rows and of groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference import CoupledRows, Draws, Redrawn, Sliced, exact_null
from kernelcal.inference.laws import merged_pvalue, not_redrawn, ranks, refuse_few_clusters, thinned_in_words
from kernelcal.measures.base import Measure, PreparedMeasure
from kernelcal.predictions import Samples
from kernelcal.runs import Run
from kernelcal.statistics import Merge, Prepared, Together

__all__ = ["RedrawnPart", "Redraws", "redrawn"]

_EACH = 20  # draws a thinned series, so that the smallest p-value times h reaches 5 %
_FEWEST = 3  # rows of a thinned series
_MANY = 20  # draws a row, of which the outcome is one of many
_WITH_OUTCOME = (
    "of few draws a row the outcome is one of few that swap: what is expected lies nearer to the value than if "
    "outcomes came from the draws alone; p-values are right"
)
INTERPOLATED = (
    "outcomes were redrawn from the law that is linear between the quantiles, which was not forecast: what measures "
    "between the levels is expected under that law"
)


@dataclass(frozen=True, eq=False)
class RedrawnPart:
    """What draws say of one set of rows: of all, or of a group.

    Attributes
    ----------
    observed : numpy.ndarray of shape (M,)
        Values.
    drawn : numpy.ndarray of shape (B, M)
        Values under calibration; without rows where rows that depend cannot be redrawn.
    pvalues : numpy.ndarray of shape (M,)
        One a measure; NaN where there are too few clusters.
    together : float
        P-value of all measures.
    notes : tuple of str
        What the reader must know.
    means : numpy.ndarray of shape (M, B), or None
        Where nothing was drawn: values of independent rows, for their mean, of measures that are means over rows; NaN
        of others.
    """

    observed: np.ndarray
    drawn: np.ndarray
    pvalues: np.ndarray
    together: float
    notes: tuple[str, ...] = ()
    means: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class Redraws:
    """All parts, the law that was drawn from, and how many draws there were."""

    parts: tuple[RedrawnPart, ...]
    law: str
    draws: int


class _OfRest(Prepared):
    """Measures of draws without the one that plays the outcome: of every row the others are the prediction."""

    engine = "the outcome swapped with the draws"

    def __init__(self, measures: Sequence[Measure], pooled: Samples, weights: np.ndarray | None) -> None:
        self.measures, self.pooled, self.weights = measures, pooled, weights
        self.prepared = [measure.checked(pooled, weights) for measure in measures]
        self.tables = [measure.of_members(pooled) for measure in measures]
        self.names = tuple(name for one in self.prepared for name in one.names)
        self.bytes_per_draw = 64 * int(np.asarray(pooled.draws).size)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of all measures, shape (B, columns); every set of targets has predictions of its own."""
        return np.concatenate([self._of_one(chosen) for chosen in targets])

    def _of_one(self, targets: np.ndarray) -> np.ndarray:
        draws = np.asarray(self.pooled.draws)
        same = draws == targets.astype(draws.dtype)[:, None]
        same = same if same.ndim == 2 else same.reshape(*same.shape[:2], -1).all(axis=2)
        own = None if self.pooled.weights is None else np.asarray(self.pooled.weights)
        same = same if own is None else same & (own > 0)
        rows, chosen = np.arange(len(same)), same.argmax(axis=1)
        known = [None if table is None else table[rows, chosen] for table in self.tables]
        pairs = zip(self.prepared, known, strict=True)
        if all(one is not None for one in known):
            return np.hstack([prepared.ranked(_mean(one, self.weights)) for prepared, one in pairs])
        rest = np.ones(same.shape, dtype=bool)
        rest[rows, chosen] = False
        n, size = same.shape
        weights = None if own is None else own[rest].reshape(n, size - 1)
        batch = Samples(draws[rest].reshape(n, size - 1, *draws.shape[2:]), weights=weights)
        found = [measure.prepare(batch, self.weights).values(targets[None]) for measure in self.measures]
        return np.hstack(found)


def _mean(values: np.ndarray | None, weights: np.ndarray | None) -> np.ndarray:
    """Mean over rows of one set of targets, shape (1,)."""
    return np.atleast_1d(np.average(np.asarray(values), weights=weights))


def redrawn(case: Case, measures: Sequence[Measure], rows: Sequence[np.ndarray], run: Run) -> Redraws:
    """Values of measures of several sets of rows under calibration, all from the same draws.

    Parameters
    ----------
    case : Case
        All rows, in NumPy.
    measures : sequence of Measure
        That serve the predictions.
    rows : sequence of numpy.ndarray of int
        Sets of rows.
    run : Run
        Draws and their seed; all are made.
    """
    run = replace(run, early_stopping=False)
    batch = case.predictions
    if not batch.drawable:
        raise InputError(
            f"{type(batch).__name__} is a density that nothing draws from, so that nobody knows what a measure is "
            "under calibration: pass draws= or sampler= to it, or kernelcal.Samples(draws)"
        )
    if isinstance(batch, Samples) and not batch.exchangeable:
        raise InputError(
            "draws with unequal weights do not change places with the outcome, so that nobody knows what a measure is "
            "under calibration: draw an unweighted sample by them"
        )
    overlap = case.rows is not None and case.rows.overlap
    if overlap and not_redrawn(case):
        return _thinned(case, measures, rows, run)
    return _coupled(case, measures, rows, run) if overlap else _independent(case, measures, rows, run)


def _kinds(case: Case, measures: Sequence[Measure]) -> list[tuple[bool, list[int]]]:
    """Which measures look at cells of quantiles alone, and which at numbers."""
    by = [measure.prepare(case.predictions[:1], None).by_cells for measure in measures]
    return [(cells, chosen) for cells in (False, True) if (chosen := [k for k, one in enumerate(by) if one == cells])]


def _prepared(case: Case, measures: Sequence[Measure], rows: np.ndarray) -> list[PreparedMeasure]:
    some = case[rows]
    return [measure.checked(some.predictions, some.weights) for measure in measures]


def _independent(case: Case, measures: Sequence[Measure], rows: Sequence[np.ndarray], run: Run) -> Redraws:
    swapped = isinstance(case.predictions, Samples)
    values = [np.full((run.draws + 1, 0), np.nan) for _ in rows]
    order: list[int] = []
    for cells, chosen in [(False, list(range(len(measures))))] if swapped else _kinds(case, measures):
        own, shown = [measures[k] for k in chosen], case
        if swapped:
            shown = replace(case, predictions=case.predictions.pooled(case.targets))
            every: list[Prepared] = [_OfRest(own, shown.predictions[one], shown[one].weights) for one in rows]
        else:
            every = [Together(_prepared(case, own, one)) for one in rows]
        sliced = [Sliced(one, place, by_cells=cells) for one, place in zip(every, rows, strict=True)]
        found = exact_null(Together(sliced), shown, run, Draws(run.rng, "draws of measures")).values
        values = [np.hstack(pair) for pair in zip(values, _split(found, sliced), strict=True)]
        order += chosen
    few = isinstance(case.predictions, Samples) and case.predictions.size < _MANY
    said = (_WITH_OUTCOME,) if few else ()
    parts = tuple(_part(one, [measures[k] for k in order], order, notes=said) for one in values)
    law = "the outcome swapped with the draws" if swapped else "targets redrawn from the predictions"
    if case.rows is not None:
        law += f", {case.rows.in_words}"
    return Redraws(parts, law, run.draws)


def _split(values: np.ndarray, parts: Sequence[Prepared]) -> list[np.ndarray]:
    return np.split(values, np.cumsum([len(part.names) for part in parts])[:-1], axis=1)


def _part(
    values: np.ndarray,
    measures: Sequence[Measure],
    order: Sequence[int],
    least: float = 0.0,
    notes: tuple[str, ...] = (),
) -> RedrawnPart:
    """Ranks of columns, one or two a measure, put back into the order that was asked for; no p-value below `least`."""
    rank = ranks(values)
    ends = np.cumsum([1 + one.signed for one in measures])
    groups = tuple(tuple(range(end - 1 - one.signed, end)) for one, end in zip(measures, ends, strict=True))
    p = np.array([min(1.0, len(own) * rank[0, list(own)].min() / len(rank)) for own in groups])
    undefined = np.stack([np.isneginf(values[:, list(own)]).all(axis=1) for own in groups], axis=1)
    kept = np.where(undefined, np.nan, values[:, [own[0] for own in groups]])
    p = np.maximum(np.where(np.isnan(kept[0]), 1.0, p), least)
    back = np.argsort(order)
    merged = merged_pvalue(values, rank, Merge(groups)) if len(measures) > 1 else float(p[0])
    together = float(np.maximum(merged, least))
    return RedrawnPart(kept[0, back], kept[1:, back], p[back], together, notes)


def _coupled(case: Case, measures: Sequence[Measure], rows: Sequence[np.ndarray], run: Run) -> Redraws:
    """Rows that depend on each other: every set is drawn with its own dependence."""
    assert case.rows is not None  # for the type checker
    values = [np.full((run.draws + 1, 0), np.nan) for _ in rows]
    order: list[int] = []
    least = [0.0] * len(rows)
    notes: list[tuple[str, ...]] = [()] * len(rows)
    for cells, chosen in _kinds(case, measures):
        sets = [CoupledRows.of(case, one, by_cells=cells) for one in rows]
        refuse_few_clusters(case.rows, sets[0].effective)
        joint = Redrawn(case, sets)
        own = [measures[k] for k in chosen]
        every = [Together(_prepared(case, own, one)) for one in rows]
        sliced = [Sliced(one, place, by_cells=cells) for one, place in zip(every, joint.places, strict=True)]
        found = joint.ranked(Together(sliced), run, "draws of measures")
        values = [np.hstack(pair) for pair in zip(values, _split(found.drawn.values, sliced), strict=True)]
        order += chosen
        gated = [k for k in range(len(rows)) if found.gated(k)]
        flipped = joint.flipped(gated, run)[0] if gated else ()
        for k, p in zip(gated, flipped, strict=True):
            least[k] = max(least[k], float(p))
            notes[k] = (
                f"clusters differ by more than a common shift: no p-value is below that of flipped signs, {p:.3g}, and "
                "the mean under calibration is that of a common shift",
            )
        for k, one in enumerate(sets):
            if not one.enough:
                least[k] = np.nan
                notes[k] = (f"the clusters count like {one.effective:.1f} of equal size, too few for a test",)
    kept = [measures[k] for k in order]
    parts = tuple(_part(one, kept, order, low, said) for one, low, said in zip(values, least, notes, strict=True))
    return Redraws(parts, f"targets redrawn from the predictions, {case.rows.in_words}", run.draws)


def _thinned(case: Case, measures: Sequence[Measure], rows: Sequence[np.ndarray], run: Run) -> Redraws:
    """Sets of rows of which no two depend on each other: their number times the smallest p-value."""
    assert case.rows is not None  # for the type checker
    parts, draws = [], run.draws
    for one in rows:
        some = case[one]
        assert some.rows is not None
        subsets = some.rows.thinned
        observed = _observed(some, measures)
        undrawn = np.empty((0, len(measures)))
        if min(map(len, subsets)) < _FEWEST:
            note = f"fewer than {_FEWEST} rows do not depend on each other: too few for a test"
            parts.append(RedrawnPart(observed, undrawn, np.full(len(measures), np.nan), np.nan, (note,)))
            continue
        draws = max(run.draws, _EACH * len(subsets) - 1)
        more = replace(run, draws=draws, progress=None)
        found = [
            _independent(replace(some[k], rows=None), measures, [np.arange(len(k))], more).parts[0] for k in subsets
        ]
        pvalues = np.minimum(1.0, len(subsets) * np.min([part.pvalues for part in found], axis=0))
        together = min(1.0, len(subsets) * min(part.together for part in found))
        note = (
            f"{not_redrawn(some)}: p-values are {len(subsets)} times the smallest of as many sets of rows that do not "
            "depend on each other"
        )
        means = _means(some, measures, run)
        if np.isnan(means).all(axis=1).any():
            note += ", and what all rows have under calibration is known of means over rows alone"
        parts.append(RedrawnPart(observed, undrawn, pvalues, together, (note,), means))
    return Redraws(tuple(parts), thinned_in_words(case.rows), draws)


def _means(case: Case, measures: Sequence[Measure], run: Run) -> np.ndarray:
    """Values of independent rows, of means over rows: shape (M, B)."""
    found = np.full((len(measures), run.draws), np.nan)
    chosen = [k for k, one in enumerate(measures) if one.mean_of_rows]
    if chosen:
        some = [measures[k] for k in chosen]
        alone = _independent(replace(case, rows=None), some, [np.arange(len(case))], replace(run, progress=None))
        found[chosen] = alone.parts[0].drawn.T
    return found


def _observed(case: Case, measures: Sequence[Measure]) -> np.ndarray:
    found = []
    for measure in measures:
        prepared = measure.checked(case.predictions, case.weights)
        shown = case.in_cells if prepared.by_cells else case
        found.append(float(prepared.measured(shown.targets[None])[0]))
    return np.array(found)
