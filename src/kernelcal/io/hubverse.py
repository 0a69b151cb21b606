"""Tables of the hubverse: a long layout whose columns are known by name.

Every row has a value, its output type (quantile, sample, mean, ...) and what tells the values of a type apart; all
other columns, the task ids, say what is predicted.
"""

from __future__ import annotations

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.layout import Layout
from kernelcal.io.options import ReadOptions
from kernelcal.io.rows import count
from kernelcal.io.selection import listed
from kernelcal.io.sources import Source

__all__ = ["hubverse_layout", "is_hubverse"]

_TYPE, _KEY, _VALUE = "output_type", "output_type_id", "value"
_FORMS = {"quantile": "quantiles", "sample": "samples"}


def is_hubverse(source: Source) -> bool:
    """Tell whether a table has the three columns that every hubverse table has."""
    return {_TYPE, _KEY, _VALUE} <= set(source.names)


def hubverse_layout(source: Source, options: ReadOptions, wanted: np.ndarray | None) -> Layout:
    """Quantiles or draws of the lines that are wanted; lines of other output types are left aside, and counted."""
    if not (options.truth or options.target):
        raise InputError(
            "a hubverse table holds no outcomes: name the file that does, --truth FILE, or the column that does, "
            "--target NAME"
        )
    texts = [_TYPE, _KEY, *(name for name in source.names if name not in (_TYPE, _KEY, _VALUE))]
    types = source.cells(texts)[0]  # one pass over the file: the others are asked for later
    lines = np.ones(len(types.numbers), dtype=bool) if wanted is None else wanted
    present = [text for number, text in enumerate(types.texts) if np.any(types.numbers[lines] == number)]
    usable = [text for text in present if text in _FORMS]
    if len(usable) != 1:
        raise InputError(_which(usable, present))
    mine = lines & (types.numbers == types.texts.index(usable[0]))
    others = [text for text in present if text != usable[0]]
    left = count(int(lines.sum() - mine.sum()), "line")
    said = f"; {left} of output type {listed(others)} left aside" if others else ""
    return Layout(_FORMS[usable[0]], _VALUE, _KEY, (_TYPE,), mine, said)


def _which(usable: list[str], present: list[str]) -> str:
    if usable:
        return (
            "the table holds quantiles and draws: say which are meant, --where output_type=quantile or "
            "--where output_type=sample"
        )
    return f"the table holds no quantiles and no draws, but output type {listed(present) or 'none'}: these are not read"
