"""Point predictions of numbers, which say nothing of their spread: recognised, and refused with what is needed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.sources import Source

__all__ = ["refuse_a_lonely_number", "refuse_points"]


def refuse_a_lonely_number(source: Source, targets: Sequence[str], taken: Sequence[str]) -> None:
    """Refuse a file that holds, beside its target, one column of numbers that are no probabilities."""
    rest = [name for name in source.names if name not in taken]
    if len(rest) == 1 and len(targets) == 1 and source.axes(rest[0]) == source.axes(targets[0]) == 1:
        refuse_points(source.values(rest[0])[:, None], source.values(targets[0]), rest, targets)


def refuse_points(x: np.ndarray, y: np.ndarray, columns: Sequence[str], targets: Sequence[str]) -> None:
    """Refuse one column outside [0, 1] beside a target of more than two numbers: these are predicted numbers."""
    if x.shape[1] != 1 or any(array.dtype.kind not in "fiu" for array in (x, y)):
        return
    outside = np.flatnonzero((x[:, 0] < 0) | (x[:, 0] > 1))
    if not len(outside) or len(np.unique(y[~np.isnan(y)])) < 3:
        return
    row, name = int(outside[0]), columns[0]
    raise InputError(
        f"column {name!r} holds point predictions of the numbers in {targets[0]!r} (row {row} is {x[row, 0]:g}): point "
        "predictions alone cannot be tested for calibration, since they do not say how far off they may be. Name their "
        f"standard deviations, --mean {name} --std NAME, or columns of draws, --samples 'm_*', or of quantiles, "
        "--quantiles 'q*'"
    )
