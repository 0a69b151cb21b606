"""The page about sums of one pass: verdict, figures, pictures from bins, groups, and what sums cannot tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcal.defaults import CONFIDENCE_LEVEL, SIGNIFICANCE
from kernelcal.dependence import binomial_interval
from kernelcal.errors import InputError
from kernelcal.plots import percent
from kernelcal.reporting.figures import (
    DOES_NOT_APPLY,
    NONE,
    Intervals,
    KeyFigure,
    figure_in_words,
    kernel_error_figures,
    percent_in_words,
    points_in_words,
    pvalue_figures,
)
from kernelcal.reporting.methods import groups_in_words, independent_rows, kernels_in_words
from kernelcal.reporting.page import (
    arrays_in_words,
    place_in_python,
    refuse_page,
    written,
)
from kernelcal.reporting.pictures import BELOW_LEVEL, drawings_of_sums, drawn
from kernelcal.reporting.result import Page
from kernelcal.reporting.tables import groups_table
from kernelcal.reporting.verdict import (
    Verdict,
    chance_in_words,
    direction_in_words,
    doubts_in_words,
    groups_matched,
    size_in_words,
)
from kernelcal.runs import Run
from kernelcal.statistics import BinTable

if TYPE_CHECKING:  # other pages need no sketches
    from kernelcal.sketch import SketchResult

__all__ = ["sums_page"]


TITLE = "Calibration, from one pass"
_SCORES = {
    "brier_score": ("Brier score, sum over classes", "mean squared error of the probabilities; smaller is better"),
    "log_score": ("log score", "smaller is better"),
    "negative_log_likelihood": ("negative log-likelihood", "smaller is better"),
    "crps": ("CRPS", "mean distance of prediction and outcome, in units of the target; smaller is better"),
    "mean_squared_error": ("mean squared error", "of the predicted means; smaller is better"),
    "weighted_interval_score": ("weighted interval score", "in units of the target; smaller is better"),
    "crps_interpolated": ("CRPS, interpolated", "by what lies between the quantiles if it is spread evenly"),
}


def sums_page(
    found: Any,  # of a room that other pages do not load
    path: Any = None,
    *,
    title: str = TITLE,
    read: str | None = None,
    command: str | None = None,
    confidence_level: float = CONFIDENCE_LEVEL,
    alpha: float = SIGNIFICANCE,
    date: Any = None,
) -> Page:
    """Write a self-contained HTML page about sums of one pass, which need none of the rows any more.

    Parameters
    ----------
    found : Sketch
        Sums of rows, such as ``result.sketch`` of `kernelcal.stream.evaluate_files`, or what
        `kernelcal.sketch.load_sketch` read; with groups or without.
    path : str or pathlib.Path, optional
        Of the page, which ends in .html or .htm; without it nothing is written.
    title : str
        Of the page.
    read, command : str, optional
        What the sums are of, and what made the page; shown as they are. Default: rows and family, and the call in
        Python, of sums with the name of the parameter.
    confidence_level, alpha : float
        As for `kernelcal.Sketch.result`.
    date : datetime.date or str, optional
        Shown at the top; default SOURCE_DATE_EPOCH, or today.

    Returns
    -------
    Page
        Path, verdict and page.

    Raises
    ------
    InputError
        For a place that cannot be written to, and sums of fewer than two rows.
    MissingExtraError
        Without jinja2 (extra ``report``) or matplotlib (extra ``plot``).

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.reporting import sums_page
    >>> p = np.random.default_rng(0).uniform(size=400)
    >>> y = np.random.default_rng(1).random(400) < p**2
    >>> sketch = kc.Sketch(kc.Laplacian(0.2), engine=kc.RandomFourier(64)).update(y, p)
    >>> sums_page(sketch).verdict.heading
    'The stated probabilities do not match what happened.'
    """
    refuse_page(path, optional=True)
    result = _result(found, confidence_level, alpha)
    run = Run(confidence_level=confidence_level, alpha=alpha, draws=found.draws, rng=found.seed, early_stopping=False)
    return written(
        "sums.html",
        path,
        title,
        _verdict(result),
        tuple(drawn(one, f"s{k}") for k, one in enumerate(drawings_of_sums(result, confidence_level))),
        run,
        level=percent(confidence_level),
        what=f"{result.n:,} rows",
        figures_of_sums=_figures(result, Intervals(confidence_level, weighted=False)),
        notes_of_sums=result.notes,
        groups=result.by_group,
        by_group=None if result.by_group is None else groups_table(result.by_group),
        cannot=_cannot(result),
        command=command or _call(path, confidence_level, alpha),
        date=date,
        read=read or arrays_in_words(f"{result.n:,} rows", result.family, "sums"),
        methods=_methods(result, found),
        assumptions=_assumptions(result),
    )


def _result(found: Any, confidence_level: float, alpha: float) -> SketchResult:
    from kernelcal.sketch import Sketch  # other pages need no sketches

    if not isinstance(found, Sketch):
        raise InputError(
            "a page of sums is about a sketch, such as result.sketch of kernelcal.stream.evaluate_files, or "
            f"kernelcal.sketch.load_sketch('sums.npz'), got {type(found).__name__}"
        )
    return found.result(confidence_level, alpha)


def _verdict(found: SketchResult) -> Verdict:
    what = "probabilities" if found.eces else "uncertainty"
    test = found.test
    assert test is not None  # for the type checker: every sketch has one
    advice, groups = found.what_to_do, groups_matched(found)
    if not found.rejected:
        sentences = [f"That is not proof that they are right. {found.n:,} rows gave p = {test.pvalue:.3g}."]
        if found.interval is not None and found.interval.upper > 0:
            sentences.append(
                f"A kernel calibration error of up to {found.interval.root[1]:.3f} fits these data "
                f"({found.interval.confidence_level:.0%} interval)."
            )
        heading = f"No evidence against the stated {what} was found."
        return Verdict("nothing", heading, (*groups, *sentences, *doubts_in_words(found)), advice)
    sentences = [
        _said_and_happened(found),
        *(direction_in_words(words) for words in test.directions[:3]),
        *groups,
        chance_in_words(test.pvalue, "if rows are independent of each other"),
        *doubts_in_words(found),
        size_in_words(found),
    ]
    heading = f"The stated {what} {'do' if what == 'probabilities' else 'does'} not match what happened."
    return Verdict("against", heading, tuple(text for text in sentences if text), advice)


def _asked(found: SketchResult) -> tuple[BinTable, bool] | None:
    """Bins of the event, or of the first choice among several classes, and whether it is that; None of numbers."""
    if not found.eces:
        return None
    top = found.question == "top label" or (found.family != "Bernoulli")
    tables = [e for e in found.eces if e.name.endswith("top label")] if top else []
    return (tables or [*found.eces])[0].tables[0], top


def _said_and_happened(found: SketchResult) -> str:
    asked = _asked(found)
    if asked is None:
        return ""
    table, top = asked
    said, did = (100 * float(x.sum()) / found.n for x in (table.prediction_sums, table.label_sums))
    if top:
        return f"On average it is {said:.1f} % sure of its first choice, which is right in {did:.1f} % of cases."
    return f"On average it says {said:.1f} %, and it happens in {did:.1f} % of cases."


def _figures(found: SketchResult, ends: Intervals) -> list[KeyFigure]:
    """Key numbers with the intervals that sums allow."""
    own = [*_shares(found, ends), *_scores(found, ends)]
    return [*own, *kernel_error_figures(found), *pvalue_figures(found), *_law(found)]


def _shares(found: SketchResult, ends: Intervals) -> list[KeyFigure]:
    asked = _asked(found)
    if asked is None:
        return []
    table, top = asked
    said, did = (float(x.sum()) / found.n for x in (table.prediction_sums, table.label_sums))
    names = ("first choice right (accuracy)", "mean confidence in the first choice")
    if not top:
        names = ("share of rows in which it happened", "mean predicted probability")
    words = "percentage points; above 0 it said too much, below 0 too little"
    low, high = (float(x[0]) for x in binomial_interval(np.array([did * found.n]), found.n, ends.confidence_level))
    gap = f"{points_in_words(said - high)} to {points_in_words(said - low)}"
    return [
        KeyFigure(names[0], percent_in_words(did), ends.share(round(did * found.n), found.n), "what happened"),
        KeyFigure(names[1], percent_in_words(said), DOES_NOT_APPLY, "what the model said"),
        KeyFigure("difference, said minus happened", points_in_words(said - did), gap, words),
    ]


def _scores(found: SketchResult, ends: Intervals) -> list[KeyFigure]:
    rows = []
    for key, value in found.means.items():
        if value is None or key == "accuracy":
            continue
        if key.startswith(BELOW_LEVEL):
            level = float(key.removeprefix(BELOW_LEVEL))
            interval = ends.share(round(value * found.n), found.n)
            words = f"should be {percent_in_words(level)}"
            rows.append(KeyFigure(f"outcomes below level {level:g}", percent_in_words(value), interval, words))
            continue
        name, words = _SCORES[key]
        name = name.removesuffix(", sum over classes") if found.family == "Bernoulli" else name
        shown = figure_in_words(value) if np.isfinite(value) else "infinite"
        words = words if np.isfinite(value) else "something happened that had been given the probability 0"
        rows.append(KeyFigure(name, shown, NONE, words))
    for e in found.eces:
        name = f"expected calibration error, {e.name.partition(', ')[2] or 'this question'}"
        words = f"mean gap in {e.options['bins']}; above 0 by chance even for a calibrated model"
        rows.append(KeyFigure(name, figure_in_words(float(e)), NONE, words))
    return rows


def _law(found: SketchResult) -> list[KeyFigure]:
    if found.known is None:
        return []
    words = "the same by the law of many rows, for p-values that draws do not reach"
    return [KeyFigure("p-value by the known law", f"{found.known.pvalue:.3g}", DOES_NOT_APPLY, words)]


def _cannot(found: SketchResult) -> list[str]:
    """What sums over rows do not hold, so that nobody looks for it on the page."""
    rows = [
        "At which predictions, and in which rows, the model is wrong: no row is kept.",
        "Groups by other columns than those that were asked for during the pass.",
        "Whether rows depend on each other, and what case weights would change.",
        "Whether high or wide predictions are wrong otherwise than low or narrow ones.",
    ]
    if found.eces:
        rows.append("By how much log probabilities would have to be stretched, where it is over- or under-confident.")
    elif found.family != "Quantiles":
        rows.append("How many outcomes fall into intervals, and the histogram of their places in what was predicted.")
    if found.interval is None:
        rows.append("An interval of the kernel error, which needs second moments that these sums do not hold.")
    if found.by_group is not None:
        rows.append("Whether the groups of a column differ from each other, and medians in groups.")
    return [*rows, "A report of the rows themselves tells all of these: kernelcal report FILE."]


def _methods(found: SketchResult, sketch: Any) -> list[tuple[str, str]]:
    test = found.test
    assert test is not None  # for the type checker: every sketch has one
    kernels = kernels_in_words(dict(found.estimate.options))
    rows = [
        ("Question", "Do outcomes behave as the predictions say, given the predictions?"),
        (
            "Sums",
            "Every row was read once and forgotten. What is left are sums over rows, which add up over files, days and "
            "machines.",
        ),
        (
            "Test",
            f"The kernel error of the observed outcomes among those of {sketch.draws:,} sets of outcomes that were "
            "drawn from the predictions in the same pass. The p-value is exact at every number of rows, and never 0.",
        ),
        ("Size of the error", f"{found.estimate.name}, unbiased: {kernels}. Computed by: {found.estimate.engine}."),
        (
            "Directions",
            "Sums over rows that would be 0 on average if the model were right, each beside the larger one of its "
            "standard errors, that of calibrated outcomes and that of these rows; all together at "
            f"{percent(test.alpha)}, by the normal law.",
        ),
    ]
    if found.interval is not None:
        nominal = f"Nominal {found.interval.confidence_level:.0%}, {found.interval.method}."
        rows.append(("Interval of the error", nominal))
    if found.eces:
        band = "The band of the bins is that of binomial numbers, corrected for the number of bins (Bonferroni)."
        rows.append(("Bins", f"Bins of equal width, fixed before the pass. {band}"))
    if found.by_group is not None:
        rows.append(("Groups", groups_in_words(found.by_group)))
    return rows


def _assumptions(found: SketchResult) -> list[str]:
    groups = [] if found.by_group is None else ["Groups were not chosen by looking at the outcomes."]
    return [
        independent_rows(None),
        "The model was not fitted, chosen or recalibrated on these rows.",
        *groups,
        "A large p-value does not show that a model is calibrated: small errors and few rows hide.",
    ]


def _call(path: Any, confidence_level: float, alpha: float) -> str:
    """The calls that make the page again, where the file of sums has this name."""
    said = ["sketch.load_sketch('sums.npz')", *place_in_python(path)]
    said += [f"confidence_level={confidence_level}"] if confidence_level != CONFIDENCE_LEVEL else []
    said += [f"alpha={alpha}"] if alpha != SIGNIFICANCE else []
    return f"from kernelcal import reporting, sketch\nreporting.sums_page({', '.join(said)})"
