"""Files to targets and predictions, of one model or several; which kind a file holds is decided here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns import (
    Choice,
    ReadOptions,
    flag,
    has_usual_predictions,
    known,
    listed,
    missing_words,
    was_said,
)
from kernelcal.io.long import is_hubverse, read_long
from kernelcal.io.opening import open_source
from kernelcal.io.roles import resolved
from kernelcal.io.sources import Source, missing
from kernelcal.io.table import Data, as_data
from kernelcal.io.wide import read_classes, read_wide

__all__ = ["Data", "form_of", "read", "read_models", "read_source"]


def read(paths: Sequence[Path], options: ReadOptions) -> Data:
    """Read targets and predictions.

    Parameters
    ----------
    paths : sequence of pathlib.Path
        One file, or two npy files.
    options : ReadOptions
        What is known about it.

    Raises
    ------
    InputError
        With file, line, column and remedy.
    """
    return read_source(open_source(paths, options.delimiter, missing_words(options)), options)


def read_source(source: Source, options: ReadOptions) -> Data:
    """Read targets and predictions of an opened file."""
    form, found, choices = form_of(source, options)
    if form == "classes":
        data = read_classes(source, found, said=options.predictions is not None)
    else:
        table = read_long(source, found) if form == "long" else read_wide(source, form, found)
        data = as_data(table, found)
    return replace(data, choices=choices)


# what each form is asked for by, and the names of arrays or columns that stand for it without an option
_ASKED = {
    "classes": ("predictions",),
    "normal": ("mean", "std", "variance"),
    "samples": ("samples",),
    "quantiles": ("quantiles",),
    "parameters": ("family", "parameters"),
    "long": ("long", "level", "sample_id"),
}
_NAMED = (
    ("normal", ("mean", "std")),
    ("normal", ("mean", "variance")),
    ("covariances", ("mean", "cov")),
    ("samples", ("samples",)),
    ("quantiles", ("quantiles", "levels")),
)
_IN_WORDS = {
    "classes": "class probabilities",
    "normal": "means and standard deviations",
    "covariances": "means and covariances",
    "samples": "draws",
    "quantiles": "quantiles",
    "parameters": "parameters of a family",
    "long": "a long table with one row a quantile or draw",
}
_BELONGS = {
    **dict.fromkeys(("kind", "predicted_label", "classes", "one_based", "normalize"), ("classes",)),
    **dict.fromkeys(("quantile_levels", "interval"), ("quantiles",)),
    **dict.fromkeys(("crossing", "resolution"), ("quantiles", "long")),
    **dict.fromkeys(("value", "unit", "truth"), ("long",)),
}


def form_of(
    source: Source, options: ReadOptions, labels: Callable[[], set[str]] | None = None
) -> tuple[str, ReadOptions, tuple[Choice, ...]]:
    """Return the form of the predictions, one of those above, options with the columns that were found, and reasons.

    `labels` gives the text labels of all rows, where the source does not hold them all.
    """
    _asked_form(options)
    found, choices = resolved(source, options, labels)
    form = _asked_form(found) or _by_names(source)
    _refuse_other_options(form, options)
    return form, found, choices


def _asked_form(options: ReadOptions) -> str | None:
    """The form that options name, None where they name none; two are refused."""
    asked = {form: [name for name in names if was_said(options, name)] for form, names in _ASKED.items()}
    forms = [form for form, names in asked.items() if names]
    if len(forms) > 1:
        first, second = (flag(asked[form][0]) for form in forms[:2])
        raise InputError(
            f"{first} says that the file holds {_IN_WORDS[forms[0]]}, {second} that it holds {_IN_WORDS[forms[1]]}: "
            "say one of them, the other columns are then left aside"
        )
    return forms[0] if forms else None


def _by_names(source: Source) -> str:
    """Hubverse columns, else usual names of class predictions, else those of numbers; classes where none is there."""
    if is_hubverse(source):
        return "long"
    if has_usual_predictions(source):
        return "classes"
    found = [(form, names) for form, names in _NAMED if _present(source, names)]
    if len(found) > 1:
        both = " as well as ".join(" and ".join(names) for _, names in found[:2])
        raise InputError(f"the file holds {both}: say which are meant, {_remedies([form for form, _ in found])}")
    return found[0][0] if found else "classes"


def _present(source: Source, names: Sequence[str]) -> bool:
    """Tell whether the columns are there; draws and quantiles only where they are arrays, not one number a row."""
    wide = names[0] in ("samples", "quantiles")
    return all(name in source.names for name in names) and (not wide or source.axes(names[0]) > 1)


def _remedies(forms: Sequence[str]) -> str:
    ways = {
        "normal": "--mean mean --std std (or --variance variance)",
        "samples": "--samples samples",
        "quantiles": "--quantiles quantiles --quantile-levels levels",
        "covariances": "or leave the arrays out of the file that are not",
    }
    return ", ".join(dict.fromkeys(ways[form] for form in forms))


def _refuse_other_options(form: str, options: ReadOptions) -> None:
    for name, forms in _BELONGS.items():
        if form not in forms and was_said(options, name):
            about, way = " or of ".join(_IN_WORDS[f] for f in forms), flag(_ASKED[forms[0]][0])
            raise InputError(
                f"{flag(name)} is said of {about}, but the file is read as {_IN_WORDS[form]}: leave it out, or say "
                f"{way}"
            )
    if options.truth_keys and not options.truth:
        raise InputError("--truth-keys says how a truth file is joined: name that file with --truth FILE")


_MOST = 100  # models in one table


def read_models(groups: Sequence[Sequence[Path]], options: ReadOptions) -> dict[str, Data]:
    """Read several models of the same rows.

    Parameters
    ----------
    groups : sequence of sequences of pathlib.Path
        One file (or two npy files) a model; or one table, with ``options.model_column``.
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
    models = _by_column(groups, options) if options.model_column else _by_file(groups, options)
    if len(models) < 2:
        raise InputError(
            f"one model was found ({', '.join(models)}): name further files, or the column that tells models apart, "
            "--model-column NAME"
        )
    (first, ours), *others = models.items()
    if options.drop_missing and ours.keys is None:
        raise InputError(
            "--drop-missing may leave out other rows of every model, and nothing tells rows apart: name what does, "
            "--row-id NAME"
        )
    if ours.keys is not None:
        _refuse_doubles(first, ours.keys)
    return {first: ours, **{name: _in_order(first, ours, name, data) for name, data in others}}


def _by_file(groups: Sequence[Sequence[Path]], options: ReadOptions) -> dict[str, Data]:
    names = [paths[0].stem for paths in groups]
    if len(set(names)) < len(names):
        names = [str(paths[0]) for paths in groups]
    if len(set(names)) < len(names):
        raise InputError(f"the same file was given twice among {', '.join(names)}")
    return {
        name: _of_model(open_source(paths, options.delimiter, missing_words(options)), name, options)
        for name, paths in zip(names, groups, strict=True)
    }


def _by_column(groups: Sequence[Sequence[Path]], options: ReadOptions) -> dict[str, Data]:
    column = str(options.model_column)
    if len(groups) != 1:
        raise InputError(
            f"--model-column {column} reads one table, got {len(groups)} files: join them, or leave it out"
        )
    source = open_source(groups[0], options.delimiter, missing_words(options))
    asked, others = _split(options.where or (), column)
    names = asked or source.cells([known(source, column)])[0].texts
    without = next((name for name in names if missing(name)), None)
    if without is not None:
        raise InputError(f"{source.path}: column {column} has rows without a model: fill in its name")
    if len(names) > _MOST:
        raise InputError(
            f"column {column} has {len(names):,} values, such as {listed(names[:3])}: does it name models?"
        )
    return {name: _of_model(source, name, replace(options, where=(*others, f"{column}={name}"))) for name in names}


def _split(where: Sequence[str], column: str) -> tuple[list[str], list[str]]:
    """Models that --where asks for, and its other conditions: one column said twice would mean either model."""
    mine = [c.partition("=")[0].strip() == column and "=" in c for c in where]
    asked = dict.fromkeys(c.partition("=")[2].strip() for c, own in zip(where, mine, strict=True) if own)
    return list(asked), [c for c, own in zip(where, mine, strict=True) if not own]


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
        theirs = replace(
            theirs, y=theirs.y[rows], predictions=theirs.predictions[rows], weights=weights, keys=ours.keys
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
    same = np.asarray(ours.y == theirs.y)
    if same.all():
        return
    row = int(np.argmin(same.reshape(len(same), -1).all(axis=1)))
    which = f"row {row}" if ours.keys is None else f"the row {ours.keys[row]}"
    raise InputError(
        f"the target of {which} is {ours.y[row]} for model {first} and {theirs.y[row]} for {name}: models are compared "
        "on the same rows in the same order; name what tells rows apart, --row-id NAME"
    )
