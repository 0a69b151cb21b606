"""A bar on standard error, for people only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

__all__ = ["bar"]


_BAR = 30


@contextmanager
def bar(what: str = "draws") -> Iterator[Callable[[int, int], None] | None]:
    """Show progress where somebody looks; it is wiped when the work is done, has stopped early or has failed."""
    if not sys.stderr.isatty():
        yield None
        return
    try:
        yield partial(_show, what)
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _show(what: str, done: int, total: int) -> None:
    filled = _BAR * done // total
    print(f"\r[{'#' * filled}{'.' * (_BAR - filled)}] {done:,}/{total:,} {what}", end="", file=sys.stderr, flush=True)
