"""The one `report`: of arrays, and of what a path names."""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from kernelcal.cases import refuse_lens
from kernelcal.errors import InputError
from kernelcal.explanation import columns_of_text
from kernelcal.io import ReadOptions, read
from kernelcal.reporting.main import report as report_arrays
from kernelcal.reporting.result import Report, refuse_path
from kernelcal.runs import Run

__all__ = ["report"]


_COLUMNS = frozenset(ReadOptions.__dataclass_fields__) - {"classes", "normalize"}


@functools.wraps(report_arrays)
def report(y: Any, *more: Any, **options: Any) -> Report:
    """Report arrays; or a path, folder or glob, with the names of prediction columns and other names by keyword."""
    names = more[0] if more else options.get("predictions")
    if not isinstance(y, str | os.PathLike) or not isinstance(names, str | list | tuple | None):
        wrong = next((name for name in options if name in _OF_FILES), None)
        if wrong is not None:
            raise InputError(
                f"{wrong}= says which columns of a file hold what, and {type(y).__name__} is no path: pass arrays, "
                "kernelcal.report(y, predictions)"
            )
        if not more and "predictions" not in options:
            raise InputError("report(y, predictions) needs predictions; of a file its path: report('rain.csv', 'p')")
        return report_arrays(y, *more, **options)
    if len(more) > 2:
        raise InputError(
            f"after a path come the names of the prediction columns and the place of the page, got {len(more)} more: "
            "pass the others by name, such as target='label'"
        )
    placed = dict(zip(("predictions", "path"), more, strict=False))
    twice = next((name for name in placed if name in options), None)
    if twice is not None:
        raise InputError(f"{twice} was given twice, by its place and by its name")
    return _of_files(y, {**placed, **options})


_RUN = frozenset(field.name for field in fields(Run)) - {"engine"}
_OF_FILES = _COLUMNS - {"predictions", "weights", "groups", "given", "clusters", "time", "horizon", "series"}


def _of_files(path: Any, options: dict[str, Any]) -> Report:
    from kernelcal.stream import is_many, read_options, read_together  # only here: to import kernelcal stays quick

    Run(**{name: options[name] for name in options if name in _RUN})  # refuses wrong ones before a file is opened
    refuse_lens(options.get("lens"))
    if options.get("path") is not None:
        refuse_path(options["path"])
    own = inspect.signature(report_arrays).parameters
    known = ReadOptions.__dataclass_fields__
    said = {name: options.pop(name) for name in [*options] if name in known or name not in own}
    asked = read_options(said)
    data = read_together([path], asked) if is_many(path) else read([Path(path)], asked)
    call = _call(path, said, options)
    return report_arrays(
        data.y,
        data.predictions,
        groups=columns_of_text(data.groups),
        given=data.given,
        weights=data.weights,
        rows=data.numbers,
        **data.dependence,
        **{"read": data.description, "command": call, **options},
    )


def _call(path: Any, said: dict[str, Any], options: dict[str, Any]) -> str:
    """The call that makes the page again."""
    shown = {name: x for name, x in {**said, **options}.items() if name != "progress"}
    lens = {name: f"kernelcal.lenses.{x!r}" for name, x in shown.items() if name == "lens" and x is not None}
    written = {name: repr(x if _plain(x) else str(x)) for name, x in shown.items()} | lens
    arguments = ", ".join([repr(os.fspath(path)), *(f"{name}={x}" for name, x in written.items())])
    return f"import kernelcal\nkernelcal.report({arguments})"


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, str | bool | int | float | Sequence)
