"""Long tables: one line a quantile or a draw, gathered to one row a prediction."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.categories import between_thresholds, of_categories, pivot_categories
from kernelcal.io.columns import (
    OUTCOMES,
    ReadOptions,
    Units,
    asked_columns,
    choose_target,
    count,
    dependents_of_units,
    given_of_units,
    groups_of_units,
    keys_of_units,
    known,
    listed,
    merged_levels,
    units_of,
    usual_column,
    where_in_words,
    where_mask,
)
from kernelcal.io.sources import Cells, Source, is_number, missing
from kernelcal.io.table import Data, FileArrays, LongLines
from kernelcal.io.truth import Outcomes, join_outcomes

__all__ = [
    "Layout",
    "constant",
    "hubverse_layout",
    "is_long",
    "pivot_draws",
    "pivot_quantiles",
    "read_long",
]


@dataclass(frozen=True)
class Layout:
    """A long table.

    Attributes
    ----------
    form : str
        quantiles or samples.
    value, key : str
        Columns of the values, and of their levels or of the names of the draws.
    apart : tuple of str
        Further columns that do not tell predictions apart.
    lines : numpy.ndarray or None
        Lines that hold such values; None for all.
    said : str
        What is said of the other lines.
    """

    form: str
    value: str
    key: str
    apart: tuple[str, ...] = ()
    lines: np.ndarray | None = None
    said: str = ""


_VALUES = ("predicted", "prediction", "value")
_HUBVERSE = ("output_type", "output_type_id", "value")
_OF_HUBS = ("type", "quantile", "value")  # hubs before hubverse: COVID-19, influenza
_FORMS = {"quantile": "quantiles", "sample": "samples", "pmf": "classes", "cdf": "thresholds"}
_OF_CATEGORIES = ("classes", "thresholds")
_ASIDE = ("pmf", "cdf")  # read where nothing before them is there


def _of_hub(source: Source) -> tuple[str, str, str] | None:
    """Columns of the type of a line, of its level, and of its value, where a table has those of a hub."""
    return next((names for names in (_HUBVERSE, _OF_HUBS) if set(names) <= set(source.names)), None)


def is_long(source: Source) -> bool:
    """Tell whether a table is one of a hub, or has the columns of one line a quantile or a draw by their full names."""
    names = {name.lower() for name in source.names}
    return _of_hub(source) is not None or bool(names & {"quantile_level", "sample_id"} and len(names & {*_VALUES}) == 1)


def hubverse_layout(source: Source, options: ReadOptions, wanted: np.ndarray | None) -> Layout:
    """Quantiles or draws of the lines that are wanted; lines of other output types are left aside, and counted."""
    if not (options.truth or options.target):
        raise InputError(
            "a hubverse table holds no outcomes: name the file that does, --truth FILE, or the column that does, "
            "--target NAME"
        )
    kind, key, value = _of_hub(source) or _HUBVERSE
    texts = [kind, key, *(name for name in source.names if name not in (kind, key, value))]
    types = source.cells(texts)[0]  # one pass over the file: the others are asked for later
    lines = np.ones(len(types.numbers), dtype=bool) if wanted is None else wanted
    present = [text for number, text in enumerate(types.texts) if np.any(types.numbers[lines] == number)]
    usable = [text for text in present if text in _FORMS and text not in _ASIDE]
    usable = usable or [text for text in _ASIDE if text in present][:1]
    if len(usable) != 1:
        raise InputError(_which(usable, present, kind))
    mine = lines & (types.numbers == types.texts.index(usable[0]))
    others = [text for text in present if text != usable[0]]
    left = count(int(lines.sum() - mine.sum()), "line")
    said = f"; {left} of output type {listed(others)} left aside" if others else ""
    return Layout(_FORMS[usable[0]], value, key, (kind,), mine, said)


def _which(usable: list[str], present: list[str], kind: str) -> str:
    if usable:
        return (
            f"the table holds several kinds of predictions: say which are meant, "
            f"{' or '.join(f'--where {kind}={text}' for text in usable)}"
        )
    return (
        "the table holds no quantiles, draws or probabilities of categories, but output type "
        f"{listed(present) or 'none'}: these are not read"
    )


def constant(name: str, values: np.ndarray, units: Units) -> np.ndarray:
    """Return the value of every prediction, which all of its lines must have."""
    own = values[units.first]
    differ = np.flatnonzero((values != own[units.of_line]) & ~(np.isnan(values) & np.isnan(own[units.of_line])))
    if len(differ):
        unit = int(units.of_line[differ[0]])
        raise InputError(
            f"{name} is {own[unit]:g} and {values[differ[0]]:g} in the lines of one prediction ({units.in_words(unit)})"
            ": name the columns that tell predictions apart, --unit a,b,c"
        )
    return own


def pivot_quantiles(
    values: np.ndarray, keys: Cells, lines: np.ndarray, units: Units, layout: Layout
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Quantiles of shape (n, Q), NaN where a line has no level or no value, levels, and which of them a line has."""
    levels, of_text = _levels(keys, layout)
    level = of_text[keys.numbers[lines]]
    known = level >= 0
    cells = (units.of_line * len(levels) + level)[known]
    counts = np.bincount(cells, minlength=len(units) * len(levels)).reshape(len(units), len(levels))
    _refuse_doubles(counts, [f"level {level:g}" for level in levels], units)
    table = np.full(counts.shape, np.nan)
    table.ravel()[cells] = values[known]
    without = _units_with(~known, units)
    _refuse_incomplete(counts, levels, without, units)
    table[without] = np.nan
    return table, levels, level


def _levels(keys: Cells, layout: Layout) -> tuple[np.ndarray, np.ndarray]:
    """Distinct levels, and for every text its level, -1 where it is missing."""
    used = np.zeros(len(keys.texts), dtype=bool)
    used[keys.numbers if layout.lines is None else keys.numbers[layout.lines]] = True
    present = [k for k, text in enumerate(keys.texts) if used[k] and not missing(text)]
    wrong = next((k for k in present if not (is_number(keys.texts[k]) and 0 <= float(keys.texts[k]) <= 1)), None)
    if wrong is not None:
        raise InputError(
            f"{keys.texts[wrong]!r} in column {layout.key} is no level of a quantile: numbers from 0 to 1 are expected"
        )
    levels, which = merged_levels(np.array([float(keys.texts[k]) for k in present]))
    of_text = np.full(len(keys.texts), -1, dtype=np.int64)
    of_text[present] = which
    return levels, of_text


def _units_with(lines: np.ndarray, units: Units) -> np.ndarray:
    found = np.zeros(len(units), dtype=bool)
    found[units.of_line[lines]] = True
    return found


def _refuse_doubles(counts: np.ndarray, names: list[str], units: Units) -> None:
    double = np.argwhere(counts > 1)
    if len(double):
        unit, column = (int(k) for k in double[0])
        raise InputError(
            f"{names[column]} occurs {counts[unit, column]} times in the prediction {units.in_words(unit)} "
            f"({len(np.unique(double[:, 0]))} such predictions): leave out the doubles, or name further columns that "
            "tell predictions apart, --unit a,b,c"
        )


def _refuse_incomplete(counts: np.ndarray, levels: np.ndarray, without: np.ndarray, units: Units) -> None:
    holes = np.argwhere((counts == 0) & ~without[:, None])
    if len(holes):
        unit = int(holes[0, 0])
        absent = [f"{level:g}" for level in levels[counts[unit] == 0]]
        shown = ", ".join(absent[:6]) + (", ..." if len(absent) > 6 else "")
        raise InputError(
            f"the prediction {units.in_words(unit)} has {len(levels) - len(absent)} of {len(levels)} quantiles: level "
            f"{shown} is missing ({len(np.unique(holes[:, 0]))} such predictions). Add it, or evaluate predictions "
            "with the same levels together, --where column=value"
        )


def pivot_draws(
    values: np.ndarray, keys: Cells, lines: np.ndarray, units: Units, layout: Layout
) -> tuple[np.ndarray, np.ndarray]:
    """Draws of shape (n, S) in the order of the lines, NaN where a line lacks its name or value, and those of lines."""
    known = np.array([not missing(text) for text in keys.texts], dtype=bool)[keys.numbers[lines]]
    of_line, draw = units.of_line[known], keys.numbers[lines][known]
    _refuse_double_draws(of_line, draw, keys, units)
    sizes, without = np.bincount(of_line, minlength=len(units)), _units_with(~known, units)
    size = int(sizes[~without].max(initial=0))
    _refuse_uneven(sizes, size, without, units)
    order = np.argsort(of_line, kind="stable")
    place = np.arange(len(order)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    inside = place < size
    table = np.full((len(units), size), np.nan)
    table[of_line[order][inside], place[inside]] = values[known][order][inside]
    table[without] = np.nan
    draws = np.full(len(lines), -1, dtype=np.int64)
    draws[np.flatnonzero(known)[order]] = place
    return table, draws


def _refuse_double_draws(of_line: np.ndarray, draw: np.ndarray, keys: Cells, units: Units) -> None:
    pair, counts = np.unique(of_line * max(len(keys.texts), 1) + draw, return_counts=True)
    double = np.flatnonzero(counts > 1)
    if len(double):
        unit, text = divmod(int(pair[double[0]]), len(keys.texts))
        raise InputError(
            f"draw {keys.texts[text]} occurs {counts[double[0]]} times in the prediction {units.in_words(unit)} "
            f"({len(double)} such draws): leave out the doubles, or name further columns that tell predictions apart, "
            "--unit a,b,c"
        )


def _refuse_uneven(sizes: np.ndarray, size: int, without: np.ndarray, units: Units) -> None:
    fewer = np.flatnonzero((sizes < size) & ~without)
    if len(fewer):
        unit = int(fewer[0])
        raise InputError(
            f"the prediction {units.in_words(unit)} has {sizes[unit]} of {size} draws ({len(fewer)} such predictions): "
            "add them, or evaluate predictions with as many draws together, --where column=value"
        )
    if size < 2:
        raise InputError("every prediction has one draw: several lines a prediction are expected, name --unit a,b,c")


_LEVELS = ("quantile_level", "quantile", "level")
_DRAWS = ("sample_id", "sample", "draw", "member")
_MIXED = ("target", "target_type", "model", "model_id")  # what a reader must know when they are judged together


def read_long(source: Source, options: ReadOptions) -> FileArrays | Data:
    """Read a long table; a hubverse table is one whose layout is known."""
    asked = options
    if options.truth:  # conditions on columns that the table lacks are about the truth file
        own = [c for c in options.where or () if c.partition("=")[0].strip() in source.names]
        options = replace(options, where=own or None)
    wanted = where_mask(source, options)
    layout = _layout(source, options, wanted)
    numbers = _numbers(source, options, layout)
    lines = _lines(numbers[layout.value], layout)
    units = units_of(source, _unit_columns(source, options, layout, list(numbers)), lines)
    _refuse_single_lines(units)
    numbers = {name: column[lines] for name, column in numbers.items()}
    values, keys, levels = numbers.pop(layout.value), source.cells([layout.key])[0], None
    if layout.form in _OF_CATEGORIES:
        sums = layout.form == "thresholds"
        probs, names, columns = pivot_categories(values, keys, lines, units)
        if options.truth:
            found = join_outcomes(units, source, asked, "quantile" if sums else "pmf")
        else:
            found = _own_texts(source, _own_target(source, options), lines, units)
        if sums:
            probs, names, columns, found.y = between_thresholds(probs, names, columns, found.y, units)
        held = LongLines(layout.value, lines, units.of_line, columns, sums)
        weight = constant(options.weights, numbers[options.weights], units) if options.weights else None
        said = where_in_words(options, source, wanted, "line") + layout.said
        return of_categories(source, options, units, probs, names, found, weight, held, said, _together(units))
    if layout.form == "quantiles":
        many, levels, columns = pivot_quantiles(values, keys, lines, units, layout)
    else:
        many, columns = pivot_draws(values, keys, lines, units, layout)
    one = {name: constant(name, column, units) for name, column in numbers.items()}
    weights = {"weights": one.pop(options.weights)} if options.weights else {}
    kind = "quantile" if layout.form == "quantiles" else "sample"
    found = join_outcomes(units, source, asked, kind) if options.truth else _own_outcomes(one)
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
        given=given_of_units(units, options),
        dependents=dependents_of_units(units, options),
        lines=LongLines(layout.value, lines, units.of_line, columns),
    )


def _layout(source: Source, options: ReadOptions, wanted: np.ndarray | None) -> Layout:
    """As asked; the columns that were not named by usual names."""
    if _of_hub(source) is not None and not (options.value or options.level or options.sample_id):
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
    of_numbers = not options.truth and layout.form not in _OF_CATEGORIES
    outcome = choose_target(source, options.target, OUTCOMES) if of_numbers else []
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
    taken += [_own_target(source, options)] if layout.form in _OF_CATEGORIES and not options.truth else []
    if options.unit:
        return asked_columns(source, options.unit, taken, "unit")
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


def _own_target(source: Source, options: ReadOptions) -> str:
    """Column of the table that says which category came true."""
    if not options.target:
        raise InputError("probabilities of categories need their outcomes from a second file: --truth FILE")
    return known(source, options.target)


def _own_texts(source: Source, name: str, lines: np.ndarray, units: Units) -> Outcomes:
    """What a column of the table says of every prediction, which all of its lines must say."""
    cells = source.cells([name])[0]
    numbers = cells.numbers[lines]
    own = numbers[units.first]
    differ = np.flatnonzero(numbers != own[units.of_line])
    if len(differ):
        unit = int(units.of_line[differ[0]])
        raise InputError(
            f"{name} is {cells.texts[own[unit]]!r} and {cells.texts[numbers[differ[0]]]!r} in the lines of one "
            f"prediction ({units.in_words(unit)}): name the columns that tell predictions apart, --unit a,b,c"
        )
    texts = np.array([None if missing(text) else text for text in cells.texts], dtype=object)
    return Outcomes(texts[own], name)


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
