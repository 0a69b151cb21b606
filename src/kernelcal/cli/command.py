"""Command line: parse, and let the command run.

What a command takes is imported once it was typed: help and wrong names are answered at once.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Sequence

from kernelcal.cli.ending import ended
from kernelcal.cli.parser import argument_parser
from kernelcal.surroundings import is_command

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0 fine, 1 a gate said no, 2 wrong use or input, 3 fault inside."""

    def work() -> int:
        options = _parsed(arguments)
        options.said = [*(sys.argv[1:] if arguments is None else arguments)]
        status: int = options.runs(options)
        return status

    status = ended(work)
    _keep_what_is_there()
    return status


def _keep_what_is_there() -> None:
    """Take what there is out of sight of Python's collector, in the process of the command, which then ends sooner."""
    if is_command(sys.argv, sys.orig_argv):
        gc.freeze()


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Parse, which imports the command: a seventh of that would be the search for garbage, of which there is none."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        return argument_parser().parse_args(arguments)
    finally:
        _keep_what_is_there()
        if collecting:
            gc.enable()
