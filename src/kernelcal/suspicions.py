"""Input that can be used but looks like a mistake: say so beside the result, with the likely cause."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.predictions import ClassPredictions, checked_classes_pair
from kernelcal.statistics import accuracy

__all__ = ["suspicions"]

_ROWS = 20  # with fewer rows such things happen by chance


def suspicions(y: Any, predictions: ClassPredictions) -> tuple[str, ...]:
    """Sentences about mistakes that are often made: the wrong column, hard predictions, predicted labels as targets."""
    labels, batch = checked_classes_pair(y, predictions)
    if len(batch) < _ROWS:
        return ()
    share = accuracy(labels, batch.without_names())
    found = []
    if batch.n_classes == 2 and share < 0.2:
        found.append(
            f"the more probable class is right in {share:.1%} of the rows only, the other one in {1 - share:.1%}: is "
            "this the probability of the other class, or are the classes in the wrong order?"
        )
    if _hard(batch):
        found.append(
            "all predictions are 0 or 1: if these are predicted labels, pass the predicted probabilities; labels "
            "alone say nothing about calibration"
        )
    elif share == 1:
        found.append("the target is the most probable class in every row: is it the predicted, not the true label?")
    return tuple(found)


def _hard(batch: ClassPredictions) -> bool:
    p = to_numpy(batch.probabilities)
    return bool(np.all((p == 0) | (p == 1)))
