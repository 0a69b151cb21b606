"""Imports that wait: what a door lists is imported when it is asked for, as SPEC 1 of scientific Python proposes.

A door (an `__init__`) lists names by common ``from room import name``, which people, type checkers and tools read as
ever; inside of `at_first_use` these statements only note where a name will be found. So who asks a room for one name
imports the files that this one needs. A table that other files fill (``@register``) is listed as a name of the file
that imports all of these, so that whoever asks for it gets all of it.
"""

from __future__ import annotations

import builtins
import importlib
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["at_first_use", "import_all"]


# one door at a time: `builtins.__import__` belongs to all threads, and is put back by who has changed it
_ONE_DOOR = threading.RLock()
if hasattr(os, "register_at_fork"):  # a process that is forked meanwhile would never get it
    os.register_at_fork(before=_ONE_DOOR.acquire, after_in_parent=_ONE_DOOR.release, after_in_child=_ONE_DOOR.release)


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

    Raises
    ------
    ImportError
        At an import that is relative; and, when a name is asked for, if its file cannot be imported.

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

        def noted(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
            if globals is not names or not fromlist:  # another thread's, or one that binds no name from a module
                return usual(name, globals, locals, fromlist, level)
            if level:
                raise ImportError(f"{door} lists names of {'.' * level}{name}: write the whole name of the module")
            return _Place(name)

        builtins.__import__ = noted  # a place is asked for names alone, as a module is
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
            found = names[name] = getattr(_imported(place.module), place.name)
            return found
        if name.isidentifier() and not name.startswith("_"):
            from importlib.util import find_spec

            if find_spec(f"{door}.{name}") is not None:
                return _imported(f"{door}.{name}")
        raise AttributeError(f"module {door!r} has no attribute {name!r}")

    def listed() -> list[str]:
        from pkgutil import iter_modules

        files = [found.name for found in iter_modules(module.__path__) if not found.name.startswith("_")]
        return sorted({*names, *places, *files})

    names["__getattr__"], names["__dir__"] = find, listed


def _imported(name: str) -> Any:
    """Import a module; ``from`` would take an attribute that is missing in there for a name that the door lacks."""
    try:
        return importlib.import_module(name)
    except AttributeError as error:
        raise ImportError(f"{name} cannot be imported: {error}") from error


def import_all(door: str) -> None:
    """Import every name that a door lists: for those who ask what there is, not for one thing by its name."""
    module = importlib.import_module(door)
    for name in module.__all__:
        getattr(module, name)
