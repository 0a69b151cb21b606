"""Functions of one set of targets, called for many: leading axes of targets and parameters broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from kernelcal.arrays import Array, namespace
from kernelcal.errors import InputError

__all__ = ["map_sets"]


def map_sets(
    function: Callable[..., Array], y: Array, parameters: Sequence[Array], axes: Sequence[int], shape: tuple[int, ...]
) -> Array:
    """Call ``function(y, *parameters)`` set by set and stack the values.

    A set has targets of shape ``(n, *shape)`` and parameters of shape (n, ...); `axes` says how many axes one row of
    each parameter has. All axes before broadcast: (rows, 1, ...) beside (1, columns, ...) are ``rows`` sets.
    """
    arrays, own = (y, *parameters), (len(shape), *axes)
    leading = [tuple(x.shape[: x.ndim - k]) for x, k in zip(arrays, own, strict=True)]
    try:
        sets = np.broadcast_shapes(*leading)
    except ValueError:
        sets = ()
    if tuple(y.shape[y.ndim - len(shape) :]) != shape or not sets:
        rows = np.broadcast_shapes(*leading[1:])[-1] if axes else "n"
        expected = ", ".join(("...", str(rows), *map(str, shape)))
        raise InputError(f"targets must have shape ({expected}) for these predictions, got {tuple(y.shape)}")
    full = [namespace(x).broadcast_to(x, (*sets, *x.shape[x.ndim - k :])) for x, k in zip(arrays, own, strict=True)]
    found = [function(*(x[index] for x in full)) for index in np.ndindex(sets[:-1])]
    if not found:
        raise InputError(f"there are no targets: got shape {tuple(y.shape)}")
    if len(sets) == 1:
        return found[0]
    xp = namespace(found[0])
    return xp.reshape(xp.stack(found), (*sets[:-1], *found[0].shape))
