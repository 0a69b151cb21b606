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


@functools.wraps(evaluate_arrays)
def evaluate(y: Any, *predictions: Any, **options: Any) -> Evaluation:
    """Evaluate arrays, those of Dask too; or a path or a frame in partitions, with the names of prediction columns."""
    if is_in_chunks(y) and predictions and is_in_chunks(predictions[0]):
        y, predictions = (y, predictions[0]), predictions[1:]
    in_parts = _in_parts(y)
    if in_parts is None:
        _refuse_names(y, predictions)
        return evaluate_arrays(y, *predictions, **options)
    if len(predictions) > 1:
        raise InputError(
            f"after {type(y).__name__} comes one argument, the names of the prediction columns, got "
            f"{len(predictions)}: pass the others by name, such as target='label'"
        )
    return in_parts(y, **({"predictions": predictions[0]} if predictions else {}), **options)


def _refuse_names(y: Any, predictions: tuple[Any, ...]) -> None:
    """Names of columns are for files and frames in partitions; a frame in memory has the columns at hand."""
    if hasattr(y, "columns") and predictions and isinstance(predictions[0], str):
        raise InputError(
            f"names of columns belong to files and to frames in partitions, got a {type(y).__name__} in memory: pass "
            "its columns, kernelcal.evaluate(frame['y'], frame[['p0', 'p1']])"
        )


def _in_parts(y: Any) -> Any:
    """What evaluates rows that are no arrays; None for arrays."""
    path = isinstance(y, str | os.PathLike)
    if not path and not is_in_parts(y) and not (isinstance(y, tuple) and all(map(is_in_chunks, y))):
        return None
    from kernelcal.stream import evaluate_frame, evaluate_path  # only here: to import kernelcal stays quick

    return evaluate_path if path else evaluate_frame
