"""Operations on arrays of pairs: in place for NumPy, where the tile stays in the cache, functional elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import Array, ArrayOps, Functional, InPlace, namespace
from kernelcal.errors import InputError

__all__ = ["add", "all_pairs", "contract", "numpy_only", "operations"]


def operations(*arrays: Array) -> ArrayOps:
    """Operations that may overwrite their first argument, which must be fresh and as large as the result."""
    return InPlace() if all(isinstance(x, np.ndarray) for x in arrays) else Functional(namespace(*arrays))


def add(total: Array | None, term: Array) -> Array:
    """Add a fresh term to a fresh total, in place where that is possible; None is no term yet."""
    if total is None:
        return term
    if isinstance(total, np.ndarray) and total.shape == np.broadcast_shapes(total.shape, term.shape):
        return np.add(total, term, out=total)
    return total + term


def all_pairs(left: Any, right: Any) -> bool:
    """Tell whether arrays have shapes (rows, 1, k) and (1, columns, k), so that a matrix product serves all pairs."""
    return left.ndim == right.ndim == 3 and left.shape[1] == 1 and right.shape[0] == 1


def contract(left: Array, right: Array) -> Array:
    """Sum of products over the last axis, while leading axes broadcast."""
    if all_pairs(left, right):
        return left[:, 0, :] @ right[0, :, :].T
    if all_pairs(right, left):
        return right[:, 0, :] @ left[0, :, :].T
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.einsum("...k,...k->...", left, right)
    return namespace(left, right).sum(left * right, axis=-1)


def numpy_only(what: str, *arrays: Array) -> None:
    """Refuse arrays of other libraries where a special function is needed that they lack."""
    for x in arrays:
        if not isinstance(x, np.ndarray):
            library = type(x).__module__.split(".")[0]
            raise InputError(
                f"{what} needs special functions of SciPy, which take NumPy arrays only, got an array of {library}: "
                "move the predictions to NumPy; Gaussian() with normal predictions is computed by every library"
            )
