"""The contract of an engine, sums over pairs for several kernels at once while the targets change, and its threads."""

from __future__ import annotations

import math
import os
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from kernelcal.arrays import Array
from kernelcal.errors import InputError
from kernelcal.kernels import Kernel
from kernelcal.predictions import Predictions
from kernelcal.residuals import Residual

__all__ = [
    "Engine",
    "KernelProducts",
    "QuadraticForms",
    "Sums",
    "one_blas_thread",
    "one_thread",
    "thread_count",
    "threaded_map",
    "threaded_stream",
]


_ALONE: ContextVar[bool] = ContextVar("_ALONE", default=False)

Item = TypeVar("Item")
Result = TypeVar("Result")


def thread_count(threads: int | None) -> int:
    """Number of threads: as asked, else the processors that this process may use; one inside `one_thread`."""
    if _ALONE.get():
        return 1
    if threads is not None:
        return max(1, threads)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def one_thread() -> Iterator[None]:
    """Start no threads: what runs inside is one task of many that run beside each other."""
    token = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(token)


def threaded_map(function: Callable[[Item], Result], items: Iterable[Item], threads: int | None) -> list[Result]:
    """Apply a function to every item and return the results in order, whatever thread finished first."""
    workers, items = thread_count(threads), list(items)
    if workers == 1 or len(items) < 2:  # starting threads takes a millisecond
        return [function(item) for item in items]
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, items))


def threaded_stream(function: Callable[[Item], Result], items: Iterable[Item], threads: int | None) -> Iterator[Result]:
    """Apply a function to items that are made one after the other, and yield the results in order.

    A thread works on one item, which starts no threads, while this one makes the next: no more items are held than
    there are threads, and one.
    """
    workers = thread_count(threads)
    if workers == 1:
        yield from map(function, items)
        return

    def alone(item: Item) -> Result:
        with one_thread():
            return function(item)

    waiting: deque[Future[Result]] = deque()
    with one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        try:
            for item in items:
                waiting.append(pool.submit(alone, item))
                if len(waiting) > workers:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:  # what was not begun is left where something failed
            for future in waiting:
                future.cancel()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold the linear algebra library to one thread: its threads wait for each other, for long where others work.

    Without threadpoolctl (extra `threads`) it keeps them: right, but slower.
    """
    try:
        libraries = _libraries(len(sys.modules))
    except ImportError:
        yield
        return
    with libraries.limit(limits=1, user_api="blas"):
        yield


@lru_cache(maxsize=1)
def _libraries(modules: int) -> Any:
    """Libraries that are loaded, looked for once: more of them come only with more modules."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


_ALL = slice(None)


@dataclass(frozen=True)
class Sums:
    """Parts of ``sum_ij K_ij <r_i, r_j>``.

    Attributes
    ----------
    off_diagonal : array
        Sum over i != j, the two orders of a pair both counted.
    diagonal : array
        Sum over i = j.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.pairs import Sums
    >>> Sums(np.array([2.0]), np.array([1.0])).off_diagonal
    array([2.])
    """

    off_diagonal: Array
    diagonal: Array


class KernelProducts(ABC):
    """Sums with one kernel of fixed predictions in less time than a walk over all pairs takes.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> forms = kc.SKCE(prediction_kernel=kc.Laplacian(0.5)).prepare(kc.Bernoulli([0.2, 0.7] * 50)).forms
    >>> forms.products.apply(np.ones((100, 1)))[:2].round(2).ravel()
    array([67.39, 67.39])
    """

    @property
    @abstractmethod
    def diagonal(self) -> np.ndarray:
        """Values K_ii, shape (n,)."""

    @property
    def seconds_per_column(self) -> float:
        """Time of the sums of one column, roughly."""
        return 1e-7 * len(self.diagonal)

    @abstractmethod
    def apply(self, columns: np.ndarray, exponent: int = 1) -> np.ndarray:
        """Sums over j != i of ``K_ij^exponent c_j`` for every row i and column c, shape (n, J)."""

    @abstractmethod
    def triples(self, values: np.ndarray) -> float:
        """Sum of ``K_ij K_jk K_ki v_i v_j v_k`` over ordered triples of different rows, for v of shape (n,)."""


class QuadraticForms(ABC):
    """Kernels and residuals of fixed predictions, ready for targets.

    Attributes
    ----------
    label : str
        What computes them, for the result.
    label_of_rows : str
        The same of sums of values that are asked for row by row, where it is another.
    bytes_per_draw : int
        Working memory that one more set of targets costs in `batch`.
    held_bytes : int
        Memory of what is held beside the predictions, for any number of sets, roughly (measured).
    made_bytes : int
        Memory while that is made, some rows at a time, before sets are looked at.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> forms = kc.SKCE().prepare(kc.Bernoulli([0.2, 0.7, 0.6, 0.4])).forms
    >>> isinstance(forms, kc.pairs.QuadraticForms), forms.batch(np.array([[0, 1, 1, 0]])).diagonal.shape
    (True, (1, 1))
    """

    label: str
    label_of_rows: str = ""
    bytes_per_draw: int
    held_bytes: int = 0
    made_bytes: int = 0

    @property
    def planned_bytes(self) -> tuple[int, int]:
        """Memory while what is held is made, and of a set of targets: less than is reserved, where a way needs less."""
        return self.made_bytes, self.bytes_per_draw

    @property
    def seconds(self) -> float:
        """Time of one set of targets on two cores, roughly (measured): estimators are chosen by it, plans tell it."""
        return math.inf

    @property
    def seconds_per_draw(self) -> float:
        """The same for each of many sets of targets and each kernel: engines are chosen by it."""
        return self.seconds

    @property
    def products(self) -> KernelProducts | None:
        """Sums with the first kernel, where there is a way that is quicker than all pairs."""
        return None

    @abstractmethod
    def of(self, targets: np.ndarray) -> Sums:
        """Sums of the first kernel for one set of targets, as scalars of the predictions' array library."""

    @abstractmethod
    def batch(self, targets: np.ndarray) -> Sums:
        """Sums of all kernels for many sets of targets, shape (B, n): NumPy arrays of shape (B, kernels)."""

    @property
    def terms(self) -> tuple[QuadraticForms, ...]:
        """Forms whose sum these are: themselves, but of a kernel on predictions and targets those of its products."""
        return (self,)

    def kernel_rows(self, rows: slice, columns: slice = _ALL) -> np.ndarray:
        """Values K_ij of the first kernel for some rows i and columns j, a NumPy array that may be overwritten."""
        raise InputError(
            f"{self.label}: this needs all pairs of rows, so use estimator='unbiased' with ExactPairs() or features"
        )

    def by_block(self, targets: np.ndarray) -> np.ndarray:
        """Sum over i != j inside each block of rows, for one set of targets: shape (blocks,)."""
        raise InputError(f"{self.label}: there are no blocks; use estimator='block'")

    def by_pair(self, targets: np.ndarray) -> list[np.ndarray]:
        """Values K_ij <r_i, r_j> of lists of pairs, for one set of targets."""
        raise InputError(f"{self.label}: there are no lists of pairs; use estimator='incomplete'")


class Engine(ABC):
    """A way to sum over pairs. Engines are small frozen dataclasses: their fields are their settings.

    Examples
    --------
    >>> import kernelcal as kc
    >>> isinstance(kc.Nystrom(64), kc.pairs.Engine)
    True
    """

    @abstractmethod
    def prepare(self, kernels: Sequence[Kernel], predictions: Predictions, residual: Residual) -> QuadraticForms:
        """Do what depends on the predictions alone."""
