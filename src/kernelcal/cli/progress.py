"""A bar on standard error, for people only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["bar"]

_BAR = 30


@contextmanager
def bar() -> Iterator[Callable[[int, int], None] | None]:
    """Show progress where somebody looks; it is wiped when the work is done, has stopped early or has failed."""
    if not sys.stderr.isatty():
        yield None
        return
    try:
        yield _show
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _show(done: int, total: int) -> None:
    filled = _BAR * done // total
    print(f"\r[{'#' * filled}{'.' * (_BAR - filled)}] {done}/{total} draws", end="", file=sys.stderr, flush=True)
