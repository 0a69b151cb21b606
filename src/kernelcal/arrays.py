"""Array namespaces: the arrays that are given decide library, dtype and device."""

from __future__ import annotations

from typing import Any, Protocol

import array_api_compat
import numpy as np

from kernelcal.errors import InputError

__all__ = [
    "Array",
    "ArrayOps",
    "Functional",
    "InPlace",
    "as_array",
    "concrete",
    "is_half",
    "like",
    "namespace",
    "numbers",
    "on_accelerator",
    "place_of",
    "precision",
    "resident",
    "row_slices",
    "row_sums",
    "squared_lengths",
    "stays_single",
    "take_rows",
    "to_double",
    "to_numpy",
]


Array = Any  # no static type covers NumPy, PyTorch, JAX and CuPy at once


def as_array(x: Any) -> Array:
    """Return `x` unchanged if it is an array of a known library, else as a NumPy array.

    A masked array is its data where nothing is masked; what is masked becomes a missing value (NaN, or None among
    text), which the border refuses with its row.
    """
    if isinstance(x, np.ma.MaskedArray):
        return _without_mask(x)
    if array_api_compat.is_array_api_obj(x) and not isinstance(x, np.generic):
        if array_api_compat.is_torch_array(x):
            _refuse_without_values(x)
        return x
    if hasattr(x, "toarray") and hasattr(x, "nnz"):  # of SciPy
        raise InputError("a sparse matrix is no array: pass x.toarray(), with every number")
    try:
        return np.asarray(x)
    except (ValueError, TypeError, OverflowError, RuntimeError) as error:
        first = str(error).partition(". ")[0]
        raise InputError(f"{type(x).__name__} makes no rectangular array of values: {first}") from None


def _refuse_without_values(x: Array) -> None:
    """Refuse tensors of PyTorch that no other library can read: without values, or with those that are not 0 alone."""
    if x.device.type == "meta":
        raise InputError("a tensor on the device 'meta' has a shape and no values: pass one with values")
    if not str(x.layout).endswith("strided"):
        raise InputError(f"a tensor of layout {x.layout} is no array: pass x.to_dense(), with every number")


def _without_mask(x: np.ma.MaskedArray) -> np.ndarray:
    """Data of a masked array, with missing values where it is masked."""
    data, masked = np.asarray(x.data), np.ma.getmaskarray(x)
    if not masked.any():
        return data
    missing = data.astype(np.float64 if data.dtype.kind in "fiub" else data.dtype if data.dtype.kind == "c" else object)
    missing[masked] = np.nan if missing.dtype.kind in "fc" else None
    return missing


_HALF = {"float16": 2.0**-10, "bfloat16": 2.0**-7}


def is_half(x: Array) -> bool:
    """Tell whether the numbers have half precision, of either kind."""
    return _dtype_name(x) in _HALF


def precision(x: Array) -> float:
    """Distance from 1 to the next number of the type of an array; that of float64 for whole numbers."""
    name = _dtype_name(x)
    return _HALF.get(name) or float(np.finfo(np.float32 if name == "float32" else np.float64).eps)


def _dtype_name(x: Array) -> str:
    return str(x.dtype).rpartition(".")[2]


_STANDARD = hasattr(np, "astype")  # NumPy from 2.1 on has the functions of the standard; others take an import of 0.1 s


def namespace(*arrays: Array) -> Any:
    """Return the array namespace that the arrays share."""
    if _STANDARD and all(isinstance(x, np.ndarray) for x in arrays):
        return np
    return array_api_compat.array_namespace(*arrays)


def is_numpy(x: Array) -> bool:
    """Tell whether `x` may be written in place by the NumPy engines."""
    return isinstance(x, np.ndarray)


def to_numpy(x: Array) -> np.ndarray:
    """Return the values of `x` in host memory, without its gradient."""
    if isinstance(x, np.ndarray):
        return x
    if array_api_compat.is_torch_array(x):
        x = x.detach().cpu()
        return (x.float() if str(x.dtype) == "torch.bfloat16" else x).numpy()  # NumPy has no bfloat16
    if array_api_compat.is_cupy_array(x):
        return x.get()
    if array_api_compat.is_jax_array(x):
        import jax  # the caller's own library: it is loaded already

        x = jax.lax.stop_gradient(x)
        return np.asarray(x.astype("float32") if str(x.dtype) == "bfloat16" else x)
    try:
        return np.from_dlpack(x) if hasattr(x, "__dlpack__") else np.asarray(x)
    except BufferError:  # NumPy before 2.1 takes over nothing that may not be written
        return np.asarray(x)


def numbers(x: Any) -> np.ndarray:
    """Numbers of a setting, such as levels, in float64: what is masked is NaN, and complex numbers are a TypeError."""
    values = to_numpy(as_array(x))
    if values.dtype.kind == "c":
        raise TypeError("complex numbers have no order, and an imaginary part is not dropped")
    try:
        return values.astype(np.float64)
    except OverflowError:
        raise ValueError("whole numbers without end have no place among numbers of 64 bits") from None


def to_double(x: Array) -> np.ndarray:
    """Return the values of `x` in host memory and float64, without its gradient."""
    return to_numpy(x).astype(np.float64, copy=False)


def on_accelerator(x: Array) -> bool:
    """Tell whether an array lies on a device of its own, such as a graphics card."""
    return not is_numpy(x) and "cpu" not in str(array_api_compat.device(x)).lower()


def place_of(x: Array) -> Any:
    """Device to make constants on; JAX moves them itself, and has none to name while it traces."""
    return None if is_numpy(x) or array_api_compat.is_jax_array(x) else array_api_compat.device(x)


def resident(x: Array) -> Array:
    """Values in float64, without gradient: on the accelerator where they lie, if it has float64, else in NumPy."""
    if not on_accelerator(x) or not _has_double(x):
        return to_numpy(x)
    xp = namespace(x)
    return xp.astype(_without_gradient(x), xp.float64)


def _has_double(x: Array) -> bool:
    """Tell whether library and device compute in float64: JAX does if told to, and not every card can."""
    try:
        found = namespace(x).__array_namespace_info__().dtypes(device=place_of(x), kind="real floating")
    except (AttributeError, ValueError):
        return False
    return "float64" in found


def _without_gradient(x: Array) -> Array:
    return x.detach() if array_api_compat.is_torch_array(x) else x


def squared_lengths(x: Array) -> Array:
    """Sum of squares of every row of a matrix, without a copy of it in NumPy."""
    if is_numpy(x):
        return np.einsum("ij,ij->i", x, x)
    return namespace(x).sum(x * x, axis=1)


def row_sums(values: np.ndarray) -> np.ndarray:
    """Sums of rows in float64, shape (n,); of a few columns a product with ones takes NumPy a seventh of the time."""
    if values.dtype == np.float64:
        return np.asarray(values @ np.ones(values.shape[1]))
    return values.sum(axis=1, dtype=np.float64)


def concrete(x: Array) -> np.ndarray | None:
    """Return the values of `x`, or None while a compiler traces it and there are none to look at."""
    try:
        return to_numpy(x)
    except Exception:
        if array_api_compat.is_jax_array(x):  # jax.jit: values exist only when the program runs
            return None
        raise


def like(values: Any, x: Array) -> Array:
    """Constants in the library, dtype and on the device of an array."""
    values = to_numpy(values)
    if is_numpy(x):
        return values.astype(x.dtype, copy=False)
    return namespace(x).asarray(np.array(values), dtype=x.dtype, device=array_api_compat.device(x))  # PyTorch writes


_NUMBERS = 2**21  # of a part of the rows: several arrays of 16 MiB are held at once


def row_slices(n: int, step: int, columns: int = 1) -> list[slice]:
    """Slices of at most `step` consecutive rows (at least one) that cover n rows: work and memory by parts.

    Of very many columns the slices are shorter, so that a part of the rows has at most 2,097,152 numbers.
    """
    step = max(1, min(step, _NUMBERS // columns) if columns > 1 else step)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]


_STAYS_SINGLE = 2**24  # numbers: 64 MiB, of which float64 would hold several copies twice as large


def stays_single(x: Array) -> bool:
    """Tell whether an array is of single precision and so large that pairs are not computed in double precision."""
    return isinstance(x, np.ndarray) and x.dtype == np.float32 and x.size > _STAYS_SINGLE


def take_rows(x: Array, rows: Any) -> Array:
    """Rows of an array by slice or by an integer NumPy array, in any library."""
    if isinstance(rows, slice) or is_numpy(x):
        return x[rows, ...]
    xp = namespace(x)
    return xp.take(x, xp.asarray(rows, device=array_api_compat.device(x)), axis=0)


class ArrayOps(Protocol):
    """The few element-wise operations in which kernels are written, once for all libraries."""

    def scale(self, x: Array, factor: float) -> Array:
        """Multiply by a number."""

    def shift(self, x: Array, constant: float) -> Array:
        """Add a number."""

    def power(self, x: Array, exponent: float) -> Array:
        """Raise to a power."""

    def exp(self, x: Array) -> Array:
        """Exponential."""

    def add(self, x: Array, y: Array) -> Array:
        """Sum."""

    def multiply(self, x: Array, y: Array) -> Array:
        """Product."""

    def copy(self, x: Array) -> Array:
        """Copy that may be overwritten."""


_SINGLE = 1e30  # single precision holds 3e38, and a distance is multiplied


def _held(x: Array, factor: float) -> float:
    """Return a factor that single precision holds: infinity times a distance of 0 would be no number."""
    if abs(factor) <= _SINGLE or _dtype_name(x) == "float64":
        return factor
    return _SINGLE if factor > 0 else -_SINGLE


class InPlace:
    """NumPy operations that overwrite their first argument: a tile stays in the cache."""

    def scale(self, x: Array, factor: float) -> Array:
        """Multiply by a number."""
        with np.errstate(over="ignore"):  # far beyond any lengthscale
            return np.multiply(x, x.dtype.type(_held(x, factor)), out=x)

    def shift(self, x: Array, constant: float) -> Array:
        """Add a number."""
        return np.add(x, x.dtype.type(constant), out=x)

    def power(self, x: Array, exponent: float) -> Array:
        """Raise to a power."""
        if exponent == -1.0:
            return np.reciprocal(x, out=x)
        if exponent == 0.5:
            return np.sqrt(x, out=x)
        return np.power(x, x.dtype.type(exponent), out=x)

    def exp(self, x: Array) -> Array:
        """Exponential."""
        return np.exp(x, out=x)

    def add(self, x: Array, y: Array) -> Array:
        """Sum of two arrays."""
        return np.add(x, y, out=x)

    def multiply(self, x: Array, y: Array) -> Array:
        """Product of two arrays."""
        return np.multiply(x, y, out=x)

    def copy(self, x: Array) -> Array:
        """Make a copy that may be overwritten."""
        return x.copy()


class Functional:
    """The same operations as pure functions, so that gradients flow."""

    def __init__(self, xp: Any) -> None:
        self.xp = xp

    def scale(self, x: Array, factor: float) -> Array:
        """Multiply by a number."""
        return x * _held(x, factor)

    def shift(self, x: Array, constant: float) -> Array:
        """Add a number."""
        return x + constant

    def power(self, x: Array, exponent: float) -> Array:
        """Raise to a power; at 0 the gradient of a root is set to 0, not to infinity times 0."""
        above = x > 0
        one = self.xp.ones_like(x)
        return self.xp.where(above, self.xp.where(above, x, one) ** exponent, 0 * one)

    def exp(self, x: Array) -> Array:
        """Exponential."""
        return self.xp.exp(x)

    def add(self, x: Array, y: Array) -> Array:
        """Sum of two arrays."""
        return x + y

    def multiply(self, x: Array, y: Array) -> Array:
        """Product of two arrays."""
        return x * y

    def copy(self, x: Array) -> Array:
        """Return `x`: nothing here is overwritten."""
        return x
