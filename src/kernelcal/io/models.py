"""Several models of the same rows: a file a model, a column that names the model of a row, or a column a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns import (
    ReadOptions,
    asked_columns,
    choose_target,
    known,
    listed,
    refuse_another_order,
    was_said,
    where_mask,
)
from kernelcal.io.reading import opened, outcomes_beside, read_source
from kernelcal.io.roles import columns_of_models
from kernelcal.io.sources import Source, missing
from kernelcal.io.table import Data
from kernelcal.predictions import common_start

__all__ = ["models_of", "on_same_rows", "read_models"]


_FORMS = ("predictions", "mean", "std", "variance", "samples", "quantiles", "family", "parameters", "long", "level")
_MOST = 100  # models in one table


def read_models(groups: Sequence[Sequence[Path]], options: ReadOptions) -> dict[str, Data]:
    """Read several models of the same rows.

    Parameters
    ----------
    groups : sequence of sequences of pathlib.Path
        One file (or two npy files) a model; or one table, with ``options.model_column``, or with a column a model:
        several columns of probabilities, or of means and standard deviations, beside one target.
    options : ReadOptions
        What is known about the files. With ``row_id`` (of a long table by all that tells its predictions apart) rows
        are put into the order of the first model, else they must be in the same order.

    Returns
    -------
    dict
        Name of the model to what was read.

    Raises
    ------
    InputError
        As `read`; and for models with other rows or other targets than the first, each named.
    """
    if options.model_column and len(groups) != 1:
        raise InputError(
            f"--model-column {options.model_column} reads one table, got {len(groups)} files: join them, or leave "
            "it out"
        )
    models = models_of(opened(groups[0], options), options) if len(groups) == 1 else None
    found = _by_file(groups, options) if models is None else models
    return on_same_rows(found, options, of_one_table=models is not None)


def models_of(
    source: Source, options: ReadOptions, said: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, Data] | None:
    """Models of one table: with the options `said` of each, by a column that names them, or a column a model.

    Returns None where the table is one of one model.
    """
    if said is not None:
        return {name: _of_model(source, name, replace(options, **own)) for name, own in said.items()}
    return _by_column(source, options) if options.model_column else _by_names(source, options)


def on_same_rows(models: dict[str, Data], options: ReadOptions, *, of_one_table: bool) -> dict[str, Data]:
    """Put the rows of all models into the order of the first, or refuse other rows and other targets."""
    if len(models) < 2:
        raise InputError(
            f"one model was found ({', '.join(models)}): name further files, the column that tells models apart, "
            "--model-column NAME, or a column a model, --predictions a,b (of numbers --mean a,b --std c,d)"
        )
    (first, ours), *others = models.items()
    leaving = "--abstained" if options.abstained is not None else "--drop-missing" if options.drop_missing else ""
    if leaving and ours.keys is None and not (of_one_table and _of_the_same_lines(models)):
        raise InputError(
            f"{leaving} may leave out other rows of every model, and nothing tells rows apart: name what does, "
            "--row-id NAME"
        )
    if ours.keys is not None:
        _refuse_doubles(first, ours.keys)
    if options.abstained is not None and all(data.keys is not None for data in models.values()):
        return _answered_by_all(models)
    return {first: ours, **{name: _in_order(first, ours, name, data) for name, data in others}}


def _answered_by_all(models: dict[str, Data]) -> dict[str, Data]:
    """Rows that no model abstained on, in the order of the first."""
    common = set.intersection(*(set(data.keys or ()) for data in models.values()))
    if not common:
        raise InputError("no row has an answer of every model: nothing is left to compare")
    kept = {
        name: _some(data, [row for row, key in enumerate(data.keys or ()) if key in common])
        for name, data in models.items()
    }
    (first, ours), *others = kept.items()
    both = {first: ours, **{name: _in_order(first, ours, name, data) for name, data in others}}
    words = f"; compared on {len(common):,} rows that every model answered"
    return {name: replace(data, description=data.description + words) for name, data in both.items()}


def _some(data: Data, rows: Sequence[int]) -> Data:
    """Some rows of what was read, with all that is known of them."""
    n, chosen = len(data.y), np.asarray(rows, dtype=np.intp)

    def of(values: Any) -> Any:
        if isinstance(values, np.ndarray):
            return values[chosen]
        one_a_row = isinstance(values, list | tuple) and len(values) == n
        return [values[row] for row in rows] if one_a_row else values

    parts: dict[str, Any] = {name: of(getattr(data, name)) for name in ("y", "weights", "keys", "labels")}
    for name in ("groups", "given", "dependence"):
        table = getattr(data, name)
        parts[name] = {key: of(values) for key, values in table.items()} if table else table
    numbers = chosen if data.numbers is None else data.numbers[chosen]
    return replace(data, predictions=data.predictions[chosen], numbers=numbers, **parts)


def _of_the_same_lines(models: Mapping[str, Data]) -> bool:
    """Tell whether all models of one table have the same of its rows."""
    first, *others = models.values()
    return first.numbers is not None and all(
        data.numbers is not None and np.array_equal(first.numbers, data.numbers) for data in others
    )


def _by_file(groups: Sequence[Sequence[Path]], options: ReadOptions) -> dict[str, Data]:
    names = [paths[0].stem for paths in groups]
    if len(set(names)) < len(names):
        names = [str(paths[0]) for paths in groups]
    if len(set(names)) < len(names):
        raise InputError(f"the same file was given twice among {', '.join(names)}")
    return {name: _of_model(opened(paths, options), name, options) for name, paths in zip(names, groups, strict=True)}


def _by_column(source: Source, options: ReadOptions) -> dict[str, Data]:
    column = str(options.model_column)
    asked, others = _split(options.where or (), column)
    names = asked or _models_in(source, known(source, column), replace(options, where=others or None))
    without = next((name for name in names if missing(name)), None)
    if without is not None:
        raise InputError(f"{source.path}: column {column} has rows without a model: fill in its name")
    if len(names) > _MOST:
        raise InputError(
            f"column {column} has {len(names):,} values, such as {listed(names[:3])}: does it name models?"
        )
    return {name: _of_model(source, name, replace(options, where=(*others, f"{column}={name}"))) for name in names}


def _models_in(source: Source, column: str, options: ReadOptions) -> list[str]:
    """Models of the rows that other conditions ask for."""
    own = [c for c in options.where or () if c.partition("=")[0].strip() in source.names or not options.truth]
    cells, wanted = source.cells([column])[0], where_mask(source, replace(options, where=own or None))
    numbers = cells.numbers if wanted is None else cells.numbers[wanted]
    there = set(numbers.tolist())
    return [text for k, text in enumerate(cells.texts) if k in there]


def _split(where: Sequence[str], column: str) -> tuple[list[str], list[str]]:
    """Models that --where asks for, and its other conditions: one column said twice would mean either model."""
    mine = [c.partition("=")[0].strip() == column and "=" in c for c in where]
    asked = dict.fromkeys(c.partition("=")[2].strip() for c, own in zip(where, mine, strict=True) if own)
    return list(asked), [c for c, own in zip(where, mine, strict=True) if not own]


# ---- models as columns of one table


def _by_names(source: Source, options: ReadOptions) -> dict[str, Data] | None:
    """A column (or a mean and a spread) a model; None where the table is one of one model."""
    joined = outcomes_beside(source, options)
    if joined is not None:
        source, options = joined.source, joined.options
    found = _said_columns(source, options) or _found_columns(source, options)
    if found is None:
        return None
    named = _told_apart([next(iter(columns.values())) for columns in found])
    models = {
        name: _of_model(source, name, replace(options, **dict[str, Any](columns)))
        for name, columns in zip(named, found, strict=True)
    }
    _refuse_classes(found, models)
    return {name: replace(data, description=f"{data.description}; a column a model") for name, data in models.items()}


def _said_columns(source: Source, options: ReadOptions) -> list[dict[str, str]] | None:
    """Options of every model, where several columns were said of one target with two outcomes, or of one number."""
    if options.target is not None and "," in options.target:
        return None
    if options.predictions and not options.classes:
        columns = asked_columns(source, options.predictions, [options.target or ""])
        if len(columns) > 1 and _is_binary(source, options):
            return [{"predictions": name} for name in columns]
    spread = "std" if options.std else "variance"
    if options.mean and getattr(options, spread):
        means, spreads = (asked_columns(source, getattr(options, role), []) for role in ("mean", spread))
        if len(means) == len(spreads) > 1:
            refuse_another_order([means, spreads])
            return [{"mean": a, spread: b} for a, b in zip(means, spreads, strict=True)]
    return None


def _is_binary(source: Source, options: ReadOptions) -> bool:
    """Tell whether the target has two outcomes that are no text."""
    targets = choose_target(source, options.target)
    if source.axes(targets[0]) > 1:
        return False
    y = source.values(targets[0])
    return y.dtype.kind == "b" or (y.dtype.kind in "if" and set(np.unique(y[~np.isnan(y.astype(float))])) <= {0, 1})


def _found_columns(source: Source, options: ReadOptions) -> list[dict[str, str]] | None:
    """The same by names: ``p_forest`` and ``p_linear``, or ``a_mean``, ``a_std``, ``b_mean`` and ``b_std``."""
    if any(was_said(options, name) for name in (*_FORMS, "classes", "kind")):
        return None
    return columns_of_models(source, options)


def _refuse_classes(found: Sequence[dict[str, str]], models: dict[str, Data]) -> None:
    """Refuse columns that sum to 1 in every row: these are the classes of one model."""
    ps = [getattr(data.predictions, "p", None) for data in models.values()]
    if any(p is None for p in ps) or len({len(p) for p in ps if p is not None}) > 1:
        return
    if np.allclose(np.sum([np.asarray(p) for p in ps], axis=0), 1, rtol=0, atol=1e-3):
        names = [next(iter(columns.values())) for columns in found]
        raise InputError(
            f"the columns {listed(names)} sum to 1 in every row: these are the classes of one model, not several "
            "models: name further files, or the column that tells models apart, --model-column NAME"
        )


def _told_apart(names: Sequence[str]) -> list[str]:
    """Names of columns without what all begin and end with, where something is left of each."""
    start, end = len(common_start(names)), len(common_start([name[::-1] for name in names]))
    cut = [name[start : len(name) - end].strip("_.- ") for name in names]
    return cut if all(cut) and len(set(cut)) == len(cut) else list(names)


def _of_model(source: Source, name: str, options: ReadOptions) -> Data:
    try:
        return read_source(source, options)
    except InputError as error:
        raise InputError(f"model {name}: {error}") from None


def _in_order(first: str, ours: Data, name: str, theirs: Data) -> Data:
    """Return the second model with the rows of the first."""
    if ours.keys is not None and theirs.keys is not None:
        _refuse_doubles(name, theirs.keys)
        place = {key: row for row, key in enumerate(theirs.keys)}
        _refuse_other_rows(first, ours.keys, name, theirs.keys)
        rows = np.array([place[key] for key in ours.keys])
        weights = None if theirs.weights is None else theirs.weights[rows]
        labels = None if theirs.labels is None else theirs.labels[rows]
        theirs = replace(
            theirs,
            y=theirs.y[rows],
            predictions=theirs.predictions[rows],
            weights=weights,
            keys=ours.keys,
            labels=labels,
        )
    if len(ours.y) != len(theirs.y):
        raise InputError(
            f"model {first} has {len(ours.y):,} rows and {name} {len(theirs.y):,}: models are compared on the same "
            "rows; name what tells them apart, --row-id NAME"
        )
    _refuse_other_targets(first, ours, name, theirs)
    return theirs


def _refuse_doubles(name: str, keys: Sequence[str]) -> None:
    seen: set[str] = set()
    double = next((key for key in keys if key in seen or seen.add(key)), None)  # type: ignore[func-returns-value]
    if double is not None:
        raise InputError(f"model {name} has two rows {double}: name all columns that tell rows apart, --row-id a,b")


def _refuse_other_rows(first: str, ours: Sequence[str], name: str, theirs: Sequence[str]) -> None:
    for one, other, mine, its in ((first, name, ours, theirs), (name, first, theirs, ours)):
        there = set(its)
        absent = [key for key in mine if key not in there]
        if absent:
            raise InputError(
                f"model {other} has no row {absent[0]}, which model {one} has ({len(absent):,} such rows): models are "
                "compared on the same rows; leave these out with --where"
            )


def _refuse_other_targets(first: str, ours: Data, name: str, theirs: Data) -> None:
    if ours.y.shape != theirs.y.shape:
        raise InputError(f"targets have shape {ours.y.shape} for model {first} and {theirs.y.shape} for {name}")
    mine, its = ours.y, theirs.y
    if ours.labels is not None and theirs.labels is not None:  # of predicted labels: the true ones must agree
        mine, its = ours.labels, theirs.labels
    elif _answers_for_itself(ours) and _answers_for_itself(theirs):
        return
    same = np.asarray(mine == its)
    if same.all():
        return
    row = int(np.argmin(same.reshape(len(same), -1).all(axis=1)))
    which = f"row {row}" if ours.keys is None else f"the row {ours.keys[row]}"
    way = "name what tells rows apart, --row-id NAME." if ours.keys is None else "are the rows those of one data set?"
    raise InputError(
        f"the target of {which} is {mine[row]} for model {first} and {its[row]} for {name}: models are compared "
        f"on the same rows in the same order; {way} If the target says whether the answer of each model was right, "
        "which differs between models, call its column correct"
    )


def _answers_for_itself(data: Data) -> bool:
    """Tell whether the outcome is whether the answer of this model was right."""
    return getattr(data.predictions, "question", None) == "top label"
