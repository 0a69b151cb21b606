"""What a user gave, checked once: targets, predictions, case weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from kernelcal.arrays import Array, to_numpy
from kernelcal.covariates import Covariates
from kernelcal.dependence import Dependence
from kernelcal.errors import InputError
from kernelcal.predictions import ClassPredictions, RealPredictions, checked_pair, checked_weights

__all__ = ["Case", "refuse_lens", "refuse_numbers"]


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
    numbers : numpy.ndarray of shape (n,), or None
        Numbers of the rows where they come from, such as a file of which some were dropped; None: 0, 1, 2, ...
    given : Covariates or None
        What else is known of the rows, and calibration may depend on; None where nothing is.
    rows : Dependence or None
        Which rows depend on each other; None where they are independent.

    Examples
    --------
    >>> from kernelcal.cases import Case
    >>> case = Case.of(["no", "yes"], [0.2, 0.7], classes=("no", "yes"))
    >>> case.targets, len(case)
    (array([0, 1]), 2)
    """

    targets: np.ndarray
    predictions: Any
    weights: np.ndarray | None = None
    numbers: np.ndarray | None = None
    given: Covariates | None = None
    rows: Dependence | None = None

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
        given: Any = None,
        clusters: Any = None,
        time: Any = None,
        horizon: int | None = None,
        series: Any = None,
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
            A simpler question: targets and predictions are those of its answers. What is no lens is refused before the
            data are looked at.
        classes, normalize
            As for `as_predictions`.
        given : array of shape (n,) or (n, d), mapping of names to columns, or data frame, optional
            What else is known of the rows before their outcomes (`covariates.Covariates`).
        clusters, time, horizon, series
            Which rows depend on each other (`dependence.Dependence`).

        Raises
        ------
        InputError
            With the row and the remedy.
        """
        refuse_lens(lens)
        targets, batch = checked_pair(y, predictions, classes=classes, normalize=normalize)
        known = None
        if given is not None:
            known = Covariates.of(given, len(batch))
            known.refuse_outcome(targets)
        said = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
        rows = None if all(one is None for one in said.values()) else Dependence.of(len(batch), **said)
        return cls(targets, batch, checked_weights(weights, len(batch)), given=known, rows=rows).through(lens)

    def __len__(self) -> int:
        return len(self.targets)

    def __getitem__(self, rows: Any) -> Self:
        """Return some of the rows, with their weights as they are."""
        weights = None if self.weights is None else self.weights[rows]
        numbers, given = self.row_numbers[rows], None if self.given is None else self.given[rows]
        taken = {"targets": self.targets[rows], "predictions": self.predictions[rows], "weights": weights}
        dependent = None if self.rows is None else self.rows[rows]
        return replace(self, **taken, numbers=numbers, given=given, rows=dependent)

    def through(self, lens: Any) -> Self:
        """Return the case as a lens shows it; itself without one."""
        if lens is None:
            return self
        refuse_lens(lens)
        refuse_numbers(self.predictions)
        view = lens.view(self.predictions)
        return replace(self, targets=view.relabel(self.targets), predictions=view.predictions)

    def without_names(self) -> Self:
        """Return the case with classes that are numbers, as its targets are."""
        return replace(self, predictions=self.predictions.without_names())

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Return the case with a function applied to every array of its predictions."""
        return replace(self, predictions=self.predictions.map_arrays(function))

    @property
    def in_numpy(self) -> Self:
        """The case with predictions in NumPy; itself where they are."""
        return self if isinstance(self.predictions.reference, np.ndarray) else self._fetched

    @cached_property
    def _fetched(self) -> Self:  # a case must not hold itself: its rows would stay until Python looks for circles
        return self.map_arrays(to_numpy)

    @property
    def placed(self) -> Self:
        """The case with predictions where sums over pairs of rows are made (`Predictions.placed`)."""
        return self if self.in_numpy is self else self._placed

    @cached_property
    def _placed(self) -> Self:
        return replace(self, predictions=self.predictions.placed())

    @cached_property
    def in_cells(self) -> Self:
        """The case of quantile forecasts as tests redraw it: cells for outcomes, and what cells are drawn from."""
        cells = self.predictions.cells
        return replace(self, targets=cells.codes(self.targets), predictions=cells)

    @property
    def row_numbers(self) -> np.ndarray:
        """Numbers by which rows are named."""
        return np.arange(len(self)) if self.numbers is None else self.numbers

    def mean(self, values: np.ndarray) -> float:
        """Mean of numbers, one a row; a row of weight 0 counts nothing, whatever its value."""
        own = self.weights
        return float(values.mean() if own is None else np.where(own > 0, values, 0) @ own / len(values))

    def of_numbers(self) -> Self:
        """Return itself, or refuse predictions of classes."""
        if not isinstance(self.predictions, RealPredictions):
            raise InputError(
                f"this needs predictions of numbers, got {type(self.predictions).__name__}: for classes use "
                "kernelcal.statistics.log_score, brier_score or accuracy, or kernelcal.evaluate"
            )
        return self

    def of_one_number(self, what: str) -> Self:
        """Return itself, or refuse classes and vectors; `what` needs one number a target."""
        event_shape = self.of_numbers().predictions.event_shape
        if event_shape:
            raise InputError(
                f"{what} needs one number a target, got targets of shape {event_shape}: take one coordinate at a "
                "time, (y[:, k], kernelcal.statistics.coordinate(predictions, k))"
            )
        return self

    def of_classes(self) -> Self:
        """Return itself, or refuse predictions of numbers."""
        if not isinstance(self.predictions, ClassPredictions):
            raise InputError(
                f"this needs predicted class probabilities, got {type(self.predictions).__name__}: for numbers use "
                "kernelcal.evaluate, calibration_test, skce, ucme or statistics.crps"
            )
        return self


def refuse_lens(lens: Any) -> None:
    """Refuse what does not ask one question; None asks the targets themselves."""
    if hasattr(lens, "lenses") and not isinstance(lens, type):
        raise InputError(
            "this takes one question, such as kernelcal.OneClass(label), and ClassWise() asks one for every class: use "
            "calibration_test(..., lens=ClassWise()) or ece(..., question='class-wise'), or go through "
            "ClassWise()(y, predictions)"
        )
    if lens is not None and (isinstance(lens, type | np.ndarray) or not hasattr(lens, "view")):
        raise InputError(f"lens must be a lens such as kernelcal.TopLabel(), got {lens!r:.80}")


def refuse_numbers(predictions: Any, asker: str = "a lens") -> None:
    """Refuse predictions that are not of classes."""
    if not isinstance(predictions, ClassPredictions):
        raise InputError(
            f"{asker} asks about classes, and {type(predictions).__name__} predicts numbers: leave it out, or turn the "
            "question into a class yourself, such as y > 3 with kernelcal.Bernoulli(1 - predictions.cdf(3))"
        )
