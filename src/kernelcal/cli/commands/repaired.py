"""Tables of repaired predictions: all other columns as they were, and the command that reads them."""

from __future__ import annotations

import csv
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.files import written_whole
from kernelcal.io import LongLines, ReadOptions, Source, class_columns, flag, form_of, was_said, wide_columns
from kernelcal.predictions import Bernoulli, ClassPredictions, Normal, Quantiles, Samples

__all__ = ["ReadColumns", "layout_of", "write_lines", "write_repaired"]


_KEPT = ("weights", "clusters", "horizon", "time", "series")  # options about rows, which go on to hold


@dataclass(frozen=True)
class ReadColumns:
    """Where a file has its targets and predictions.

    Attributes
    ----------
    form : str
        Form of the predictions, as `form_of` calls it.
    options : ReadOptions
        What was said, and what was found by name.
    targets : list of str
        Columns of the outcomes.
    columns : dict of str to list of str
        Columns of the predictions by what they hold.
    """

    form: str
    options: ReadOptions
    targets: list[str]
    columns: dict[str, list[str]]


def layout_of(source: Source, options: ReadOptions) -> ReadColumns:
    """Find targets and predictions, as reading does; of long tables the lines are known once they are read."""
    form, found, _ = form_of(source, options)
    if form == "classes":
        targets, names = class_columns(source, found)
        return ReadColumns(form, found, targets, {"predictions": names})
    if form == "long":
        return ReadColumns(form, options, [], {})
    targets, columns = wide_columns(source, form, found)
    return ReadColumns(form, found, targets, columns)


def write_repaired(
    path: Path, source: Source, layout: ReadColumns, rows: np.ndarray, made: Any, *, outcomes: bool
) -> str:
    """Write the rows that were read, with these predictions; returns the command that reads them as they are meant.

    Parameters
    ----------
    path : pathlib.Path
        A csv file.
    source : Source
        The table that was read.
    layout : ReadColumns
        Its columns.
    rows : numpy.ndarray
        Numbers of the rows that were read.
    made : Predictions
        Predictions of these rows.
    outcomes : bool
        Whether the table has outcomes.
    """
    old = {name for names in layout.columns.values() for name in names}
    others = [name for name in source.names if name not in old and source.axes(name) == 1]
    new, said = _columns(made, source, layout, set(others))
    cells = dict(zip(others, source.cells(others), strict=True)) if others else {}
    texts = {name: np.array(column.texts, dtype=object)[column.numbers[rows]] for name, column in cells.items()}
    texts |= {name: np.array([repr(float(v)) for v in values], dtype=object) for name, values in new.items()}
    order = _in_order(source.names, old, others, list(new))
    _write(path, order, texts)
    about = {name: getattr(layout.options, name) for name in _KEPT}
    about = {f"--{name}": value for name, value in about.items() if value is not None}
    target = {"--target": ",".join(layout.targets)} if outcomes else {}
    words = [part for flag, value in {**target, **said, **about}.items() for part in _stated(flag, value)]
    return shlex.join(["kernelcal", "evaluate", str(path), *words])


def write_lines(path: Path, source: Source, layout: ReadColumns, lines: LongLines, made: Any, *, outcomes: bool) -> str:
    """Write the lines of a long table that were read, with these predictions; returns the command that reads them.

    Parameters
    ----------
    path : pathlib.Path
        A csv file.
    source : Source
        The table that was read.
    layout : ReadColumns
        What was said of it.
    lines : LongLines
        Which line holds which number of which prediction.
    made : Predictions
        As many predictions, each of as many quantiles, draws or categories.
    outcomes : bool
        Whether the table, or the file that was named for it, has outcomes.
    """
    names = [name for name in source.names if source.axes(name) == 1]
    order = np.argsort(lines.numbers, kind="stable")
    at = lines.numbers[order]
    cells = dict(zip(names, source.cells(names), strict=True))
    texts = {name: np.array(column.texts, dtype=object)[column.numbers[at]] for name, column in cells.items()}
    numbers = lines.of(_numbers_of(made.map_arrays(to_numpy)))[order]
    texts[lines.value] = np.array([repr(float(v)) for v in numbers], dtype=object)
    _write(path, names, texts)
    said = [name for name in ReadOptions.known() if was_said(layout.options, name) and name not in _DONE]
    said = [name for name in said if outcomes or name not in ("target", "truth", "truth_keys")]
    values = {name: getattr(layout.options, name) for name in said}
    every = [(name, one) for name, x in values.items() for one in (x if isinstance(x, list) else [x])]
    words = [part for name, one in every for part in _stated(flag(name), one)]
    return shlex.join(["kernelcal", "evaluate", str(path), *words])


_DONE = ("delimiter", "abstained", "drop_missing", "drop_target", "normalize", "crossing")  # when it was read


def _numbers_of(batch: Any) -> np.ndarray:
    """Quantiles, draws or probabilities of every prediction, side by side."""
    if isinstance(batch, Quantiles):
        return np.asarray(batch.values, dtype=np.float64)
    if isinstance(batch, Samples):
        return np.asarray(batch.draws, dtype=np.float64)
    return np.asarray(batch.probabilities, dtype=np.float64)


def _write(path: Path, order: Sequence[str], texts: dict[str, np.ndarray]) -> None:
    """A csv file of these columns, whole or not at all."""
    with written_whole(path) as unfinished, open(unfinished, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(order)
        writer.writerows(zip(*(texts[name] for name in order), strict=True))


def _stated(option: str, value: Any) -> list[str]:
    if value is True:
        return [option]
    return [f"{option}={value}"] if str(value).startswith("-") else [option, str(value)]


def _in_order(names: Sequence[str], old: set[str], others: Sequence[str], new: list[str]) -> list[str]:
    """Columns in their order, the new ones in the place of the first old one."""
    place = next((k for k, name in enumerate(names) if name in old), len(names))
    before = [name for name in names[:place] if name in others]
    return [*before, *new, *(name for name in others if name not in before)]


def _columns(made: Any, source: Source, layout: ReadColumns, taken: set[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Columns of the predictions, and what the command says of them."""
    batch, options = made.map_arrays(to_numpy), layout.options
    if isinstance(batch, ClassPredictions):
        return _of_classes(batch, source, layout, taken)
    if isinstance(batch, Samples):
        draws = np.asarray(batch.draws)
        names = _names(layout.columns["samples"], source, draws.shape[1], taken)
        return dict(zip(names, draws.T, strict=True)), {"--samples": ",".join(names)}
    if isinstance(batch, Quantiles):
        names = _names(layout.columns["quantiles"], source, len(batch.levels), taken)
        said = {"--quantiles": ",".join(names), "--quantile-levels": ",".join(repr(float(x)) for x in batch.levels)}
        said |= {"--resolution": str(options.resolution)} if options.resolution else {}
        return dict(zip(names, np.asarray(batch.values).T, strict=True)), said
    if isinstance(batch, Normal) and layout.form == "normal":
        spread = "variance" if "variance" in layout.columns else "std"
        mean, width = (_own(layout.columns[role], role, source, taken) for role in ("mean", spread))
        std = np.asarray(batch.std)
        values = {mean: np.asarray(batch.mean), width: std**2 if spread == "variance" else std}
        return values, {"--mean": mean, f"--{spread}": width}
    kind: Any = type(batch)
    names = [_free(name, taken) for name in kind.given_by]
    values = {
        column: np.broadcast_to(np.asarray(getattr(batch, name), dtype=float), (len(batch),))
        for column, name in zip(names, kind.given_by, strict=True)
    }
    family = "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in kind.__name__).lstrip("-")
    return values, {"--family": family, "--parameters": ",".join(names)}


def _of_classes(
    batch: Any, source: Source, layout: ReadColumns, taken: set[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    values = np.asarray(batch.p)[:, None] if isinstance(batch, Bernoulli) else np.asarray(batch.probs)
    names = _names(layout.columns["predictions"], source, values.shape[1], taken)
    options, said = layout.options, {"--predictions": ",".join(names)}
    if options.of_top_label:
        said |= {"--kind": "top-label"}
        said |= {"--predicted-label": options.predicted_label} if options.predicted_label else {}
    elif options.one_based:
        return dict(zip(names, values.T, strict=True)), {**said, "--one-based": True}
    elif batch.classes is not None and batch.question is None:
        said |= {"--classes": ",".join(map(str, batch.classes))}
    return dict(zip(names, values.T, strict=True)), said


def _names(old: list[str], source: Source, number: int, taken: set[str]) -> list[str]:
    """Names of the old columns; of an array of several columns these with numbers."""
    if len(old) == number and all(name in source.names and source.axes(name) == 1 for name in old):
        return old
    return [_free(f"{old[0]}_{k}", taken) for k in range(number)]


def _own(old: list[str], role: str, source: Source, taken: set[str]) -> str:
    """Name of the old column, or a new one where a number stood for all rows."""
    return old[0] if len(old) == 1 and old[0] in source.names else _free(role, taken)


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_new"
    return name
