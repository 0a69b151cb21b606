"""The page about predicted times to an event: verdict, figures beside calibrated ones, residuals, risks, groups."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcal.evaluation import listed
from kernelcal.plots import percent
from kernelcal.reporting.figures import DOES_NOT_APPLY, KeyFigure
from kernelcal.reporting.page import (
    arguments_in_python,
    arrays_in_words,
    calls_in_python,
    refuse_page,
    written,
)
from kernelcal.reporting.pictures import Drawing, Picture, drawn
from kernelcal.reporting.result import Page
from kernelcal.reporting.verdict import Verdict
from kernelcal.runs import Run
from kernelcal.tables import Grid

if TYPE_CHECKING:  # other pages need no survival
    from kernelcal.survival import Calibrated, Horizon, SurvivalEvaluation

__all__ = ["survival_page"]


TITLE = "Predicted times to an event"
_NOT_PROVED = "none was proved"
_SIZE = (4.6, 4.4)
_FEW = 50  # events
_MEND = (
    "Do not use the predicted times as they are: the pictures show when, and at which risks, they are off; the model "
    "must be mended there, and looked at again with other rows."
)
_GO_ON = "Nothing speaks against using them as they are; look again when more events were seen."
_FEW_EVENTS = "Wait for more events before you rely on them: so few show only gross errors."


def survival_page(
    found: Any,  # of a room that other pages do not load
    path: Any = None,
    *,
    title: str = TITLE,
    read: str | None = None,
    command: str | None = None,
    date: Any = None,
) -> Page:
    """Write a self-contained HTML page about an evaluation of survival.

    Parameters
    ----------
    found : SurvivalEvaluation
        What `kernelcal.survival.evaluate` returned.
    path : str or pathlib.Path, optional
        Of the page, which ends in .html or .htm; without it nothing is written.
    title : str
        Of the page.
    read, command : str, optional
        What was read, and what made the page; shown as they are. Default: the call in Python.
    date : datetime.date or str, optional
        Shown at the top; default SOURCE_DATE_EPOCH, or today.

    Returns
    -------
    Page
        Path, verdict and page.

    Raises
    ------
    InputError
        For a place that cannot be written to.
    MissingExtraError
        Without jinja2 (extra ``report``) or matplotlib (extra ``plot``).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.predictions import Gamma
    >>> from kernelcal.reporting import survival_page
    >>> from kernelcal.survival import evaluate
    >>> times = np.random.default_rng(0).exponential(size=100)
    >>> found = evaluate((np.minimum(times, 2.0), times < 2), Gamma(1.0, np.ones(100)), draws=99)
    >>> survival_page(found).verdict.heading
    'No evidence against the predicted times was found.'
    """
    refuse_page(path, optional=True)
    run = Run(
        confidence_level=found.confidence_level, alpha=found.alpha, draws=found.test.draws_asked, rng=found.test.seed
    )
    return written(
        "survival.html",
        path,
        title,
        _verdict(found),
        _pictures(found),
        run,
        level=percent(found.confidence_level),
        command=_call(found, path, run) if command is None else command,
        date=date,
        read=arrays_in_words(f"{found.n:,} rows", type(found.data.law).__name__) if read is None else read,
        methods=_methods(found),
        assumptions=_assumptions(found),
        found=found,
        key_figures=_figures(found),
        questions=_questions(found),
    )


def _verdict(found: SurvivalEvaluation) -> Verdict:
    known = [one for one in found.groups if not np.isnan(one.pvalue)]
    wrong = [f"{one.column}: {one.name}" for one in known if one.pvalue <= found.alpha]
    groups: tuple[str, ...] = ()
    if known:
        named = ", ".join(wrong) or "none"
        groups = (f"Of {len(known)} groups, each by itself and corrected for their number, rejected: {named}.",)
    if found.rejected:
        heading = "The predicted times do not match what happened."
        return Verdict("against", heading, (found.verdict, *groups), _MEND)
    proof = "That is not proof that they are right: small errors and few events hide."
    advice = _FEW_EVENTS if found.events < _FEW else _GO_ON
    if wrong:
        advice = f"Do not use them as they are for {listed(wrong)}; nothing speaks against using them elsewhere."
    heading = "No evidence against the predicted times was found."
    return Verdict("nothing", heading, (found.verdict, proof, *groups), advice)


def _figures(found: SurvivalEvaluation) -> list[KeyFigure]:
    """Every number beside its interval, or why it has none, and beside that of calibrated predictions."""
    alpha = percent(found.alpha)
    seen = f"{found.events:,} rows with an event, {found.expected:,.4g} expected; above 1 are more than predicted"
    rows = [
        KeyFigure("events seen / expected", f"{found.ratio:.3f}", f"{found.low:.3f} to {found.high:.3f}", seen, "1")
    ]
    deciles, ranked = found.why_none
    meaning = "chi-square over tenths of the predicted survival: large where tenths have too many or too few events"
    if found.d_calibration is None:
        rows.append(KeyFigure("D-calibration", "none", DOES_NOT_APPLY, deciles, DOES_NOT_APPLY))
    else:
        value, mean, p = found.d_calibration
        rows.append(KeyFigure("D-calibration", f"{value:.2f}", _NOT_PROVED, meaning, f"{mean:.2f}, p {p:.3g}"))
    meaning = "share of pairs in which the earlier event had the higher risk; it says how far risks rank"
    if found.concordance is None or found.concordance_calibrated is None:
        rows.append(KeyFigure("concordance", "none", DOES_NOT_APPLY, ranked, DOES_NOT_APPLY))
    else:
        beside = _beside(found.concordance_calibrated)
        rows.append(KeyFigure("concordance", f"{found.concordance:.4f}", _NOT_PROVED, meaning, beside))
    rows.append(
        KeyFigure(
            "p-value of the test",
            f"{found.pvalue:.3g}",
            DOES_NOT_APPLY,
            "small where outcomes are unlike those of the predictions; it alone decides the verdict",
            f"{alpha} or less in {alpha} of data sets",
        )
    )
    if found.bets is not None:
        which = f"under any independent censoring; p {found.bets.pvalue:.3g}"
        meaning = f"what one unit of money won against the predictions, {which}"
        rows.append(
            KeyFigure("e-value of bets", f"{found.bets.e_value:.3g}", DOES_NOT_APPLY, meaning, "at most 1 on average")
        )
    return rows


def _beside(found: Calibrated) -> str:
    if np.isnan(found.mean):
        return "not known"
    spread = "" if np.isnan(found.low) else f" ({found.low:.4f} to {found.high:.4f})"
    p = "" if np.isnan(found.pvalue) else f", p {found.pvalue:.2g}"
    return f"{found.mean:.4f}{spread}{p}"


def _questions(found: SurvivalEvaluation) -> Grid:
    rows = [(one.name, f"{one.pvalue:.3g}") for one in found.test.members]
    notes = ("each p by itself; the smallest is ranked among those of the draws, which gives the p of the test",)
    return Grid("Questions of the test", ("question", "p"), rows, notes)


def _pictures(found: SurvivalEvaluation) -> tuple[Picture, ...]:
    from kernelcal.survival import horizon_groups  # other pages need no survival

    level = percent(found.confidence_level)
    caption = (
        "Cox-Snell residuals, the hazard that was predicted while each row was watched. Calibrated predictions follow "
        f"the dashed line; grey: {level}, point by point. Above it events come more often than predicted."
    )
    drawings = [Drawing("When events come", caption, _residuals(found), found.plot, _SIZE)]
    for one in found.horizons:
        groups = horizon_groups(found.data, one.time, found.confidence_level)
        if len(groups):
            drawings.append(_risks(found, one, groups, level))
    return tuple(drawn(drawing, f"p{k}") for k, drawing in enumerate(drawings))


def _residuals(found: SurvivalEvaluation) -> str:
    """The curve at some places, for those who do not see it."""
    from kernelcal.survival import kaplan_meier

    seen = found.data
    curve = kaplan_meier(seen.hazard, seen.event, seen.weights)
    said = [
        f"{-np.log(curve.at(h)):.2f} where {h:g} was predicted"
        for h in (0.25, 0.5, 1.0, 2.0)
        if curve.known(h) and curve.at(h) > 0
    ]
    return "Cumulative hazard of the residuals: " + ("; ".join(said) or "no row was watched long enough") + "."


def _risks(found: SurvivalEvaluation, one: Horizon, groups: np.ndarray, level: str) -> Drawing:
    said = "; ".join(
        f"predicted {100 * x:.1f} %, seen {100 * y:.1f} % ({100 * low:.1f} to {100 * high:.1f} %)"
        for x, y, low, high in groups
    )
    caption = (
        f"Rows in groups of the predicted risk up to {one.time:g}: Kaplan-Meier risk against the mean predicted one, "
        f"with {level} intervals. Calibrated predictions lie on the dashed line. All rows: p {one.pvalue:.3g}."
    )
    draw = partial(found.plot_horizon, one.time)
    return Drawing(f"Risk up to {one.time:g}", caption, f"Groups from low risk to high: {said}.", draw, _SIZE)


def _methods(found: SurvivalEvaluation) -> list[tuple[str, str]]:
    level, alpha = percent(found.confidence_level), percent(found.alpha)
    what = (
        "Residuals are whether the event came, less the hazard that was predicted while the row was watched. "
        f"{len(found.test.members)} questions are asked of them together: {found.test.null}, "
        f"{found.test.draws:,} draws. It is never 0."
    )
    rows = [
        ("Question", "Calibration: do events come when, as often, and for whom the predictions say?"),
        ("Test", what),
        ("Level", f"The verdict and the groups that are named ask for the level {alpha}."),
        ("If calibrated", f"{found.about_figures[:1].upper()}{found.about_figures[1:]}."),
        (
            "Intervals",
            f"{level}: of events seen over expected that of a Poisson number (Garwood; weighted: Fay and Feuer); of "
            "observed risks Kaplan-Meier with the normal law on the scale log(-log S).",
        ),
        ("Brier scores", "Weighted by the inverse of the probability of not being censored (Graf et al. 1999)."),
    ]
    if found.bets is not None:
        rows.append(("Bets", "Likelihood ratios of other hazards, whose mean under calibration is at most 1."))
    if found.groups:
        by = "Each is tested on its own rows; p-values are corrected for the groups of its column (Holm)."
        rows.append(("Groups", by))
    return rows


def _assumptions(found: SurvivalEvaluation) -> list[str]:
    rows = "Rows are independent of each other, given the predictions."
    if found.data.clusters is not None:
        rows = "Rows of different clusters are independent of each other, given the predictions."
    return [
        rows,
        "Censoring says nothing about the event beyond the prediction: who is lost for being ill breaks this.",
        "Observed risks and Brier scores also take censoring to be as likely at high risks as at low ones.",
        "The model was not fitted, chosen or recalibrated on these rows, and horizons and groups were not chosen by "
        "looking at the outcomes.",
        "A large p-value does not show that a model is calibrated: small errors and few events hide.",
    ]


def _call(found: SurvivalEvaluation, path: Any, run: Run) -> str:
    """The calls that make the page again, where the data have the names of the parameters."""
    seen = found.data
    given = {
        "censoring_time": seen.censoring_time,
        "horizons": [one.time for one in found.horizons] or None,
        "null": found.null,
        "weights": seen.weights,
        "clusters": seen.clusters,
        "groups": found.groups or None,
    }
    evaluated = f"survival.evaluate({', '.join(['y', 'law', *arguments_in_python(run, given)])})"
    return calls_in_python("reporting, survival", evaluated, "survival_page", path)
