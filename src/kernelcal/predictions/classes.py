"""Predictions of classes: one probability of two classes, or a row of probabilities of many."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, as_array, namespace, place_of, resident, to_numpy
from kernelcal.predictions.base import Predictions, checked_classes, taken, trusted
from kernelcal.predictions.border import checked_matrix, checked_vector, floating
from kernelcal.predictions.foreign import BOTH, Reading
from kernelcal.predictions.log_scale import (
    checked_logs,
    log_complement,
    log_of,
    log_sigmoid,
    log_softmax,
    tempered_probability,
)

__all__ = ["Bernoulli", "Categorical", "ClassPredictions"]


_COMPARE_UP_TO = 16  # classes; above, a binary search in every row is quicker than comparing with every class
_DRAWS = 8  # that are compared with all bounds while they are in the cache
_CHUNK_BYTES = 2**21  # of cumulative probabilities and uniform numbers, which stay in the cache


class ClassPredictions(Predictions):
    """Predictions of one of m classes.

    Attributes
    ----------
    classes : tuple or None
        What the targets are called, in the order of the columns; None means the integers 0 to m - 1.
    question : str or None
        What is asked, if not the class itself: a lens writes it here, and results repeat it.
    logs : array of shape (n, m), or None
        Logarithms of the probabilities of every class, where predictions came as such (`Logits`, `LogProbs`): they hold
        what a probability that rounds to 0 or 1 does not. Log scores, slopes and impossible labels are told by them.

    Examples
    --------
    >>> import kernelcal as kc
    >>> p = kc.Categorical([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
    >>> p.n_classes, p.top_labels()
    (3, array([1, 2]))
    """

    classes: tuple[Any, ...] | None
    question: str | None = None
    logs: Array | None = None

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Number of classes m."""

    @property
    @abstractmethod
    def probabilities(self) -> Array:
        """Predicted probability of every class, shape (n, m)."""

    @abstractmethod
    def probability_of(self, labels: np.ndarray) -> np.ndarray:
        """Predicted probability of the labels, shape (..., n) like `labels`, in NumPy."""

    @property
    def log_probabilities(self) -> Array:
        """Logarithm of the predicted probability of every class, shape (n, m), as given or of what was given."""
        return log_of(self.probabilities) if self.logs is None else self.logs

    def log_probability_of(self, labels: np.ndarray) -> np.ndarray:
        """Logarithm of the predicted probability of the labels, shape (..., n) like `labels`, in NumPy and float64."""
        if self.logs is not None:
            return to_numpy(self.logs)[np.arange(len(self)), labels].astype(np.float64)
        with np.errstate(divide="ignore"):
            return np.log(self.probability_of(labels), dtype=np.float64)

    def table(self, rows: slice = slice(None)) -> np.ndarray:
        """Predicted probability of every class for some rows, shape (rows, m), in NumPy."""
        p = self.probabilities
        return (p if isinstance(p, np.ndarray) else to_numpy(p))[rows]

    def log_table(self, rows: slice) -> np.ndarray:
        """Logarithms of the same, -inf where a class is ruled out."""
        if self.logs is not None:
            return to_numpy(self.logs)[rows]
        with np.errstate(divide="ignore"):
            return np.log(self.table(rows))

    def finite_logs(self, rows: slice) -> np.ndarray:
        """Logarithms of the same in float64, 0 where they are -inf: to be summed."""
        if self.logs is None:
            p = self.table(rows).astype(np.float64)
            return np.log(np.where(p > 0, p, 1))
        logs = self.log_table(rows).astype(np.float64)
        return np.where(np.isneginf(logs), 0.0, logs)

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """Tell which labels had a predicted probability of exactly 0 (a logarithm of -inf), shape (..., n)."""
        if self.logs is not None:
            return np.isneginf(self.log_probability_of(y))
        return self.probability_of(y) == 0

    def top_labels(self) -> np.ndarray:
        """Most probable class of every row, shape (n,): the first of equals; of two, the second (p >= 1/2)."""
        p = self.table()
        return (p[:, 1] >= p[:, 0]).astype(np.int64) if p.shape[1] == 2 else p.argmax(axis=1)

    def top_probabilities(self, top: np.ndarray) -> Array:
        """Probability of the most probable class, shape (n,), where `top` are the `top_labels`."""
        p = self.probabilities
        if isinstance(p, np.ndarray):
            return p[np.arange(len(p)), top]  # a look-up: the largest of a few columns takes NumPy thirty times as long
        return namespace(p).max(p, axis=1)

    @property
    def columns(self) -> int:
        """Number of classes."""
        return self.n_classes

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target: a class label is a scalar."""
        return ()

    @property
    def reference(self) -> Array:
        """The class probabilities."""
        return self.probabilities

    @property
    def mean(self) -> Array:
        """Mean of the one-hot encoded target: the class probabilities."""
        return self.probabilities

    def without_names(self) -> Self:
        """Copy whose targets are the integers 0 to m - 1."""
        return trusted(self, classes=None)

    def class_name(self, label: int) -> Any:
        """Return the name of a class."""
        return int(label) if self.classes is None else self.classes[label]

    @property
    def kind(self) -> tuple[Any, ...]:
        """Family, and number of classes."""
        return (type(self), (self.n_classes,))

    def in_words(self, y: np.ndarray) -> tuple[list[str], list[str]]:
        """The most probable class and the one that happened, with their probabilities."""
        p, top = self.table(), self.top_labels()
        rows = np.arange(len(self))
        predicted = [f"{self.class_name(k)} ({a:.3f})" for k, a in zip(top, p[rows, top], strict=True)]
        return predicted, [f"{self.class_name(k)} ({a:.3f})" for k, a in zip(y, p[rows, y], strict=True)]

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Invert the distribution function: the label is the number of cumulative probabilities <= u.

        A class of probability 0 is never drawn. A row whose sum is 1 only up to rounding is treated as if
        divided by its sum, since labels need a distribution; the predictions themselves stay as given.
        """
        p = self.table()
        labels = np.zeros(uniforms.shape, dtype=np.min_scalar_type(p.shape[1] - 1))  # a byte for most
        at_once = min(len(uniforms), _DRAWS) if p.shape[1] <= _COMPARE_UP_TO else len(uniforms)
        step = max(1, _CHUNK_BYTES // (8 * (p.shape[1] + at_once)))
        for first in range(0, len(p), step):
            part = slice(first, first + step)
            cumulative = np.cumsum(p[part], axis=1, dtype=np.float64)
            cumulative /= cumulative[:, -1:]
            _invert(cumulative, uniforms[:, part], labels[:, part])
        return labels


def _invert(cumulative: np.ndarray, uniforms: np.ndarray, labels: np.ndarray) -> None:
    """Count, per row, the cumulative probabilities that do not exceed u (u < 1, the last one is 1), from 0 on."""
    if cumulative.shape[1] <= _COMPARE_UP_TO:
        bounds = np.ascontiguousarray(cumulative.T[:-1])
        for first in range(0, len(uniforms), _DRAWS):
            own, some = uniforms[first : first + _DRAWS], labels[first : first + _DRAWS]
            for bound in bounds:
                some += own >= bound
    else:
        for row, bounds in enumerate(cumulative):
            labels[:, row] = np.searchsorted(bounds, uniforms[:, row], side="right")


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
    logs : array of shape (n, 2), optional
        Logarithms of 1 - p and of p, where more is known than p holds; `from_logits` and `from_log_probs` make them.

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
    array([[0, 1, 1],
           [0, 1, 1]])
    """

    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(BOTH, ("Bernoulli", "BernoulliProbs"), ("probs",)),
        Reading(BOTH, ("BernoulliLogits",), ("logits",), constructor="from_logits"),
    )

    p: Array
    classes: tuple[Any, ...] | None = None
    notes: tuple[str, ...] = ()
    question: str | None = None
    logs: Array | None = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        p, notes = checked_vector(floating(as_array(self.p)))
        object.__setattr__(self, "p", p)
        object.__setattr__(self, "classes", checked_classes(self.classes, 2))
        object.__setattr__(self, "notes", self.notes + notes)
        if self.logs is not None:
            object.__setattr__(self, "logs", checked_logs(self.logs, self.probabilities))

    @classmethod
    def from_logits(cls, logits: Any, classes: Any = None, **options: Any) -> Self:
        """Predictions ``p = 1 / (1 + exp(-x))`` of logits of shape (n,), which keep log p and log(1 - p).

        Examples
        --------
        >>> import numpy as np, kernelcal as kc
        >>> kc.Bernoulli.from_logits([40.0, 750.0]).log_prob(np.array([0, 0]))
        array([ -40., -750.])
        """
        x = floating(as_array(logits))
        x = x.astype(np.float64, copy=False) if isinstance(x, np.ndarray) else x  # 1 - p must keep its digits as well
        xp, zero = namespace(x), namespace(x).zeros_like(x)
        up, down = xp.exp(xp.minimum(x, zero)), xp.exp(-xp.maximum(x, zero))
        # the logistic function: no overflow, and all digits of small probabilities
        return trusted(cls(up / (up + down), classes, **options), logs=log_sigmoid(x))

    @classmethod
    def from_log_probs(cls, logs: Any, classes: Any = None, **options: Any) -> Self:
        """Predictions of log-probabilities of yes, shape (n,), which keep them."""
        x = floating(as_array(logs))
        x = namespace(x).minimum(x, namespace(x).zeros_like(x))  # above 0 by rounding
        both = namespace(x).stack([log_complement(x), x], axis=1)
        return trusted(cls(namespace(x).exp(x), classes, **options), logs=both)

    def __len__(self) -> int:
        return int(self.p.shape[0])

    def __getitem__(self, index: Any) -> Self:
        return taken(self, index, "p", "logs")

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to the array of probabilities, and to that of logarithms."""
        return trusted(self, p=function(self.p), logs=None if self.logs is None else function(self.logs))

    @property
    def n_classes(self) -> int:
        """Number of classes: 2."""
        return 2

    @property
    def probabilities(self) -> Array:
        """Predicted probability of both classes, shape (n, 2)."""
        return namespace(self.p).stack([1 - self.p, self.p], axis=1)

    def table(self, rows: slice = slice(None)) -> np.ndarray:
        """Predicted probability of both classes for some rows, shape (rows, 2), in NumPy."""
        p = to_numpy(self.p)[rows]
        return np.stack([1 - p, p], axis=1)

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
        if self.logs is not None:
            return xp.where(positive, self.logs[:, 1], self.logs[:, 0])
        return xp.log(xp.where(positive, self.p, 1 - self.p))

    def in_words(self, y: np.ndarray) -> tuple[list[str], list[str]]:
        """The probability, and what happened."""
        return [f"{p:.3f}" for p in self.p], [str(self.class_name(k)) for k in y]

    def tempered(self, temperature: float) -> Self:
        """The logit over T; 0 and 1 stay."""
        if self.logs is None:
            with np.errstate(divide="ignore"):
                logit = namespace(self.p).log(self.p) - namespace(self.p).log1p(-self.p)
            p = tempered_probability(self.p, temperature)
        else:
            logit = self.logs[:, 1] - self.logs[:, 0]
            p = namespace(logit).exp(log_sigmoid(logit / temperature)[:, 1])
        return trusted(self, p=p, logs=log_sigmoid(logit / temperature))


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
    logs : array of shape (n, m), optional
        Logarithms of the probabilities, where more is known than they hold; `from_logits` and `from_log_probs` make
        them.

    Raises
    ------
    InputError
        If a value is missing or outside [0, 1], or a row does not sum to 1. Rows off by the rounding of three to six
        decimals are divided by their sums, with a note; see `as_predictions` for all else.

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
        Reading(BOTH, ("Categorical", "CategoricalProbs"), ("probs",), axes=(1,)),
        Reading(BOTH, ("CategoricalLogits",), ("logits",), axes=(1,), constructor="from_logits"),
    )

    probs: Array
    classes: tuple[Any, ...] | None = None
    notes: tuple[str, ...] = ()
    question: str | None = None
    logs: Array | None = field(default=None, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        probs, notes = checked_matrix(as_array(self.probs))
        object.__setattr__(self, "probs", probs)
        object.__setattr__(self, "classes", checked_classes(self.classes, int(probs.shape[1])))
        object.__setattr__(self, "notes", self.notes + notes)
        if self.logs is not None:
            object.__setattr__(self, "logs", checked_logs(self.logs, probs))

    @classmethod
    def from_logits(cls, logits: Any, classes: Any = None, **options: Any) -> Self:
        """Predictions by the softmax of every row of logits, shape (n, m), which keep its logarithm.

        Examples
        --------
        >>> import numpy as np, kernelcal as kc
        >>> kc.Categorical.from_logits([[0.0, 750.0], [40.0, 0.0]]).log_prob(np.array([0, 1]))
        array([-750.,  -40.])
        """
        x = floating(as_array(logits))
        xp = namespace(x)
        powers = xp.exp(x - xp.max(x, axis=1, keepdims=True))
        probs = powers / xp.sum(powers, axis=1, keepdims=True)
        return trusted(cls(probs, classes, **options), logs=log_softmax(x))

    @classmethod
    def from_log_probs(cls, logs: Any, classes: Any = None, **options: Any) -> Self:
        """Predictions of log-probabilities, shape (n, m), which keep them."""
        given = as_array(logs)
        x = floating(given)
        x = namespace(x).minimum(x, namespace(x).zeros_like(x))  # above 0 by rounding
        probs, notes = checked_matrix(namespace(x).exp(x), precision=given)
        x = log_softmax(x) if notes else x  # rows that were divided by their sums
        return trusted(cls(probs, classes, **{**options, "notes": options.get("notes", ()) + notes}), logs=x)

    def __len__(self) -> int:
        return int(self.probs.shape[0])

    def __getitem__(self, index: Any) -> Self:
        return taken(self, index, "probs", "logs")

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to the array of probabilities, and to that of logarithms."""
        return trusted(self, probs=function(self.probs), logs=None if self.logs is None else function(self.logs))

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
        return self.table()[np.arange(len(self)), labels]

    def log_prob(self, y: Array) -> Array:
        """Logarithm of the predicted probability of the labels, shape (n,)."""
        xp = namespace(self.probs)
        columns = xp.asarray(to_numpy(y).astype(np.int64), device=place_of(self.probs))[:, None]
        if self.logs is not None:
            return xp.take_along_axis(self.logs, columns, axis=1)[:, 0]
        return xp.log(xp.take_along_axis(self.probs, columns, axis=1)[:, 0])

    def tempered(self, temperature: float) -> Self:
        """Log-probabilities over T; zeros stay zero."""
        xp, logs = namespace(self.probs), self.log_probabilities
        powers = xp.exp((logs - xp.max(logs, axis=1, keepdims=True)) / temperature)
        probs = powers / xp.sum(powers, axis=1, keepdims=True)
        return trusted(self, probs=probs, logs=log_softmax(logs / temperature))
