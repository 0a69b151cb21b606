"""How a command ends: what it prints, in which status, and one line in place of a traceback."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO

from kernelcal.errors import KernelcalError, printable
from kernelcal.surroundings import INTERRUPTED, is_command, raise_interrupts

__all__ = [
    "FAULT",
    "FINE",
    "SAID_NO",
    "WRONG",
    "as_typed",
    "ended",
    "naming",
    "refused",
    "say",
    "sentence",
    "without_drops",
]


FINE, SAID_NO, WRONG, FAULT = 0, 1, 2, 3
_PIPE = 128 + 13  # what the signal 13 has ended, as shells have it
# What a wrong name or a place without permission gives; every other error of the system is no fault of the input
_OF_NAMES = (errno.ENOENT, errno.EACCES, errno.EPERM, errno.EISDIR, errno.ENOTDIR, errno.EEXIST, errno.ELOOP)
_OF_NAMES_TOO = (errno.ENAMETOOLONG, errno.EINVAL, errno.EROFS)


def say(text: str, *, to_errors: bool = False) -> None:
    """Print at once, control characters and what the stream cannot encode written out."""
    stream: TextIO | None = sys.stderr if to_errors else sys.stdout
    if stream is None:  # closed when the process began
        return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    print(printable(text).encode(encoding, "backslashreplace").decode(encoding), file=stream, flush=True)


_KEYWORD = re.compile(r"\b(clusters|time|horizon|series|given|null|draws|weights|groups|lens)=(?=[\s,:;.)]|$)")


_DROPS = re.compile(
    r"; a word for a missing value\? Say --missing WORD with --drop-missing to leave such rows out"
    r"|(?:, or)? \(command line: --drop-missing[^)]*\)|; write percentages as plain numbers and say --kind percent"
)


def without_drops(text: str) -> str:
    """Message of a command that leaves no rows out and knows no kinds: what it asks for is done to the file."""
    return _DROPS.sub(lambda found: ": mend such cells, or leave the rows out of the file" * (found[0][0] == ";"), text)


_TYPED = (  # what messages propose in Python, and what is typed instead
    (r"Wrap (?:them|logits)(?::| in) kernelcal\.\w+\([^()]*\) \(command line: ([^()]*)\)", r"Say \1"),
    (r"(?:wrap them in |pass )?(?:lens=)?kernelcal\.\w+\([^()]*\) \(command line: ([^()]*)\)", r"say \1"),
    (r"(?:lens=)?(?:kernelcal\.)?(?:lenses\.)?\bOneClass\(label\)", "--lens class:NAME"),
    (r"(?:lens=)?(?:kernelcal\.)?(?:lenses\.)?\bTopLabel\(\)", "--lens top-label"),
    (r"(?:lens=)?(?:kernelcal\.)?\bClassWise\(joint='full'\)", "--lens class-wise-joint"),
    (r"\bkernelcal\.UCME\(\)", "--statistic ucme"),
    (r"\b(null|statistic|method)='([\w-]+)'", r"--\1 \2"),
    (r"\bdraws=([\d,]+)\b", lambda found: f"--draws {found[1].replace(',', '')}"),
    (
        r"kernelcal\.measures\.serving\(predictions\) names the measures of these",
        "leave --measures out: all that serve",
    ),
)


def as_typed(text: str) -> str:
    """Message of the library for who types commands: options in place of keywords and objects of Python.

    Examples
    --------
    >>> from kernelcal.cli.ending import as_typed
    >>> as_typed("several classes: ask one question, lens=kernelcal.TopLabel() or OneClass(label); draws= are few")
    'several classes: ask one question, --lens top-label or --lens class:NAME; --draws are few'
    """
    for python, typed in _TYPED:
        text = re.sub(python, typed, text)
    return _KEYWORD.sub(r"--\1", text)


def refused(why: str) -> int:
    """Say why on standard error, what is Python as options; returns the status of wrong use."""
    say("kernelcal: " + as_typed(why), to_errors=True)
    return WRONG


def sentence(error: BaseException) -> str:
    """Message of an error on one line, or its name where it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def naming(error: BaseException, files: Sequence[Path], others: Sequence[Path] = ()) -> str:
    """Message of an error on one line, behind the files that were read where it names neither them nor others."""
    text = sentence(error)
    named = any(str(place) in text for place in (*files, *others))
    return text if named else f"{' and '.join(map(str, files))}: {text}"


def ended(work: Callable[[], int]) -> int:
    """Do the work and return its exit status, whatever happens: no traceback is printed.

    Returns
    -------
    int
        That of the work; 2 for input and options that are refused; 3 for memory, disk, and faults inside; 130 for an
        interrupt, 141 where the reader of the output is gone.
    """
    try:
        try:
            raise_interrupts()
            return work()
        finally:  # a disk that is full is found here, not after the status was told; for --help and --version too
            if sys.stdout is not None:
                sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has seen enough: end as other tools do
        _let_go()
        return _PIPE
    except KeyboardInterrupt:
        return _interrupted()
    except Exception as error:
        _let_go()
        return _of(error)


def _of(error: Exception) -> int:
    """Say what went wrong in one line; returns the status."""
    if isinstance(error, KernelcalError | UnicodeError):
        return refused(sentence(error))
    if isinstance(error, OSError) and error.errno in (*_OF_NAMES, *_OF_NAMES_TOO):
        return refused(sentence(error))
    say(f"kernelcal: {_fault(error)}", to_errors=True)
    return FAULT


def _fault(error: Exception) -> str:
    if isinstance(error, MemoryError):
        why = f" ({sentence(error)})" if str(error) else ""
        return f"out of memory{why}: fewer draws or features, --memory with files in parts, or a larger machine"
    if isinstance(error, OSError):
        return f"reading or writing failed: {sentence(error)}"
    return (
        f"a fault of kernelcal, not of what you gave: {type(error).__name__}: {sentence(error)} ({_place(error)}). "
        "Please report it with the command; python -X dev -m kernelcal ... shows where it happened"
    )


def _place(error: Exception) -> str:
    """Return the innermost place of the package that the error passed; all places with ``python -X dev``."""
    if sys.flags.dev_mode:
        traceback.print_exception(error)
    places = traceback.extract_tb(error.__traceback__)
    inside = f"{Path(__file__).parents[1]}{os.sep}"
    own = [frame for frame in places if frame.filename.startswith(inside)] or places
    return f"{Path(own[-1].filename).name}, line {own[-1].lineno}" if own else "no place"


def _interrupted() -> int:
    with contextlib.suppress(OSError):
        say("kernelcal: interrupted", to_errors=True)
    if is_command(sys.argv, sys.orig_argv):
        # `python -m` may end by the signal in place of this status where the interrupt came while modules were made:
        # Python remembers that, though the exception was caught
        _let_go()
        os._exit(INTERRUPTED)
    return INTERRUPTED


def _let_go() -> None:
    """Send what is left of the output nowhere: Python would try again to write it, and change the status."""
    stream: Any = sys.stdout
    with contextlib.suppress(OSError, ValueError, AttributeError):
        stream.flush()
        return
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
