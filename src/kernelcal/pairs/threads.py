"""One thread pool over blocks of work; the linear algebra library is held to one thread meanwhile."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["one_thread", "thread_count", "threaded_map"]


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
    with _one_blas_thread(), ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, items))


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Without threadpoolctl (extra `threads`) the BLAS keeps its own threads: right, but slower for many classes."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        yield
        return
    with threadpool_limits(1, user_api="blas"):
        yield
