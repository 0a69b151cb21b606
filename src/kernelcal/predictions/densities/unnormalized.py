"""Predictions known through a log density up to a constant."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.densities.functions import checked_returned
from kernelcal.predictions.densities.score import ScorePredictions

__all__ = ["LOG_DENSITIES", "UnnormalizedDensity", "automatic_gradient", "checked_step", "difference_gradient"]


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


@dataclass(frozen=True, eq=False)
class UnnormalizedDensity(ScorePredictions):
    """Predictions known through ``log p_i(y)`` up to a constant a row: the score is its gradient.

    Parameters
    ----------
    log_density : callable
        ``log_density(y, *parameters)`` with targets of shape ``(n, *event_shape)``, one a row, returns one number a
        row. Functions of PyTorch and JAX are differentiated automatically. Row i of the result may depend on row i of
        the arguments only.
    parameters : array or tuple of arrays, optional
        What the function needs of every row, as for `Score`; arrays of PyTorch or JAX tell the library.
    gradient : callable, optional
        ``gradient(y, *parameters)``, the scores, for log densities of NumPy.
    finite_differences : bool or float, optional
        Let log densities of NumPy be differentiated by central differences, 4 d calls a set of targets. A number is
        the distance on which log densities change (default 1, or the target itself where that is larger). Rows in
        which two step sizes disagree are refused.
    event_shape, n, sampler, draws, coordinates, library
        As for `Score`. With ``library="torch"`` or ``"jax"`` a function without parameters says where it computes.

    Raises
    ------
    InputError
        If the gradient of a NumPy function is not given, and as for `Score`.

    Notes
    -----
    Where the log density is minus infinity the target lies outside the support, and its score is infinite. JAX
    computes in float32 unless it is told otherwise (``jax.config.update("jax_enable_x64", True)``).

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.predictions import UnnormalizedDensity
    >>> log_density = lambda y, a: -((y - a) ** 4)
    >>> predictions = UnnormalizedDensity(log_density, np.array([0.0, 1.0]), finite_differences=True)
    >>> predictions.score(np.array([1.0, 3.0])).round(6)
    array([ -4., -32.])
    """

    log_density: Callable[..., Any]
    parameters: Any = ()
    _: KW_ONLY
    gradient: Callable[..., Any] | None = None
    finite_differences: bool | float = False

    def __post_init__(self) -> None:
        super().__post_init__()
        step = checked_step(self.finite_differences)
        if self.gradient is not None and not callable(self.gradient):
            raise InputError(f"gradient must be a function such as gradient(y, *parameters), got {self.gradient!r}")
        if self.gradient is not None and step is not None:
            raise InputError("pass gradient= or finite_differences=, not both")
        if self.library.name == "numpy" and self.gradient is None and step is None:
            raise InputError(
                "a log density of NumPy does not tell its gradient: pass gradient=function(y, *parameters), ask for "
                "finite_differences=True, or, for a function of PyTorch or JAX, pass its parameters as arrays of that "
                "library, or library='torch' or 'jax'"
            )
        if self.library.name != "numpy" and step is not None:
            raise InputError(f"finite_differences is for NumPy: {self.library.name} differentiates by itself")

    @property
    def given(self) -> tuple[Callable[..., Any], Any]:
        """The log density and its parameters."""
        return self.log_density, self.parameters

    def scores(self, y: Array, *parameters: Array) -> Array:
        """Gradients for one set of targets; infinite where the density is 0, NaN where it is."""
        values, gradient = self._gradients(y, parameters)
        xp = namespace(gradient)
        values = values[:, None] if self.event_shape else values
        gradient = xp.where(values == -xp.inf, xp.full_like(gradient, xp.inf), gradient)
        return xp.where(xp.isnan(values), xp.full_like(gradient, xp.nan), gradient)

    def _gradients(self, y: Array, parameters: tuple[Array, ...]) -> tuple[Array, Array]:
        def log(moved: Array) -> Array:
            return self.log_density(moved, *parameters)

        if self.gradient is not None:
            found = self.gradient(y, *parameters)
            values = checked_returned(log(y), (int(y.shape[0]),), LOG_DENSITIES, "one number a row")
            return values, checked_returned(found, tuple(y.shape), "what gradient returns", "that of the targets")
        if self.library.name == "numpy":
            return difference_gradient(log, y, checked_step(self.finite_differences) or 1.0)
        return automatic_gradient(self.library.name, log, y, keep=not is_numpy(self.__dict__["_unknown"]))

    def unnormalized_log_prob(self, y: Array) -> Array:
        """Log densities up to a constant a row, shape (..., n)."""
        return self.by_sets(y, self.log_density, (), LOG_DENSITIES, "one number a row")

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """Targets whose log density is minus infinity, shape (..., n)."""
        return np.isneginf(to_numpy(self.unnormalized_log_prob(y)))
