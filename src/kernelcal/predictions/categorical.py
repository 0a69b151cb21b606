"""Many classes, a row of probabilities."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, as_array, namespace, place_of, resident, take_rows, to_numpy
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.checks import checked_matrix, floating
from kernelcal.predictions.classes import ClassPredictions, checked_classes
from kernelcal.predictions.parameters import BOTH, Reading

__all__ = ["Categorical"]


@dataclass(frozen=True, eq=False)
class Categorical(ClassPredictions):
    """Predicted probabilities of m classes: ``P(Y = k) = probs[:, k]``.

    Parameters
    ----------
    probs : array of shape (n, m)
        Row i holds the probabilities of the classes for sample i, in [0, 1] with sum 1 (tolerance 1e-5).
    classes : sequence of m labels, optional
        What the targets are called, in the order of the columns. Without it targets are 0 to m - 1.
    question : str, optional
        What is asked, if not the class itself; lenses write it.

    Raises
    ------
    InputError
        If a value is missing or outside [0, 1], or a row does not sum to 1. Nothing is normalised or clipped
        on the quiet: see `as_predictions` for ``normalize=True``, and `Logits`, `LogProbs`, `Percent`.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.Categorical([[0.2, 0.8, 0.0], [0.1, 0.3, 0.6]], classes=["cat", "dog", "owl"])
    >>> len(predictions), predictions.n_classes, predictions.class_name(2)
    (2, 3, 'owl')
    >>> predictions[1:].probs
    array([[0.1, 0.3, 0.6]])
    """

    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(BOTH, ("Categorical", "CategoricalProbs", "CategoricalLogits"), ("probs",), axes=(1,)),
    )

    probs: Array
    classes: tuple[Any, ...] | None = None
    notes: tuple[str, ...] = ()
    question: str | None = None

    def __post_init__(self) -> None:
        probs, notes = checked_matrix(floating(as_array(self.probs)))
        object.__setattr__(self, "probs", probs)
        object.__setattr__(self, "classes", checked_classes(self.classes, int(probs.shape[1])))
        object.__setattr__(self, "notes", self.notes + notes)

    def __len__(self) -> int:
        return int(self.probs.shape[0])

    def __getitem__(self, index: Any) -> Self:
        return trusted(self, probs=take_rows(self.probs, checked_index(index)))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to the array of probabilities."""
        return trusted(self, probs=function(self.probs))

    def placed(self) -> Self:
        """Copy in float64 on the accelerator where the probabilities lie, or in NumPy."""
        return self.map_arrays(resident)

    @property
    def n_classes(self) -> int:
        """Number of classes m."""
        return int(self.probs.shape[1])

    @property
    def probabilities(self) -> Array:
        """Predicted probability of every class, shape (n, m)."""
        return self.probs

    def probability_of(self, labels: np.ndarray) -> np.ndarray:
        """Predicted probability of the labels, shape (..., n)."""
        return to_numpy(self.probs)[np.arange(len(self)), labels]

    def log_prob(self, y: Array) -> Array:
        """Logarithm of the predicted probability of the labels, shape (n,)."""
        xp = namespace(self.probs)
        columns = xp.asarray(to_numpy(y).astype(np.int64), device=place_of(self.probs))[:, None]
        return xp.log(xp.take_along_axis(self.probs, columns, axis=1)[:, 0])

    def tempered(self, temperature: float) -> Self:
        """Log-probabilities over T; zeros stay zero."""
        xp = namespace(self.probs)
        with np.errstate(divide="ignore"):  # the logarithm of 0 is -inf, and its exponential 0 again
            logs = xp.log(self.probs)
        powers = xp.exp((logs - xp.max(logs, axis=1, keepdims=True)) / temperature)
        return trusted(self, probs=powers / xp.sum(powers, axis=1, keepdims=True))
