"""The border of Langevin chains: densities, numbers of steps, step sizes and starts."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import as_array, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.real import RealPredictions
from kernelcal.predictions.score import Score

__all__ = ["checked_density", "checked_sizes", "checked_start", "whole"]


def checked_density(predictions: Any) -> None:
    """Refuse what has no log density of numbers; families without score say so themselves."""
    if isinstance(predictions, Score):
        raise InputError(
            "Score tells gradients only, and whether a proposal is accepted depends on log densities: use "
            "UnnormalizedDensity(log_density, gradient=...), or KCCSD, which needs no draws"
        )
    if not isinstance(predictions, RealPredictions):
        raise InputError(
            f"Langevin steps need densities of numbers or vectors, got {type(predictions).__name__}: such as "
            "UnnormalizedDensity(log_density, gradient=...)"
        )
    if len(predictions) == 0:
        raise InputError("there are no predictions to draw from: the batch has no rows")


def whole(value: Any, name: str) -> int:
    """Return a positive whole number."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InputError(f"{name} must be a positive whole number, got {value!r}")
    return int(value)


def checked_sizes(step_size: Any, n: int) -> np.ndarray:
    """Return one positive step size a row."""
    try:
        sizes = np.asarray(step_size, dtype=np.float64)
    except (TypeError, ValueError):
        sizes = np.full(2, np.nan)
    if sizes.shape not in ((), (n,)) or not np.all((sizes > 0) & np.isfinite(sizes)):
        raise InputError(
            f"step_size must be a positive number, or one for each of the {n:,} rows, such as a tenth of the predicted "
            f"variance, got {step_size!r}"
        )
    return np.broadcast_to(sizes, (n,))


def checked_start(start: Any, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return starts of all chains, row by row; `shape` is ``(n, S, *event_shape)``."""
    n, draws, *event = shape
    if start is None:
        return rng.standard_normal((n * draws, *event))
    given = to_numpy(as_array(start)).astype(np.float64)
    if given.shape == (n, *event):
        given = np.repeat(given[:, None], draws, axis=1)
    if given.shape != shape:
        own = "".join(f", {size}" for size in event)
        raise InputError(
            f"start must have shape ({n}{own or ','}), a point a row, or ({n}, {draws}{own}), a point a draw, got "
            f"{given.shape}"
        )
    return given.reshape(n * draws, *event)
