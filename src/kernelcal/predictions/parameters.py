"""Parameters read from a distribution of another library, and the batch that they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

from kernelcal.arrays import Array, as_array, is_numpy, like, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.base import Predictions

__all__ = ["Parameters"]


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

    family: Callable[..., Predictions]
    arrays: tuple[Any, ...]
    axes: tuple[int, ...]
    batch_shape: tuple[int, ...]

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

    def batch(self) -> Predictions:
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
