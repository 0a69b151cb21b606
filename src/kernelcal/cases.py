"""What a user gave, checked once: targets, predictions, case weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from kernelcal.arrays import Array, to_numpy
from kernelcal.errors import InputError
from kernelcal.lenses import seen
from kernelcal.predictions import ClassPredictions, Predictions, checked_pair, checked_weights

__all__ = ["Case"]


@dataclass(frozen=True, eq=False)
class Case:
    """Targets beside predictions, row by row, and what else is known of the rows.

    `Case.of` is the one border between what people have and what the library computes with: public functions build
    a case and hand it down whole; whatever takes a case trusts it. What rows may have besides (clusters, times,
    covariates) belongs here, so that no function needs another argument for it.

    Attributes
    ----------
    targets : numpy.ndarray of shape (n,), or (n, d) for vectors
        Class labels 0 to m - 1 in the order of the classes, or numbers.
    predictions : Predictions
        As given: their arrays may belong to any library and lie on any device.
    weights : numpy.ndarray of shape (n,), or None
        Case weights with mean 1; None where every row counts alike.
    """

    targets: np.ndarray
    predictions: Any
    weights: np.ndarray | None = None

    @classmethod
    def of(
        cls,
        y: Any,
        predictions: Any,
        *,
        weights: Any = None,
        lens: Any = None,
        classes: Any = None,
        normalize: bool = False,
    ) -> Self:
        """Check what a user gave, or refuse it with the row and the remedy.

        Parameters
        ----------
        y : array of shape (n,), or (n, d) for vectors
            Targets: class numbers 0 to m - 1, booleans, or labels named by `classes`; or numbers.
        predictions : Predictions or what `as_predictions` takes
            Predicted probabilities, or a family for numbers.
        weights : array of shape (n,), optional
            Case weights, not negative; only their ratios matter.
        lens : Lens, optional
            A simpler question: targets and predictions are those of its answers.
        classes, normalize
            As for `as_predictions`.

        Raises
        ------
        InputError
            With the row and the remedy.
        """
        targets, batch = checked_pair(y, predictions, classes=classes, normalize=normalize)
        return cls(targets, batch, checked_weights(weights, len(batch))).through(lens)

    def __len__(self) -> int:
        return len(self.predictions)

    def __getitem__(self, rows: Any) -> Self:
        """Return some of the rows; weights keep their ratios."""
        weights = None if self.weights is None else self.weights[rows]
        return replace(self, targets=self.targets[rows], predictions=self.predictions[rows], weights=weights)

    def through(self, lens: Any) -> Self:
        """Return the case as a lens shows it; itself without one."""
        if lens is None:
            return self
        targets, batch = seen(self.targets, self.predictions, lens)
        return replace(self, targets=targets, predictions=batch)

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Return the case with a function applied to every array of its predictions."""
        return replace(self, predictions=self.predictions.map_arrays(function))

    @cached_property
    def in_numpy(self) -> Self:
        """The case with predictions in NumPy."""
        return self.map_arrays(to_numpy)

    @cached_property
    def placed(self) -> Predictions:
        """Predictions where sums over pairs of rows are made (`Predictions.placed`)."""
        return self.predictions.placed()

    @property
    def named_targets(self) -> np.ndarray:
        """Targets as the predictions call them: names of classes where these have names."""
        batch = self.predictions
        if not isinstance(batch, ClassPredictions) or batch.classes is None:
            return self.targets
        return np.array(batch.classes, dtype=object)[self.targets]

    def of_classes(self) -> Self:
        """Return itself, or refuse predictions of numbers."""
        if not isinstance(self.predictions, ClassPredictions):
            raise InputError(
                f"this needs predicted class probabilities, got {type(self.predictions).__name__}: for numbers use "
                "kernelcal.evaluate, calibration_test, skce, ucme or statistics.crps"
            )
        return self
