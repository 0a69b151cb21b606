"""Commands that stand by themselves: each adds its options, and names the function that runs it.

A new command is a file here with ``add_it(commands)``, which ends with ``parser.set_defaults(runs=run_it)``, and
returns the parser where it takes the options of files of predictions (`cli.reading`). What it needs is imported when it
runs. Commands that answer about one table, as `evaluate` does, are read, gated and printed alike: `cli.answers`.
"""

import argparse
from collections.abc import Callable
from typing import Any

from kernelcal.cli.commands.monitoring import add_monitor, run_history
from kernelcal.cli.commands.ranks import add_ranks
from kernelcal.cli.commands.recalibration import add_recalibrate
from kernelcal.cli.commands.survival import add_survival

__all__ = ["ADD_COMMANDS", "run_history"]

ADD_COMMANDS: tuple[Callable[[Any], argparse.ArgumentParser | None], ...] = (
    add_ranks,
    add_survival,
    add_monitor,
    add_recalibrate,
)
