"""How other libraries call a family, and the parameters that are read from their distributions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from kernelcal.arrays import Array, as_array, is_numpy, like, namespace
from kernelcal.errors import InputError

__all__ = ["BOTH", "SCIPY", "Parameters", "Reading"]


SCIPY = ("scipy",)
BOTH = ("torch", "numpyro")


@dataclass(frozen=True)
class Reading:
    """What other libraries call a family, and where its parameters are: a family lists these in `readings`.

    Attributes
    ----------
    libraries : tuple of str
        scipy, torch, numpyro.
    names : tuple of str
        Classes of distributions; of scipy also the names of its older ones, such as gamma.
    arguments : tuple of str
        Their attributes, in the order in which `convert` or the family takes them; of the older distributions of
        scipy those that give the shape. Location and scale are left to `moved` of the family.
    convert : callable, optional
        From these arrays to the parameters of the family.
    axes : tuple of int, optional
        How many axes one row of every parameter has; default none.
    defaults : tuple of float
        Values of the last arguments where a distribution has no such attribute.
    constructor : str
        Class method that makes the batch, where it is not the family itself.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.Normal.readings[0].names
    ('norm',)
    """

    libraries: tuple[str, ...]
    names: tuple[str, ...]
    arguments: tuple[str, ...]
    convert: Callable[..., tuple[Any, ...]] | None = None
    axes: tuple[int, ...] | None = None
    defaults: tuple[float, ...] = ()
    constructor: str = ""

    def parameters(self, family: Any, values: tuple[Any, ...], batch_shape: tuple[int, ...] | None) -> Parameters:
        """Parameters of a family from the values of the arguments; without a shape of the batch, that of the values."""
        arrays = tuple(values) if self.convert is None else tuple(self.convert(*values))
        axes = (0,) * len(arrays) if self.axes is None else self.axes
        if batch_shape is None:
            arrays = tuple(np.asarray(x, dtype=np.float64) for x in arrays)
            leading = (x.shape[: x.ndim - k] for x, k in zip(arrays, axes, strict=True))
            batch_shape = np.broadcast_shapes(*leading)
        made = getattr(family, self.constructor) if self.constructor else family
        return Parameters(made, arrays, axes, batch_shape)

    def values(self, x: Any) -> tuple[Any, ...]:
        """Values of the arguments, attributes of a distribution."""
        without = len(self.arguments) - len(self.defaults)
        optional = zip(self.arguments[without:], self.defaults, strict=True)
        needed = tuple(getattr(x, name) for name in self.arguments[:without])
        return (*needed, *(getattr(x, name, value) for name, value in optional))


@dataclass(frozen=True)
class Parameters:
    """Arrays that a family takes, with the shape of their batch.

    Attributes
    ----------
    family : callable
        Makes the batch from arrays of shape (n, ...).
    arrays : tuple of array
        Parameters; leading axes are those of the batch, or broadcast with them.
    axes : tuple of int
        How many axes one row of every parameter has.
    batch_shape : tuple of int
        Shape of the batch in the other library.
    """

    family: Callable[..., Any]
    arrays: tuple[Any, ...]
    axes: tuple[int, ...]
    batch_shape: tuple[int, ...]

    def moved(self, loc: Any, scale: Any, name: str) -> Parameters:
        """Parameters of ``scale * X + loc``, where that stays in the family."""
        plain = all(is_numpy(as_array(x)) for x in (loc, scale))
        if plain and np.all(np.asarray(loc) == 0) and np.all(np.asarray(scale) == 1):
            return self
        found = self.family.moved(loc, scale, *self.arrays) if hasattr(self.family, "moved") else None
        if found is None:
            if getattr(self.family, "counts", True):
                raise InputError(
                    f"{name} with loc={loc} counts from loc, not from 0: subtract loc from the targets and leave it out"
                )
            raise InputError(
                f"{name} with loc={loc} and scale={scale} is not of the family {self.family.__name__}: transform the "
                "targets, (y - loc) / scale, and leave both out, or pass draws, as_predictions(draws, sample_axis=0)"
            )
        shapes = (np.shape(x)[: np.ndim(x) - k] for x, k in zip(found, self.axes, strict=True))
        return type(self)(self.family, tuple(found), self.axes, np.broadcast_shapes(self.batch_shape, *shapes))

    def broadcast(self, batch_shape: tuple[int, ...]) -> Self:
        """Repeat parameters to the full shape of a batch, in one array library."""
        arrays = _in_one_library(self.arrays)
        shapes = [(*batch_shape, *x.shape[x.ndim - k :]) for x, k in zip(arrays, self.axes, strict=True)]
        full = tuple(namespace(x).broadcast_to(x, shape) for x, shape in zip(arrays, shapes, strict=True))
        return type(self)(self.family, full, self.axes, batch_shape)

    def component(self, k: int) -> Self:
        """Entry k of the last axis of the batch: of arrays that were broadcast."""
        arrays = tuple(x[(..., k, *(slice(None),) * axes)] for x, axes in zip(self.arrays, self.axes, strict=True))
        return type(self)(self.family, arrays, self.axes, self.batch_shape[:-1])

    def batch(self) -> Any:
        """Predictions with a row for every entry of the batch: a single distribution is one row."""
        if len(self.batch_shape) > 1:
            raise InputError(
                f"a batch of distributions has one axis, the rows; this one has shape {self.batch_shape}: where the "
                "last axis holds the components of vectors, wrap it, torch.distributions.Independent(distribution, 1) "
                "(numpyro: distribution.to_event(1)); else flatten the axes, and the targets alike"
            )
        full = self.broadcast(self.batch_shape)
        return self.family(*(x[None, ...] if not self.batch_shape else x for x in full.arrays))


def _in_one_library(values: tuple[Any, ...]) -> tuple[Array, ...]:
    """Plain numbers and NumPy arrays beside arrays of another library move there."""
    arrays = tuple(as_array(x) for x in values)
    others = [x for x in arrays if not is_numpy(x)]
    if not others:
        return arrays
    return tuple(like(x, others[0]) if is_numpy(x) else x for x in arrays)
