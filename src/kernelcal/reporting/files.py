"""The one `report`: of arrays, and of what a path or a table in memory holds by names."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

from kernelcal.cases import refuse_lens
from kernelcal.dispatch import has_names
from kernelcal.errors import InputError
from kernelcal.explanation import columns_of_text
from kernelcal.io import Data, ReadOptions
from kernelcal.reporting.main import report as report_arrays
from kernelcal.reporting.result import Report, refuse_path
from kernelcal.runs import Run

__all__ = ["report"]


_COLUMNS = frozenset(ReadOptions.known()) - {"classes", "normalize"}


@functools.wraps(report_arrays)
def report(y: Any, *more: Any, **options: Any) -> Report:
    """Report arrays; or a path, folder, glob or table, with names of prediction columns and others by keyword."""
    names = more[0] if more else options.get("predictions")
    if not has_names(y, names):
        wrong = next((name for name in options if name in _OF_FILES), None)
        if wrong is not None:
            meant = "; of intervals say confidence_level=, of the verdict alpha=" if wrong == "level" else ""
            raise InputError(
                f"{wrong}= says which columns of a file hold what, and {type(y).__name__} is no path and no "
                f"table: pass arrays, kernelcal.report(y, predictions){meant}"
            )
        if not more and "predictions" not in options:
            raise InputError("report(y, predictions) needs predictions; of a file its path: report('rain.csv', 'p')")
        return report_arrays(y, *more, **options)
    if len(more) > 2:
        raise InputError(
            "after a path or a table come the names of the prediction columns and the place of the page, got "
            f"{len(more)} more: pass the others by name, such as target='label'"
        )
    placed = dict(zip(("predictions", "path"), more, strict=False))
    twice = next((name for name in placed if name in options), None)
    if twice is not None:
        raise InputError(f"{twice} was given twice, by its place and by its name")
    return _of_files(y, {**placed, **options})


_RUN = frozenset(field.name for field in fields(Run)) - {"engine"}
_OF_FILES = _COLUMNS - {"predictions", "weights", "groups", "given", "clusters", "time", "horizon", "series"}


def _of_files(table: Any, options: dict[str, Any]) -> Report:
    from kernelcal.stream import outcomes_of_models, read_named, read_named_models, read_options  # quick

    run = Run(**{name: options[name] for name in options if name in _RUN})  # refuses wrong ones before a file is opened
    refuse_lens(options.get("lens"))
    if options.get("path") is not None:
        refuse_path(options["path"])
    own = inspect.signature(report_arrays).parameters
    known = ReadOptions.known()
    said = {name: options.pop(name) for name in [*options] if name in known or name not in own}
    names = said.get("predictions")
    call = _call(table, said, options)
    if isinstance(names, Mapping) or said.get("model_column") is not None:
        if said.get("weights") is not None:
            raise InputError("a page about several models takes no case weights: leave out weights=")
        run.refuse_for_models()
        columns = {name: x for name, x in said.items() if name != "predictions"}
        models = read_named_models(table, names, columns)
        return report_arrays(
            outcomes_of_models(models),
            {name: data.predictions for name, data in models.items()},
            read={name: data.description for name, data in models.items()},
            **_beside(next(iter(models.values())), call, options),
        )
    data = read_named(table, read_options(said))
    return report_arrays(data.y, data.predictions, **{"read": data.description, **_beside(data, call, options)})


def _beside(data: Data, call: str, options: dict[str, Any]) -> dict[str, Any]:
    """What the page tells beside the predictions, with what was asked."""
    columns = {"groups": columns_of_text(data.groups), "given": data.given, "weights": data.weights}
    return {**columns, "rows": data.numbers, **data.dependence, "command": call, **options}


def _call(path: Any, said: dict[str, Any], options: dict[str, Any]) -> str:
    """The call that makes the page again."""
    shown = {name: x for name, x in {**said, **options}.items() if name != "progress"}
    lens = {name: f"kernelcal.lenses.{x!r}" for name, x in shown.items() if name == "lens" and x is not None}
    written = {name: repr(x if _plain(x) else str(x)) for name, x in shown.items()} | lens
    first = repr(os.fspath(path)) if isinstance(path, str | os.PathLike) else "table"
    arguments = ", ".join([first, *(f"{name}={x}" for name, x in written.items())])
    return f"import kernelcal\nkernelcal.report({arguments})"


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float | Sequence | Mapping)
