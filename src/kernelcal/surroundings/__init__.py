"""The process that kernelcal runs in: interrupts in its first second. Imports next to nothing, as it comes first."""

from kernelcal.surroundings.starting import INTERRUPTED, expect_interrupts, is_command, raise_interrupts

__all__ = ["INTERRUPTED", "expect_interrupts", "is_command", "raise_interrupts"]
