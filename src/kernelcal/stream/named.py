"""Models by the names of their columns in tables and files: evaluated, explained, compared."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.cases import Case, refuse_lens
from kernelcal.comparison import (
    Comparison,
    Models,
    ScoreComparison,
    checked_models,
    compared,
    refuse_statistics,
)
from kernelcal.dependence import Dependence
from kernelcal.errors import InputError, naming_rows
from kernelcal.evaluation import Evaluation, evaluated
from kernelcal.explanation import Explanation, columns_of_text, explained
from kernelcal.files import find_files, is_many
from kernelcal.inference.intervals import checked_bound
from kernelcal.io import (
    Arrays,
    Data,
    ReadOptions,
    Source,
    is_labelled,
    labelled_source,
    models_of,
    on_same_rows,
    opened,
    read,
    read_models,
    read_source,
    table_columns,
)
from kernelcal.runs import Run
from kernelcal.stream.one_pass import evaluate_batches
from kernelcal.stream.options import read_options
from kernelcal.stream.paths import read_together

__all__ = [
    "cases_of",
    "compare_named",
    "evaluate_table",
    "explain_named",
    "outcomes_of_models",
    "read_named",
    "read_named_models",
]


_RUN = frozenset(field.name for field in fields(Run))
_IN_BATCHES = {"key", "like", "sketch"}


def evaluate_table(table: Any, **options: Any) -> Evaluation:
    """Evaluate a table in memory by the names of its columns: `kernelcal.evaluate` does this when it is given one.

    Parameters
    ----------
    table : data frame, table, relation, or dataset
        Of pandas, polars (lazy ones are collected), pyarrow, DuckDB; or arrays with named axes: a dataset or a tree of
        xarray, inference data of ArviZ.
    **options
        As for `evaluate_path`: ``target="label"``, ``predictions="p_*"``, ``mean``, ``std``, ``samples``, ... With
        ``key``, ``like`` or ``sketch`` rows are taken a batch at a time, as by `evaluate_batches`.

    Returns
    -------
    Evaluation

    Raises
    ------
    InputError
        With the row or column, and the remedy.

    Examples
    --------
    >>> import pandas as pd, kernelcal as kc
    >>> frame = pd.DataFrame({"p": [0.9, 0.2, 0.6] * 20, "won": [1, 0, 1] * 20})
    >>> kc.evaluate(frame, "p", target="won").n
    60
    """
    if _IN_BATCHES & set(options):
        return evaluate_batches(table, **options)
    run, lens, columns = _split(options)
    data = read_named(table, read_options(columns))
    with naming_rows(data.row_in_words):
        return evaluated(_case(data, lens), run, groups=columns_of_text(data.groups))


def explain_named(table: Any, predictions: Any = None, **options: Any) -> Explanation:
    """Explain a table in memory, or what a path names: `kernelcal.explain` does this when it is given one.

    Parameters
    ----------
    table : data frame, table, relation, dataset, str or path
        As for `evaluate_table` and `evaluate_path`.
    predictions : str or list of str, optional
        Names of the columns of predictions.
    **options
        ``lens``, ``alpha``, ``draws``, ``rng``, ``progress``, ``statistic``, ``witness_kernel`` as for
        `kernelcal.explain`; what the columns hold, as for `evaluate_table`.

    Returns
    -------
    Explanation

    Examples
    --------
    >>> import pandas as pd, kernelcal as kc
    >>> frame = pd.DataFrame({"p": [0.9, 0.2, 0.6] * 20, "won": [1, 0, 1] * 20, "home": [0, 1] * 30})
    >>> [group.name for group in kc.explain(frame, "p", target="won", groups="home").by_group.findings]
    ['1', '0']
    """
    more = {name: options.pop(name) for name in ("statistic", "witness_kernel") if name in options}
    run, lens, columns = _split(options)
    data = read_named(table, read_options({**columns, **_said(predictions)}))
    with naming_rows(data.row_in_words):
        return explained(_case(data, lens), run, groups=columns_of_text(data.groups), **more)


def compare_named(table: Any, predictions: Any = None, **options: Any) -> Comparison | ScoreComparison:
    """Compare models that are columns of a table or a file, or a file each: `kernelcal.compare` does this.

    Parameters
    ----------
    table : data frame, table, relation, dataset, str, path, or several paths
        One table, as for `evaluate_table`, or one file; or a sequence of files (a folder or a glob of them), each of
        which holds one model.
    predictions : list of str, or mapping of str to names, optional
        A column a model; or for the name of every model its column, its columns of class probabilities, or a mapping of
        what columns hold, such as ``{"mean": "a", "std": "b"}``. Without it models are found by the names of columns,
        or by ``model_column``.
    **options
        ``skce``, ``ckce``, ``lens``, ``within``, ``confidence_level``, ``alpha``, ``draws``, ``rng``,
        ``early_stopping``, ``progress`` as for `kernelcal.compare`; what the columns hold, as for `evaluate_table`.

    Returns
    -------
    Comparison
        Of quantile forecasts with ties a `ScoreComparison`.

    Examples
    --------
    >>> import pandas as pd, kernelcal as kc
    >>> frame = pd.DataFrame({"won": [1, 0, 1] * 20, "elo": [0.7, 0.3, 0.6] * 20, "odds": [0.6, 0.5, 0.8] * 20})
    >>> sorted(model.name for model in kc.compare(frame, ["elo", "odds"], target="won", draws=99).models)
    ['elo', 'odds']
    """
    more = {name: options.pop(name) for name in ("skce", "ckce", "within") if name in options}
    run, lens, columns = _split(options)
    run.refuse_for_models()
    refuse_statistics(more.get("skce"), more.get("ckce"))
    if more.get("within") is not None:
        more["within"] = checked_bound(more["within"])
    wrong = next((name for name in ("weights", "groups", "given") if columns.get(name) is not None), None)
    if wrong is not None:
        raise InputError(f"compare takes no {wrong}=: leave it out, or use kernelcal.evaluate for each model")
    data = read_named_models(table, predictions, columns)
    with naming_rows(next(iter(data.values())).row_in_words):
        return compared(cases_of(data, lens), run, **more)


def read_named(table: Any, asked: ReadOptions) -> Data:
    """Read targets and predictions of a table in memory, or of what a path names."""
    if not isinstance(table, str | os.PathLike):
        return read_source(_source(table, asked), asked)
    return read_together([table], asked) if is_many(table) else read([Path(table)], asked)


def read_named_models(table: Any, predictions: Any, columns: Mapping[str, Any]) -> dict[str, Data]:
    """Read several models of the same rows: columns of a table or a file, or a file each."""
    several = isinstance(predictions, Mapping)
    asked = read_options({**columns, **({} if several else _said(predictions))})
    path = isinstance(table, str | os.PathLike)
    if isinstance(table, list | tuple) or (path and is_many(table)):
        if several:
            raise InputError("a mapping of predictions names columns of one table, got several files: leave it out")
        found = list(table) if isinstance(table, list | tuple) else find_files([table])
        return read_models([[Path(path)] for path in found], asked)
    if path and not several:
        return read_models([[Path(table)]], asked)
    source = _source(table, asked)
    said = {str(name): _of_one(own) for name, own in predictions.items()} if several else None
    models = models_of(source, asked, said)
    return on_same_rows(
        {source.path: read_source(source, asked)} if models is None else models, asked, of_one_table=True
    )


def outcomes_of_models(models: Mapping[str, Data]) -> Any:
    """The outcomes of all models: those of the first, unless each was asked about its own."""
    first = next(iter(models.values()))
    same = all(np.array_equal(first.y, data.y) for data in models.values())
    return first.y if same else {name: data.y for name, data in models.items()}


def cases_of(models: Mapping[str, Data], lens: Any) -> Models:
    """Models that were read, checked against each other, with the numbers that their rows have in the file."""
    first = next(iter(models.values()))
    predictions = {name: data.predictions for name, data in models.items()}
    cases = checked_models(outcomes_of_models(models), predictions, lens, None, normalize=False)
    rows = Dependence.of(len(first.y), **first.dependence) if first.dependence else None
    return {name: replace(case, numbers=first.numbers, rows=rows) for name, case in cases.items()}


def _split(options: Mapping[str, Any]) -> tuple[Run, Any, dict[str, Any]]:
    """How to compute, the lens, and what is said of columns."""
    run = Run(**{name: value for name, value in options.items() if name in _RUN})
    lens = options.get("lens")
    refuse_lens(lens)
    return run, lens, {name: x for name, x in options.items() if name not in {"lens", *_RUN}}


def _said(predictions: Any) -> dict[str, Any]:
    return {} if predictions is None else {"predictions": predictions}


def _of_one(columns: Any) -> dict[str, Any]:
    """Options of one model: its column, its columns of classes, or what each column holds."""
    asked = read_options(columns if isinstance(columns, Mapping) else {"predictions": columns})
    default = ReadOptions()
    return {
        field.name: getattr(asked, field.name)
        for field in fields(ReadOptions)
        if getattr(asked, field.name) != getattr(default, field.name)
    }


def _source(table: Any, asked: ReadOptions) -> Source:
    if isinstance(table, str | os.PathLike):
        return opened([Path(table)], asked)
    return labelled_source(table, asked) if is_labelled(table) else Arrays(type(table).__name__, table_columns(table))


def _case(data: Data, lens: Any) -> Case:
    beside = {"weights": data.weights, "given": data.given, **data.dependence}
    return replace(Case.of(data.y, data.predictions, lens=lens, **beside), numbers=data.numbers)
