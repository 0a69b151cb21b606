"""How the page was found, and what it assumes, in plain words."""

from __future__ import annotations

import datetime
import os
import platform
import re
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from kernelcal import __version__
from kernelcal.comparison import Comparison
from kernelcal.plots import percent
from kernelcal.reporting.result import ModelReport
from kernelcal.runs import Run

__all__ = ["assumptions", "day", "methods", "versions"]


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


_LONG = re.compile(r"\d+\.\d{5,}")  # digits that say nothing


def methods(models: Sequence[ModelReport], compared: Comparison | None, run: Run) -> list[tuple[str, str]]:
    """Names of the methods and what each does."""
    first = models[0].evaluation
    found = [("Question", "Calibration: among all rows with the same prediction, do outcomes follow that prediction?")]
    if first.question:
        found.append(("Lens", f"Everything here is about a simpler question: {first.question}."))
    if first.test is not None:
        found.append(("Test", _test(models, run)))
    name = first.estimate.name
    size = (
        f"{name}, {first.estimate.estimator}: {_kernels(first.estimate.options)}. Computed by: {first.estimate.engine}."
    )
    found.append(("Size of the error", size))
    if first.interval is not None:
        nominal = f"nominal {first.interval.confidence_level:.0%}, {first.interval.method}"
        found.append(("Interval of the error", f"{nominal}. It may miss its level in small samples."))
    found.append(
        (
            "Intervals of shares and means",
            f"{percent(run.confidence_level)}: Clopper-Pearson for shares, the normal law for means over rows. "
            "With case weights there are none.",
        )
    )
    if any(model.explanation is not None for model in models):
        found.append(("Where it is wrong", _explained(models, run)))
    if compared is not None:
        found.append(("Comparison", _comparison(run)))
    return found


def assumptions(models: Sequence[ModelReport], compared: Comparison | None) -> list[str]:
    """What the reader must make sure of."""
    found = [
        "Rows are independent of each other, given the predictions. Answers to one prompt, visits of one patient or "
        "neighbouring days may not be: p-values are then too small, and intervals too short.",
        "The model was not fitted, chosen or recalibrated on these rows.",
    ]
    if any(model.explanation is not None and model.explanation.groups for model in models):
        found.append("Groups were not chosen by looking at the outcomes.")
    if compared is not None:
        found.append("All models predict the same rows.")
    return [*found, "A large p-value does not show that a model is calibrated: small errors and few rows hide."]


def _test(models: Sequence[ModelReport], run: Run) -> str:
    tests = [model.evaluation.test for model in models if model.evaluation.test is not None]
    laws = ", ".join(dict.fromkeys(test.null for test in tests))
    members = len(tests[0].members)
    several = f"{members} measures of error are ranked together, which keeps one p-value for all. " * (members > 1)
    stopping = "; drawing stops early once p is clearly large" * run.early_stopping
    exact = "The p-value is exact at every number of rows. " * laws.startswith("exact")
    return (
        f"{several}Their values are compared with those of outcomes drawn from the predictions themselves: {laws}, "
        f"up to {run.draws:,} draws{stopping}. {exact}It is never 0."
    )


def _kernels(options: dict[str, object]) -> str:
    named = ((key.replace("_", " "), value) for key, value in options.items() if "kernel" in key)
    words = "; ".join(f"{key} {value}" for key, value in named) or "default kernels"
    return _LONG.sub(lambda number: f"{float(number[0]):.4g}", words)


def _explained(models: Sequence[ModelReport], run: Run) -> str:
    level, rest = f"{run.confidence_level:.0%}", f"{1 - run.confidence_level:.0%}"
    rows = [m for m in models if m.explanation is not None and m.explained_rows < m.evaluation.n]
    some = f" It rests on {rows[0].explained_rows:,} rows, chosen at random by the seed." if rows else ""
    return (
        f"The gap between what happened and what was said is smoothed over similar predictions. In {level} of data "
        "sets a calibrated model stays inside the band everywhere, and each place outside counts. Groups are tested "
        f"together: the chance of naming any group of a calibrated model is at most {rest}.{some}"
    )


def _comparison(run: Run) -> str:
    return (
        "The conditional error (CKCE, without the noise of the outcomes) of every model, with the rows drawn again "
        f"{run.draws:,} times for its interval; differences of pairs on the same rows, with p-values corrected "
        "for the number of pairs (Holm), at 5 %. These p-values are those of many rows."
    )
