"""Squared distances as ``|x|^2 + |z|^2 - 2 x.z``: one matrix product, and differences where it would lose digits."""

from __future__ import annotations

import numpy as np

__all__ = ["CLOSE", "left_factor", "repair", "right_factor", "squares"]

# Below this share of |x|^2 + |z|^2 the matrix product has lost too many digits of d^2 to cancellation, and
# d^2 is taken from differences: relative errors of d^2 stay below 1e-10 (float64) and 1e-4 (float32).
CLOSE = {np.dtype(np.float64): 4e-6, np.dtype(np.float32): 1e-3}


def squares(x: np.ndarray) -> np.ndarray:
    """|x|^2 of every row."""
    return np.einsum("ij,ij->i", x, x)


def left_factor(x: np.ndarray, squared: np.ndarray) -> np.ndarray:
    """Rows ``(-2 x, |x|^2, 1)``."""
    return np.hstack([-2 * x, squared[:, None], np.ones_like(squared)[:, None]])


def right_factor(z: np.ndarray, squared: np.ndarray) -> np.ndarray:
    """Columns ``(z, 1, |z|^2)``, whose products with the rows are squared distances."""
    return np.ascontiguousarray(np.hstack([z, np.ones_like(squared)[:, None], squared[:, None]]).T)


def repair(values: np.ndarray, x: np.ndarray, z: np.ndarray, scale: float) -> None:
    """Take the distances of close pairs from differences; `scale` is the largest |x|^2 + |z|^2."""
    bound = CLOSE[values.dtype] * scale
    if not values.min(initial=np.inf) <= bound:
        return
    i, j = np.nonzero(values <= bound)
    for part in range(0, len(i), max(1, values.size // 16)):  # many equal rows: a part of the pairs at a time
        at = slice(part, part + max(1, values.size // 16))
        values[i[at], j[at]] = squares(x[i[at]] - z[j[at]])
