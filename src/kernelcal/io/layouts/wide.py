"""Predictions of numbers in a table with one row a prediction."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns import (
    OUTCOMES,
    ReadOptions,
    asked_columns,
    check_shapes,
    choose_target,
    column_levels,
    groups_of_rows,
    key_columns,
    keys_of_rows,
    known,
    listed,
    refuse_another_order,
    where_in_words,
    where_mask,
)
from kernelcal.io.layouts.table import FileArrays, family_of_name
from kernelcal.io.sources import Source

__all__ = ["is_number", "read_wide", "wide_columns"]


_ROLES = ("mean", "std", "variance", "samples", "quantiles")


def read_wide(source: Source, form: str, options: ReadOptions) -> FileArrays:
    """Read targets, and means with their spread, draws or quantiles."""
    weights = {"weights": [known(source, options.weights)]} if options.weights else {}
    targets, shown = wide_columns(source, form, options)
    columns = {"target": targets, **shown, **weights}
    arrays = {"target": _array(source, columns["target"], 0)}
    rows = len(arrays["target"])
    arrays |= {role: _array(source, names, rows) for role, names in columns.items() if role != "target"}
    check_shapes(form, arrays, columns)
    wanted = where_mask(source, options)
    return FileArrays(
        form=form,
        read=str(source.path),
        rows="",
        end=where_in_words(options, source, wanted),
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
    return {role: asked_columns(source, names, taken) for role, names in asked.items()}


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
    found = [[part] if is_number(source, part) else asked_columns(source, part, taken) for part in asked]
    if len(kind.given_by) == 1:  # perhaps of vectors, which have a column a component
        return {kind.given_by[0]: [name for part in found for name in part]}
    columns = [name for part in found for name in part]
    if len(columns) != len(kind.given_by):
        raise InputError(
            f"{kind.__name__} has the parameters {', '.join(kind.given_by)}, got the columns {listed(columns)}: name "
            "one column each, --parameters a,b in this order; a number such as 4 serves all rows"
        )
    return {name: [column] for name, column in zip(kind.given_by, columns, strict=True)}


def is_number(source: Source, name: str) -> bool:
    """Tell whether a name is no column but a number for all rows."""
    try:
        float(name)
    except ValueError:
        return False
    return name not in source.names


def _array(source: Source, names: Sequence[str], rows: int) -> np.ndarray:
    """Columns side by side; one number a row without a second axis, one number a draw without a third."""
    if len(names) == 1 and is_number(source, names[0]):
        return np.full(rows, float(names[0]))
    array = source.array(names[0]) if len(names) == 1 else source.numbers(names)
    return array[..., 0] if array.ndim in (2, 3) and array.shape[-1] == 1 and array.shape[1:] != (1, 1) else array


def _levels(source: Source, names: Sequence[str], values: np.ndarray, options: ReadOptions) -> np.ndarray:
    stated = options.quantile_levels or (None if options.quantiles else "levels")
    return column_levels(source, names, stated, values.shape[1])
