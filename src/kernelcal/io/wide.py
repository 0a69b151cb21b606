"""Tables with one row a prediction: class probabilities and their labels, or predictions of numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.errors import InputError, naming_rows, with_rows
from kernelcal.io.columns import (
    OUTCOMES,
    Choice,
    Dependents,
    ReadOptions,
    asked_columns,
    check_shapes,
    choose_predictions,
    choose_target,
    class_names,
    column_levels,
    count,
    dependents_of_rows,
    given_of_rows,
    groups_of_rows,
    has_usual_predictions,
    is_one_hot,
    kept_given,
    kept_groups,
    kept_keys,
    key_columns,
    keys_of_rows,
    known,
    listed,
    name_positions,
    read_targets,
    refuse_a_lonely_number,
    refuse_another_order,
    refuse_doubt,
    refuse_outcome_groups,
    refuse_points,
    rows_to_keep,
    where_in_words,
    where_mask,
)
from kernelcal.io.roles import doubts_of, other_scale, percent_is_said, says_right
from kernelcal.io.sources import EXACT, Source
from kernelcal.io.table import Data, FileArrays, family_of_name, with_dependents
from kernelcal.predictions import (
    Bernoulli,
    Logits,
    LogProbs,
    Percent,
    Predictions,
    as_predictions,
    checked_pair,
    trusted,
)

__all__ = ["class_columns", "is_constant", "read_classes", "read_wide", "wide_columns"]


_FEW = 20  # rows of which none may reach what others do
_BELOW_ONE = "no number on the scale from 0 to 10 exceeds 1: are these probabilities already (--kind probabilities)?"
_SHOWN = 6  # class names in the sentence that says what was read
_WRAPPERS: dict[str, Any] = {"logits": Logits, "log-probabilities": LogProbs, "percent": Percent}


def read_classes(source: Source, options: ReadOptions, *, said: bool = True) -> Data:
    """Read labels and class probabilities, whose columns were said or found by their names."""
    targets, columns = class_columns(source, options)
    dependents = dependents_of_rows(source, options, targets, columns)
    x = source.numbers(columns)
    options = _with_signs(source, columns, options)
    x, y, weights, rows, end = _rows(source, targets, columns, x, options, dependents)

    def in_file(row: int) -> str:  # what messages call it, dropped rows counted
        return f"row {rows[row]}"

    with naming_rows(in_file):
        one_hot = targets if is_one_hot(source, targets) else []
        names = class_names(source, options, columns, x.shape[1], y, one_hot)
        if one_hot:
            width = source.numbers(targets).shape[1]
            y = name_positions(y, names, one_hot, width, x.shape[1], said=bool(options.classes))
        elif names is None and not said:
            refuse_doubt(columns, y)
        predictions = _predictions(x, names, options, signed=columns[0] in source.percent)
    if predictions.notes:
        predictions = trusted(predictions, notes=tuple(with_rows(note, in_file) for note in predictions.notes))
    if options.of_top_label or (names is None and x.shape[1] == 1 and _says_right(targets)):
        predictions = _as_hits(predictions)
    refuse_outcome_groups(targets, options)
    keys = kept_keys(keys_of_rows(source, options), rows)
    groups = kept_groups(groups_of_rows(source, options), rows)
    given = kept_given(given_of_rows(source, options), rows)
    asked = () if options.of_top_label or _says_right(targets) else doubts_of(y, predictions)
    if x.shape[1] == 1:
        asked = (*asked, *other_scale(x[:, 0], checked_pair(y, predictions)[0], options.kind))
    if options.kind in ("probabilities", "top-label") and percent_is_said(columns[0]):
        asked = (*asked, f"{columns[0]} says percent by its name and no number exceeds 1: is --kind percent meant?")
    choices = _by_names_and_signs(source, columns, names, one_hot, options)
    labels = source.values(targets[0])[rows] if options.of_top_label and not one_hot else None
    start = _describe(source, targets, columns, predictions, options)
    data = Data(y, predictions, end, weights, keys, groups, rows, given, {}, choices, asked, labels)
    return with_dependents(data, start, dependents, rows, lambda row: f"row {row}")


def _by_names_and_signs(
    source: Source, columns: Sequence[str], names: Sequence[Any] | None, one_hot: Sequence[str], options: ReadOptions
) -> tuple[Choice, ...]:
    """Classes that the names of columns told, and a scale that signs told."""
    found = []
    if names is not None and not options.classes and not options.one_based and not one_hot and len(columns) > 1:
        found.append(Choice("classes", tuple(map(str, names)), "the names of the columns, beside the labels"))
    if options.kind == "percent" and any(name in source.percent for name in columns):
        found.append(Choice("kind", ("percent",), "the numbers have a percent sign"))
    return tuple(found)


def _with_signs(source: Source, columns: Sequence[str], options: ReadOptions) -> ReadOptions:
    """Numbers with a percent sign are percentages; another scale is refused."""
    signed = [name for name in columns if name in source.percent]
    if not signed:
        return options
    if len(signed) < len(columns) or options.kind not in ("probabilities", "percent", "top-label"):
        other = next((name for name in columns if name not in signed), None)
        raise InputError(
            f"{source.path}, line {source.percent[signed[0]]}, column {signed[0]!r}: a number with a percent sign, but "
            + (f"column {other!r} has none" if other else f"--kind {options.kind} was said")
            + ": write all numbers alike"
        )
    return replace(options, kind="percent") if options.kind == "probabilities" else options


def _says_right(targets: Sequence[str]) -> bool:
    """Whether the one outcome says by its name that an answer was right: the probability is then a confidence in it."""
    return len(targets) == 1 and says_right(targets[0])


def class_columns(
    source: Source, options: ReadOptions, text_labels: Callable[[], set[str]] | None = None
) -> tuple[list[str], list[str]]:
    """Columns of the targets and of the predictions; `text_labels` gives the labels where they are not all at hand."""
    unknown = options.predictions is None and not has_usual_predictions(source)
    beside = ", and the predictions, --predictions NAMES (of numbers --mean NAME --std NAME, ...)" if unknown else ""
    targets = choose_target(source, options.target, beside=beside)
    taken = [*targets, *_others(options, source), *key_columns(source, options)]
    if unknown:
        refuse_a_lonely_number(source, targets, taken)
    labels = text_labels or (lambda: _text_labels(source, targets))
    return targets, choose_predictions(source, options.predictions, taken, labels)


def _rows(
    source: Source,
    targets: Sequence[str],
    columns: Sequence[str],
    x: np.ndarray,
    options: ReadOptions,
    dependents: Dependents | None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray, str]:
    """Predictions, targets and case weights of the rows to keep, their numbers, and what was dropped."""
    y = read_targets(source, targets, options)
    if len(x) != len(y):
        raise InputError(f"{len(y)} targets in {', '.join(targets)}, but {len(x)} rows in {columns[0]}")
    w = None if options.weights is None else source.numbers([known(source, options.weights)])[:, 0]
    if options.kind == "probabilities":
        refuse_points(x, y, columns, targets)
    wanted, end = _wanted(source, options)
    others = [x, w, None if dependents is None else dependents.holes]
    kept, dropped = rows_to_keep(y, [array for array in others if array is not None], wanted, options)
    end += f"; dropped {', '.join(dropped)}" if dropped else ""
    if not kept.any():
        raise InputError(f"no rows are left{end}" if len(y) else "there are no rows, only names")
    x = x if kept.all() else x[kept]
    return x, _as_written(y[kept]), None if w is None else w[kept], np.flatnonzero(kept), end


def _wanted(source: Source, options: ReadOptions) -> tuple[np.ndarray | None, str]:
    """Rows that --where asks for and, where outcomes are in a second file, that have one; the conditions in words."""
    wanted = where_mask(source, options)
    said, there = where_in_words(options, source, wanted), getattr(source, "there", None)
    if there is None or there.all():
        return wanted, said
    return (there if wanted is None else wanted & there), said


def _text_labels(source: Source, targets: Sequence[str]) -> set[str]:
    """Distinct labels of one target column of text; none where the labels are numbers."""
    if is_one_hot(source, targets):
        return set()
    return {value for value in source.values(targets[0]).tolist() if isinstance(value, str)}


def _others(options: ReadOptions, source: Source) -> list[str]:
    named = [options.predicted_label, options.classes, options.weights]
    return [name for name in named if name in source.names]


def _as_written(y: np.ndarray) -> np.ndarray:
    """Whole numbers that were floats only because a value was missing are whole again."""
    if y.dtype.kind == "O" and all(isinstance(v, bool) for v in y):
        return y.astype(bool)
    if y.dtype.kind == "f" and np.all(y == np.round(y)) and np.all(np.abs(y) < EXACT):
        return y.astype(np.int64)
    return y


def _predictions(
    x: np.ndarray, classes: Sequence[Any] | None, options: ReadOptions, *, signed: bool = False
) -> Predictions:
    values = x[:, 0] if x.shape[1] == 1 else x
    if signed and options.kind == "top-label":
        values = values / 100
    wrapper = _out_of_ten if options.kind == "out-of-ten" else _WRAPPERS.get(options.kind)
    made = as_predictions(values if wrapper is None else wrapper(values), classes=classes, normalize=options.normalize)
    if options.kind == "out-of-ten" and len(values) > _FEW and values.max() <= 1:
        return trusted(made, notes=(*made.notes, _BELOW_ONE))
    return made


def _out_of_ten(x: np.ndarray) -> np.ndarray:
    """Confidence on a scale from 0 to 10."""
    outside = np.argwhere((x < 0) | (x > 10))
    if len(outside):
        raise InputError(
            f"--kind out-of-ten reads a scale from 0 to 10, and row {outside[0, 0]} holds {x[tuple(outside[0])]:g}: "
            "what are these numbers?"
        )
    return x / 10


def _as_hits(predictions: Any) -> Predictions:
    """Confidences of the first choice: the question, and the names of its two answers."""
    return Bernoulli(predictions.p, ("wrong", "right"), predictions.notes, "top label", logs=predictions.logs)


def _describe(
    source: Source,
    targets: Sequence[str],
    columns: Sequence[str],
    predictions: Any,
    options: ReadOptions,
) -> str:
    target = targets[0] if len(targets) == 1 else f"one-hot {', '.join(targets)}"
    if options.of_top_label:
        target = f"{targets[0]} equal to {options.predicted_label}"
    shown = columns[0] if len(columns) == 1 else f"{columns[0]} to {columns[-1]} ({len(columns)} columns)"
    classes = f"{predictions.n_classes} classes: {_shown_classes(columns, predictions)}"
    rows = count(len(predictions))
    weights = f"; weights {options.weights}" if options.weights else ""
    found = f"target {target}; predictions {shown}, {options.kind}; {classes}{weights}"
    return f"read {source.path}: {rows}; {found}{source.aside}"


def _shown_classes(columns: Sequence[str], predictions: Any) -> str:
    """Names of the first classes, each with its column where this says more."""
    names = [str(predictions.class_name(k)) for k in range(min(predictions.n_classes, _SHOWN))]
    if len(columns) > 1:
        names = [name if name == column else f"{name} ({column})" for name, column in zip(names, columns, strict=False)]
    return ", ".join(names) + (", ..." if predictions.n_classes > _SHOWN else "")


_ROLES = ("mean", "std", "variance", "samples", "quantiles")
_CONSTANT = ("mean", "std", "variance")  # a number serves all rows


def read_wide(source: Source, form: str, options: ReadOptions) -> FileArrays:
    """Read targets, and means with their spread, draws or quantiles."""
    weights = {"weights": [known(source, options.weights)]} if options.weights else {}
    targets, shown = wide_columns(source, form, options)
    columns = {"target": targets, **shown, **weights}
    arrays = {"target": _array(source, columns["target"], 0)}
    rows = len(arrays["target"])
    arrays |= {role: _array(source, names, rows) for role, names in columns.items() if role != "target"}
    _refuse_some_signs(source, columns)
    check_shapes(form, arrays, columns)
    wanted, end = _wanted(source, options)
    return FileArrays(
        form=form,
        read=str(source.path),
        rows="",
        end=f"{source.aside}{end}",
        targets=targets,
        columns=columns,
        shown=shown,
        arrays=arrays,
        levels=_levels(source, shown["quantiles"], arrays["quantiles"], options) if form == "quantiles" else None,
        wanted=wanted,
        row_in_words=lambda row: f"row {row}",
        together=lambda _: "",
        keys=keys_of_rows(source, options),
        groups=groups_of_rows(source, options),
        given=given_of_rows(source, options),
        dependents=dependents_of_rows(source, options, targets, [name for own in columns.values() for name in own]),
    )


def _refuse_some_signs(source: Source, columns: dict[str, list[str]]) -> None:
    """Refuse percent signs in some of the columns: their numbers have another unit than the others."""
    names = [name for of_role in columns.values() for name in of_role]
    signed = [name for name in names if name in source.percent]
    if signed and len(signed) < len(names):
        other = next(name for name in names if name not in signed)
        raise InputError(
            f"{source.path}, line {source.percent[signed[0]]}, column {signed[0]!r}: a number with a percent sign, but "
            f"column {other!r} has none: write all numbers alike"
        )


def wide_columns(source: Source, form: str, options: ReadOptions) -> tuple[list[str], dict[str, list[str]]]:
    """Columns of the targets, and those of the predictions by what they hold."""
    targets = choose_target(source, options.target, OUTCOMES)
    weights = [known(source, options.weights)] if options.weights else []
    columns = _columns(source, form, options, [*targets, *weights, *key_columns(source, options)])
    refuse_another_order([targets, *columns.values()])
    return targets, columns


def _columns(source: Source, form: str, options: ReadOptions, taken: Sequence[str]) -> dict[str, list[str]]:
    """Columns by what they hold: as asked, or those of these very names."""
    if form == "parameters":
        return _of_family(source, options, taken)
    asked = {role: getattr(options, role) for role in _ROLES if getattr(options, role)}
    if not asked:
        spread = "std" if "std" in source.names else "variance"
        roles = {"normal": ["mean", spread], "covariances": ["mean", "cov"]}.get(form, [form])
        return {role: [role] for role in roles}
    if form == "normal" and ("mean" not in asked or len(asked) != 2):
        said = " and ".join(f"--{role}" for role in asked)
        raise InputError(
            f"a normal prediction takes --mean NAME and one of --std NAME and --variance NAME, got {said} (a mean "
            f"alone cannot be tested for calibration). The columns are {listed(source.names)}"
        )
    return {
        role: [names.strip()]
        if role in _CONSTANT and is_constant(source, names)
        else asked_columns(source, names, taken, role)
        for role, names in asked.items()
    }


def _of_family(source: Source, options: ReadOptions, taken: Sequence[str]) -> dict[str, list[str]]:
    """Columns of the parameters of a family: as listed in its order, or called as they are; numbers serve all rows."""
    if options.family is None:
        raise InputError("--parameters names the columns of a family: say which, such as --family gamma")
    kind = family_of_name(options.family)
    asked = [part.strip() for part in (options.parameters or ",".join(kind.given_by)).split(",")]
    missing = [name for name in asked if name not in source.names]
    if options.parameters is None and missing:
        raise InputError(
            f"{kind.__name__} has the parameters {', '.join(kind.given_by)}, and no column is called {missing[0]}: say "
            f"which hold them with --parameters NAMES, in this order. The columns are {listed(source.names)}"
        )
    found = [
        [part] if is_constant(source, part) else asked_columns(source, part, taken, "parameters") for part in asked
    ]
    if len(kind.given_by) == 1:  # perhaps of vectors, which have a column a component
        return {kind.given_by[0]: [name for part in found for name in part]}
    columns = [name for part in found for name in part]
    if len(columns) != len(kind.given_by):
        raise InputError(
            f"{kind.__name__} has the parameters {', '.join(kind.given_by)}, got the columns {listed(columns)}: name "
            "one column each, --parameters a,b in this order; a number such as 4 serves all rows"
        )
    return {name: [column] for name, column in zip(kind.given_by, columns, strict=True)}


def is_constant(source: Source, name: str) -> bool:
    """Tell whether a name is no column but a number for all rows."""
    try:
        float(name)
    except ValueError:
        return False
    return name not in source.names


def _array(source: Source, names: Sequence[str], rows: int) -> np.ndarray:
    """Columns side by side; one number a row without a second axis, one number a draw without a third."""
    if len(names) == 1 and is_constant(source, names[0]):
        return np.full(rows, float(names[0]))
    array = source.array(names[0]) if len(names) == 1 else source.numbers(names)
    return array[..., 0] if array.ndim in (2, 3) and array.shape[-1] == 1 and array.shape[1:] != (1, 1) else array


def _levels(source: Source, names: Sequence[str], values: np.ndarray, options: ReadOptions) -> np.ndarray:
    stated = options.quantile_levels or (None if options.quantiles else "levels")
    if options.interval is not None and not options.quantile_levels:
        stated = _of_interval(names, options.interval)
    return column_levels(source, names, stated, values.shape[1])


def _of_interval(names: Sequence[str], share: float) -> str:
    """Levels of the lower and the upper end, with as many outcomes below as above."""
    if not 0 < share < 1:
        raise InputError(
            f"--interval is the share of outcomes between two ends, a number between 0 and 1, got {share:g}"
        )
    if len(names) != 2:
        raise InputError(f"--interval is said of two columns, a lower and an upper end, got {listed(names)}")
    return f"{(1 - share) / 2:.10g},{(1 + share) / 2:.10g}"
