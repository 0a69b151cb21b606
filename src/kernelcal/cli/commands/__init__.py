"""Commands that stand by themselves: each adds its options, and names the function that runs it.

A new command is a file here with ``add_it(commands)``, which ends with ``parser.set_defaults(runs=run_it)``; what it
needs is imported when it runs.
"""

from collections.abc import Callable
from typing import Any

from kernelcal.cli.commands.ranks import add_ranks
from kernelcal.cli.commands.survival import add_survival

__all__ = ["ADD_COMMANDS"]

ADD_COMMANDS: tuple[Callable[[Any], None], ...] = (add_ranks, add_survival)
