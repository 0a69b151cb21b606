"""Test locations must be comparable with the predictions: of one family, shape and set of classes."""

from __future__ import annotations

from typing import Any

from kernelcal.errors import InputError
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.statistics.locations import Locations

__all__ = ["refuse_unlike"]


def refuse_unlike(locations: Locations, predictions: Predictions) -> None:
    """Refuse locations of another family, shape or set of classes than the predictions."""
    test = locations.predictions
    if test.kind != predictions.kind:
        here, there = _described(test), _described(predictions)
        other = there if here != there else "too, but their components or levels differ"
        raise InputError(
            f"the test locations are {here}, the predictions {other}: give locations of the same family, or a number "
            "of them, which are then drawn from the predictions"
        )
    if isinstance(test, ClassPredictions) and isinstance(predictions, ClassPredictions):
        names = (test.classes, predictions.classes)
        if None not in names and names[0] != names[1]:
            raise InputError(f"the classes of the test locations are {names[0]}, those of the predictions {names[1]}")


def _described(predictions: Any) -> str:
    family, shape = predictions.kind[:2]
    what = f"{shape[0]} classes" if isinstance(predictions, ClassPredictions) else f"targets of shape {shape}"
    return f"{family.__name__} with {what}"
