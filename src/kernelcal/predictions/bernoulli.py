"""Two classes, one probability."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, as_array, namespace, place_of, take_rows, to_numpy
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.checks import checked_vector, floating
from kernelcal.predictions.classes import ClassPredictions, checked_classes
from kernelcal.predictions.parameters import BOTH, Reading

__all__ = ["Bernoulli"]


@dataclass(frozen=True, eq=False)
class Bernoulli(ClassPredictions):
    """Predicted probability that a yes/no question is answered by yes: ``P(Y = 1) = p``.

    Parameters
    ----------
    p : array of shape (n,)
        Probability of the positive class (label 1), in [0, 1].
    classes : pair of labels, optional
        What the targets are called, ``(negative, positive)``. Without it targets are 0 and 1, or booleans.
    question : str, optional
        What is asked, such as ``"top label"`` for the probability that the first choice is right.

    Raises
    ------
    InputError
        If a value is missing or outside [0, 1]; values off by rounding (1e-6) are set to the bound with a note.

    See Also
    --------
    Categorical : more than two classes.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.Bernoulli([0.2, 0.7, 0.9])
    >>> len(predictions), predictions.n_classes
    (3, 2)
    >>> predictions.sample(rng=0, size=2)
    array([[0, 0, 0],
           [0, 1, 1]])
    """

    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(BOTH, ("Bernoulli", "BernoulliProbs", "BernoulliLogits"), ("probs",)),
    )

    p: Array
    classes: tuple[Any, ...] | None = None
    notes: tuple[str, ...] = ()
    question: str | None = None

    def __post_init__(self) -> None:
        p, notes = checked_vector(floating(as_array(self.p)))
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "classes", checked_classes(self.classes, 2))
        object.__setattr__(self, "notes", self.notes + notes)

    def __len__(self) -> int:
        return int(self.p.shape[0])

    def __getitem__(self, index: Any) -> Self:
        return trusted(self, p=take_rows(self.p, checked_index(index)))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to the array of probabilities."""
        return trusted(self, p=function(self.p))

    @property
    def n_classes(self) -> int:
        """Number of classes: 2."""
        return 2

    @property
    def probabilities(self) -> Array:
        """Predicted probability of both classes, shape (n, 2)."""
        return namespace(self.p).stack([1 - self.p, self.p], axis=1)

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Invert the distribution function: label 1 where u reaches the probability of label 0, as for more classes."""
        p = to_numpy(self.p)
        zero = (1 - p).astype(np.float64)
        return (uniforms >= zero / (zero + p)).view(np.uint8)

    def probability_of(self, labels: np.ndarray) -> np.ndarray:
        """Predicted probability of the labels, shape (..., n)."""
        p = to_numpy(self.p)
        return np.where(labels == 1, p, 1 - p)

    def log_prob(self, y: Array) -> Array:
        """Logarithm of the predicted probability of the labels, shape (n,)."""
        xp = namespace(self.p)
        positive = xp.asarray(to_numpy(y) == 1, device=place_of(self.p))
        return xp.log(xp.where(positive, self.p, 1 - self.p))

    def in_words(self, y: np.ndarray) -> tuple[list[str], list[str]]:
        """The probability, and what happened."""
        return [f"{p:.3f}" for p in self.p], [str(self.class_name(k)) for k in y]

    def tempered(self, temperature: float) -> Self:
        """The logit over T; 0 and 1 stay."""
        p = self.p
        xp, zero = namespace(p), namespace(p).zeros_like(p)
        with np.errstate(divide="ignore"):
            logits = (xp.log(p) - xp.log1p(-p)) / temperature
        up, down = xp.exp(xp.minimum(logits, zero)), xp.exp(-xp.maximum(logits, zero))
        return trusted(self, p=up / (up + down))
