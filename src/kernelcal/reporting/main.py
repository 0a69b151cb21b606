"""One page about one model or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.cases import Case, refuse_lens
from kernelcal.comparison import (
    Comparison,
    Models,
    ScoreComparison,
    compared as compared_models,
    named_case,
    naming,
    outcomes_of,
    refuse_names,
    refuse_unlike,
    seen_alike,
)
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, SIGNIFICANCE
from kernelcal.errors import InputError, naming_rows
from kernelcal.evaluation import Evaluation, KernelError, evaluated
from kernelcal.explanation import Explanation, by_group, checked_groups, explained, has_ties, refuse_ungrouped
from kernelcal.inference import Equivalence
from kernelcal.inference.intervals import checked_bound, equivalent
from kernelcal.lenses import Lens
from kernelcal.predictions import Samples, ScorePredictions
from kernelcal.randomness import generator_of
from kernelcal.reporting.figures import key_figures
from kernelcal.reporting.page import call_in_python, refuse_page, rendered
from kernelcal.reporting.pictures import drawings_of, drawn, measured_drawings
from kernelcal.reporting.result import ModelReport, Report, write_whole
from kernelcal.reporting.verdict import evaluations, verdict_of, verdict_of_several
from kernelcal.runs import Run, Steps

__all__ = ["model_report", "report"]


_EXPLAINED = 4_000  # rows; the explanation costs their square
_PANELS, _FEW_PANELS = 6, 2  # small pictures of one model alone, and of each of several


def model_report(
    case: Case,
    evaluation: Evaluation,
    name: str | None,
    groups: Any,
    run: Run,
    steps: Steps,
    place: tuple[int, int],
    within: float | None = None,
    measures: Any = None,
) -> ModelReport:
    """Add explanation, figures and pictures to an evaluation; the place is the number of the model, and of models."""
    number, models = place
    grouping = checked_groups(groups, len(case))
    if grouping.groups:
        refuse_ungrouped(case)
        evaluation = replace(evaluation, by_group=by_group(case, grouping, replace(run, progress=None)))
    why, rows = _explained(case, replace(run, progress=steps.next()), models)
    panels = _PANELS if models == 1 else _FEW_PANELS
    equivalence = None if within is None else _equivalence(case, run, within)
    measured = None if measures is None else _measured(case, measures, grouping, run)
    drawings = drawings_of(case, evaluation, why, run, panels)
    curve = None if measured is None else _curve(case, measured, run)
    drawings = [*drawings, *measured_drawings(measured, curve, f" of {name}" if name and models > 1 else "")]
    return ModelReport(
        name,
        type(case.predictions).__name__,
        verdict_of(case, evaluation),
        evaluation,
        why,
        rows,
        key_figures(case, evaluation, run.confidence_level, equivalence),
        tuple(drawn(drawing, f"p{number}-{k}") for k, drawing in enumerate(drawings)),
        case.rows,
        equivalence,
        measured,
    )


def _measured(case: Case, measures: Any, groups: Any, run: Run) -> Any:
    """Measures that were asked for."""
    from kernelcal.measures import measured  # few pages have them

    return measured(case, measures, replace(run, progress=None), groups=groups)


def _curve(case: Case, measured: Any, run: Run) -> Any:
    """The isotonic calibration curve, beside measures of the distance from it; None without these."""
    from kernelcal.measures import ICI, calibration_curve_of  # few pages have them

    asked = any(one.name == ICI.name for one in measured.values)
    return calibration_curve_of(case, replace(run, progress=None)) if asked else None


def _asked(measures: Any) -> Any:
    """Measures of names, before data are looked at; None where none are asked for."""
    if measures is None:
        return None
    from kernelcal.measures import asked_measures  # few pages have them

    return asked_measures(measures)


def _equivalence(case: Case, run: Run, within: float) -> Equivalence:
    """Whether one model is calibrated to within a bound, by the estimator of its interval."""
    statistic = KernelError(case.placed, run.engine).interval_estimator
    if statistic is None:
        raise InputError(
            f"within={within:g} bounds the root of the SKCE, which has no interval here: of densities, of outcomes "
            "that equal quantiles, and of very many rows with case weights; leave it out"
        )
    return equivalent(case, statistic, within, replace(run, progress=None))


def _explained(case: Case, run: Run, models: int) -> tuple[Explanation | None, int]:
    """Explanation of all rows, or of a random choice of very many."""
    n, most = len(case), int(_EXPLAINED / models**0.5)
    if not _explainable(case.predictions) or has_ties(case):  # with ties residuals have no values; groups are tested
        return None, 0
    generator = generator_of(run.rng, "rows that a page explains")
    rows = np.arange(n) if n <= most else np.sort(generator.choice(n, most, replace=False))
    alone = replace(case, given=None)  # the test of all rows tells of columns that are given
    with naming_rows(lambda row: f"row {rows[row]}"):
        return explained(_chosen(alone, rows), run), len(rows)


def _chosen(case: Case, rows: np.ndarray) -> Case:
    """Some of the rows, whose weights have mean 1 again."""
    if len(rows) == len(case):
        return case
    some = case[rows]
    return some if some.weights is None else replace(some, weights=some.weights / some.weights.mean())


def _explainable(batch: Any) -> bool:
    """Tell whether residuals have sizes and a law."""
    return not isinstance(batch, ScorePredictions) and (not isinstance(batch, Samples) or batch.exchangeable)


_ONE = "model"
TITLE = "Calibration report"


def report(
    y: Any,
    predictions: Any,
    path: Any = None,
    *,
    groups: Any = None,
    lens: Lens | None = None,
    weights: Any = None,
    classes: Any = None,
    normalize: bool = False,
    within: float | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    alpha: float = SIGNIFICANCE,
    draws: int = DRAWS,
    rng: int = 0,
    early_stopping: bool = True,
    title: str = TITLE,
    read: str | Mapping[str, str] | None = None,
    command: str | None = None,
    rows: Any = None,
    date: Any = None,
    progress: Any = None,
    given: Any = None,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
    measures: Any = None,
) -> Report:
    """Write one self-contained HTML page: verdict, numbers, pictures, where the model is wrong, method and data.

    Parameters
    ----------
    y : array of shape (n,), or (n, d) for vectors
        Targets.
    predictions : Predictions, what `as_predictions` takes, or a mapping of names to these
        One model, or several of the same rows.
    path : str or pathlib.Path, optional
        Where to write the page, a name that ends in ``.html``; a file of this name is replaced. Without it nothing is
        written, and ``.to_html()`` and ``.save(path)`` of the result have the page.
    groups : array of shape (n,), mapping of str to such arrays, or data frame, optional
        Groups of rows, as for `evaluate`.
    lens, weights, classes, normalize
        As for `evaluate`; case weights for one model only.
    within : float, optional
        Also test whether each model is calibrated to within this bound, `kernelcal.equivalence_test`.
    alpha : float
        Level at which the verdict rejects and the page names places, classes, groups and rows.
    rows : array of n whole numbers, optional
        Numbers by which the page names rows, such as those of the file; default 0, 1, 2, ...
    confidence_level, draws, rng, early_stopping, progress
        As for `evaluate`; `rng` is a seed, a whole number, since all parts of a page use the same.
    title : str
        Of the page.
    read : str, or mapping of names to str, optional
        What was read, and which rows were dropped: shown as it is.
    command : str, optional
        What made the page; shown as it is.
    given : array of shape (n,) or (n, d), mapping of names to columns, or data frame, optional
        Columns that are known before the outcomes, as for `evaluate`: the page tells and draws where predictions are
        wrong in them. For one model.
    clusters, time, horizon, series
        Which rows depend on each other, as for `evaluate` and `compare`.
    measures : str, Measure or sequence of these, optional
        What fields call calibration, as for `measures.measure`: a table and a picture of them, groups too.
    date : str or datetime.date, optional
        Date on the page. Default: that of the environment variable SOURCE_DATE_EPOCH, else today's.

    Returns
    -------
    Report
        Path, verdict, and everything that was computed.

    Raises
    ------
    InputError
        With the row and the remedy; for a place that cannot be written to, before anything is computed.
    MissingExtraError
        Without jinja2 (extra ``report``) or matplotlib (extra ``plot``).

    Notes
    -----
    The page needs no network and holds no scripts. It is written beside its place and moved there when it is whole. The
    same inputs and seed give the same bytes on the same versions and date. The explanation costs ``n^2``: of more than
    4,000 rows (of M models 4,000 over the root of M) it looks at a random choice, and says so; its tests are exact on
    any such choice. Groups are tested and measured on all rows.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> p = np.random.default_rng(0).uniform(size=200)
    >>> y = np.random.default_rng(1).random(200) < p**2
    >>> found = kc.report(y, p, draws=99)
    >>> found.verdict.heading
    'The stated probabilities do not match what happened.'
    >>> found.to_html().startswith("<!DOCTYPE html>")
    True
    """
    run = Run(
        confidence_level=confidence_level,
        alpha=alpha,
        draws=draws,
        rng=rng,
        early_stopping=early_stopping,
        progress=progress,
    )
    seed = run.seed("the page names it")
    chosen = _asked(measures)
    models, several = _models(predictions, weights)
    if several and given is not None:
        raise InputError("given is for one model on a page, got several: report one model at a time")
    bound = None if within is None else checked_bound(within)
    if several:
        run.refuse_for_models()
    refuse_page(path, optional=True)
    refuse_lens(lens)
    dependent = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    options = {"weights": weights, "classes": classes, "normalize": normalize, "given": given, **dependent}
    with naming_rows(_row_in_words(rows)):
        checked = _checked(y, models, several=several, **options)
        checked = {name: _numbered(case, rows) for name, case in checked.items()}
        named = isinstance(predictions, Mapping)
        found, compared = _computed(checked, lens, groups, run, bound, several=several, named=named, measures=chosen)
    verdict = found[0].verdict if compared is None else verdict_of_several(compared)
    if command is None:
        own = {"groups": groups, "lens": lens, **options, "within": within, "rows": rows, "read": read, "date": date}
        own |= {} if title == TITLE else {"title": title}
        own |= {} if measures is None else {"measures": measures}
        command = call_in_python(path, run, own)
    page = rendered(title, verdict, found, compared, run, read=read, command=command, date=date)
    place = None if path is None else Path(path)
    if place is not None:
        write_whole(place, page)
    return Report(place, title, verdict, found, compared, seed, page)


def _computed(
    checked: Models,
    lens: Lens | None,
    groups: Any,
    run: Run,
    bound: float | None,
    *,
    several: bool,
    named: bool,
    measures: Any,
) -> tuple[tuple[ModelReport, ...], Comparison | ScoreComparison | None]:
    """Everything about every model, in the order of the page, and their comparison."""
    cases = _seen(checked, lens, several=several)
    steps = Steps(run.progress, 2 * len(cases), run.draws)
    compared = _compared(checked, lens, run, bound, steps) if several else None
    own = {} if compared is None else evaluations(compared)
    ordered = cases if compared is None else {name: cases[name] for name in own}
    found = tuple(
        model_report(
            case,
            evaluated(case, replace(run, progress=steps.next())) if compared is None else own[name],
            name if named else None,
            groups,
            run,
            steps,
            (number, len(cases)),
            bound if compared is None else None,
            measures,
        )
        for number, (name, case) in enumerate(ordered.items(), 1)
    )
    steps.finish()
    return found, compared


def _row_in_words(rows: Any) -> Callable[[int], str] | None:
    """What messages call a row that has a number of its own."""
    if rows is None:
        return None
    numbers = np.ravel(rows)
    return lambda row: f"row {numbers[row] if row < len(numbers) else row}"


def _models(predictions: Any, weights: Any) -> tuple[dict[str, Any], bool]:
    """Models by their names; a mapping of one is one model with a name."""
    if not isinstance(predictions, Mapping):
        return {_ONE: predictions}, False
    if not predictions:
        raise InputError("predictions is an empty mapping: pass a model, or {name: predictions} of one or more")
    if len(predictions) == 1:
        return {str(name): p for name, p in predictions.items()}, False
    if weights is not None:
        raise InputError("a comparison of several models takes no case weights: report one model at a time")
    refuse_names(predictions)
    return {str(name): p for name, p in predictions.items()}, True


def _checked(y: Any, models: dict[str, Any], *, several: bool, **options: Any) -> Models:
    """Models as they were given; of several every message carries the name."""
    if not several:
        return {name: Case.of(y, p, **options) for name, p in models.items()}
    outcomes = outcomes_of(y, models)
    return {name: named_case(name, outcomes[name], p, **options) for name, p in models.items()}


def _seen(models: Models, lens: Lens | None, *, several: bool) -> Models:
    """Models as the lens shows them, in NumPy."""
    found = {}
    for name, case in models.items():
        with naming(name) if several else nullcontext():
            found[name] = case.through(lens).in_numpy
    return found


def _numbered(case: Case, rows: Any) -> Case:
    """Name the rows by numbers of their own."""
    if rows is None:
        return case
    numbers = np.asarray(rows)
    if numbers.shape != (len(case),) or numbers.dtype.kind not in "iu":
        raise InputError(
            f"rows must be {len(case):,} whole numbers, one a row, got {numbers.dtype} of shape {numbers.shape}: leave "
            "it out to count rows from 0"
        )
    return replace(case, numbers=numbers)


def _compared(
    models: Models, lens: Lens | None, run: Run, within: float | None, steps: Steps
) -> Comparison | ScoreComparison:
    refuse_unlike(models)
    asked = replace(run, progress=_several(steps, len(models)))
    return compared_models(seen_alike(models, lens), asked, within=within)


def _several(steps: Steps, pieces: int) -> Any:
    """Progress of one piece of work over so many pieces of the bar."""
    parts = [steps.next()]
    if parts[0] is None:
        return None

    def shown(done: int, of: int) -> None:
        k = min(done * pieces // max(of, 1), pieces - 1)
        while len(parts) <= k:
            parts.append(steps.next())
        part = parts[k]
        assert part is not None  # for the type checker: the first was there
        part(done * pieces - k * of, of)

    return shown
