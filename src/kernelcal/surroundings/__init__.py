"""The process that kernelcal runs in: imports that wait, and interrupts in its first second. Comes first."""

from kernelcal.surroundings.imports import at_first_use, import_all
from kernelcal.surroundings.starting import INTERRUPTED, expect_interrupts, is_command, raise_interrupts

__all__ = ["INTERRUPTED", "at_first_use", "expect_interrupts", "import_all", "is_command", "raise_interrupts"]
