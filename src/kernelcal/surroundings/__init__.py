"""What the operating system has to do with: places that files are written to, and interrupts in the first second."""

from kernelcal.surroundings.outputs import refuse_place, written_whole
from kernelcal.surroundings.starting import INTERRUPTED, expect_interrupts, is_command, raise_interrupts

__all__ = ["INTERRUPTED", "expect_interrupts", "is_command", "raise_interrupts", "refuse_place", "written_whole"]
