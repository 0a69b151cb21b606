"""The array library in which a user's function computes: its arguments are moved there, its values back."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import array_api_compat
import numpy as np

from kernelcal.arrays import Array, is_numpy, namespace, to_numpy
from kernelcal.errors import InputError, MissingExtraError

__all__ = ["LIBRARIES", "Library", "library_of", "map_sets", "moved_to"]


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
