"""Exceptions and warnings: every message says what was given, what was expected and what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = [
    "InputError",
    "KernelcalError",
    "KernelcalWarning",
    "MissingExtraError",
    "NoClosedFormError",
    "naming_rows",
    "printable",
    "with_rows",
]


_ROW = re.compile(r"\brow (\d+)")
# Control characters but tab and line feed, marks that turn the direction of text round, halves of surrogate pairs
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    r"""Text whose control characters are written out, so that names from files cannot command a terminal.

    Examples
    --------
    >>> from kernelcal.errors import printable
    >>> print(printable("cat\x1b[31m"))
    cat\x1b[31m
    """
    return _UNSEEN.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


_ENDLESS = re.compile(r"\d{50,}")


def _shown(text: object) -> object:
    """Text of a message: control characters are written out, and of numbers without end their length."""
    if not isinstance(text, str):
        return text
    return _ENDLESS.sub(lambda found: f"{found[0][:6]}... ({len(found[0]):,} digits)", printable(text))


class KernelcalError(Exception):
    """Base class of every error that kernelcal raises on purpose; what cannot be seen in its text is written out.

    Examples
    --------
    >>> import kernelcal as kc
    >>> issubclass(kc.InputError, kc.KernelcalError)
    True
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*map(_shown, arguments))


class InputError(KernelcalError, ValueError):
    """Data or an option cannot be used; the message names the row and the remedy.

    Examples
    --------
    >>> import kernelcal as kc
    >>> try:
    ...     kc.skce([0, 1], [0.2, 1.7])
    ... except kc.InputError as error:
    ...     print(str(error)[:60])
    row 1 is 1.7, outside [0, 1]: are these confidences on a sca
    """


class NoClosedFormError(InputError):
    """An expectation of a kernel has no closed form; the message lists those that exist and the ways out.

    Examples
    --------
    >>> import kernelcal as kc
    >>> issubclass(kc.NoClosedFormError, kc.KernelcalError)
    True
    """


class MissingExtraError(KernelcalError, ImportError):
    """A feature needs an optional package; the message names the extra that brings it.

    Examples
    --------
    >>> from kernelcal.errors import MissingExtraError
    >>> print(MissingExtraError("matplotlib", "plot", "pictures"))
    pictures needs the package 'matplotlib', which is not installed: pip install 'kernelcal[plot]'
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed: pip install 'kernelcal[{extra}]'"
        )


class KernelcalWarning(UserWarning):
    """A result can be computed, but the reader must know something about it.

    Examples
    --------
    >>> import kernelcal as kc
    >>> issubclass(kc.KernelcalWarning, UserWarning)
    True
    """

    def __init__(self, *arguments: object) -> None:
        super().__init__(*map(_shown, arguments))


def with_rows(text: str, in_words: Callable[[int], str]) -> str:
    """Text whose rows are called what they are called where they come from: a line, or a row of all that a file has."""
    return _ROW.sub(lambda found: in_words(int(found.group(1))), text)


@contextmanager
def naming_rows(in_words: Callable[[int], str] | None) -> Iterator[None]:
    """Call the rows in what is refused inside what they are called where they come from; None leaves them."""
    try:
        yield
    except InputError as error:
        if in_words is None:
            raise
        raise type(error)(with_rows(str(error), in_words)) from None
