"""What reading a file gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.predictions import Predictions

__all__ = ["Data"]


@dataclass(frozen=True, eq=False)
class Data:
    """Targets and predictions, and a sentence that says what was read.

    Attributes
    ----------
    y : numpy.ndarray
        Targets.
    predictions : Predictions
        Predictions.
    description : str
        File, rows, columns, classes, kind, and what was dropped.
    weights : numpy.ndarray or None
        Case weights, where a column of them was named.
    keys : list of str or None
        What tells the rows apart, where it is known.
    groups : dict of str to list of str, or None
        Columns that --groups names, and what they say of every row.
    """

    y: np.ndarray
    predictions: Predictions
    description: str
    weights: np.ndarray | None = None
    keys: list[str] | None = None
    groups: dict[str, list[str]] | None = None
