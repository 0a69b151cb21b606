"""Long tables: one line a quantile or a draw, gathered to one row a prediction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns import (
    OUTCOMES,
    ReadOptions,
    Units,
    asked_columns,
    choose_target,
    count,
    groups_of_units,
    keys_of_units,
    known,
    listed,
    units_of,
    usual_column,
    where_in_words,
    where_mask,
)
from kernelcal.io.layouts.layout import Layout, constant, hubverse_layout, is_hubverse, pivot_draws, pivot_quantiles
from kernelcal.io.layouts.table import FileArrays
from kernelcal.io.layouts.truth import Outcomes, join_outcomes
from kernelcal.io.sources import Source

__all__ = ["read_long"]


_VALUES = ("predicted", "prediction", "value")
_LEVELS = ("quantile_level", "quantile", "level")
_DRAWS = ("sample_id", "sample", "draw", "member")
_MIXED = ("target", "target_type", "model", "model_id")  # what a reader must know when they are judged together


def read_long(source: Source, options: ReadOptions) -> FileArrays:
    """Read a long table; a hubverse table is one whose layout is known."""
    wanted = where_mask(source, options)
    layout = _layout(source, options, wanted)
    numbers = _numbers(source, options, layout)
    lines = _lines(numbers[layout.value], layout)
    units = units_of(source, _unit_columns(source, options, layout, list(numbers)), lines)
    _refuse_single_lines(units)
    numbers = {name: column[lines] for name, column in numbers.items()}
    values, keys, levels = numbers.pop(layout.value), source.cells([layout.key])[0], None
    if layout.form == "quantiles":
        many, levels = pivot_quantiles(values, keys, lines, units, layout)
    else:
        many = pivot_draws(values, keys, lines, units, layout)
    one = {name: constant(name, column, units) for name, column in numbers.items()}
    weights = {"weights": one.pop(options.weights)} if options.weights else {}
    found = join_outcomes(units, source, options) if options.truth else _own_outcomes(one)
    there, without = _with_outcome(found, units)
    named = [layout.value] if levels is None else [f"{layout.value} at level {level:g}" for level in levels]
    return FileArrays(
        form=layout.form,
        read=f"{source.path}{f' with outcomes of {found.joined}' if found.joined else ''}",
        rows=f", one a combination of {listed(units.names)}, from {count(len(lines), 'line')}",
        end=where_in_words(options, source, wanted, "line") + layout.said + without,
        targets=[found.name],
        columns={"target": [found.name], layout.form: named, "weights": [str(options.weights)]},
        shown={layout.form: []},
        arrays={"target": found.y, layout.form: many, **weights},
        levels=levels,
        wanted=there,
        row_in_words=units.in_words,
        together=_together(units),
        keys=keys_of_units(units, options),
        groups=groups_of_units(units, options),
    )


def _layout(source: Source, options: ReadOptions, wanted: np.ndarray | None) -> Layout:
    """As asked; the columns that were not named by usual names."""
    if is_hubverse(source) and not (options.value or options.level or options.sample_id):
        return hubverse_layout(source, options, wanted)
    if options.level and options.sample_id:
        raise InputError("--level says that a line is a quantile, --sample-id that it is a draw: say one of them")
    value = known(source, options.value) if options.value else usual_column(source, _VALUES, "value", "--value NAME")
    if options.level or options.sample_id:
        key = known(source, str(options.level or options.sample_id))
        return Layout("quantiles" if options.level else "samples", value, key, lines=wanted)
    key = usual_column(source, (*_LEVELS, *_DRAWS), "level or name of the draw", "--level NAME or --sample-id NAME")
    return Layout("quantiles" if key.lower() in _LEVELS else "samples", value, key, lines=wanted)


def _numbers(source: Source, options: ReadOptions, layout: Layout) -> dict[str, np.ndarray]:
    """Columns of values, weights and, without a truth file, outcomes, read in one pass."""
    outcome = [] if options.truth else choose_target(source, options.target, OUTCOMES)
    if len(outcome) > 1:
        raise InputError(f"a long table takes one target column, got {listed(outcome)}: evaluate them one by one")
    names = [layout.value, *([known(source, options.weights)] if options.weights else []), *outcome]
    twice = next((name for name in names if names.count(name) > 1 or name == layout.key), None)
    wide = next((name for name in names if source.axes(name) > 1), None)
    if twice or wide:
        why = f"{twice!r} cannot be two of value, level, target and weights" if twice else f"{wide!r} is an array"
        raise InputError(f"column {why}: name columns with one number a line")
    return dict(zip(names, source.numbers(names).T, strict=True))


def _lines(values: np.ndarray, layout: Layout) -> np.ndarray:
    lines = np.arange(len(values)) if layout.lines is None else np.flatnonzero(layout.lines)
    if not len(lines):
        raise InputError("there are no rows, only names")
    return lines


def _unit_columns(source: Source, options: ReadOptions, layout: Layout, numbers: list[str]) -> list[str]:
    """Columns that tell predictions apart: as asked, else all that hold nothing else."""
    taken = [layout.value, layout.key, *layout.apart, *numbers[1:]]
    if options.unit:
        return asked_columns(source, options.unit, taken)
    rest = [name for name in source.names if name not in taken]
    if not rest:
        raise InputError(
            f"no column tells predictions apart: beside {listed(taken)} a long table has columns such as the date and "
            "the place that a prediction is for"
        )
    source.cells([layout.key, *rest])  # one pass over the file: they are asked for one after the other
    return rest


def _refuse_single_lines(units: Units) -> None:
    if len(units) == len(units.of_line) > 1:
        raise InputError(
            "no two lines belong to one prediction, since they all differ in the columns that tell predictions apart "
            f"({listed(units.names)}): is one of them a number of the line? Name the columns that count, --unit a,b,c"
        )


def _own_outcomes(one: dict[str, np.ndarray]) -> Outcomes:
    (name, y), *_ = one.items()
    return Outcomes(y, name)


def _with_outcome(found: Outcomes, units: Units) -> tuple[np.ndarray | None, str]:
    """Predictions that the truth file has an outcome for, and what is said of the others."""
    there = ~np.isnan(found.y)
    if not found.joined or there.all():
        return None, ""
    first = units.in_words(int(np.argmin(there)))
    return there, f"; {count(int((~there).sum()))} without outcome left out (the first: {first})"


def _together(units: Units) -> Callable[[np.ndarray], str]:
    """Say of how many models and kinds of targets the rows are."""

    def words(rows: np.ndarray) -> str:
        kinds = [(name, units.kinds(name, rows)) for name in _MIXED if name in units.names]
        several = [f"{number} values of {name}" for name, number in kinds if number > 1]
        return f"; evaluated together: {', '.join(several)}" if several else ""

    return words
