"""Names of things that can be chosen: one table serves the functions, the command line, messages and documents."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kernelcal.errors import InputError

__all__ = ["Entry", "Registry"]

Made = TypeVar("Made")


@dataclass(frozen=True)
class Entry(Generic[Made]):
    """A name and what it stands for.

    Attributes
    ----------
    name : str
        As people type it.
    make : callable
        What makes the thing, such as its class.
    summary : str
        What it is, in some words.
    serves : str
        What it can be used for.
    cost : str
        What it costs, where that decides the choice.
    """

    name: str
    make: Callable[..., Made]
    summary: str
    serves: str = "any"
    cost: str = ""


class Registry(Mapping[str, Callable[..., Made]], Generic[Made]):
    """Entries of one kind by name, in the order in which they came; a mapping from names to what makes the thing.

    Parameters
    ----------
    option : str
        The argument that takes these names.
    otherwise : str
        What the argument takes besides, for messages.
    """

    def __init__(self, option: str, otherwise: str) -> None:
        self.option, self.otherwise = option, otherwise
        self._entries: dict[str, Entry[Made]] = {}

    def register(
        self, name: str, make: Callable[..., Made], *, summary: str = "", serves: str = "any", cost: str = ""
    ) -> None:
        """Give a name to what makes a thing.

        Parameters
        ----------
        name : str
            New name, without spaces at its ends.
        make : callable
            Called without arguments, such as a class.
        summary : str
            What it is, in some words; default: the first line of its docstring.
        serves, cost : str
            What it can be used for, and what it costs.

        Raises
        ------
        InputError
            If the name is taken or is no word.
        """
        if not isinstance(name, str) or not name or name != name.strip():
            raise InputError(f"a name must be a word such as 'gap', got {name!r}")
        if name in self._entries:
            raise InputError(f"{self.option} {name!r} is taken ({self._entries[name].summary}): choose another name")
        if not callable(make):
            raise InputError(
                f"{name!r} needs a class, or a function that makes one, got {make!r}: pass the class itself"
            )
        first = (inspect.getdoc(make) or name).splitlines()[0].rstrip(".")
        self._entries[name] = Entry(name, make, summary or first, serves, cost)

    def __getitem__(self, name: str) -> Callable[..., Made]:
        return self._entries[name].make

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def entries(self) -> tuple[Entry[Made], ...]:
        """Everything that is known of the names."""
        return tuple(self._entries.values())

    def made(self, name: Any) -> Made:
        """Make what a name stands for, or refuse it with all that are known."""
        if isinstance(name, str) and name in self._entries:
            return self[name]()
        raise self.refused(name)

    def refused(self, given: Any) -> InputError:
        """Return the error of something that is no name and nothing else that is taken."""
        return InputError(
            f"{self.option} must be one of {', '.join(map(repr, self))}, or {self.otherwise}, got {given!r}"
        )

    @property
    def help(self) -> str:
        """Every name, what it stands for and what it serves, for the command line."""
        words = [f"{e.name}: {e.summary}" + ("" if e.serves == "any" else f" ({e.serves})") for e in self.entries]
        return "; ".join(words).replace("%", "%%")
