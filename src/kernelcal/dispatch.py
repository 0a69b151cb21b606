"""The one `evaluate`, `compare`, `explain`: of arrays on the floors below, of files and tables in `stream`."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any

from kernelcal.comparison import Comparison, ScoreComparison, compare as compare_arrays
from kernelcal.errors import InputError
from kernelcal.evaluation import Evaluation, evaluate as evaluate_arrays
from kernelcal.explanation import Explanation, explain as explain_arrays
from kernelcal.predictions import is_in_chunks, is_in_parts

__all__ = ["compare", "evaluate", "explain", "has_names"]


_TABLES = ("pandas", "polars", "pyarrow", "duckdb", "_duckdb", "modin", "cudf", "xarray", "arviz", "arviz_base")
_NAMED = frozenset(
    {"DataFrame", "LazyFrame", "Table", "RecordBatch", "RecordBatchReader", "DuckDBPyRelation"}
    | {"Dataset", "DataTree", "InferenceData"}
)


@functools.wraps(evaluate_arrays)
def evaluate(y: Any, *predictions: Any, **options: Any) -> Evaluation:
    """Evaluate arrays, those of Dask too; or a path, a table or a frame in partitions, with names of columns."""
    if is_in_chunks(y) and predictions and is_in_chunks(predictions[0]):
        y, predictions = (y, predictions[0]), predictions[1:]
    in_parts = _in_parts(y, predictions)
    if in_parts is None:
        return evaluate_arrays(y, *predictions, **options)
    if len(predictions) > 1:
        raise InputError(
            f"after {type(y).__name__} comes one argument, the names of the prediction columns, got "
            f"{len(predictions)}: pass the others by name, such as target='label'"
        )
    return in_parts(y, **({"predictions": predictions[0]} if predictions else {}), **options)


@functools.wraps(explain_arrays)
def explain(y: Any, predictions: Any = None, **options: Any) -> Explanation:
    """Explain arrays; or a path or a table, with names of columns."""
    if has_names(y, predictions):
        from kernelcal.stream import explain_named  # as below

        return explain_named(y, predictions, **options)
    return explain_arrays(y, predictions, **options)


@functools.wraps(compare_arrays)
def compare(y: Any, predictions: Any = None, **options: Any) -> Comparison | ScoreComparison:
    """Compare arrays; or models that are columns of a table or a file, or a file each."""
    if has_names(y, predictions) or (predictions is None and _are_paths(y)):
        from kernelcal.stream import compare_named  # as below

        return compare_named(y, predictions, **options)
    return compare_arrays(y, predictions, **options)


def has_names(y: Any, names: Any) -> bool:
    """Tell whether columns of a table in memory, or of what a path names, are meant."""
    if isinstance(y, str | os.PathLike):
        return _are_names(list(names.values()) if isinstance(names, Mapping) and names else names)
    return _is_table_with_names(y, names)


def _is_table_with_names(y: Any, names: Any) -> bool:
    """Tell whether columns of a table in memory are meant, by their names; a frame beside arrays holds targets."""
    if type(y).__module__.split(".")[0] not in _TABLES or type(y).__name__ not in _NAMED:
        return False
    return _are_names(list(names.values()) if isinstance(names, Mapping) and names else names)


def _are_paths(y: Any) -> bool:
    return isinstance(y, list | tuple) and bool(y) and all(isinstance(path, str | os.PathLike) for path in y)


def _are_names(names: Any) -> bool:
    """Tell whether something is a name, several, or what columns hold by their names."""
    if isinstance(names, list | tuple):
        return bool(names) and all(map(_are_names, names))
    return names is None or isinstance(names, str) or (isinstance(names, Mapping) and _are_names([*names.values()]))


def _in_parts(y: Any, predictions: tuple[Any, ...]) -> Any:
    """What evaluates rows that are no arrays; None for arrays."""
    if _is_table_with_names(y, predictions[0] if predictions else None):
        from kernelcal.stream import evaluate_table  # as below

        return evaluate_table
    path = isinstance(y, str | os.PathLike)
    if not path and not is_in_parts(y) and not (isinstance(y, tuple) and all(map(is_in_chunks, y))):
        return None
    from kernelcal.stream import evaluate_frame, evaluate_path  # only here: to import kernelcal stays quick

    return evaluate_path if path else evaluate_frame
