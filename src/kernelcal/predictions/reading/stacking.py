"""One batch out of many predictions of one family."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelcal.arrays import Array, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.base import Predictions, trusted

__all__ = ["stacked"]


_SHARED = ("levels", "tails", "classes", "question", "function", "log_density")  # what a batch says once for all rows


def stacked(batches: Sequence[Predictions]) -> Predictions:
    """Join one-row batches of one family, in the order given; notes are kept once each.

    Raises
    ------
    InputError
        If families, shapes, levels or classes differ, or a batch has other than one row.
    """
    first, collected = batches[0], [_arrays(batch) for batch in batches]
    for k, batch in enumerate(batches):
        _refuse_different(k, first, batch, collected[0], collected[k])
    columns = iter([namespace(*column).concat(list(column), axis=0) for column in zip(*collected, strict=True)])
    notes = tuple(dict.fromkeys(note for batch in batches for note in batch.notes))
    return trusted(first.map_arrays(lambda _: next(columns)), notes=notes)


def _arrays(batch: Predictions) -> list[Array]:
    """The arrays of a batch in the order in which it maps them."""
    found: list[Array] = []

    def collect(x: Array) -> Array:
        found.append(x)
        return x

    batch.map_arrays(collect)
    return found


def _refuse_different(k: int, first: Predictions, batch: Predictions, ours: list[Array], theirs: list[Array]) -> None:
    if type(batch) is not type(first):
        raise InputError(
            f"predictions of one family are stacked: element 0 is {type(first).__name__} and element {k} is "
            f"{type(batch).__name__}: evaluate the families apart, or turn all of them into Samples"
        )
    if len(batch) != 1:
        raise InputError(
            f"single predictions are stacked, and element {k} has {len(batch)} rows: pass one batch with all rows, or "
            "kernelcal.predictions.Mixture(None, batches) if the batches are components"
        )
    shapes = [[tuple(x.shape) for x in arrays] for arrays in (ours, theirs)]
    if shapes[0] != shapes[1] or not _says_the_same(first, batch):
        raise InputError(
            f"element {k} cannot be stacked with element 0: {type(batch).__name__} of other shapes, levels or classes "
            f"(arrays of shapes {shapes[1]}, before {shapes[0]})"
        )


def _says_the_same(first: Predictions, batch: Predictions) -> bool:
    pairs = ((getattr(first, name, None), getattr(batch, name, None)) for name in _SHARED)
    return all(np.array_equal(np.asarray(one), np.asarray(other)) for one, other in pairs)
