"""The last few results of a costly function, by the contents of the batches they belong to."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Any

import numpy as np

__all__ = ["Recent"]

_PLAIN = (str, int, float, bool, tuple, type(None))


class Recent:
    """Results of a function of a batch, kept while they are among the last few.

    A tile is visited once a draw, each time with new objects of the same contents, and probabilities of counts cost
    more than the sums over them. Batches with fields that are neither arrays nor plain values are not kept.
    """

    def __init__(self, entries: int = 8, numbers: int = 2**20) -> None:
        self._entries, self._numbers = entries, numbers
        self._known: OrderedDict[Any, Any] = OrderedDict()
        self._lock = Lock()

    def __reduce__(self) -> tuple[type[Recent], tuple[int, int]]:
        return Recent, (self._entries, self._numbers)  # a copy in another process starts empty

    def of(self, p: Any, function: Callable[[Any], tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
        """``function(p)``, or what it was for a batch with the same contents."""
        key = _contents(p)
        with self._lock:
            known = self._known.get(key)
        if known is None:
            known = function(p)
            self._keep(key, known)
        return known

    def _keep(self, key: Any, result: tuple[np.ndarray, np.ndarray]) -> None:
        if key is None or result[1].size > self._numbers:
            return
        with self._lock:
            self._known[key] = result
            while len(self._known) > self._entries:
                self._known.popitem(last=False)


def _contents(p: Any) -> tuple[Any, ...] | None:
    """Type and fields of a batch as a key, or None if a field is neither an array nor a plain value."""
    key: list[Any] = [type(p)]
    for name, value in vars(p).items():
        if isinstance(value, np.ndarray):
            key.append((name, value.shape, value.dtype.str, value.tobytes()))
        elif isinstance(value, _PLAIN):
            key.append((name, value))
        else:
            return None
    return tuple(key)
