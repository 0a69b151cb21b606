"""Estimates: numbers that say how they came about."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelcal.arrays import Array, concrete, to_numpy
from kernelcal.tables import Shown, Table

__all__ = ["Estimate", "GradientEstimate", "NumberEstimate"]


def _carries_gradient(value: Any) -> bool:
    """Tell whether a library follows the value: PyTorch with a gradient, JAX while it traces or differentiates."""
    if getattr(value, "requires_grad", False):
        return True
    kind = next((base for base in type(value).__mro__ if base.__name__ == "Tracer"), None)
    return kind is not None and kind.__module__.startswith("jax")


def _on_value(operation: Callable[..., Any], *, swapped: bool = False) -> Callable[..., Any]:
    """Operation on what an estimate holds, so that gradients are kept."""

    def of(self: Estimate, *others: Any) -> Any:
        values = [other.value if isinstance(other, Estimate) else other for other in others]
        return operation(*values, self.value) if swapped else operation(self.value, *values)

    return of


@dataclass(frozen=True, eq=False, repr=False)
class Estimate(Shown):
    """A number and how it came about.

    It is a float with all that floats can do, from arithmetic and formatting to NumPy and JSON, and prints as a table.
    Only where a library follows gradients (a PyTorch tensor that requires them, JAX while it differentiates or
    compiles) it is none, or gradients would be lost: arithmetic is then that of `value`, and ``float(estimate)`` gives
    the number alone.

    Attributes
    ----------
    value : scalar array
        The estimate, in the array library of the predictions, with its gradient.
    name, estimator, engine : str
        What was estimated, by which estimator, on which engine.
    n : int
        Rows that were used.
    options : dict
        Kernels with resolved lengthscales and other settings.
    notes : tuple of str
        What the reader must know.

    Examples
    --------
    >>> import json, numpy as np, kernelcal as kc
    >>> rng = np.random.default_rng(0)
    >>> estimate = kc.ece(rng.integers(0, 2, 100), rng.uniform(size=100))
    >>> f"{estimate:.3f}", round(100 * estimate), estimate < 0.5, json.dumps({"ece": estimate})[:8]
    ('0.301', 30, True, '{"ece": ')
    """

    value: Array
    name: str
    estimator: str
    n: int
    engine: str
    options: dict[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def __new__(cls, value: Any = 0.0, *more: Any, **named: Any) -> Self:
        """Make a float where there is no gradient to lose."""
        if cls is Estimate:
            kind: Any = GradientEstimate if _carries_gradient(value) else NumberEstimate
            made: Self = kind.__new__(kind, value, *more, **named)
            return made
        return object.__new__(cls)

    def __float__(self) -> float:
        return float(to_numpy(self.value))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        options = {key: str(value) for key, value in self.options.items()}
        own = {"name": self.name, "value": float(self), "estimator": self.estimator, "n": self.n}
        return {**own, "engine": self.engine, **options, "notes": list(self.notes)}

    def _table(self) -> Table:
        rows = [(self.name, f"{float(self):.6g}"), ("estimator", self.estimator), ("rows", f"{self.n:,}")]
        rows += [(key.replace("_", " "), str(value)) for key, value in self.options.items()]
        return Table(self.name, [*rows, ("engine", self.engine)], self.notes)

    __add__, __radd__ = _on_value(operator.add), _on_value(operator.add, swapped=True)
    __sub__, __rsub__ = _on_value(operator.sub), _on_value(operator.sub, swapped=True)
    __mul__, __rmul__ = _on_value(operator.mul), _on_value(operator.mul, swapped=True)
    __truediv__, __rtruediv__ = _on_value(operator.truediv), _on_value(operator.truediv, swapped=True)
    __floordiv__, __rfloordiv__ = _on_value(operator.floordiv), _on_value(operator.floordiv, swapped=True)
    __mod__, __rmod__ = _on_value(operator.mod), _on_value(operator.mod, swapped=True)
    __pow__, __rpow__ = _on_value(operator.pow), _on_value(operator.pow, swapped=True)
    __neg__, __pos__, __abs__ = _on_value(operator.neg), _on_value(operator.pos), _on_value(operator.abs)
    __lt__, __le__ = _on_value(operator.lt), _on_value(operator.le)
    __gt__, __ge__ = _on_value(operator.gt), _on_value(operator.ge)


class NumberEstimate(float, Estimate):
    """An estimate that is a float."""

    def __new__(cls, value: Any = 0.0, *more: Any, **named: Any) -> Any:
        """Make the float of the value; of a number alone a plain float, as code that keeps the type of numbers asks."""
        number = to_numpy(value) if hasattr(value, "__array__") else value
        return float.__new__(cls if more or named else float, number)

    def __reduce__(self) -> Any:
        return _remade, (type(self), vars(self))

    __repr__ = Shown.__repr__
    __str__ = Shown.__repr__


def _remade(cls: type, fields: dict[str, Any]) -> Any:
    """Estimate of its fields, for pickles and copies."""
    return cls(**fields)


class GradientEstimate(Estimate):
    """An estimate whose gradient is followed: operators, and functions of PyTorch, work on its value."""

    __array_ufunc__ = None  # NumPy leaves operators to the value, which keeps the gradient

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(to_numpy(self.value), dtype=dtype)

    def __format__(self, spec: str) -> str:
        return format(float(self), spec) if spec else str(self)

    def __round__(self, digits: int | None = None) -> float:
        return round(float(self), digits)

    def __bool__(self) -> bool:
        return bool(self.value != 0)

    def _table(self) -> Table:
        if concrete(self.value) is None:
            return Table(self.name, [(self.name, "traced, without a value yet"), ("rows", f"{self.n:,}")], self.notes)
        return super()._table()

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Functions of PyTorch get the tensors of estimates."""
        return function(*_unwrapped(args), **_unwrapped(kwargs or {}))


def _unwrapped(given: Any) -> Any:
    if isinstance(given, GradientEstimate):
        return given.value
    if isinstance(given, dict):
        return {name: _unwrapped(x) for name, x in given.items()}
    return type(given)(_unwrapped(x) for x in given) if type(given) in (list, tuple) else given
