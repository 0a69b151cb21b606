"""Whether predictions are those that a map was fitted to: a few marks of the rows, kept with the map."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.predictions import ClassPredictions, Quantiles, Samples

__all__ = ["marks_of", "share_of"]


_KEPT = 64  # marks
_DISTINCT = 0.9  # share of the rows that must differ from each other, else equal marks say nothing
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIXERS = ((np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)), (np.uint64(27), np.uint64(0x94D049BB133111EB)))
_HIGH = np.uint64(11)  # bits that are dropped: 53 are left, which every reader of JSON holds


def _values(predictions: Any) -> np.ndarray:
    batch = predictions.map_arrays(to_numpy)
    if isinstance(batch, ClassPredictions):
        with np.errstate(divide="ignore"):
            return np.asarray(batch.log_table(slice(None)), dtype=np.float64)
    if isinstance(batch, Quantiles | Samples):
        own = batch.values if isinstance(batch, Quantiles) else batch.draws
        return np.asarray(own, dtype=np.float64).reshape(len(batch), -1)
    arrays = [np.asarray(getattr(batch, name), dtype=np.float64) for name in batch.given_by]
    return np.stack([np.broadcast_to(one, (len(batch),)) for one in arrays], axis=1)


def _hashed(predictions: Any) -> np.ndarray:
    """A number of 53 bits for every row, of the bits of its predictions."""
    bits = np.ascontiguousarray(_values(predictions)).view(np.uint64)
    total = np.zeros(len(bits), dtype=np.uint64)
    for column in bits.T:
        total = (total ^ column) * _ODD
        for shift, factor in _MIXERS:
            total = (total ^ (total >> shift)) * factor
    return total >> _HIGH


def marks_of(predictions: Any) -> tuple[int, ...]:
    """Return the smallest hashes of the rows, a random sample of them; none where many predictions are equal."""
    hashed = np.unique(_hashed(predictions))
    return tuple(map(int, hashed[:_KEPT])) if len(hashed) >= _DISTINCT * len(predictions) else ()


def share_of(marks: tuple[int, ...], predictions: Any) -> float:
    """Return the share of the rows with these marks that are among the predictions, nan without marks."""
    return float(np.isin(np.array(marks, dtype=np.uint64), _hashed(predictions)).mean()) if marks else float("nan")
