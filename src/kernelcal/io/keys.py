"""What tells rows apart, so that the same rows of two models can be found."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelcal.io.options import ReadOptions
from kernelcal.io.selection import known
from kernelcal.io.sources import Source
from kernelcal.io.units import Units

__all__ = ["kept_keys", "key_columns", "keys_of_rows", "keys_of_units"]


def key_columns(source: Source, options: ReadOptions) -> list[str]:
    """Columns that --row-id and --model-column name: they hold no predictions."""
    named = [*(options.row_id or "").split(","), options.model_column or ""]
    return [known(source, name.strip()) for name in named if name.strip()]


def keys_of_rows(source: Source, options: ReadOptions) -> list[str] | None:
    """``case=17`` of every row of the table, by the columns of --row-id; None where it was not said."""
    if not options.row_id:
        return None
    names = [known(source, name.strip()) for name in options.row_id.split(",")]
    return _in_words(names, [[column.texts[k] for k in column.numbers] for column in source.cells(names)])


def keys_of_units(units: Units, options: ReadOptions) -> list[str]:
    """The same of every prediction of a long table, by all that tells predictions apart but the model."""
    columns = [k for k, name in enumerate(units.names) if name != options.model_column]
    texts = [[units.text(unit, k) for unit in range(len(units))] for k in columns]
    return _in_words([units.names[k] for k in columns], texts) if columns else [str(k) for k in range(len(units))]


def _in_words(names: Sequence[str], texts: Sequence[Sequence[str]]) -> list[str]:
    return [
        ", ".join(f"{name}={text}" for name, text in zip(names, row, strict=True)) for row in zip(*texts, strict=True)
    ]


def kept_keys(keys: list[str] | None, rows: np.ndarray) -> list[str] | None:
    """Keys of some rows."""
    return None if keys is None else [keys[row] for row in rows]
