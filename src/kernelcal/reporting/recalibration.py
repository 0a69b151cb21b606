"""The page about a map: what to do, scores with their gain, pictures before and after, the test and what it tests."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.plots import percent
from kernelcal.predictions import ClassPredictions, Quantiles
from kernelcal.reporting.figures import top_or_event
from kernelcal.reporting.methods import independent_rows
from kernelcal.reporting.page import (
    arguments_in_python,
    arrays_in_words,
    calls_in_python,
    refuse_page,
    written,
)
from kernelcal.reporting.pictures import Picture, drawn, first_drawing
from kernelcal.reporting.result import Page
from kernelcal.reporting.verdict import Verdict
from kernelcal.runs import Run
from kernelcal.statistics import central_coverage_of
from kernelcal.tables import Grid

if TYPE_CHECKING:  # other pages need no maps
    from kernelcal.recalibration import Checked, Recalibration, ScoreChange

__all__ = ["recalibration_page"]


TITLE = "Before and after the map"
_LEVEL = 0.9  # of the intervals whose share of outcomes is told
_KINDS = {
    "forward": "Five blocks of rows, every block but the first as a map makes it that was fitted to the blocks before. "
    "No row had a part in the map that changed it. So maps of this kind are tested, fitted to fewer rows than the one "
    "that is saved, and few rows leave an error in any map, which the test may see: of a right kind of map it rejected "
    "10 to 23 % of data sets at 5 %.",
    "held out": "The map as it is, on rows that had no part in its fit, as far as the marks of its rows tell.",
    "fixed map": "The map as it is. Whether rows of its fit are among these cannot be seen, since many predictions are "
    "equal: if they are, everything here looks better than it is.",
}
_MEANINGS = {
    "log score": "large where something happened that was said to be unlikely",
    "Brier score": "mean squared error of the probabilities",
    "CRPS": "how far outcomes lie from what was predicted, in their unit",
    "mean pinball loss": "how far outcomes lie from the quantiles, in their unit",
}


def recalibration_page(
    found: Any,  # of a room that other pages do not load
    path: Any = None,
    *,
    title: str = TITLE,
    read: str | None = None,
    command: str | None = None,
    use: str | None = None,
    date: Any = None,
) -> Page:
    """Write a self-contained HTML page about predictions before and after a map.

    Parameters
    ----------
    found : Checked or Recalibration
        What `kernelcal.recalibration.Recalibration.check` returned for other rows, or
        `kernelcal.recalibration.recalibrate` for the rows of the fit, of which its forward test tells.
    path : str or pathlib.Path, optional
        Of the page, which ends in .html or .htm; without it nothing is written.
    title : str
        Of the page.
    read, command, use : str, optional
        What was read, what made the page, and how the map is used on other rows; shown as they are. Default: the calls
        in Python, of a map and data with the names of the parameters.
    date : datetime.date or str, optional
        Shown at the top; default SOURCE_DATE_EPOCH, or today.

    Returns
    -------
    Page
        Path, verdict and page.

    Raises
    ------
    InputError
        For a place that cannot be written to, and a map that was loaded, or fitted without its test: it knows no rows.
    MissingExtraError
        Without jinja2 (extra ``report``) or matplotlib (extra ``plot``).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.recalibration import recalibrate
    >>> from kernelcal.reporting import recalibration_page
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=400)
    >>> y = rng.random(400) < p
    >>> sharp = p**2 / (p**2 + (1 - p) ** 2)
    >>> recalibration_page(recalibrate(y, sharp, draws=99)).verdict.heading
    'Use the map: it brings the predictions closer to what happens.'
    """
    refuse_page(path, optional=True)
    about = _about(found)
    run = about.run
    return written(
        "recalibration.html",
        path,
        title,
        _verdict(about),
        () if about.check is None else _pictures(about.check, run),
        run,
        level=percent(run.confidence_level),
        what=about.rows,
        scores=_scores(about),
        tests=None if about.check is None else _tests(about.check),
        kind=("", "") if about.check is None else (about.check.kind, _KINDS[about.check.kind]),
        made=[] if about.fit is None else about.fit.fit.in_words(),
        use=use or f"better = {'fitted_map' if about.fit is None else 'found'}(predictions)",
        shown=found.advice == "use",
        notes_of_map=() if about.fit is None else about.fit.notes,
        command=command or _call(about, path),
        date=date,
        read=read or about.arrays,
        methods=_methods(about),
        assumptions=_assumptions(about.check),
    )


@dataclass(frozen=True)
class _About:
    """What a page is about: a map with the rows of its fit, or other rows alone; without a test of too few rows."""

    found: Checked | Recalibration
    fit: Recalibration | None
    check: Checked | None
    change: ScoreChange  # of the score that the advice looks at

    @property
    def run(self) -> Run:
        """Draws, seed and level of the tests."""
        if self.check is None:
            return Run()
        level, test = self.check.confidence_level, self.check.test_before
        return Run(confidence_level=level, alpha=test.alpha, draws=test.draws_asked, rng=test.seed)

    @property
    def rows(self) -> str:
        """How many, and how many of them are tested."""
        n = self.fit.fit.n if self.fit is not None else self.check.n if self.check is not None else 0
        return f"{n:,} rows" + ("" if self.check is None or n == self.check.n else f", {self.check.n:,} of them tested")

    @property
    def arrays(self) -> str:
        """What is said of data that were no file."""
        return arrays_in_words(self.rows, "" if self.check is None else type(self.check.before.predictions).__name__)


def _about(found: Any) -> _About:
    """Refuse what knows no rows that a page could tell of."""
    from kernelcal.recalibration import Checked, Recalibration  # other pages need no maps

    if isinstance(found, Checked):
        return _About(found, None, found, found.changes[0])
    if not isinstance(found, Recalibration):
        raise InputError(
            "a page of before and after is about what recalibrate(...) or the .check(...) of a map returned, got "
            f"{type(found).__name__}"
        )
    if found.forward is None and not found.notes:
        raise InputError(
            "this map was loaded, or fitted with test=False, and knows no rows that a page could tell of: check it on "
            "other rows, recalibration_page(found.check(y, predictions))"
        )
    return _About(found, found, found.forward, found.change)


_TELLS = {
    "use": ("nothing", "Use the map: it brings the predictions closer to what happens."),
    "more rows": (
        "several",
        "Get more rows, and leave the predictions alone until then: these rows are too few to tell.",
    ),
    "leave": ("several", "Leave the predictions alone: no map makes them clearly better."),
}
_LIKELY = "Use the map: it likely brings the predictions closer to what happens, though chance may have made the gain."
_WORSE = "Leave the predictions alone: the map takes them further from what happens."


def _verdict(about: _About) -> Verdict:
    """What to do, in the first sentence; then what changed, how sure that is, and what is left."""
    found, check, change = about.found, about.check, about.change
    tone, heading = _TELLS[found.advice]
    if found.advice == "use" and change.low <= 0:
        heading = _LIKELY
    if about.fit is None and found.advice == "leave" and change.high < 0:
        tone, heading = "against", _WORSE
    sentences = [] if check is None else [_happened(check)]
    sentences.append(_gained(about))
    if check is None:
        sentences.append("Nothing could be tested: with 50 rows or more there is a test, and hundreds tell more.")
    else:
        sentences.append(_tested(check, found.advice))
    return Verdict(tone, heading, tuple(text for text in sentences if text))


def _gained(about: _About) -> str:
    """By how much the score falls that the advice looks at, and whether chance may have made it."""
    change, level = about.change, percent(about.run.confidence_level)
    of = "Held-out rows" if about.fit is not None else "These rows"
    if not np.isfinite(change.gain):
        return f"{of} had things ruled out that then happened; after the map the {change.name} is {change.after:.4f}."
    moved = "falls" if change.gain > 0 else "rises"
    said = f"{of}: the {change.name}, smaller is better, {moved} from {change.before:.4f} to {change.after:.4f}"
    if change.low > 0 or change.high < 0:
        return f"{said}, by more than chance explains."
    fits = f"a change between {_signed(-change.high)} and {_signed(-change.low)} fits ({level} interval)"
    return f"{said}, which may be chance: {fits}."


def _tested(check: Checked, advice: str) -> str:
    """What the test sees before and after."""
    before, after = check.test_before, check.test_after
    first = f"The test {'finds' if before.rejected else 'finds no'} evidence against the predictions as they are"
    if advice != "use":
        return f"{first} (p = {before.pvalue:.3g}){'' if before.rejected else ', which does not prove them right'}."
    p = f"(p = {before.pvalue:.3g} before, {after.pvalue:.3g} after)"
    if after.rejected:
        return f"{first}, and after the map as well {p}: take them for closer, not for right."
    return f"{first}, and none after the map {p}, which does not prove them right."


def _happened(check: Checked) -> str:
    """What was said before and after the map, and what happened."""
    before, after = check.before, check.after
    if isinstance(before.predictions, ClassPredictions):
        hit, p, top = top_or_event(before.targets, before.predictions)
        later, q, _ = top_or_event(after.targets, after.predictions)
        did, said, then, now = (100 * float(np.average(x, weights=before.weights)) for x in (hit, p, later, q))
        if not top:
            return f"On average {said:.1f} % was said, after the map {now:.1f} %, and it happened in {did:.1f} %."
        return (
            f"On average they were {said:.1f} % sure of the first choice, which was right in {did:.1f} % of cases; "
            f"after the map they are {now:.1f} % sure, and right in {then:.1f} %."
        )
    if before.weights is not None:
        return ""
    expected, share = _held(before)
    return (
        f"Intervals that should hold {100 * expected:.3g} % of outcomes held {100 * share:.1f} %, after the map "
        f"{100 * _held(after)[1]:.1f} %."
    )


def _held(case: Case) -> tuple[float, float]:
    """What central intervals should hold, and what they held: between the outermost quantiles where these are given."""
    batch = case.predictions
    if isinstance(batch, Quantiles):
        values = np.asarray(batch.values)
        inside = (values[:, 0] <= case.targets) & (case.targets <= values[:, -1])
        return float(batch.levels[-1] - batch.levels[0]), float(inside.mean())
    found = central_coverage_of(replace(case, rows=None), np.array([_LEVEL]), Run())
    return float(found.expected[0]), float(found.shares[0])


def _signed(value: float) -> str:
    return f"{value:+.4f}".replace("-", "\N{MINUS SIGN}")


def _scores(about: _About) -> Grid:
    """Every score before and after, what it falls by with its interval, and how it is read."""
    fit, check, level = about.fit, about.check, percent(about.run.confidence_level)
    rows = [] if fit is None else [_score(about.change, ", rows held out of the fit")]
    rows += [] if check is None else [_score(one, ", forward test" * (fit is not None)) for one in check.changes]
    notes = ["a gain above 0 is an improvement; where its interval holds 0, chance may have made it"]
    if fit is not None:
        notes.append("the first row decides: all rows, each as a map makes it that was fitted to the others")
    header = ["score, smaller is better", "gain", f"its {level} interval", "before", "after", "what it is"]
    return Grid("Scores before and after", header, rows, notes)


def _score(one: ScoreChange, of: str) -> list[str]:
    known = np.isfinite(one.gain)
    before, after = (f"{value:.4f}" if np.isfinite(value) else "infinite" for value in (one.before, one.after))
    ends = f"{_signed(one.low)} to {_signed(one.high)}" if known else "none"
    return [f"{one.name}{of}", _signed(one.gain) if known else "infinite", ends, before, after, _MEANINGS[one.name]]


def _tests(check: Checked) -> Grid:
    """The p-values of both, and of every question that the test asks."""
    before, after = check.test_before, check.test_after
    rows = [["all questions together", f"{before.pvalue:.3g}", f"{after.pvalue:.3g}"]]
    later = {member.name: member.pvalue for member in after.members}
    both = [one for one in before.members if one.name in later and len(before.members) > 1]
    rows += [[one.name, f"{one.pvalue:.3g}", f"{later[one.name]:.3g}"] for one in both]
    notes = [
        "small where outcomes are unlike those that the predictions would have; the first row decides, at "
        f"{percent(after.alpha)}, the others are each by itself",
        *dict.fromkeys((*before.notes, *after.notes)),
    ]
    return Grid("P-values of the same rows", ["question", "before", "after"], rows, notes)


def _pictures(check: Checked, run: Run) -> tuple[Picture, ...]:
    """The picture that tells most, of both."""
    pairs = [("Before", first_drawing(check.before, run)), ("After", first_drawing(check.after, run))]
    return tuple(
        drawn(replace(one, title=f"{name} the map: {one.title[:1].lower()}{one.title[1:]}"), f"p{k}")
        for k, (name, one) in enumerate(pairs)
        if one is not None
    )


def _methods(about: _About) -> list[tuple[str, str]]:
    rows = [("Question", "Does a map bring predictions closer to what happens, for rows that it was not fitted to?")]
    if about.fit is not None:
        fitted = f"Method {about.fit.method}, fitted to all {about.fit.fit.n:,} rows; what it is stands above."
        rows.append(("The map", fitted))
        held = "Five parts: each is mapped by a fit to the other four, so that no row has a part in its own map."
        rows.append(("Rows held out", held))
    if about.check is not None:
        test = about.check.test_after
        rows.append(("Law of the test", f"{test.null}, up to {test.draws_asked:,} draws. The p-value is never 0."))
    known = None if about.check is None else about.check.before.rows
    law = "Student's law"
    if known is not None and known.overlap:
        law = "Student's law of sums over clusters or stretches of time"
    more = " Of classes two outcomes that did not happen are added, where that makes it wider."
    said = f"The mean difference of the scores of the same rows before and after, by {law}.{more}"
    rows.append(("Interval of a gain", said))
    rows.append(
        (
            "What to do",
            "Use the map: the first score falls by more than one standard error. Get more rows: it does not, the "
            "predictions are wrong (or rows too few to tell), and a gain of 1 % would fit the data. Else leave them.",
        )
    )
    return rows


def _assumptions(check: Checked | None) -> list[str]:
    return [
        independent_rows(None if check is None else check.before.rows),
        "The model was not fitted, chosen or recalibrated on these rows.",
        "Rows to which the map is applied later are like these.",
    ]


def _call(about: _About, path: Any) -> str:
    """The calls that make the page again, where the data, and the map that was checked, have these names."""
    fit, check = about.fit, about.check
    said = ["y", "predictions"] + ([repr(fit.method)] if fit is not None and fit.method != "auto" else [])
    weighted = fit.weighted if fit is not None else check is not None and check.before.weights is not None
    said += ["weights=weights"] * weighted + _depend(fit.rows if fit is not None else check and check.before.rows)
    said += arguments_in_python(about.run, {})
    maker = "fitted_map.check" if fit is None else "recalibration.recalibrate"
    rooms = "reporting" if fit is None else "recalibration, reporting"
    return calls_in_python(rooms, f"{maker}({', '.join(said)})", "recalibration_page", path)


def _depend(rows: Any) -> list[str]:
    """Arguments that say how rows depend on each other, as far as they were given."""
    if rows is None:
        return []
    if rows.clusters is not None:
        return ["clusters=clusters"]
    timed = rows.moment is not None and not np.array_equal(rows.moment, rows.time)
    return ["time=time"] * timed + ["series=series"] * bool(rows.series.max(initial=0)) + [f"horizon={rows.horizon}"]
