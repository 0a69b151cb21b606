"""The command line."""

from kernelcal.cli.command import main

__all__ = ["main"]
