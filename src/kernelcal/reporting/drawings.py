"""Which pictures one model gets, by what it predicts."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import DRAWS
from kernelcal.evaluation import Evaluation, components_of_case
from kernelcal.explanation import Explanation, furthest_outside
from kernelcal.inference.diagrams import class_reliability_of, reliability_of, simplex_of
from kernelcal.plots import percent
from kernelcal.predictions import ClassPredictions, Samples
from kernelcal.reporting.drawing import Drawing
from kernelcal.reporting.figures import is_number
from kernelcal.runs import Run
from kernelcal.statistics import ECE, pit_histogram_of, quantile_calibration_of, rank_histogram_of
from kernelcal.statistics.scores import QUANTILE_LEVELS

__all__ = ["drawings_of"]


_PANEL, _MOST_COMPONENTS, _BINS = (3.1, 2.7), 4, 10
_BAND = "The grey band is where {level} of calibrated models lie; points outside it speak against the model."


def drawings_of(case: Case, found: Evaluation, why: Explanation | None, run: Run, panels: int) -> list[Drawing]:
    """Pictures of one model, the most telling first; of several classes at most so many panels."""
    run, batch, own = run.with_at_least(DRAWS), case.predictions, case.weights
    pictures: list[Drawing] = []
    if isinstance(batch, ClassPredictions):
        pictures += _classes(case, run, panels)
    elif is_number(batch) and own is None and (not isinstance(batch, Samples) or batch.exchangeable):
        pictures += _numbers(case, run)
    if why is not None and why.witness is not None:
        pictures += _witness(why.witness, panels)
    if found.test is not None:
        pictures.append(_test(found.test))
    return pictures


def _classes(case: Case, run: Run, panels: int) -> Iterator[Drawing]:
    batch = case.predictions
    two = batch.n_classes == 2 and batch.question is None
    found = reliability_of(case, ECE(question="positive class" if two else None), run)
    outside, filled = int(found.outside.sum()), int((found.table.weight > 0).sum())
    what = "confidence in the first choice" if found.question == "top label" else "predicted probability"
    yield Drawing(
        "Said and happened",
        f"Rows are sorted into bins by {what}. On the dashed line it happened as often as was said; below it, less "
        f"often. {outside} of {filled} bins lie outside the band of all bins. Bars and numbers: rows in each bin.",
        f"Reliability diagram, {found.question}. {outside} of {filled} bins lie outside the band of calibrated models. "
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
    if batch.n_classes == 3 and case.weights is None:
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
            f"{outside} of {filled} bins lie outside.{more if part is worst[-1] else ''}",
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
        curve = quantile_calibration_of(part, np.array(QUANTILE_LEVELS), run.rng)
        outside = int(found.outside.sum())
        yield Drawing(
            f"Where outcomes fall in their predictions{which}",
            "Flat within the band: as it should be. A valley in the middle: predictions too narrow. A hump: too wide. "
            f"A slope: shifted. {outside} of {len(found.outside)} bins lie outside the band of all bins.",
            f"{name} histogram; {outside} of {len(found.outside)} bins lie outside the band of calibrated models.",
            found.plot,
        )
        yield Drawing(
            f"Said and happened{which}",
            "Share of outcomes below each predicted quantile. On the dashed line it is the share that was promised.",
            "Quantile calibration curve with the bands of calibrated models.",
            partial(curve.plot, confidence_level=run.confidence_level),
            (4.2, 4.0),
        )


def _histogram(part: Case, run: Run) -> tuple[str, Any]:
    if isinstance(part.predictions, Samples):
        return "Rank", rank_histogram_of(part, None, run)
    return "PIT", pit_histogram_of(part, _BINS, run)


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


def _test(test: Any) -> Drawing:
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
