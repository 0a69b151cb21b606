"""Names of things that can be chosen: one table serves the functions, the command line, messages and documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kernelcal.errors import InputError

__all__ = ["Entry", "Registry"]


Thing = TypeVar("Thing")
Made = TypeVar("Made")


@dataclass(frozen=True)
class Entry(Generic[Thing]):
    """A name and what it stands for.

    Attributes
    ----------
    name : str
        As people type it.
    thing : object
        What it stands for, such as a class.
    summary : str
        What that is, in some words.
    serves : str
        What it can be used for.
    cost : str
        What it costs, where that decides the choice.

    Examples
    --------
    >>> from kernelcal.inference import STATISTICS
    >>> entry = STATISTICS.entries[0]
    >>> entry.name, entry.serves
    ('default', 'any')
    """

    name: str
    thing: Thing
    summary: str
    serves: str = "any"
    cost: str = ""


class Registry(Mapping[str, Thing], Generic[Thing]):
    """Things of one kind by name, in the order in which they came.

    Parameters
    ----------
    option : str
        The argument that takes these names.
    otherwise : str
        What the argument takes besides, for messages, such as ``"or a NullLaw"``.

    Examples
    --------
    >>> from kernelcal.registry import Registry
    >>> colours = Registry("colour", "or three numbers")
    >>> colours.register("red", (1, 0, 0), summary="as a rose")
    >>> colours["red"], colours.help
    ((1, 0, 0), 'red: as a rose')
    >>> colours.chosen("rde")
    Traceback (most recent call last):
    ...
    kernelcal.errors.InputError: colour must be one of 'red', or three numbers, got 'rde'
    """

    def __init__(self, option: str, otherwise: str = "") -> None:
        self.option, self.otherwise = option, otherwise
        self._entries: dict[str, Entry[Thing]] = {}

    def register(self, name: str, thing: Thing, *, summary: str, serves: str = "any", cost: str = "") -> None:
        """Give a thing a name.

        Parameters
        ----------
        name : str
            New name, without spaces at its ends.
        thing : object
            What it stands for.
        summary, serves, cost : str
            What it is, in some words; what it can be used for; what it costs.

        Raises
        ------
        InputError
            If the name is taken or is no word.
        """
        if not isinstance(name, str) or not name or name != name.strip():
            raise InputError(f"a name must be a word such as 'gap', got {name!r}")
        if name in self._entries:
            raise InputError(f"{self.option} {name!r} is taken ({self._entries[name].summary}): choose another name")
        self._entries[name] = Entry(name, thing, summary, serves, cost)

    def forget(self, name: str) -> None:
        """Take a name back."""
        self.chosen(name)
        del self._entries[name]

    def __getitem__(self, name: str) -> Thing:
        return self._entries[name].thing

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> tuple[Entry[Thing], ...]:
        """Everything that is known of the names."""
        return tuple(self._entries.values())

    def chosen(self, name: Any) -> Thing:
        """Return what a name stands for, or refuse it with all that are known."""
        if isinstance(name, str) and name in self._entries:
            return self[name]
        others = [self.otherwise] if self.otherwise else []
        raise InputError(f"{self.option} must be one of {', '.join([*map(repr, self), *others])}, got {name!r}")

    def made(self: Registry[Callable[..., Made]], name: Any) -> Made:
        """Make what a name stands for, where that is a class or a function without arguments."""
        return self.chosen(name)()

    @property
    def help(self) -> str:
        """Every name, what it stands for and what it serves, for the command line."""
        words = [f"{e.name}: {e.summary}" + ("" if e.serves == "any" else f" ({e.serves})") for e in self.entries]
        return "; ".join(words).replace("%", "%%")
