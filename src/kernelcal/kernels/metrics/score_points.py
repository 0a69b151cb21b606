"""Scores of any predictions at base points, which all of them share."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import Array, as_array, concrete, like, namespace, row_slices, take_rows
from kernelcal.errors import InputError

__all__ = ["psd_root", "scores_at"]

_NUMBERS_AT_ONCE = 2**20  # 8 MiB of float64 are given to a score at once


def scores_at(predictions: Any, points: np.ndarray) -> Array:
    """Scores of all predictions at all base points of shape (m, d): shape (n, m, d)."""
    if not hasattr(predictions, "score"):
        raise InputError(
            f"{type(predictions).__name__} has no score, the gradient of a log density: use the metric Euclidean(), or "
            "MMD(Gaussian(lengthscale))"
        )
    shape = tuple(predictions.event_shape)
    columns = _in_library(predictions, points.reshape(len(points), 1, *shape))
    parts = []
    for part in row_slices(len(points), _NUMBERS_AT_ONCE // max(1, len(predictions) * points.shape[1])):
        given = take_rows(columns, part)
        xp = namespace(given)
        given = xp.broadcast_to(given, (given.shape[0], len(predictions), *shape))
        parts.append(_checked(predictions, given, points[part]))
    xp = namespace(*parts)
    stacked = parts[0] if len(parts) == 1 else xp.concat(parts, axis=0)
    return xp.permute_dims(xp.reshape(stacked, (*stacked.shape[:2], points.shape[1])), (1, 0, 2))


def psd_root(gram: np.ndarray) -> np.ndarray:
    """L with ``L L'`` equal to a matrix up to rounding, with as many columns as it has rank; no Cholesky factor.

    The matrix of a smooth kernel at close points has no Cholesky factor in float64.
    """
    values, vectors = np.linalg.eigh(gram)
    kept = values > len(gram) * np.finfo(gram.dtype).eps * values[-1]
    return vectors[:, kept] * np.sqrt(values[kept])


def _checked(predictions: Any, y: Array, points: np.ndarray) -> Array:
    """Scores at targets, refused where they are no finite numbers of the right shape."""
    scores = as_array(predictions.score(y))
    if tuple(scores.shape) != tuple(y.shape):
        raise InputError(
            f"the score of {type(predictions).__name__} must have the shape of the targets, {tuple(y.shape)}, got "
            f"{tuple(scores.shape)}"
        )
    values = concrete(scores)
    if values is not None:
        _refuse_infinite(values.reshape(*values.shape[:2], -1), points)
    return scores


def _refuse_infinite(scores: np.ndarray, points: np.ndarray) -> None:
    wrong = ~np.isfinite(scores).all(axis=-1)
    if not wrong.any():
        return
    row = int(np.flatnonzero(wrong.any(axis=0))[0])
    place = int(np.flatnonzero(wrong[:, row])[0])
    count = int(wrong.any(axis=0).sum())
    raise InputError(
        f"the score of row {row} at the base point {points[place]} is {scores[place, row]}, expected finite numbers "
        f"({count} such row{'s' * (count > 1)}): base points must lie where every prediction has a density; pass "
        "base=, an array of such points"
    )


def _in_library(predictions: Any, points: np.ndarray) -> Array:
    """Points in the library and precision of the first floating array of the predictions; NumPy where there is none."""
    found: list[Array] = []

    def note(x: Array) -> Array:
        if namespace(x).isdtype(x.dtype, "real floating"):
            found.append(x)
        return x

    predictions.map_arrays(note)
    return like(points, found[0]) if found else points
