"""Where a witness is looked at: an even grid for one probability, else some of the predictions themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.predictions import Bernoulli, ClassPredictions, trusted
from kernelcal.randomness import generator_of

__all__ = ["Places", "places_of"]

_GRID, _ROWS = 101, 200


@dataclass(frozen=True, eq=False)
class Places:
    """Predictions at which a witness is looked at.

    Attributes
    ----------
    predictions : Predictions
        One a place.
    rows : numpy.ndarray of shape (P,), or None
        Rows that they are, None for a grid.
    """

    predictions: Any
    rows: np.ndarray | None


def places_of(batch: Any) -> Places:
    """Choose places from the predictions alone, so that the level of the band is exact."""
    if isinstance(batch, ClassPredictions) and batch.n_classes == 2:
        return Places(_on_line(batch), None)
    rows = np.arange(len(batch))
    if len(rows) > _ROWS:
        rows = np.sort(generator_of(0).choice(len(batch), _ROWS, replace=False))
    return Places(batch[rows], rows)


def _on_line(batch: ClassPredictions) -> ClassPredictions:
    """Even grid between the smallest and the largest predicted probability."""
    p = np.asarray(batch.probabilities)[:, 1]
    grid = np.unique(np.linspace(p.min(), p.max(), _GRID))
    if isinstance(batch, Bernoulli):
        return trusted(batch, p=grid)
    return trusted(batch, probs=np.stack([1 - grid, grid], axis=1))
