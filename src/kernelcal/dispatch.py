"""The one `evaluate`: arrays are evaluated on the floors below, files and data frames in parts here."""

from __future__ import annotations

import functools
import os
from typing import Any

from kernelcal.errors import InputError
from kernelcal.evaluation import Evaluation
from kernelcal.evaluation import evaluate as evaluate_arrays
from kernelcal.predictions import is_in_chunks, is_in_parts

__all__ = ["evaluate"]


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


def _is_table(y: Any, predictions: tuple[Any, ...]) -> bool:
    """Tell whether columns of a table in memory are meant, by their names; a frame beside arrays holds targets."""
    if type(y).__module__.split(".")[0] not in _TABLES or type(y).__name__ not in _NAMED:
        return False
    names = predictions[0] if predictions else ""
    return isinstance(names, str) or (
        isinstance(names, list | tuple) and bool(names) and all(isinstance(name, str) for name in names)
    )


def _in_parts(y: Any, predictions: tuple[Any, ...]) -> Any:
    """What evaluates rows that are no arrays; None for arrays."""
    if _is_table(y, predictions):
        from kernelcal.stream import evaluate_table  # as below

        return evaluate_table
    path = isinstance(y, str | os.PathLike)
    if not path and not is_in_parts(y) and not (isinstance(y, tuple) and all(map(is_in_chunks, y))):
        return None
    from kernelcal.stream import evaluate_frame, evaluate_path  # only here: to import kernelcal stays quick

    return evaluate_path if path else evaluate_frame
