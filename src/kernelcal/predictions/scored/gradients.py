"""Gradients of log densities: by the caller's automatic differentiation, or by checked finite differences."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.arrays import Array
from kernelcal.errors import InputError
from kernelcal.predictions.scored.checks import checked_returned

__all__ = ["LOG_DENSITIES", "automatic_gradient", "checked_step", "difference_gradient"]


LOG_DENSITIES = "what log_density returns"
_AGREEMENT = 1e-4  # of the score, or of one over the unit of the step: differences of two step sizes that agree
LogDensity = Callable[[Array], Array]  # of one set of targets, its parameters put in


def automatic_gradient(library: str, log_density: LogDensity, y: Array, *, keep: bool) -> tuple[Array, Array]:
    """Log densities (n,) and their gradients by PyTorch or JAX; `keep` a PyTorch graph for further gradients."""
    return _by_torch(log_density, y, keep) if library == "torch" else _by_jax(log_density, y)


def _by_torch(log_density: LogDensity, y: Array, keep: bool) -> tuple[Array, Array]:
    torch = importlib.import_module("torch")  # the caller's own library: it is loaded already
    with torch.enable_grad():
        y = y.detach().requires_grad_(True)
        values = checked_returned(log_density(y), (len(y),), LOG_DENSITIES, "one number a row")
        if not getattr(values, "requires_grad", False):
            raise InputError(
                "log_density returns numbers that PyTorch cannot differentiate by the targets: compute them from y "
                "with operations of torch, without .detach(), .numpy() or torch.no_grad()"
            )
        (gradient,) = torch.autograd.grad(values.sum(), y, create_graph=keep)
    return (values, gradient) if keep else (values.detach(), gradient)


def _by_jax(log_density: LogDensity, y: Array) -> tuple[Array, Array]:
    jax = importlib.import_module("jax")
    values, pull_back = jax.vjp(log_density, y)
    checked_returned(values, (len(y),), LOG_DENSITIES, "one number a row")
    pulled: Any = pull_back(jax.numpy.ones_like(values))
    return values, pulled[0]


def checked_step(finite_differences: Any) -> float | None:
    """Unit in which steps are measured: None for no finite differences, 1 by default."""
    if isinstance(finite_differences, bool | np.bool_):
        return 1.0 if finite_differences else None
    if not isinstance(finite_differences, int | float | np.number) or not 0 < finite_differences < np.inf:
        raise InputError(
            "finite_differences must be True, False, or a positive number, the distance on which log densities "
            f"change, got {finite_differences!r}"
        )
    return float(finite_differences)


def difference_gradient(log_density: LogDensity, y: np.ndarray, unit: float) -> tuple[np.ndarray, np.ndarray]:
    """Log densities (n,) and central differences, refused where steps of two sizes disagree.

    The step of a number y is the cube root of the smallest difference from 1, times the larger of |y| and the unit.
    """
    flat = y.reshape(len(y), -1)

    def log(moved: np.ndarray) -> np.ndarray:
        return _values(log_density, moved.reshape(y.shape))

    size = np.maximum(np.abs(flat), unit)
    step = np.cbrt(np.finfo(np.float64).eps) * size
    near, far = _central(log, flat, step), _central(log, flat, 2 * step)
    values = log(flat)
    _refuse_disagreement(near, far, size, np.isneginf(values))
    return values, near.reshape(y.shape)


def _values(log_density: LogDensity, y: np.ndarray) -> np.ndarray:
    found = checked_returned(log_density(y), (len(y),), LOG_DENSITIES, "one number a row")
    return np.asarray(found, dtype=np.float64)


def _central(log: LogDensity, y: np.ndarray, step: np.ndarray) -> np.ndarray:
    """``(f(y + h e_k) - f(y - h e_k)) / 2h`` for every coordinate k, with the steps that were really made."""
    gradient = np.empty_like(y)
    for k in range(y.shape[1]):
        above, below = y.copy(), y.copy()
        above[:, k] += step[:, k]
        below[:, k] -= step[:, k]
        with np.errstate(invalid="ignore"):
            gradient[:, k] = (log(above) - log(below)) / (above[:, k] - below[:, k])
    return gradient


def _refuse_disagreement(near: np.ndarray, far: np.ndarray, size: np.ndarray, outside: np.ndarray) -> None:
    """Refuse rows whose differences depend on the step; targets outside the support are told elsewhere."""
    with np.errstate(invalid="ignore"):
        agree = np.abs(near - far) <= _AGREEMENT * (np.abs(near) + 1 / size)
    bad = np.argwhere(~agree & ~outside[:, None])
    if len(bad) == 0:
        return
    row, column = (int(k) for k in bad[0])
    place = f"row {row}, column {column}" if near.shape[1] > 1 else f"row {row}"
    count = len(np.unique(bad[:, 0]))
    raise InputError(
        f"finite differences with two step sizes give {near[row, column]:.6g} and {far[row, column]:.6g} for the score "
        f"in {place} ({count} such row{'s' * (count > 1)}): pass the score itself, gradient=function, or a unit in "
        "which the targets vary, finite_differences=0.01 for example; log densities must be smooth and positive "
        "around the target, and computed in float64"
    )
