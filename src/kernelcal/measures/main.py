"""What a field calls calibration: measures of predictions, each with what it takes not to stand alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS
from kernelcal.errors import InputError
from kernelcal.explanation import Group, Grouping, checked_groups
from kernelcal.inference.test import holm_adjusted
from kernelcal.measures.base import Measure
from kernelcal.measures.intervals import MeasureInterval, difference, interval_of_measure
from kernelcal.measures.known import MEASURES, asked_measures, served, serving
from kernelcal.measures.redraws import INTERPOLATED, RedrawnPart, redrawn
from kernelcal.measures.result import Measured, MeasuredValue
from kernelcal.predictions import Quantiles
from kernelcal.runs import Run

__all__ = ["measure", "measured"]


def measure(
    y: Any,
    predictions: Any,
    measures: Any = None,
    *,
    weights: Any = None,
    lens: Any = None,
    groups: Any = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    draws: int = DRAWS,
    rng: Any = 0,
    classes: Any = None,
    normalize: bool = False,
    progress: Callable[[int, int], None] | None = None,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> Measured:
    """Measure what a field calls calibration, and say what calibrated predictions would have.

    Parameters
    ----------
    y : array of shape (n,), or (n, d) for vectors
        Targets, as for `calibration_test`.
    predictions : Predictions or what `as_predictions` takes
        Predicted probabilities, or a family for numbers.
    measures : str, Measure or sequence of these, optional
        Names (`measures.MEASURES`), fields (`measures.FIELDS`) such as ``clinical``, or measures with settings of their
        own; one text may name several, ``"slope,auroc"``. Default: all that serve the predictions.
    weights : array of shape (n,), optional
        Case weights, not negative; only their ratios matter.
    lens : Lens, optional
        A simpler question of several classes: `OneClass`, `TopLabel`, ...
    groups : array of shape (n,), mapping of names to columns, or data frame, optional
        Groups of rows, each measured by itself; measured numbers are cut at their quartiles.
    confidence_level : float
        Of intervals, and of the band that calibrated predictions stay in.
    draws : int
        Sets of targets that are drawn from the predictions: one set of draws serves all measures and groups.
    rng : int, numpy.random.Generator or None
        Seed (SPEC 7).
    classes, normalize
        As for `as_predictions`.
    progress : callable, optional
        Called as ``progress(done, total)``.
    clusters, time, horizon, series
        Which rows depend on each other, as for `calibration_test`.

    Returns
    -------
    Measured
        Prints as a table; ``.plot()`` draws it.

    Raises
    ------
    InputError
        With the row and the remedy; for predictions that nothing draws from.

    Notes
    -----
    The p-value of a measure is the rank of its value among those of redrawn targets, ``(1 + #) / (draws + 1)``; where
    values on both sides speak against calibration twice the smaller one of both tails. It is exact for independent
    rows. The mean under calibration is that over the same draws.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0.05, 0.6, 400)
    >>> y = rng.random(400) < p**2
    >>> kc.measures.measure(y, p, "oe,auroc")
    Measures of 400 rows
    --------------------
                                                    expected if
    measure                value     95 % interval   calibrated      p
    observed to expected  0.4314  0.3437 to 0.5415       1.0008  0.002
    c-statistic           0.7427  0.6755 to 0.8001       0.7072   0.17
    note: expected if calibrated: mean of 999 draws (targets redrawn from the predictions)
    note: p-value of calibration by all of them together: 0.001
    """
    chosen = asked_measures(measures)
    run = Run(confidence_level=confidence_level, draws=draws, rng=rng, progress=progress)
    rows = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    case = Case.of(y, predictions, weights=weights, lens=lens, classes=classes, normalize=normalize, **rows)
    return measured(case, chosen, run, groups=groups)


def measured(case: Case, measures: Sequence[Measure] | None, run: Run, *, groups: Any = None) -> Measured:
    """Measure what was checked already; None stands for all measures of the predictions."""
    case, run = case.in_numpy, run.shared()
    measures = _of(case) if measures is None else served(measures, case.predictions)
    for one in measures:
        one.refuse(case.predictions)
    grouping = checked_groups(groups, len(case))
    every = [np.arange(len(case)), *(group.rows for group in grouping.groups)]
    found = redrawn(case, measures, every, run)
    prepared = [one.prepare(case.predictions, case.weights) for one in measures]
    values = _values(case, measures, found.parts[0], run)
    notes = [note for one in prepared for note in one.notes]
    remarks = zip(values, (own.remark(one.value) for own, one in zip(prepared, values, strict=True)), strict=True)
    notes += [f"{one.name}: {remark}" for one, remark in remarks if remark]
    notes += _without_value(measures, found.parts[0])
    if isinstance(case.predictions, Quantiles) and not all(one.by_cells for one in prepared):
        notes.append(INTERPOLATED)
    return Measured(
        values=values,
        groups=_of_groups(case, measures, grouping, found.parts[1:], run),
        pvalue=found.parts[0].together,
        n=len(case),
        draws=found.draws,
        law=found.law,
        confidence_level=run.confidence_level,
        notes=tuple(dict.fromkeys((*notes, *case.predictions.notes, *found.parts[0].notes, *grouping.notes))),
        seed=run.named_seed,
        question=case.predictions.question or "",
    )


def _of(case: Case) -> tuple[Measure, ...]:
    names = serving(case.predictions)
    if not names:
        raise InputError(
            f"no measure is for {type(case.predictions).__name__}: known are {', '.join(MEASURES)}; of several classes "
            "ask one question, lens=kernelcal.OneClass(label)"
        )
    return tuple(MEASURES.made(name) for name in names)


def _without_value(measures: Sequence[Measure], part: RedrawnPart) -> list[str]:
    """Draws that have no value, or an infinite one, which the mean under calibration leaves out."""
    lost = (~np.isfinite(part.drawn)).sum(axis=0)
    found = zip(measures, lost.tolist(), strict=True)
    return [
        f"{one.name}: {number:,} of {len(part.drawn):,} draws have no finite value, and no part in its mean"
        for one, number in found
        if number
    ]


def _values(case: Case, measures: Sequence[Measure], part: RedrawnPart, run: Run) -> tuple[MeasuredValue, ...]:
    """Every measure of some rows beside what draws say."""
    found = []
    for k, one in enumerate(measures):
        drawn = part.drawn[:, k][~np.isnan(part.drawn[:, k])]
        prepared = one.checked(case.predictions, case.weights)
        ends = interval_of_measure(prepared, case, drawn, run)
        value = _value(one, ends, float(part.observed[k]), drawn, float(part.pvalues[k]), len(case), run)
        if part.means is not None and one.mean_of_rows:
            means = part.means[k]
            value = replace(value, expected=float(means.mean()), expected_error=float(means.std() / len(means) ** 0.5))
        found.append(value)
    return tuple(found)


def _value(
    one: Measure, ends: MeasureInterval, value: float, drawn: np.ndarray, pvalue: float, n: int, run: Run
) -> MeasuredValue:
    outside, finite = (1 - run.confidence_level) / 2, drawn[np.isfinite(drawn)]
    ordered = np.sort(drawn)
    few = len(ordered) == 0
    low, high = (math.nan, math.nan) if few else (_at(ordered, outside), _at(ordered, 1 - outside))
    error = float(finite.std(ddof=1)) / math.sqrt(len(finite)) if len(finite) > 1 else math.nan
    return MeasuredValue(
        name=one.name,
        unit=one.unit,
        value=value,
        interval=(ends.low, ends.high),
        expected=float(finite.mean()) if len(finite) else math.nan,
        expected_error=error,
        band=(low, high),
        pvalue=pvalue,
        corrected=pvalue,
        ideal=one.ideal,
        how=ends.how,
        n=n,
        scale=one.scale,
    )


def _at(ordered: np.ndarray, share: float) -> float:
    """Quantile that is one of the values, which may be infinite."""
    return float(ordered[min(math.floor(share * len(ordered)), len(ordered) - 1)])


def _of_groups(
    case: Case, measures: Sequence[Measure], grouping: Grouping, parts: Sequence[RedrawnPart], run: Run
) -> tuple[MeasuredValue, ...]:
    """Measures of every group, p-values corrected inside a column of groups, measure by measure."""
    found = [
        [
            replace(value, column=group.column, group=group.name)
            for value in _values(case[group.rows], measures, part, run)
        ]
        for group, part in zip(grouping.groups, parts, strict=True)
    ]
    rests = [_rest(grouping, i, parts) for i in range(len(parts))]
    found = [
        [
            _beside(value, one, case, group, (part.drawn[:, k], rest[:, k] if len(rest) else rest), run)
            for k, (value, one) in enumerate(zip(values, measures, strict=True))
        ]
        for group, values, part, rest in zip(grouping.groups, found, parts, rests, strict=True)
    ]
    for column in dict.fromkeys(group.column for group in grouping.groups):
        places = [i for i, group in enumerate(grouping.groups) if group.column == column]
        for k in range(len(measures)):
            own = [found[i][k] for i in places]
            corrected = _holm([one.pvalue for one in own])
            apart = [one.apart_pvalue for one in own]
            apart = apart if len(own) == 2 else _holm(apart)  # of two groups both differences are the same
            for i, one, p, q in zip(places, own, corrected, apart, strict=True):
                found[i][k] = replace(one, corrected=p, apart_pvalue=q)
    return tuple(value for values in found for value in values)


def _rest(grouping: Grouping, number: int, parts: Sequence[RedrawnPart]) -> np.ndarray:
    """Values under calibration of all rows outside of a group: known where they are the other one of two groups."""
    column = grouping.groups[number].column
    others = [k for k, group in enumerate(grouping.groups) if group.column == column and k != number]
    return parts[others[0]].drawn if len(others) == 1 else np.empty(0)


def _beside(
    value: MeasuredValue, one: Measure, case: Case, group: Group, drawn: tuple[np.ndarray, np.ndarray], run: Run
) -> MeasuredValue:
    """The group beside all other rows."""
    known = tuple(values[~np.isnan(values)] for values in drawn)
    apart = difference(one, case, group.rows, (known[0], known[1]), run)
    if apart is None:
        return value
    by, low, high, pvalue = apart
    return replace(value, apart=by, apart_interval=(low, high), apart_pvalue=pvalue)


def _holm(pvalues: Sequence[float]) -> list[float]:
    """Corrected p-values; one that is not known stays so, and counts."""
    known = np.nan_to_num(np.array(pvalues, dtype=np.float64), nan=1.0)
    return [math.nan if math.isnan(p) else float(q) for p, q in zip(pvalues, holm_adjusted(known), strict=True)]
