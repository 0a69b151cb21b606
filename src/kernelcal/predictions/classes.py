"""What the families for class targets share: labels 0 to m - 1 drawn by inverting the distribution function."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable
from typing import Any, Self

import numpy as np

from kernelcal.arrays import Array, row_slices, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import Predictions, trusted

__all__ = ["ClassPredictions", "checked_classes"]

_COMPARE_UP_TO = 16  # classes; above, a binary search in every row is quicker than comparing with every class
_CHUNK_BYTES = 2**25


def checked_classes(classes: Any, number: int) -> tuple[Any, ...] | None:
    """Return the class names as a tuple of `number` distinct values."""
    if classes is None:
        return None
    if isinstance(classes, str) or not hasattr(classes, "__iter__"):
        raise InputError(f"classes must be a sequence of labels, one a column, got {classes!r}")
    names = tuple(c.item() if isinstance(c, np.generic) else c for c in classes)
    if len(names) != number:
        raise InputError(f"classes names {len(names)} classes, but the predictions have {number}: {names[:5]}")
    if not all(isinstance(name, Hashable) for name in names):
        raise InputError(f"classes must be labels such as numbers and text, got {names[:5]}")
    if len(set(names)) != number:
        raise InputError(f"classes must be distinct, got {names[:10]}")
    return names


class ClassPredictions(Predictions):
    """Predictions of one of m classes.

    Attributes
    ----------
    classes : tuple or None
        What the targets are called, in the order of the columns; None means the integers 0 to m - 1.
    question : str or None
        What is asked, if not the class itself: a lens writes it here, and results repeat it.
    """

    classes: tuple[Any, ...] | None
    question: str | None = None

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

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """Tell which labels had a predicted probability of exactly 0, shape (..., n)."""
        return self.probability_of(y) == 0

    def top_labels(self) -> np.ndarray:
        """Most probable class of every row, shape (n,): the first of equals; of two, the second (p >= 1/2)."""
        p = to_numpy(self.probabilities)
        return (p[:, 1] >= p[:, 0]).astype(np.int64) if p.shape[1] == 2 else p.argmax(axis=1)

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
        p, top = np.asarray(self.probabilities), self.top_labels()
        rows = np.arange(len(self))
        predicted = [f"{self.class_name(k)} ({a:.3f})" for k, a in zip(top, p[rows, top], strict=True)]
        return predicted, [f"{self.class_name(k)} ({a:.3f})" for k, a in zip(y, p[rows, y], strict=True)]

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Invert the distribution function: the label is the number of cumulative probabilities <= u.

        A class of probability 0 is never drawn. A row whose sum is 1 only up to rounding is treated as if
        divided by its sum, since labels need a distribution; the predictions themselves stay as given.
        """
        labels = np.empty(uniforms.shape, dtype=np.min_scalar_type(self.n_classes - 1))  # a byte for most
        for part in row_slices(len(self), _CHUNK_BYTES // (8 * (self.n_classes + len(uniforms)))):
            cumulative = np.cumsum(to_numpy(self[part].probabilities), axis=1, dtype=np.float64)
            cumulative /= cumulative[:, -1:]
            labels[:, part] = _invert(cumulative, uniforms[:, part])
        return labels


def _invert(cumulative: np.ndarray, uniforms: np.ndarray) -> np.ndarray:
    """Count, per row, the cumulative probabilities that do not exceed u (u < 1, the last one is 1)."""
    labels = np.zeros(uniforms.shape, dtype=np.min_scalar_type(cumulative.shape[1] - 1))
    if cumulative.shape[1] <= _COMPARE_UP_TO:
        for bound in cumulative.T[:-1]:
            labels += uniforms >= bound
    else:
        for row, bounds in enumerate(cumulative):
            labels[:, row] = np.searchsorted(bounds, uniforms[:, row], side="right")
    return labels
