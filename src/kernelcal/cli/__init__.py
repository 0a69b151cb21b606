"""The command line."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.cli.command import main

__all__ = ["main"]
