"""The commands, and where each of them has its options: a command that is not typed is not imported."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from kernelcal import __version__
from kernelcal.cli.ending import say

__all__ = ["COMMANDS", "argument_parser"]


# name, the file in `cli.commands` that has ``add_NAME(parser)``, what `kernelcal --help` says
COMMANDS = (
    ("evaluate", "evaluation", "scores, calibration errors, exact p-value and a verdict"),
    ("test", "testing", "the exact test alone, with every member of its family"),
    ("compare", "models", "several models on the same rows: which is better calibrated, and how certainly"),
    ("report", "models", "one HTML page: verdict, numbers, pictures, where the model is wrong, method and data"),
    ("explain", "explanation", "where the model is wrong: at which predictions, in which classes, groups and rows"),
    (
        "measure",
        "measuring",
        "what a field calls calibration: each with interval, what calibrated models have, and exact p-value",
    ),
    ("clinical", "measuring", "the table that journals ask for, of a model that predicts one risk"),
    ("merge", "sums", "add up what evaluate --save wrote, and say what all rows tell"),
    ("ranks", "ranks", "ranks of true values among draws, or PIT values: an exact test of every column, and pictures"),
    ("survival", "survival", "times to an event, some of them censored: test, events by time, pictures"),
    ("monitor", "monitoring", "watch predictions day by day: an alarm that holds however often one looks"),
    (
        "recalibrate",
        "recalibration",
        "a map that makes predictions of other rows better calibrated, and an honest test of it",
    ),
)


class _Parser(argparse.ArgumentParser):
    """Messages repeat what was typed, control characters written out; an output that fails is an error."""

    def _print_message(self, message: str, file: Any = None) -> None:
        say(message.removesuffix("\n"), to_errors=file is not sys.stdout)


class _Command(_Parser):
    """Has its options from the moment on that it is to read some."""

    def __init__(self, *, add_options: Callable[[argparse.ArgumentParser], None], **known: Any) -> None:
        super().__init__(**known)
        self._add_options: Callable[[argparse.ArgumentParser], None] | None = add_options

    def filled(self) -> _Command:
        """Return it with its options."""
        add_options, self._add_options = self._add_options, None
        if add_options is not None:
            add_options(self)
        return self

    def parse_known_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse as any parser does."""
        self.filled()
        return super().parse_known_args(args, namespace)


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(prog="kernelcal", description="Can a probabilistic model be believed? Calibration of predictions.")
    parser.add_argument("--version", action="version", version=f"kernelcal {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Command)
    for name, module, words in COMMANDS:
        commands.add_parser(name, help=words, add_options=_options_of(name, module))
    return parser


def _options_of(name: str, module: str) -> Callable[[argparse.ArgumentParser], None]:
    """What adds the options of a command, imported when it is called."""

    def add_options(parser: argparse.ArgumentParser) -> None:
        getattr(import_module(f"kernelcal.cli.commands.{module}"), f"add_{name}")(parser)

    return add_options
