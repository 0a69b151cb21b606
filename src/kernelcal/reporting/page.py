"""The frame of all pages: what was computed put into a template, every text escaped, and written whole."""

from __future__ import annotations

import datetime
import os
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from kernelcal import __version__
from kernelcal.comparison import Comparison, ScoreComparison
from kernelcal.errors import MissingExtraError, printable
from kernelcal.lenses import Lens
from kernelcal.plots import percent
from kernelcal.reporting.methods import assumptions, methods
from kernelcal.reporting.pictures import Drawing, Picture, dark_colours, drawn
from kernelcal.reporting.result import ModelReport, Page, refuse_path, write_whole
from kernelcal.reporting.tables import pairs, ranking, where
from kernelcal.reporting.verdict import Verdict
from kernelcal.runs import Run

__all__ = [
    "arguments_in_python",
    "arrays_in_words",
    "call_in_python",
    "calls_in_python",
    "day",
    "place_in_python",
    "refuse_page",
    "rendered",
    "written",
]


def versions() -> list[tuple[str, str]]:
    """Programs that made the page."""
    packages = ("numpy", "scipy", "matplotlib", "jinja2")
    return [("kernelcal", __version__), ("Python", platform.python_version()), *((p, version(p)) for p in packages)]


def day(date: Any) -> str:
    """Date of the page: as given, else that of SOURCE_DATE_EPOCH, else today's, in UTC."""
    if date is not None:
        return date.isoformat() if isinstance(date, datetime.date) else str(date)
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    utc = datetime.UTC
    now = datetime.datetime.fromtimestamp(int(seconds), utc) if seconds.isdecimal() else datetime.datetime.now(utc)
    return now.date().isoformat()


_PANELS = {
    "classes": (
        "Class by class",
        "Each class against all others, those with the largest errors first: read like the first picture. The band "
        "holds for all bins of all classes at once.",
    ),
    "witness": (
        "Where it is wrong",
        "Gap between what happened and what was said, smoothed over similar predictions: above 0 more (or larger) than "
        "predicted. Grey bars are where {level} of calibrated models lie, at all places and in all pictures together; "
        "diamonds lie outside.",
    ),
}


def environment() -> Any:
    """Templates of the package, which escape every text."""
    try:
        import jinja2
    except ImportError:
        raise MissingExtraError("jinja2", "report", "a report") from None
    try:
        import matplotlib  # noqa: F401 - asked for before the work
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "a report") from None
    loader = jinja2.PackageLoader("kernelcal.reporting", "templates")
    made = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters["sentence"] = _sentence
    made.filters["unbroken"] = lambda text: text.replace(" %", "\N{NO-BREAK SPACE}%")
    return made


def refuse_page(path: Any, *, optional: bool = False) -> None:
    """Refuse a page that could not be written or drawn, before the work and not after it."""
    if path is not None or not optional:
        refuse_path(path)
    environment()


def written(
    template: str,
    path: Any,
    title: str,
    verdict: Verdict,
    pictures: Sequence[Picture],
    run: Run,
    *,
    read: str,
    date: Any,
    **more: Any,
) -> Page:
    """Make a page about one evaluation, and write it whole where a place is named; the others are as for the frame."""
    text = _framed(
        template, title, verdict, pictures, run, read=[("", read)], date=date, **{"names": [], "panels": {}, **more}
    )
    place = None if path is None else Path(path)
    if place is not None:
        write_whole(place, text)
    return Page(place, title, verdict, tuple(pictures), text)


def rendered(
    title: str,
    verdict: Verdict,
    models: Sequence[ModelReport],
    compared: Comparison | ScoreComparison | None,
    run: Run,
    *,
    read: str | Mapping[str, str] | None,
    command: str,
    date: Any,
) -> str:
    """HTML of the whole page, control characters in names written out."""
    level, band = percent(run.confidence_level), percent(1 - run.alpha)
    chart = None if compared is None else _chart(compared)
    pictures = [p for model in models for p in model.pictures] + ([] if chart is None else [chart])
    return _framed(
        "report.html",
        title,
        verdict,
        pictures,
        run,
        models=models,
        compared=compared,
        ranking=None if compared is None else ranking(compared, run.confidence_level),
        pairs=None if compared is None else pairs(compared, run.confidence_level),
        order="score" if isinstance(compared, ScoreComparison) else "error",
        chart=chart,
        why={id(model): where(model) for model in models},
        key=id,
        names=[model.name for model in models if model.name is not None],
        panels={kind: (head, text.format(level=band)) for kind, (head, text) in _PANELS.items()},
        level=level,
        methods=methods(models, compared, run),
        assumptions=assumptions(models, compared),
        read=_read(read, models),
        command=command,
        date=date,
    )


def _framed(
    template: str,
    title: str,
    verdict: Verdict,
    pictures: Sequence[Picture],
    run: Run,
    *,
    methods: Sequence[tuple[str, str]],
    assumptions: Sequence[str],
    read: Sequence[tuple[str, str]],
    command: str,
    date: Any,
    **own: Any,
) -> str:
    """HTML of a template in the frame of all pages: verdict, method, data, how to repeat it; no control characters."""
    return printable(
        environment()
        .get_template(template)
        .render(
            title=" ".join(str(title).split()),
            verdict=verdict,
            pictures_of_page=pictures,
            dark=dark_colours(set().union(*(p.colours for p in pictures))),
            run=run,
            versions=versions(),
            methods=methods,
            assumptions=assumptions,
            read=read,
            command=command,
            date=day(date),
            **own,
        )
    )


def _sentence(text: str, names: Sequence[str] = ()) -> str:
    """Text as a sentence; a name at its beginning stays as it is."""
    named = any(text.startswith(f"{name}:") or text.startswith(f"{name},") for name in names)
    end = "" if text[-1:] in (".", "!", "?") else "."
    return f"{text if named else text[:1].upper() + text[1:]}{end}"


def _chart(compared: Comparison | ScoreComparison) -> Picture:
    size = (4.6, 1.1 + 0.3 * len(compared.models))
    if isinstance(compared, ScoreComparison):
        return _chart_of_scores(compared, size)
    level = compared.models[0].ckce.confidence_level
    caption = (
        f"Dots: conditional kernel calibration error (CKCE) of each model, with {level:.0%} intervals; smaller is "
        "better. Intervals that overlap may still belong to models that differ: the table of pairs says so."
    )
    said = "; ".join(
        f"{m.name}: {m.ckce.estimate:.3g} ({m.ckce.lower:.3g} to {m.ckce.upper:.3g})" for m in compared.models
    )
    return drawn(Drawing("Calibration error of every model", caption, said, compared.plot, size), "compared")


def _chart_of_scores(compared: ScoreComparison, size: tuple[float, float]) -> Picture:
    caption = (
        "Dots: weighted interval score of each model, with two standard errors to both sides; smaller is better. "
        "Models whose intervals overlap may still differ: the table of pairs says so."
    )
    known = zip(compared.models, compared.scores, compared.errors, strict=True)
    said = "; ".join(f"{name}: {score:.3g}, standard error {error:.2g}" for (name, _), score, error in known)
    return drawn(Drawing("Score of every model", caption, said, compared.plot, size), "compared")


def _read(read: str | Mapping[str, str] | None, models: Sequence[ModelReport]) -> list[tuple[str, str]]:
    """What was read, by model where there are several."""
    if isinstance(read, Mapping):
        return [(str(name), str(text)) for name, text in read.items()]
    if read is not None:
        return [("", str(read))]
    return [(one.name or "", arrays_in_words(f"{one.evaluation.n:,} rows", one.family)) for one in models]


def arrays_in_words(rows: str, family: str = "", what: str = "arrays") -> str:
    """What is said of data that were no file."""
    return f"{what} in Python: {rows}" + (f", predictions of the family {family}" if family else "")


def call_in_python(path: Any, run: Run, given: Mapping[str, Any]) -> str:
    """The call that makes the page again: it can be typed where the data have the names of the parameters.

    Numbers, words and lenses are written out, of data only the name of the parameter; what was not said is left out.
    """
    arguments = ["y", "predictions", *place_in_python(path), *arguments_in_python(run, given)]
    return f"import kernelcal\nkernelcal.report({', '.join(arguments)})"


def calls_in_python(rooms: str, found: str, page: str, path: Any) -> str:
    """The calls that make a page about one evaluation again: imports, the evaluation, its page."""
    arguments = ", ".join(["found", *place_in_python(path)])
    return f"from kernelcal import {rooms}\nfound = {found}\nreporting.{page}({arguments})"


def place_in_python(path: Any) -> list[str]:
    """Where the page is written, as an argument; none of a page that is written nowhere."""
    return [] if path is None else [repr(str(path))]


def arguments_in_python(run: Run, given: Mapping[str, Any]) -> list[str]:
    """Arguments by their names, as far as they were said, and the run."""
    named = [f"{name}={_written(name, x)}" for name, x in given.items() if x is not None and x is not False]
    usual = Run()
    levels = [
        f"{name}={getattr(run, name)!r}"
        for name in ("confidence_level", "alpha", "early_stopping")
        if getattr(run, name) != getattr(usual, name)
    ]
    return [*named, *levels, f"draws={run.draws}", f"rng={run.rng}"]


def _written(name: str, value: Any) -> str:
    """Value of an option as it is typed, or its name where it is data."""
    if isinstance(value, Lens):
        return f"kernelcal.lenses.{value!r}"
    if isinstance(value, str | bool | int | float | datetime.date):
        return repr(value.isoformat() if isinstance(value, datetime.date) else value)
    plain = isinstance(value, list | tuple) and all(isinstance(x, str | int | float) for x in value)
    if plain and name in ("classes", "measures", "horizons"):
        return repr(list(value))
    return name
