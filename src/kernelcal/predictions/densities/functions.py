"""A user's functions: what they get and return, what is said of wrong ones, the array library they compute in."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from kernelcal.arrays import Array, as_array, concrete, is_numpy, namespace, take_rows, to_numpy
from kernelcal.errors import InputError, MissingExtraError
from kernelcal.predictions.border import plain_array

__all__ = [
    "LIBRARIES",
    "Library",
    "checked_event_shape",
    "checked_function",
    "checked_parameters",
    "checked_returned",
    "checked_rows",
    "library_of",
    "map_sets",
    "moved_to",
    "refuse_unusable_functions",
    "refuse_unusable_scores",
]


_FEW = 8  # rows that are computed twice
_LARGEST, _LARGEST_SINGLE = 1e75, 1e15  # whose squares and their sums are finite


def checked_function(function: Any, name: str) -> None:
    """Refuse what cannot be called."""
    if not callable(function):
        raise InputError(f"{name} needs a function of targets, got {type(function).__name__}")


def checked_event_shape(shape: Any) -> tuple[int, ...]:
    """Shape of a target: () for numbers, (d,) for vectors; d alone will do."""
    given = (shape,) if isinstance(shape, int | np.integer) else shape
    if not isinstance(given, tuple | list) or len(given) > 1 or not all(_whole(size) and size > 0 for size in given):
        raise InputError(f"event_shape must be () for targets that are numbers, (d,) for vectors of d, got {shape!r}")
    return tuple(int(size) for size in given)


def checked_parameters(parameters: Any) -> tuple[Array, ...]:
    """Arrays with the sample on axis 0; one array alone will do."""
    several = parameters if isinstance(parameters, tuple | list) else (parameters,)
    arrays = tuple(plain_array(x)[0] for x in several)
    for k, array in enumerate(arrays):
        if array.ndim == 0:
            raise InputError(
                f"parameter {k} is a single number, expected an array with a row a prediction: what is the same for "
                "all rows belongs into the function"
            )
    return arrays


def checked_rows(n: Any, arrays: Sequence[tuple[str, Array]]) -> int:
    """Number of rows, in which all arrays must agree."""
    if n is not None and (not _whole(n) or n < 0):
        raise InputError(f"n must be the number of rows, a whole number, got {n!r}")
    sizes = [("n", int(n))] if n is not None else []
    sizes += [(name, int(array.shape[0])) for name, array in arrays]
    if not sizes:
        raise InputError(
            "the number of rows is not known: pass parameters=(...), arrays with a row a prediction that the function "
            "gets after the targets, or n=..."
        )
    for name, size in sizes[1:]:
        if size != sizes[0][1]:
            raise InputError(
                f"{sizes[0][0]} says {sizes[0][1]} rows and {name} {size}: one row a prediction is needed, on axis 0"
            )
    return sizes[0][1]


def checked_returned(found: Any, shape: tuple[int, ...], what: str, meaning: str) -> Array:
    """Return an array of a known shape, as functions of one set of targets must."""
    try:
        array = as_array(found)
    except ValueError:  # rows of unequal length
        raise InputError(f"{what} must be one array of shape {shape}, got rows of unequal length") from None
    if tuple(array.shape) != shape:
        raise InputError(f"{what} must have shape {shape}, {meaning}, got {tuple(array.shape)}")
    return array


def refuse_unusable_scores(scores: Array, targets: Array, name: str) -> None:
    """Refuse the first row whose score is NaN, or infinite because the target lies outside the support."""
    values = concrete(scores)
    if values is None:
        return
    largest = _LARGEST if values.dtype == np.float64 else _LARGEST_SINGLE
    bad = ~(np.abs(values) <= largest).reshape(len(values), -1).all(axis=1)
    if not bad.any():
        return
    row, count = int(np.argmax(bad)), int(bad.sum())
    rows = f"({count} such row{'s' * (count > 1)})"
    y = np.array2string(np.asarray(concrete(take_rows(targets, slice(row, row + 1))))[0], precision=6)
    if np.isnan(values[row]).any():
        raise InputError(
            f"the score of {name} in row {row} is NaN at the target {y} {rows}: mend the function or the parameters of "
            "such rows, or drop them and their targets together; nothing is left out silently"
        )
    if np.isfinite(values[row]).all():
        raise InputError(
            f"the score of {name} in row {row} is {np.abs(values[row]).max():g} at the target {y} {rows}: its squares "
            f"leave the range of floating numbers, at most {largest:g} is expected: choose another unit of targets"
        )
    raise InputError(
        f"the score of {name} in row {row} is infinite at the target {y} {rows}: the target lies outside the support "
        "of its prediction, which is proof against calibration by itself; Stein residuals need a density that is "
        "positive and smooth everywhere"
    )


def refuse_unusable_functions(predictions: Any, targets: np.ndarray) -> None:
    """Refuse functions whose scores at the targets are no numbers, or change when other rows stand beside them."""
    beside = predictions.score(targets)
    refuse_unusable_scores(beside, targets, type(predictions).__name__)
    few = min(_FEW, len(predictions) // 2)
    if not predictions.parameters or few < 1:
        return
    alone, beside = concrete(predictions[:few].score(targets[:few])), concrete(beside)
    if alone is None or beside is None:
        return
    rounding = 1e-6 if alone.dtype == np.float64 else 1e-3
    differs = np.abs(alone - beside[:few]) > rounding * (1 + np.abs(alone).max())
    if differs.any():
        row = int(np.argmax(differs.reshape(few, -1).any(axis=1)))
        raise InputError(
            f"the score of {type(predictions).__name__} in row {row} changes when other rows are computed beside it: "
            "row i of the result may depend on row i of the arguments only, not on a mean over the batch or on chance"
        )


def _whole(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


LIBRARIES = ("numpy", "torch", "jax")


@dataclass(frozen=True)
class Library:
    """An array library, with the type and place of the floating numbers that a function wants.

    Attributes
    ----------
    name : {"numpy", "torch", "jax"}
        The library.
    dtype, device : object
        Of floating numbers; None leaves them to the library.
    """

    name: str
    dtype: Any = None
    device: Any = None

    def array(self, x: Array) -> Array:
        """Move an array to the library; floating numbers get the dtype, whole numbers keep theirs."""
        if self.name == "numpy":
            values = to_numpy(x)
            return values.astype(self.dtype or values.dtype, copy=False) if values.dtype.kind == "f" else values
        return self._torch(x) if self.name == "torch" else self._jax(x)

    def _torch(self, x: Array) -> Array:
        torch = _imported("torch")
        tensor = x if isinstance(x, torch.Tensor) else torch.as_tensor(np.array(to_numpy(x)))  # a copy: writable
        dtype = (self.dtype or torch.float64) if tensor.is_floating_point() else tensor.dtype
        return tensor.to(dtype=dtype, device=self.device or tensor.device)

    def _jax(self, x: Array) -> Array:
        jnp = _imported("jax.numpy")
        array = x if array_api_compat.is_jax_array(x) else jnp.asarray(to_numpy(x))
        floating = self.dtype is not None and jnp.issubdtype(array.dtype, jnp.floating)
        return array.astype(self.dtype) if floating else array


def library_of(given: str | None, function: Callable[..., Any], parameters: Sequence[Array]) -> Library:
    """Library of a function: as said, else that of its parameters, else of a PyTorch module, else NumPy."""
    if given is not None and given not in LIBRARIES:
        raise InputError(f"library must be one of {', '.join(map(repr, LIBRARIES))}, got {given!r}")
    _refuse_training(function)
    examples = [*parameters, *_weights(function)]
    names = list(dict.fromkeys(_name(x) for x in examples if _name(x) != "numpy"))  # NumPy arrays can be moved
    if len(names) > 1:
        raise InputError(f"the parameters must be arrays of one library, got {' and '.join(names)}: move them to one")
    name = given or (names[0] if names else "numpy")
    floats = [x for x in examples if _name(x) == name and _floating(x)]
    if not floats:
        return Library(name)
    return Library(name, floats[0].dtype, floats[0].device if name == "torch" else None)


def _refuse_training(function: Any) -> None:
    """Refuse PyTorch modules whose layers behave otherwise in training: scores would be random, or mix rows."""
    if not getattr(function, "training", False) or not hasattr(function, "modules"):
        return
    layers = {type(layer).__name__ for layer in function.modules()}
    found = sorted(name for name in layers if "Dropout" in name or "BatchNorm" in name)
    if found:
        raise InputError(
            f"the module is in training mode and has {' and '.join(found)}, whose values are random or mix rows: call "
            "model.eval() first"
        )


def _weights(function: Any) -> list[Array]:
    """First weight of a PyTorch module, which says in which type and on which device it computes."""
    if not any(kind.__module__.startswith("torch.") for kind in type(function).__mro__):
        return []
    return list(function.parameters())[:1] if hasattr(function, "parameters") else []


def _name(x: Array) -> str:
    if array_api_compat.is_torch_array(x):
        return "torch"
    return "jax" if array_api_compat.is_jax_array(x) else "numpy"


def _floating(x: Array) -> bool:
    return bool(namespace(x).isdtype(x.dtype, "real floating"))


def _imported(name: str) -> Any:
    """A library of the caller, which is loaded already if its arrays were given."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.split(".")[0]
        raise MissingExtraError(package, package, f"library={package!r}") from None


def moved_to(x: Array, example: Array) -> Array:
    """Values in library and dtype of an example; within one library the gradient is kept."""
    if is_numpy(example):
        return to_numpy(x).astype(example.dtype, copy=False)
    xp = namespace(example)
    x = xp.asarray(x, dtype=example.dtype) if is_numpy(x) else x
    return xp.astype(x, example.dtype)


def map_sets(
    function: Callable[..., Array], y: Array, parameters: Sequence[Array], axes: Sequence[int], shape: tuple[int, ...]
) -> Array:
    """Call ``function(y, *parameters)`` set by set and stack the values.

    A set has targets of shape ``(n, *shape)`` and parameters of shape (n, ...); `axes` says how many axes one row of
    each parameter has. All axes before broadcast: (rows, 1, ...) beside (1, columns, ...) are ``rows`` sets.
    """
    arrays, own = (y, *parameters), (len(shape), *axes)
    leading = [tuple(x.shape[: x.ndim - k]) for x, k in zip(arrays, own, strict=True)]
    try:
        sets = np.broadcast_shapes(*leading)
    except ValueError:
        sets = ()
    if tuple(y.shape[y.ndim - len(shape) :]) != shape or not sets:
        rows = np.broadcast_shapes(*leading[1:])[-1] if axes else "n"
        expected = ", ".join(("...", str(rows), *map(str, shape)))
        raise InputError(f"targets must have shape ({expected}) for these predictions, got {tuple(y.shape)}")
    full = [namespace(x).broadcast_to(x, (*sets, *x.shape[x.ndim - k :])) for x, k in zip(arrays, own, strict=True)]
    found = [function(*(x[index] for x in full)) for index in np.ndindex(sets[:-1])]
    if not found:
        raise InputError(f"there are no targets: got shape {tuple(y.shape)}")
    if len(sets) == 1:
        return found[0]
    xp = namespace(found[0])
    return xp.reshape(xp.stack(found), (*sets[:-1], *found[0].shape))
