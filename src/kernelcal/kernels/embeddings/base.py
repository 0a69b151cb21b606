"""The contract of an embedding, expectations of a target kernel under predictions, and pairs of targets."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, ArrayOps, Functional, InPlace, is_numpy, namespace, row_slices
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel
from kernelcal.kernels.metrics import CLOSE, Euclidean, Metric, left_factor, repair, right_factor, squares

__all__ = [
    "BatchLayout",
    "Cross",
    "Embedding",
    "Fill",
    "TargetPairs",
    "add",
    "all_pairs",
    "bare",
    "by_parts",
    "contract",
    "filled",
    "numpy_only",
    "operations",
    "point",
    "refuse_metric",
    "squared_distance",
]


_PAIRS = 2**16  # at once, 512 KiB an array: with a quarter of them two threads mostly wait for the interpreter

_MATRIX_PRODUCT_FROM = 3  # components

Fill = Callable[..., None]


@dataclass(frozen=True)
class TargetPairs:
    """What a kernel may ask about pairs of targets. Answers are fresh arrays, which the kernel may overwrite.

    Attributes
    ----------
    y, z : array
        Targets with leading axes that broadcast: (rows, 1, ...) and (1, columns, ...) are all pairs.
    vector : bool
        Whether the last axis holds the components of a vector.
    """

    y: Array
    z: Array
    vector: bool

    @property
    def ops(self) -> ArrayOps:
        """Operations of the library of the targets: in place for NumPy."""
        return operations(self.y, self.z)

    def difference(self) -> Array:
        """Differences y - z."""
        return self.y - self.z

    def squared_distance(self, metric: Metric) -> Array:
        """Squared Euclidean distances."""
        refuse_metric(metric)
        if self.vector:
            return squared_distance(self.y, self.z)
        difference = self.difference()
        return self.ops.multiply(difference, difference)

    def distance(self, metric: Metric) -> Array:
        """Euclidean distances."""
        refuse_metric(metric)
        if not self.vector:
            difference = self.difference()
            return np.abs(difference, out=difference) if is_numpy(difference) else abs(difference)
        return self.ops.power(squared_distance(self.y, self.z), 0.5)

    def inner(self) -> Array:
        """Inner products."""
        return contract(self.y, self.z) if self.vector else self.y * self.z

    def smaller(self) -> Array:
        """Refuse: targets may be negative."""
        raise InputError("Brownian is a kernel between probabilities; for numbers use Gaussian() or Laplacian()")

    def equal(self) -> Array:
        """1 where the targets are equal, else 0."""
        difference = self.difference()
        xp = namespace(difference)
        same = xp.all(difference == 0, axis=-1) if self.vector else difference == 0
        return xp.astype(same, difference.dtype)

    def coordinates(self) -> Iterator[TargetPairs]:
        """Pairs of the numbers that the vectors consist of, a coordinate after the other."""
        if not self.vector:
            yield self
            return
        for k in range(self.y.shape[-1]):
            yield TargetPairs(self.y[..., k], self.z[..., k], vector=False)

    def lookup(self, matrix: np.ndarray) -> Array:
        """Refuse: numbers are no class labels."""
        raise InputError("FiniteKernel is a kernel between class labels; for numbers use Gaussian() or Laplacian()")


def point(kernel: Kernel, y: Array, z: Array, event_ndim: int) -> Array:
    """Kernel between targets whose leading axes broadcast.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> from kernelcal.kernels import point
    >>> point(kc.Gaussian(1.0), np.array([0.0, 1.0]), np.array([0.0, 3.0]), 0).round(4)
    array([1.    , 0.1353])
    """
    return kernel.evaluate(TargetPairs(_floating(y), _floating(z), vector=event_ndim == 1))


def squared_distance(y: Array, z: Array) -> Array:
    """Squared distances of vectors, a coordinate at a time: no temporary array holds the differences of all."""
    if is_numpy(y) and is_numpy(z):
        if y.shape[-1] >= _MATRIX_PRODUCT_FROM and all_pairs(y, z):
            return _expanded(y[:, 0], z[0])
        if y.shape[-1] >= _MATRIX_PRODUCT_FROM and all_pairs(z, y):
            return _expanded(z[:, 0], y[0])
        return filled(_fill_squares, y, z)
    total = None
    for k in range(y.shape[-1]):
        total = add(total, (y[..., k] - z[..., k]) ** 2)
    return total


def _expanded(y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """``|y|^2 + |z|^2 - 2 y.z`` by one matrix product; close pairs, which would lose digits, from differences."""
    centre = z.mean(axis=0)
    y, z = y - centre, z - centre
    left, right = squares(y), squares(z)
    values = left_factor(y, left) @ right_factor(z, right)
    repair(values, y, z, CLOSE[values.dtype] * float(left.max(initial=0) + right.max(initial=0)))
    return values


def _fill_squares(values: np.ndarray, y: np.ndarray, z: np.ndarray) -> None:
    values[...] = 0
    square = np.empty_like(values)
    for k in range(len(y)):
        np.subtract(y[k], z[k], out=square)
        np.multiply(square, square, out=square)
        np.add(values, square, out=values)


def refuse_metric(metric: Metric) -> None:
    """Refuse metrics between predictions: targets are numbers or vectors."""
    if not isinstance(metric, Euclidean):
        raise InputError(
            f"{type(metric).__name__} compares predictions, not targets: a target kernel for numbers uses the "
            "Euclidean metric; for a product over coordinates use kernelcal.kernels.Coordinatewise(kernel)"
        )


def _floating(x: Array) -> Array:
    """Whole numbers as floating numbers, since kernels are computed in place."""
    return x.astype(np.float64) if is_numpy(x) and x.dtype.kind in "iub" else x


def operations(*arrays: Array) -> ArrayOps:
    """Operations that may overwrite their first argument, which must be fresh and as large as the result."""
    return InPlace() if all(isinstance(x, np.ndarray) for x in arrays) else Functional(namespace(*arrays))


def add(total: Array | None, term: Array) -> Array:
    """Add a fresh term to a fresh total, in place where that is possible; None is no term yet."""
    if total is None:
        return term
    if isinstance(total, np.ndarray) and total.shape == np.broadcast_shapes(total.shape, term.shape):
        return np.add(total, term, out=total)
    return total + term


def all_pairs(left: Any, right: Any) -> bool:
    """Tell whether arrays have shapes (rows, 1, k) and (1, columns, k), so that a matrix product serves all pairs."""
    return left.ndim == right.ndim == 3 and left.shape[1] == 1 and right.shape[0] == 1


def contract(left: Array, right: Array) -> Array:
    """Sum of products over the last axis, while leading axes broadcast."""
    if all_pairs(left, right):
        return left[:, 0, :] @ right[0, :, :].T
    if all_pairs(right, left):
        return right[:, 0, :] @ left[0, :, :].T
    if isinstance(left, np.ndarray) and isinstance(right, np.ndarray):
        return np.einsum("...k,...k->...", left, right)
    return namespace(left, right).sum(left * right, axis=-1)


def numpy_only(what: str, *arrays: Array) -> None:
    """Refuse arrays of other libraries where a special function is needed that they lack."""
    for x in arrays:
        if not isinstance(x, np.ndarray):
            library = type(x).__module__.split(".")[0]
            raise InputError(
                f"{what} needs special functions of SciPy, which take NumPy arrays only, got an array of {library}: "
                "move the predictions to NumPy; Gaussian() with normal predictions is computed by every library"
            )


def filled(fill: Fill, *arrays: Any) -> np.ndarray:
    """Values over the broadcast leading axes of arrays whose last axis holds components.

    ``fill(values, *arrays)`` writes a part of the values; it gets the arrays with their components first.
    """
    ndim = max(x.ndim for x in arrays)
    columns = [_components_first(x.reshape(*(1,) * (ndim - x.ndim), *x.shape)) for x in arrays]
    shape = np.broadcast_shapes(*(x.shape[1:] for x in columns))
    values = np.empty(shape, np.result_type(*arrays))
    for part in row_slices(len(values), _PAIRS * len(values) // max(values.size, 1)):
        fill(values[part], *(x if x.shape[1] == 1 else x[:, part] for x in columns))
    return values


def by_parts(function: Callable[..., np.ndarray], *arrays: Any) -> np.ndarray:
    """``function(*arrays)`` of arrays whose axes all broadcast, for a formula with many temporary arrays."""

    def fill(values: np.ndarray, *columns: np.ndarray) -> None:
        values[...] = function(*(x[0] for x in columns))

    return filled(fill, *(x[..., None] for x in arrays))


def _components_first(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(x, -1, 0))


Cross = Callable[[Any, Any], Array]


class Embedding(ABC):
    """Expectations of one target kernel under predictions of one kind: a node of a plan.

    Predictions and targets come with leading axes that broadcast: arrays of shape (rows, 1, ...) beside
    (1, columns, ...) give all pairs, equal shapes give pair by pair. A formula is therefore written once, for one pair.
    Targets may have more leading axes than predictions. Answers are fresh arrays, which the caller may overwrite.
    """

    @abstractmethod
    def mean(self, p: Any, y: Array) -> Array:
        """E k(Z, y) with Z drawn from p."""

    @abstractmethod
    def cross(self, p: Any, q: Any) -> Array:
        """E k(Z, Z') with Z drawn from p and, independently, Z' from q."""

    @abstractmethod
    def describe(self) -> tuple[str, ...]:
        """Lines that say what is computed how; the lines of parts are indented."""

    def crossing(self, other: Embedding) -> Cross | None:
        """E k(Z, Z') where Z' has predictions of another embedding of the same kernel, or None where it is not known.

        Components of a mixture may have different families. It is enough if one of the two embeddings knows the other.
        """
        return None

    def __str__(self) -> str:
        return "\n".join(self.describe())


def indented(parts: tuple[Embedding, ...]) -> tuple[str, ...]:
    """Lines of the parts of a node; parts that say the same are said once."""
    lines: list[str] = []
    for part in dict.fromkeys(part.describe() for part in parts):
        lines += [f"  {line}" for line in part]
    return tuple(lines)


def bare(family: type, **fields: Any) -> Any:
    """Batch of a family from arrays that are known to be valid: no second look at every value."""
    new: Any = object.__new__(family)
    new.__dict__.update(fields, notes=())
    return new


class BatchLayout:
    """How many axes the arrays of a batch have, so that leading axes which were added later can be told.

    Methods of families such as `draw` expect one row a prediction. Embeddings get batches whose arrays were expanded
    to (rows, 1, ...) or (1, columns, ...), and flatten them first.
    """

    def __init__(self, predictions: Any) -> None:
        self._ndim = len(_shape(predictions))

    def leading(self, p: Any) -> tuple[int, ...]:
        """Leading axes of a batch."""
        shape = _shape(p)
        return shape[: len(shape) - self._ndim + 1]

    def flat(self, p: Any) -> Any:
        """The batch with its leading axes made one."""
        leading = self.leading(p)
        if len(leading) == 1:
            return p
        rows = math.prod(leading)
        return p.map_arrays(lambda x: namespace(x).reshape(x, (rows, *x.shape[len(leading) :])))


def _shape(p: Any) -> tuple[int, ...]:
    """Shape of the first array of a batch."""
    shapes: list[tuple[int, ...]] = []

    def look(x: Array) -> Array:
        shapes.append(tuple(x.shape))
        return x

    p.map_arrays(look)
    return shapes[0]
