"""The first second of the command line: an interrupt while the libraries are still being imported ends it quietly.

It is installed when `kernelcal` is imported, and only by the process of the command (``kernelcal ...`` or
``python -m kernelcal ...``). Programs that import the library keep their own handling of interrupts.
"""

from __future__ import annotations

import os
import signal
import sys
from types import FrameType

__all__ = ["INTERRUPTED", "expect_interrupts", "is_command", "raise_interrupts"]


INTERRUPTED = 128 + 2  # exit status of what the signal 2 has ended, as shells have it


def is_command(argv: list[str], original: list[str]) -> bool:
    """Tell whether the process is the command: from ``sys.argv`` and ``sys.orig_argv``.

    Workers that a program starts are given its ``sys.argv``, but have an original one of their own.
    """
    program = argv[0] if argv else ""
    if program == "-m" or os.path.basename(program) == "__main__.py":  # while the package is imported, and afterwards
        named = original[original.index("-m") + 1 :] if "-m" in original else []
        return named[:1] in (["kernelcal"], ["kernelcal.cli"])
    return os.path.splitext(os.path.basename(program))[0] == "kernelcal" and program in original


def expect_interrupts() -> None:
    """End quietly at an interrupt, until the command says that it handles them itself."""
    try:
        if is_command(sys.argv, sys.orig_argv) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, _end)
    except ValueError:  # not the main thread, which alone is told of signals
        return


def raise_interrupts() -> None:
    """Raise KeyboardInterrupt again, as Python does: whoever calls this catches it."""
    if signal.getsignal(signal.SIGINT) is _end:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _end(number: int, frame: FrameType | None) -> None:
    """Leave at once: half-made imports have nothing to tidy up, and would print where they were."""
    os.write(2, b"kernelcal: interrupted\n")
    os._exit(INTERRUPTED)
