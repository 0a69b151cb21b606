"""The page: what was computed, put into the template, every text escaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelcal.comparison import Comparison
from kernelcal.errors import MissingExtraError
from kernelcal.plots import percent
from kernelcal.reporting.drawing import Drawing, Picture, dark_colours, drawn
from kernelcal.reporting.method import assumptions, methods, versions
from kernelcal.reporting.result import ModelReport
from kernelcal.reporting.tables import pairs, ranking, where
from kernelcal.reporting.verdict import Verdict
from kernelcal.runs import Run

__all__ = ["environment", "rendered"]


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
    return made


def rendered(
    title: str,
    verdict: Verdict,
    models: Sequence[ModelReport],
    compared: Comparison | None,
    run: Run,
    *,
    read: str | Mapping[str, str] | None,
    command: str | None,
    date: str,
) -> str:
    """HTML of the whole page."""
    level = percent(run.confidence_level)
    chart = None if compared is None else _chart(compared)
    pictures = [p for model in models for p in model.pictures] + ([] if chart is None else [chart])
    return str(
        environment()
        .get_template("report.html")
        .render(
            title=" ".join(str(title).split()),
            verdict=verdict,
            models=models,
            compared=compared,
            ranking=None if compared is None else ranking(compared),
            pairs=None if compared is None else pairs(compared),
            chart=chart,
            why={id(model): where(model) for model in models},
            key=id,
            names=[model.name for model in models if model.name is not None],
            panels={kind: (head, text.format(level=level)) for kind, (head, text) in _PANELS.items()},
            level=level,
            dark=dark_colours(set().union(*(p.colours for p in pictures))),
            methods=methods(models, compared, run),
            assumptions=assumptions(models, compared),
            read=_read(read, models),
            command=command or _in_python(models, run),
            run=run,
            versions=versions(),
            date=date,
        )
    )


def _sentence(text: str, names: Sequence[str] = ()) -> str:
    """Text as a sentence; a name at its beginning stays as it is."""
    named = any(text.startswith(f"{name}:") or text.startswith(f"{name},") for name in names)
    end = "" if text[-1:] in (".", "!", "?") else "."
    return f"{text if named else text[:1].upper() + text[1:]}{end}"


def _chart(compared: Comparison) -> Picture:
    level = compared.models[0].ckce.confidence_level
    caption = (
        f"Dots: conditional kernel calibration error (CKCE) of each model, with {level:.0%} intervals; smaller is "
        "better. Intervals that overlap may still belong to models that differ: the table of pairs says so."
    )
    said = "; ".join(
        f"{m.name}: {m.ckce.estimate:.3g} ({m.ckce.lower:.3g} to {m.ckce.upper:.3g})" for m in compared.models
    )
    size = (4.6, 1.1 + 0.3 * len(compared.models))
    return drawn(Drawing("Calibration error of every model", caption, said, compared.plot, size), "compared")


def _read(read: str | Mapping[str, str] | None, models: Sequence[ModelReport]) -> list[tuple[str, str]]:
    """What was read, by model where there are several."""
    if isinstance(read, Mapping):
        return [(str(name), str(text)) for name, text in read.items()]
    if read is not None:
        return [("", str(read))]
    return [
        (model.name or "", f"arrays in Python: {model.evaluation.n:,} rows, predictions of the family {model.family}")
        for model in models
    ]


def _in_python(models: Sequence[ModelReport], run: Run) -> str:
    given = "predictions" if models[0].name is None else "{" + ", ".join(f"{m.name!r}: ..." for m in models) + "}"
    return f"kernelcal.reporting.report(y, {given}, path, draws={run.draws}, rng={run.rng})"
