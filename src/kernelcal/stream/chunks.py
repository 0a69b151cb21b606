"""Arrays of Dask, seen as a data frame: a chunk of targets and one of predictions are a partition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from kernelcal.errors import InputError
from kernelcal.stream.cluster import dask_module
from kernelcal.stream.pieces import Columns

__all__ = ["ChunkFrame"]


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
