"""A statistic seen through lenses, while the labels are those of the whole predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kernelcal.lenses import Lens
from kernelcal.predictions import ClassPredictions
from kernelcal.statistics.base import Prepared, Statistic

__all__ = ["Through"]


@dataclass(frozen=True)
class Through(Statistic):
    """One statistic of several simpler questions about the same labels.

    Parameters
    ----------
    statistic : Statistic
        What is computed for every question.
    lenses : sequence of Lens
        The questions.
    """

    statistic: Statistic
    lenses: Sequence[Lens]

    def prepare(self, predictions: ClassPredictions, weights: np.ndarray | None = None) -> Prepared:
        """Prepare the statistic for every question."""
        return _PreparedThrough(self, predictions, weights)

    def resolved(self, predictions: ClassPredictions) -> Statistic:
        """Fix what is chosen from the predictions, where there is one question."""
        if len(self.lenses) != 1:
            return self
        return Through(self.statistic.resolved(self.lenses[0].view(predictions).predictions), self.lenses)


class _PreparedThrough(Prepared):
    def __init__(self, through: Through, predictions: ClassPredictions, weights: np.ndarray | None) -> None:
        self.views = [lens.view(predictions) for lens in through.lenses]
        self.parts = [through.statistic.prepare(view.predictions, weights) for view in self.views]
        several = len(self.views) > 1
        pairs = list(zip(self.views, self.parts, strict=True))
        self.names = tuple(
            f"{view.predictions.question}: {name}" if several else name for view, part in pairs for name in part.names
        )
        self.engine = self.parts[0].engine
        self.notes = tuple(dict.fromkeys(note for part in self.parts for note in part.notes))
        self.bytes_per_draw = max(part.bytes_per_draw for part in self.parts) + 16 * len(predictions)

    def values(self, labels: np.ndarray) -> np.ndarray:
        pairs = zip(self.views, self.parts, strict=True)
        return np.hstack([part.values(view.relabel(labels)) for view, part in pairs])
