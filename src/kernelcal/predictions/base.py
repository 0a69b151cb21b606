"""What every batch of predictions offers."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping
from inspect import isabstract
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.foreign import Reading
from kernelcal.randomness import generator_of
from kernelcal.surroundings import import_all

__all__ = ["Predictions", "checked_classes", "checked_index", "families", "made", "taken", "trusted"]


class Predictions(ABC):
    """A batch of n predictive distributions, held as arrays with the sample on axis 0.

    A family is one frozen dataclass in one file of this folder. It must say how many rows it has, how to
    take some of them, and how to draw targets from them; the exact test needs no more. All else that is asked of
    a family is an optional method, here or in `RealPredictions`: what it lacks is refused where it is needed, with
    the name of the method (`lacks`).

    Attributes
    ----------
    notes : tuple of str
        What was done to the input that the reader of a result must know.
    question : str or None
        What is asked, if not the target itself.
    remedies : mapping of str to str
        Why a family lacks an optional method, by its name, and what to do instead, where it is more than usual.
    given_by : tuple of str
        Names of the arrays of one number (or vector) a row, in the order in which the family takes them: a file may
        hold them as columns.
    readings : tuple of Reading
        What distributions of other libraries are called, and where their parameters are.
    mean : array
        Mean of every target (of the one-hot encoded label), with the sample on axis 0.

    Examples
    --------
    >>> import kernelcal as kc
    >>> p = kc.as_predictions([[0.2, 0.8], [0.5, 0.5]])
    >>> isinstance(p, kc.predictions.Predictions), len(p), len(p[:1])
    (True, 2, 1)
    """

    notes: tuple[str, ...]
    question: str | None
    remedies: ClassVar[Mapping[str, str]] = {}
    given_by: ClassVar[tuple[str, ...]] = ()
    readings: ClassVar[tuple[Reading, ...]] = ()
    _contract: ClassVar[bool] = True  # of this class, not of those below

    if TYPE_CHECKING:  # a family has it as a field or as a property

        @property
        def mean(self) -> Array:
            """Mean of every target."""

    @property
    def drawable(self) -> bool:
        """Whether targets can be drawn; densities known through their score function alone need a sampler."""
        return True

    @property
    def exchangeable(self) -> bool:
        """Whether there are equally likely draws that the outcome may change places with (``pooled``)."""
        return False

    @property
    def uniforms(self) -> int:
        """How many uniform numbers one target takes; with more than one, `draw` gets them on a last axis."""
        return 1

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def __getitem__(self, index: Any) -> Self: ...

    @property
    @abstractmethod
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target."""

    @property
    @abstractmethod
    def columns(self) -> int:
        """How many numbers describe one prediction, which the engines count as work."""

    @abstractmethod
    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Turn uniform numbers, shape (draws, n), into targets, shape ``(draws, n, *event_shape)``.

        Where a target takes k > 1 `uniforms` their shape is (draws, n, k).
        """

    @abstractmethod
    def impossible(self, y: np.ndarray) -> np.ndarray:
        """Tell which targets the predictions had ruled out, shape (..., n)."""

    @property
    def reference(self) -> Array:
        """An array of the batch, which tells library, dtype and device; its values are not looked at."""
        return self.mean

    def without_names(self) -> Self:
        """Copy whose targets need no names."""
        return self

    @abstractmethod
    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to every array, to move a batch to another library or device."""

    def placed(self) -> Self:
        """Copy whose arrays lie where sums over pairs of rows are made: in NumPy, unless a family says more."""
        return self.map_arrays(to_numpy)

    def sample(self, rng: Any = None, size: int = 1) -> np.ndarray:
        """Draw `size` targets from every prediction.

        Parameters
        ----------
        rng : int, numpy.random.Generator or None
            Source of random numbers (SPEC 7).
        size : int
            Number of draws.

        Returns
        -------
        numpy.ndarray
            Shape ``(size, n, *event_shape)``.
        """
        shape = (size, len(self)) if self.uniforms == 1 else (size, len(self), self.uniforms)
        drawn = self.draw(generator_of(rng, "sample").random(shape))
        return drawn.astype(np.int64) if drawn.dtype.kind == "u" else drawn

    @abstractmethod
    def log_prob(self, y: Array) -> Array:
        """Logarithm of the predicted probability (density) of the targets, shape (n,)."""

    @property
    def kind(self) -> tuple[Any, ...]:
        """What two batches must share to be compared row with row: family, and shape of a target."""
        return (type(self), self.event_shape)

    @abstractmethod
    def in_words(self, y: np.ndarray) -> tuple[list[str], list[str]]:
        """Predictions and targets of every row in words, of a batch in NumPy."""

    def tempered(self, temperature: float) -> Self:
        """Predictions ``q ~ p^(1/T)`` with respect to the reference measure that the family names; optional."""
        raise self.lacks("tempered", "temperature", "the power of its distribution is not of its family")

    def temperatures(self, y: np.ndarray) -> np.ndarray | None:
        """Numbers whose weighted mean over rows is the T with the best log score, shape (n,); None: it is searched."""
        return None

    @property
    def largest_temperature(self) -> float:
        """Temperature from which on the power is no distribution."""
        return math.inf

    def wasserstein_coordinates(self) -> Array:
        """Numbers on a new last axis whose Euclidean distance is the 2-Wasserstein distance; optional."""
        raise self.lacks(
            "wasserstein_coordinates",
            "coordinates for the metric Wasserstein",
            "use the metric Euclidean(), or MMD(Gaussian(lengthscale))",
        )

    @classmethod
    def moved(cls, loc: Any, scale: Any, *parameters: Any) -> tuple[Any, ...] | None:
        """Parameters of ``scale * X + loc`` with X of these, or None where that is not of the family."""
        return None

    def lacks(self, method: str, what: str, instead: str = "") -> InputError:
        """Error of a family without an optional method: its name, what it has not, and what to do instead."""
        instead = self.remedies.get(method) or instead or "use a statistic or score that does not need it"
        known = ", ".join(family.__name__ for family in families() if method in _methods(family))
        return InputError(
            f"{type(self).__name__} has no {what}: {instead}. {known or 'No family'} of kernelcal have it; a family of "
            f"your own gets it by the method {method}()"
        )


def families(own: bool = False) -> list[type[Predictions]]:
    """Families of kernelcal in the order of their names, and with `own` those of the user after them."""
    import_all("kernelcal.predictions")
    found = [family for family in _below(Predictions) if not isabstract(family)]
    ours = [family for family in dict.fromkeys(found) if family.__module__.startswith("kernelcal.")]
    rest = [family for family in dict.fromkeys(found) if family not in ours] if own else []
    return [*sorted(ours, key=lambda family: family.__name__), *rest]


def _below(family: Any) -> Iterator[type[Predictions]]:
    for below in family.__subclasses__():
        yield below
        yield from _below(below)


def _methods(family: type[Predictions]) -> set[str]:
    """Methods that a family has by itself or from what it shares with like families, not by the contract alone."""
    own = [cls for cls in family.__mro__ if not cls.__dict__.get("_contract", False)]
    return {name for cls in own for name in vars(cls)}


def made(family: type, **fields: Any) -> Any:
    """Make predictions of a family of arrays that are known to be valid; all fields are to be named."""
    new: Any = object.__new__(family)
    new.__dict__.update(fields)
    return new


def trusted(predictions: Any, **changes: Any) -> Any:
    """Copy predictions with other arrays that are known to be valid: no second look at every value.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> from kernelcal.predictions import trusted
    >>> trusted(kc.Bernoulli([0.2, 0.7]), probs=np.array([0.3])).probs
    array([0.3])
    """
    new = object.__new__(type(predictions))
    new.__dict__.update(predictions.__dict__, **changes)
    return new


def taken(predictions: Any, index: Any, *arrays: str) -> Any:
    """Copy with some rows, by a slice or by integers or booleans, of which these arrays have one entry each."""
    rows, given = checked_index(index), vars(predictions)
    return trusted(predictions, **{name: take_rows(given[name], rows) for name in arrays if given[name] is not None})


def checked_classes(classes: Any, number: int) -> tuple[Any, ...] | None:
    """Return the class names as a tuple of `number` distinct values.

    Examples
    --------
    >>> from kernelcal.predictions import checked_classes
    >>> checked_classes(["cat", "dog"], 2)
    ('cat', 'dog')
    """
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


def checked_index(index: Any) -> Any:
    """Return a slice as it is, and integers or booleans as an integer array; one row alone is no batch.

    Examples
    --------
    >>> from kernelcal.predictions import checked_index
    >>> checked_index([True, False, True]), checked_index(slice(2))
    (array([0, 2]), slice(None, 2, None))
    """
    if isinstance(index, slice):
        return index
    rows = np.asarray(index)
    if rows.ndim != 1 or rows.dtype.kind not in "iub":
        raise InputError(f"rows are taken by a slice or by an array of integers or booleans, got {index!r}: use p[3:4]")
    return np.flatnonzero(rows) if rows.dtype.kind == "b" else rows
