"""Predictions known through a log density up to a constant."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.scored.checks import checked_returned
from kernelcal.predictions.scored.gradients import LOG_DENSITIES, automatic_gradient, checked_step, difference_gradient
from kernelcal.predictions.scored.score import ScorePredictions

__all__ = ["UnnormalizedDensity"]


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
