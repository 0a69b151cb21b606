"""Statistics and estimates: small frozen objects called with data, and the numbers that they return."""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from kernelcal.arrays import Array, concrete, to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.kernels import Integrator, Kernel, QuantileLevels
from kernelcal.predictions import Predictions, Quantiles, Samples
from kernelcal.tables import Shown, Table

__all__ = [
    "Estimate",
    "GradientEstimate",
    "Look",
    "Merge",
    "NumberEstimate",
    "Prepared",
    "Statistic",
    "Together",
    "interpolation_notes",
    "target_notes",
]


Look = tuple[Any, int]  # columns of targets, and how many statistics see these


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
        number = to_numpy(value) if hasattr(value, "__array__") and not isinstance(value, float) else value
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


@dataclass(frozen=True)
class Merge:
    """How several statistics become one p-value: which are ranked together, and what each group weighs.

    Parameters
    ----------
    groups : tuple of tuples of int
        Positions of statistics. Inside a group the smallest rank counts, and is ranked in turn; a statistic in no group
        is told and has no part in the p-value.
    weights : tuple of float
        Weight of every group: ranks are divided by them, so that a group of weight 2 is heard at twice the rank; but
        what no draw reaches, rank 1, is the same in all groups.
        Default: all alike.
    standardised : bool
        Whether values are on one scale already, by moments that no target changes: rows of one rank are then ordered by
        the values as they are, not by values that are standardised by all rows. The p-value then never falls when an
        observed value does, so that a test that is exact for larger values is conservative for these.

    Notes
    -----
    Groups and weights are fixed before targets are seen, or depend on the predictions alone: then the merged p-value is
    as exact as its members'.

    Examples
    --------
    >>> from kernelcal.statistics import Merge
    >>> Merge(((0,), (1, 2)), weights=(0.5, 0.5)).groups
    ((0,), (1, 2))
    """

    groups: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...] = ()
    standardised: bool = False

    def __post_init__(self) -> None:
        if not self.weights:
            object.__setattr__(self, "weights", (1.0,) * len(self.groups))
        flat = [k for group in self.groups for k in group]
        if not flat or not all(self.groups) or len(set(flat)) < len(flat):
            raise InputError(f"groups must hold every statistic once at most and one at least, got {self.groups!r}")
        if len(self.weights) != len(self.groups) or not all(0 < w < float("inf") for w in self.weights):
            raise InputError(f"weights must be a positive number for each of the groups, got {self.weights!r}")

    @classmethod
    def of_each(cls, number: int) -> Merge:
        """Return the merge of statistics that stand by themselves, all alike."""
        return cls(tuple((k,) for k in range(number)))


class Prepared(ABC):
    """Statistics of fixed predictions, ready for many sets of targets.

    Attributes
    ----------
    names : tuple of str
        One name a statistic.
    engine : str
        What computes them.
    bytes_per_draw : int
        Working memory of one more set of targets.
    notes : tuple of str
        What the reader of the result must know.
    merge : Merge or None
        How exact tests make one p-value of several statistics; None: each by itself, all alike.
    by_cells : bool
        Whether values look at the cells between the quantiles of `Quantiles` alone: exact tests then redraw cells.
    draws_a_thread : int
        Sets of targets that one thread draws and looks at while they lie in the cache; 0: `values` sees to its threads.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> ready = kc.SKCE().prepare(kc.Bernoulli([0.2, 0.7, 0.6, 0.4]))
    >>> ready.values(np.array([[0, 1, 1, 0], [1, 0, 0, 1]])).round(3)
    array([[-0.005],
           [ 0.012]])
    """

    names: tuple[str, ...]
    engine: str
    bytes_per_draw: int = 1024
    notes: tuple[str, ...] = ()
    merge: Merge | None = None
    by_cells: bool = False
    draws_a_thread: int = 0

    @property
    def looks(self) -> tuple[Look, ...]:
        """Which columns of the targets statistics look at, and how many statistics that is, one after the other."""
        return ((slice(None), len(self.names)),)

    @abstractmethod
    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values for targets of shape (B, n): shape (B, statistics). Large values speak against calibration."""

    def flipped(self, targets: np.ndarray, clusters: np.ndarray, signs: np.ndarray) -> np.ndarray | None:
        """Values of sums over rows whose clusters change signs, (B, G): shape (B, sums); None without any.

        Beside sums of residuals they are looked at where rows are in clusters that differ by more than a shared part.
        """
        return None

    def sentences(self, targets: np.ndarray, names: tuple[str, ...]) -> tuple[str, ...]:
        """Directions in words for observed targets, by the statistics named, the decisive one first; else none."""
        return ()


class Together(Prepared):
    """Several prepared statistics of the same targets, side by side.

    Parameters
    ----------
    parts : sequence of Prepared
        Their names follow each other.
    merge : Merge, optional
        How they become one p-value; what it leaves out is told.
    """

    def __init__(self, parts: Sequence[Prepared], merge: Merge | None = None) -> None:
        self.parts, self.merge = tuple(parts), merge
        self.names = tuple(name for part in parts for name in part.names)
        self.engine = "; ".join(dict.fromkeys(part.engine for part in parts))
        self.bytes_per_draw = sum(part.bytes_per_draw for part in parts)
        self.by_cells = all(part.by_cells for part in parts)

    @property
    def looks(self) -> tuple[Look, ...]:
        """Those of all of them."""
        return tuple(look for part in self.parts for look in part.looks)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of all of them, shape (B, statistics)."""
        return np.hstack([part.values(targets) for part in self.parts])


class Statistic(ABC):
    """A statistic that `calibration_test` can use: large values speak against calibration.

    Called with data it estimates. A subclass says what depends on the predictions alone, in `prepare`, and may say more
    of its estimate, in `estimated`.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import Statistic
    >>> isinstance(kc.SKCE(), Statistic), isinstance(kc.ECE(), Statistic)
    (True, True)
    """

    def __call__(
        self, y: Any, predictions: Any, *, weights: Any = None, classes: Any = None, normalize: bool = False
    ) -> Estimate:
        """Estimate from targets and predictions.

        Parameters
        ----------
        y : array of shape (n,), or (n, d) for vectors
            Targets: class numbers 0 to m - 1, booleans, or labels named by `classes`; or numbers.
        predictions : Predictions or what `as_predictions` takes
            Predicted probabilities, or a family for numbers.
        weights : array of shape (n,), optional
            Case weights, not negative. Only their ratios matter; they are importances of single rows, not numbers of
            repetitions. Sums over pairs count a pair by the product of its weights.
        classes, normalize
            As for `as_predictions`.

        Returns
        -------
        Estimate
            ``float(...)`` gives the number.

        Raises
        ------
        InputError
            With the row and the remedy.
        """
        return self.estimated(Case.of(y, predictions, weights=weights, classes=classes, normalize=normalize))

    def estimated(self, case: Case) -> Estimate:
        """Estimate from what was checked already: the one value of what `prepare` returns."""
        batch = case.in_numpy.predictions
        statistic, notes = self.seeing(case.targets, batch)
        prepared = statistic.prepare(batch, case.weights)
        if len(prepared.names) > 1:
            raise InputError(_several(type(self).__name__, prepared.names))
        value = prepared.values(case.targets[None])[0, 0]
        estimator = getattr(self, "estimator", "plug-in")
        options = {} if batch.question is None else {"question": batch.question}
        notes = prepared.notes + notes
        return Estimate(value, prepared.names[0], estimator, len(case), prepared.engine, options, notes)

    @property
    def resident(self) -> bool:
        """Whether values for many sets of targets are made where the predictions lie (`Predictions.placed`).

        Statistics that do not say so are given NumPy arrays.
        """
        return False

    @abstractmethod
    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> Prepared:
        """Do what depends on the predictions (and case weights) alone, before any label is seen."""

    def seeing(self, targets: np.ndarray, predictions: Any) -> tuple[Statistic, tuple[str, ...]]:
        """Fix what only the observed targets tell, and say so; nothing, for statistics that exact tests rest on."""
        return self, ()

    def resolved(self, predictions: Any) -> Statistic:
        """Fix what is chosen from the predictions, such as a median lengthscale, for use with other rows."""
        return self

    def among(self, rows: np.ndarray) -> Statistic:
        """Return the same for some of the rows, where it knows anything of rows."""
        return self


def _several(name: str, members: tuple[str, ...]) -> str:
    return (
        f"{name} is {len(members)} statistics ({', '.join(members)}) and has no single estimate: pass it to "
        "kernelcal.calibration_test(y, predictions, statistic=...), whose result lists them, or call one of them, such "
        "as kernelcal.skce"
    )


def interpolation_notes(predictions: Any, target_kernel: Kernel) -> tuple[str, ...]:
    """Say that a target kernel that was given asks quantile forecasts about what they did not forecast."""
    if not isinstance(predictions, Quantiles) or isinstance(target_kernel, QuantileLevels):
        return ()
    return (
        f"{target_kernel} compares outcomes with the law that is linear between the quantiles and has tails of its "
        "own, which was not forecast: true quantiles of curved laws are rejected. Without target_kernel the levels "
        "alone are asked",
    )


_MANY_DRAWS = 50  # of a row; below, they are far from the law that they come from


def target_notes(predictions: Predictions, integrator: Integrator | None) -> tuple[str, ...]:
    """Sentences for an estimate that takes expectations of a target kernel."""
    return _few_draws(predictions) + _approximate(integrator)


def _few_draws(predictions: Predictions) -> tuple[str, ...]:
    if not isinstance(predictions, Samples) or predictions.size >= _MANY_DRAWS:
        return ()
    return (
        f"with {predictions.size} draws a row the draws differ from the law behind them, and the error of a calibrated "
        "model is above 0; the swap test allows for it",
    )


def _approximate(integrator: Integrator | None) -> tuple[str, ...]:
    if integrator is None:
        return ()
    return (
        "an integrator was given: where no closed form exists the value has its error, which can exceed a small "
        "calibration error; see how it changes with the order or the size",
    )
