"""Some rows spread over all: they give lengthscales, names of classes, and how long a row takes."""

from __future__ import annotations

import pickle
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.io.rows import count
from kernelcal.sketch import Sketch
from kernelcal.stream.batches import Place, batch_of
from kernelcal.stream.pieces import Columns
from kernelcal.stream.roles import Roles
from kernelcal.stream.survey import Survey

__all__ = ["pilot_of", "places", "seconds_and_bytes", "take"]

_PLACES, _EACH = 16, 128


def pilot_of(survey: Survey) -> tuple[Case, str]:
    """Read rows at places that depend on the number of rows alone, not on the parts they lie in; say what was read."""
    calls = [
        (take, (part, slices, survey.roles))
        for part, slices in zip(survey.parts, _slices(survey), strict=True)
        if slices
    ]
    found = [columns for some in survey.compute(calls) for columns in some]
    whole = {name: np.concatenate([columns[name] for columns in found]) for name in found[0]}
    batch = batch_of(whole, survey.roles, Place(survey.name, 0, 0))
    if batch.case is None or len(batch.case) < 2:
        looked = len(next(iter(whole.values())))
        raise InputError(
            f"{survey.name}: fewer than 2 of the {count(looked)} looked at first are left: are target and missing "
            "values as expected?"
        )
    return batch.case, batch.description


def places(rows: int) -> list[range]:
    """Runs of rows, spread evenly; all rows if there are few."""
    if rows <= _PLACES * _EACH:
        return [range(rows)]
    starts = [k * (rows - _EACH) // (_PLACES - 1) for k in range(_PLACES)]
    return [range(start, start + _EACH) for start in starts]


def _slices(survey: Survey) -> Iterator[list[tuple[int, int]]]:
    """Rows of every part that are looked at, counted in the part."""
    runs = places(survey.rows)
    for first, rows in zip(survey.firsts, survey.counts, strict=True):
        ends = [(max(run.start - first, 0), min(run.stop - first, rows)) for run in runs]
        yield [(start, stop) for start, stop in ends if start < stop]


def take(part: Any, slices: list[tuple[int, int]], roles: Roles) -> list[Columns]:
    """Some rows of a part, which are read as far as the last of them; what is wrong with them names the row."""
    found, begin = [], 0
    for columns in part.batches(roles):
        rows = len(next(iter(columns.values())))
        for start, stop in slices:
            low, high = max(start - begin, 0), min(stop - begin, rows)
            if low < high:
                piece = {name: column[low:high] for name, column in columns.items()}
                batch_of(piece, roles, part.place.after(begin + low))  # refuses what is wrong with them
                found.append(piece)
        begin += rows
        if begin >= slices[-1][1]:
            break
    return found


def seconds_and_bytes(case: Case, empty: Sketch) -> tuple[float, int]:
    """Return the seconds that a row takes, and the size of a sketch, from adding up some rows twice."""
    sketch = empty.empty().updated(case)  # the first time pays for what is made once
    started = time.perf_counter()
    sketch.updated(case)
    return (time.perf_counter() - started) / len(case), len(pickle.dumps(sketch))
