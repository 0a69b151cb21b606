"""Imports that wait: what a door lists is imported when it is asked for, as SPEC 1 of scientific Python proposes.

A door (an `__init__`) lists names by common ``from room import name``, which people, type checkers and tools read as
ever; inside of `at_first_use` these statements only note where a name will be found. So who asks a room for one name
imports the files that this one needs. Files that register what they hold stand before, where they are imported at once.
"""

from __future__ import annotations

import builtins
import importlib
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["at_first_use", "import_all"]


_ONE_DOOR = (
    threading.RLock()
)  # `builtins.__import__` belongs to all threads; those that are at no door have the usual one


class _Place:
    """Where a name will be found; a module, until ``from`` asks it for a name."""

    def __init__(self, module: str, name: str = "") -> None:
        self.module, self.name = module, name

    def __getattr__(self, name: str) -> _Place:
        return _Place(self.module, name)


@contextmanager
def at_first_use(door: str) -> Iterator[None]:
    """Let names that are imported inside of the block be found when they are asked for.

    Parameters
    ----------
    door : str
        The ``__name__`` of the package. It is given ``__getattr__`` (of these names, once each, and of its own modules)
        and ``__dir__``.

    Examples
    --------
    In the ``__init__`` of a room::

        with at_first_use(__name__):
            from kernelcal.kernels.metrics import Hellinger

    >>> import kernelcal.kernels
    >>> "Hellinger" in dir(kernelcal.kernels)
    True
    """
    module = sys.modules[door]
    names = vars(module)
    with _ONE_DOOR:
        usual = builtins.__import__

        def noted(name: str, into: Any = None, local: Any = None, wanted: Any = (), level: int = 0) -> Any:
            return _Place(name) if into is names and wanted else usual(name, into, local, wanted, level)

        builtins.__import__ = noted  # type: ignore[assignment]  # what it gives is asked for names alone, as a module
        try:
            yield
        finally:
            builtins.__import__ = usual
    places = {name: place for name, place in names.items() if type(place) is _Place}
    for name in places:
        del names[name]

    def find(name: str) -> Any:
        place = places.get(name)
        if place is not None and place.module != door:
            found = names[name] = getattr(importlib.import_module(place.module), place.name)
            return found
        if not name.startswith("_"):
            from importlib.util import find_spec

            if find_spec(f"{door}.{name}") is not None:
                return importlib.import_module(f"{door}.{name}")
        raise AttributeError(f"module {door!r} has no attribute {name!r}")

    def listed() -> list[str]:
        from pkgutil import iter_modules

        return sorted({*names, *places, *(found.name for found in iter_modules(module.__path__))})

    names["__getattr__"], names["__dir__"] = find, listed


def import_all(door: str) -> None:
    """Import every name that a door lists: for those who ask what there is, not for one thing by its name."""
    module = importlib.import_module(door)
    for name in module.__all__:
        getattr(module, name)
