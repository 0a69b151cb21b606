"""Case weights: how much each row counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import as_array, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.frames import is_frame, series_to_array

__all__ = ["checked_weights"]


def checked_weights(weights: Any, n: int) -> np.ndarray | None:
    """Return weights with mean 1 (only their ratios matter), None where every row counts alike."""
    if weights is None:
        return None
    values = series_to_array(weights) if is_frame(weights) else to_numpy(as_array(weights))
    values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
    if values.shape != (n,) or values.dtype.kind not in "fiub":
        raise InputError(f"weights must be {n} numbers, one a row, got {values.dtype} of shape {values.shape}")
    values = values.astype(np.float64)
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(
            f"weights must be finite and not negative; row {row} is {values[row]:g}: drop or mend such rows"
        )
    if not values.any():
        raise InputError("all weights are 0: at least one row must count")
    return values / values.mean()
