"""Data frames of Dask, known by what they can do: a part is one of their partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Self

import numpy as np

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.io import Arrays, ReadOptions, arrow_arrays
from kernelcal.io.columns import count
from kernelcal.stream.batches import Labels, Place, Roles, label_columns, roles_of
from kernelcal.stream.formats import HEAD, Columns, rows_of_batch
from kernelcal.stream.survey import Survey
from kernelcal.stream.workers import compute_on, dask_module

__all__ = ["ChunkFrame", "FramePart", "survey_frame"]


@dataclass(frozen=True, eq=False)
class FramePart:
    """One partition, and where its rows stand."""

    partition: Any
    place: Place

    def batches(self, roles: Roles) -> Iterator[Columns]:
        """Columns of its rows, some at a time."""
        columns = [*dict.fromkeys([*roles.numbers, *roles.texts])]
        step = rows_of_batch(len(columns))
        for start in range(0, _rows(self.partition), step):
            yield _arrays(self.partition, columns, slice(start, start + step), self.place.name)


def survey_frame(frame: Any, options: ReadOptions, client: Any) -> Survey:
    """Recognise columns, count the rows of every partition and learn labels."""
    compute = compute_on(client)
    _refuse_numbers([*frame.columns])
    head = Arrays("data frame", _first_head(frame.to_delayed(), compute))
    texts = label_columns(head, options)
    counted = frame[texts or [*frame.columns][:1]].to_delayed()
    found = compute([(_counted, (partition, texts)) for partition in counted])
    counts = [rows for rows, _ in found]
    if not sum(counts):
        raise InputError("the data frame has no rows: are its partitions empty?")
    known = [learned for _, learned in found if learned is not None]
    roles = roles_of(head, Labels.of(known, texts[0]) if known else None, options)
    parts = list(_parts(_needed(frame, roles), counts))
    return Survey(f"a data frame of {count(len(parts), 'partition')}", parts, counts, roles, compute=compute)


def _parts(partitions: Sequence[Any], counts: Sequence[int]) -> Iterator[Any]:
    """Partitions with the number of their first row, once they are computed."""
    make, wrap = (dask_module().delayed(what, pure=False) for what in (FramePart, Place))
    for k, (partition, first) in enumerate(zip(partitions, accumulate(counts, initial=0), strict=False)):
        yield make(partition, wrap(f"partition {k}", 0, first))


def _refuse_numbers(names: Sequence[Any]) -> None:
    other = next((name for name in names if not isinstance(name, str)), None)
    if other is not None:
        raise InputError(f"the data frame has a column {other!r}, whose name is no text: frame.rename(columns=str)")


def _needed(frame: Any, roles: Roles) -> Any:
    return frame[[*dict.fromkeys([*roles.numbers, *roles.texts])]].to_delayed()


def _first_head(partitions: Sequence[Any], compute: Any) -> Columns:
    """First rows of the first partition that has any."""
    first: Columns = {}
    for partition in partitions:
        (head,) = compute([(_head, (partition,))])
        first = first or head
        if len(next(iter(head.values()), ())):
            return dict(head)
    return first


def _head(partition: Any) -> Columns:
    return _arrays(partition, list(partition), slice(HEAD), "data frame")


def _counted(partition: Any, texts: Sequence[str]) -> tuple[int, list[Any] | None]:
    """Rows, and the different labels where they are no numbers."""
    columns = _arrays(partition, list(texts), slice(None), "data frame") if texts else {}
    labels = [set(column.tolist()) for column in columns.values() if column.dtype.kind == "O"]
    return _rows(partition), list(set.union(*labels)) if labels else None


def _rows(partition: Any) -> int:
    return len(next(iter(partition.values()))) if isinstance(partition, dict) else len(partition)


def _arrays(partition: Any, names: list[str], rows: slice, where: str) -> Columns:
    """Columns of some rows: of arrays as they are, of a pandas frame with missing values of any kind as None or NaN."""
    if isinstance(partition, dict):
        return {name: partition[name][rows] for name in names}
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", "frame", "reading a data frame in parts") from None
    return arrow_arrays(where, pyarrow.Table.from_pandas(partition[names].iloc[rows], preserve_index=False))


class ChunkFrame:
    """Columns y and p (one probability) or p0, p1, ... of two arrays whose rows belong together."""

    def __init__(self, y: Any, predictions: Any) -> None:
        if y.ndim != 1 or predictions.ndim not in (1, 2):
            raise InputError(
                f"targets of shape (n,) and predictions of shape (n,) or (n, classes) are expected, got "
                f"{y.ndim} and {predictions.ndim} axes: pass arrays of one row a sample"
            )
        self._y, self._predictions = y, _aligned(y, predictions)
        wide = predictions.ndim == 2
        self.columns = ["y", *([f"p{k}" for k in range(predictions.shape[1])] if wide else ["p"])]

    def __getitem__(self, names: Sequence[str]) -> Self:
        other = object.__new__(type(self))
        other._y, other._predictions, other.columns = self._y, self._predictions, list(names)
        return other

    @property
    def npartitions(self) -> int:
        """Chunks."""
        return len(self._y.chunks[0])

    def to_delayed(self) -> list[Any]:
        """Partitions with the columns that were asked for."""
        make = dask_module().delayed(_partition, pure=False)
        pairs = zip(self._y.to_delayed().ravel(), self._predictions.to_delayed().ravel(), strict=True)
        return [make(y, p, self.columns) for y, p in pairs]


def _aligned(y: Any, predictions: Any) -> Any:
    """Predictions in the chunks of the targets, rows whole."""
    rows, others = y.chunks[0], predictions.chunks[0]
    unknown = np.isnan([*rows, *others]).any()
    if unknown and len(rows) != len(others):
        raise InputError(
            f"targets come in {len(rows)} chunks of unknown length, predictions in {len(others)}: say "
            "compute_chunk_sizes() of both"
        )
    if not unknown and sum(rows) != sum(others):
        raise InputError(
            f"{sum(rows):,} targets, but predictions of {sum(others):,} rows: one row a target is expected"
        )
    whole = {1: -1} if predictions.ndim == 2 else {}
    return predictions.rechunk(whole if unknown else {0: rows, **whole})


def _partition(y: Any, predictions: Any, names: list[str]) -> Columns:
    columns = np.asarray(predictions)
    columns = columns[:, None] if columns.ndim == 1 else columns
    if len(y) != len(columns):
        raise InputError(
            f"a chunk of {len(y):,} targets goes with {len(columns):,} predictions: give both equal chunks"
        )
    numbers = {f"p{k}" if predictions.ndim == 2 else "p": column for k, column in enumerate(columns.T)}
    every = {"y": np.asarray(y), **numbers}
    return {name: every[name] for name in names}
