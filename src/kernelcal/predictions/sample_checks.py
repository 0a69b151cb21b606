"""The border of ensembles: draws and their weights are accepted, or refused with row and member."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import Array, concrete, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.checks import checked_numbers, floating
from kernelcal.predictions.frames import plain_array
from kernelcal.predictions.numbers import numbers, refuse_rows

__all__ = ["checked_draw_weights", "checked_draws"]


def checked_draws(x: Any) -> Array:
    """Return finite draws of shape (n, S) or (n, S, d)."""
    array = plain_array(x)[0]
    values = concrete(array)
    if values is None:
        return floating(array)
    checked_numbers(values)
    if values.ndim not in (2, 3) or 0 in values.shape[1:]:
        raise InputError(
            f"draws must have shape (n, S), or (n, S, d) for vectors, with S > 0 draws a row, got {values.shape}; "
            "where the draws lie on another axis, kernelcal.as_predictions(x, sample_axis=...) moves it"
        )
    _refuse_missing_members(values)
    return floating(array)


def _refuse_missing_members(values: np.ndarray) -> None:
    wrong = np.argwhere(~np.isfinite(values))
    if len(wrong) == 0:
        return
    row, member = (int(k) for k in wrong[0][:2])
    value, count = values[tuple(wrong[0])], len(np.unique(wrong[:, 0]))
    raise InputError(
        f"the draw in row {row}, member {member} is {'missing (NaN)' if np.isnan(value) else value}, expected a finite "
        f"number ({count} such row{'s' * (count > 1)}): drop these rows, or leave members out by weight 0, "
        "Samples(np.nan_to_num(draws), weights=np.isfinite(draws))"
    )


def checked_draw_weights(weights: Any, draws: Array) -> Array | None:
    """Return weights of shape (n, S), divided by their sums."""
    if weights is None:
        return None
    array = numbers(weights, "the weight", ndim=2)
    if tuple(array.shape) != tuple(draws.shape[:2]):
        raise InputError(
            f"weights must have the shape of the draws, {tuple(draws.shape[:2])}, got {tuple(array.shape)}"
        )
    values = concrete(array)
    if values is not None:
        refuse_rows(values < 0, "the weight", values, "a number that is not negative")
        total = values.sum(axis=1)
        refuse_rows(total <= 0, "the sum of the weights", total, "a positive number: one draw must count")
    return array / namespace(array).sum(array, axis=1, keepdims=True)
