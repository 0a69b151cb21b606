"""Which pictures a model gets, the most telling first."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from kernelcal.cases import Case
from kernelcal.defaults import DRAWS
from kernelcal.evaluation import Evaluation, components_of_case
from kernelcal.explanation import Explanation, furthest_outside
from kernelcal.inference import GivenResult, band_draws, class_reliability_of, reliability_of, simplex_of
from kernelcal.plots import percent
from kernelcal.predictions import ClassPredictions, Quantiles, Samples
from kernelcal.reporting.figures import is_number
from kernelcal.reporting.pictures.svg import Drawing
from kernelcal.runs import Run
from kernelcal.statistics import ECE, claimed_levels_of, pit_histogram_of, quantile_calibration_of, rank_histogram_of

__all__ = ["drawings_of", "evidence_drawing", "first_drawing", "measured_drawings"]


_PANEL, _MOST_COMPONENTS, _BINS = (3.1, 2.7), 4, 10
_COLUMNS = 3  # that are given, and drawn
_NO_BAND = "There is no band of calibrated models: rows depend on each other, and these outcomes are not drawn alike."
_BAND = "The grey band is where {level} of calibrated models lie; points outside it speak against the model."


def drawings_of(case: Case, found: Evaluation, why: Explanation | None, run: Run, panels: int) -> list[Drawing]:
    """Pictures of one model, the most telling first; of several classes at most so many panels."""
    run, batch, own = run.with_at_least(DRAWS), case.predictions, case.weights
    pictures: list[Drawing] = []
    if isinstance(batch, ClassPredictions):
        pictures += _classes(case, run, panels)
    elif isinstance(batch, Quantiles):
        pictures.append(_levels(case, run))
    elif is_number(batch) and own is None and (not isinstance(batch, Samples) or batch.exchangeable):
        pictures += _numbers(case, run)
    if why is not None and why.witness is not None:
        pictures += _witness(why.witness, panels)
    if found.test is not None and found.test.given is not None:
        pictures += _given(found.test.given)
    if found.test is not None:
        pictures.append(evidence_drawing(found.test))
    return pictures


def first_drawing(case: Case, run: Run) -> Drawing | None:
    """The picture that tells most of what was said and what happened; None of kinds that have none."""
    run, batch = run.with_at_least(DRAWS), case.predictions
    if isinstance(batch, ClassPredictions):
        return next(_classes(case, run, 0))
    if isinstance(batch, Quantiles):
        return _levels(case, run)
    return next(_numbers(case, run)) if is_number(batch) and case.weights is None else None


def _given(found: GivenResult) -> Iterator[Drawing]:
    """Profiles of the strongest columns."""
    for profile in found.profiles[:_COLUMNS]:
        outside, band = int(profile.outside.sum()), _BAND.format(level=percent(1 - profile.alpha))
        where = f"{outside} of {len(profile.gap)} places lie outside."
        yield Drawing(
            f"Given {profile.column}",
            f"What happened minus what was said, over {profile.column}. Above 0: more, or larger, than predicted. "
            f"{band} It holds for all places of all columns together. {where}",
            f"Gap over {profile.column}: {where}",
            profile.plot,
            (4.2, 3.2),
        )


def _classes(case: Case, run: Run, panels: int) -> Iterator[Drawing]:
    batch = case.predictions
    two = batch.n_classes == 2 and batch.question is None
    found = reliability_of(case, ECE(question="positive class" if two else None), run)
    outside, filled = int(found.outside.sum()), int((found.table.weight > 0).sum())
    what = "confidence in the first choice" if found.question == "top label" else "predicted probability"
    band = f"{outside} of {filled} bins lie outside the band of all bins." if found.band.known else _NO_BAND
    yield Drawing(
        "Said and happened",
        f"Rows are sorted into bins by {what}. On the dashed line it happened as often as was said; below it, less "
        f"often. {band} Bars and numbers: rows in each bin.",
        f"Reliability diagram, {found.question}. {band} "
        f"Mean prediction {found.mean_prediction:.3f}, observed frequency {found.frequency:.3f}.",
        partial(found.plot, legend=True),
        (4.2, 4.4),
    )
    yield Drawing(
        "How often it says what",
        f"How many rows have which {what}. If the two vertical lines lie apart, the model is wrong on average.",
        f"Histogram of {what}: mean {found.mean_prediction:.3f}, observed frequency {found.frequency:.3f}.",
        found.plot_counts,
        (4.2, 3.4),
    )
    if batch.n_classes == 3 and case.weights is None and not _overlap(case):
        yield _simplex(case, run)
    if batch.n_classes > 2:
        yield from _class_panels(case, run, panels)


def _simplex(case: Case, run: Run) -> Drawing:
    found, level = simplex_of(case, run), percent(run.confidence_level)
    outside = int(found.outside.sum())
    return Drawing(
        "All three classes at once",
        "Arrows lead from what was said in a bin to what happened. Arrows of one direction are an error of one kind.",
        f"Triangle of predictions; {outside} bins have a larger gap than {level} of calibrated models have in any bin.",
        found.plot,
        (4.2, 4.0),
    )


def _class_panels(case: Case, run: Run, panels: int) -> Iterator[Drawing]:
    found = class_reliability_of(case, ECE(question="class-wise"), run)
    worst = found.worst(panels)
    left = len(found.parts) - len(worst)
    for part in worst:
        outside, filled = int(part.outside.sum()), int((part.table.weight > 0).sum())
        more = f" Not drawn: {left} with smaller errors." if left else ""
        yield Drawing(
            part.question[:1].upper() + part.question[1:],
            f"{f'{outside} of {filled} bins lie outside.' if part.band.known else _NO_BAND}"
            f"{more if part is worst[-1] else ''}",
            f"Reliability diagram, {part.question}: {outside} of {filled} bins outside the band.",
            partial(part.plot, legend=False),
            _PANEL,
            small=True,
            kind="classes",
        )


def _numbers(case: Case, run: Run) -> Iterator[Drawing]:
    for k, part in enumerate(components_of_case(case)[:_MOST_COMPONENTS]):
        which = f", component {k}" if case.predictions.event_shape else ""
        name, found = _histogram(part, run)
        known = found.band.known
        curve = quantile_calibration_of(part, None, run.rng)
        outside = int(found.outside.sum())
        said = f"{outside} of {len(found.outside)} bins lie outside the band of all bins." if known else _NO_BAND
        yield Drawing(
            f"Where outcomes fall in their predictions{which}",
            "Flat within the band: as it should be. A valley in the middle: predictions too narrow. A hump: too wide. "
            f"A slope: shifted. {said}",
            f"{name} histogram; {said}",
            found.plot,
        )
        yield Drawing(
            f"Said and happened{which}",
            "Share of outcomes below each predicted quantile. On the dashed line it is the share that was promised.",
            f"Quantile calibration curve{' with the bands of calibrated models' * (not curve.dependent)}.",
            partial(curve.plot, confidence_level=run.confidence_level),
            (4.2, 4.0),
        )


def _levels(case: Case, run: Run) -> Drawing:
    found = claimed_levels_of(case, run)
    broken, tied = int(found.broken.sum()), " from strictly below to at or below" * found.ties
    return Drawing(
        "Claimed and observed levels",
        f"Share of outcomes below each quantile{tied}, with its interval. On the dashed line it is the share that was "
        f"claimed. {broken} of {len(found.levels)} claims lie outside the interval of their level.",
        "; ".join(f"level {a:g}: {100 * b:.1f} %" for a, b in zip(found.levels, found.upto, strict=True)),
        found.plot,
        (4.2, 4.4),
    )


def _histogram(part: Case, run: Run) -> tuple[str, Any]:
    if isinstance(part.predictions, Samples):
        return "Rank", rank_histogram_of(part, None, run)
    if not _overlap(part):
        return "PIT", pit_histogram_of(part, _BINS, run)
    source, _ = band_draws(part, run, "draws of the band of a histogram")
    return "PIT", pit_histogram_of(part, _BINS, run, None if source is None else source.coupling)


def _overlap(case: Case) -> bool:
    """Whether rows depend on each other, so that bands of independent rows would be too narrow."""
    return case.rows is not None and case.rows.overlap


def _witness(witness: Any, panels: int) -> Iterator[Drawing]:
    shown = furthest_outside(witness)[:panels]
    alone = len(shown) == 1
    for k in shown:
        outside = int(witness.outside[:, k].sum())
        name = witness.names[k]
        words = {"shift": "Shift", "width": "Width"}.get(name, name) if witness.of_numbers else f"Class {name}"
        where = f"{outside} of {len(witness.gap)} places lie outside."
        yield Drawing(
            "Where it is wrong" if alone else words,
            "Gap between what happened and what was said, smoothed over similar predictions. Above 0: more often than "
            f"predicted. {_BAND.format(level=percent(witness.confidence_level))} {where}"
            if alone
            else where,
            f"Smoothed gap over the predictions, {words}. {where}",
            partial(witness.plot, component=name),
            (4.2, 3.2) if alone else _PANEL,
            small=not alone,
            kind="witness",
        )


def measured_drawings(measured: Any, curve: Any = None, of: str = "") -> list[Drawing]:
    """Measures that were asked for, one line each, and the calibration curve where there is one; of none no picture."""
    if measured is None:
        return []
    level = percent(measured.confidence_level)
    return [
        Drawing(
            "Measures" + of,
            f"Marks: value of every measure with its {level} interval, over the bar of values that {level} of "
            "calibrated models have. The table has the numbers.",
            "; ".join(f"{one.name}: {one.value:.3g}, p = {one.pvalue:.3g}" for one in measured.values),
            measured.plot,
            (4.2, 1.4 + 0.3 * (len(measured.values) + len(measured.groups))),
        ),
        *([] if curve is None else [_curve(curve, level, of)]),
    ]


def _curve(curve: Any, level: str, of: str) -> Drawing:
    band = f"Grey: where the whole curve of {level} of calibrated models lies." if not curve.note else f"{curve.note}."
    outside = "" if curve.note else f" {int(curve.outside.sum())} of {len(curve.curve)} places lie outside."
    return Drawing(
        "Calibration curve" + of,
        f"How often it happened at every predicted probability, never falling (isotonic). {band}{outside}",
        f"Isotonic calibration curve at {len(curve.curve)} places.{outside}",
        curve.plot,
        (4.2, 4.2),
    )


def evidence_drawing(test: Any) -> Drawing:
    """What the test saw."""
    single = len(test.members) == 1 and bool(test.null_draws)
    return Drawing(
        "What the test saw",
        "Several measures of error at once. Bars: what calibrated models with these predictions give by chance. A mark "
        "far to the right of its bar is evidence."
        if not single
        else "Bars: what calibrated models with these predictions give by chance. The line: what was observed.",
        "; ".join(f"{m.name}: p = {m.pvalue:.3g}" for m in test.members[:12]),
        test.plot,
        (3.6, 1.3 + 0.3 * min(len(test.members), 12)) if not single else (4.2, 3.2),
    )
