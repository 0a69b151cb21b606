"""What the operating system has to do with: places that files are written to, and interrupts in the first second."""

from kernelcal.surroundings.archives import (
    InMemory,
    archive_bytes,
    checksum,
    format_of,
    read_archive,
    what_we_wrote,
    write_archive,
    wrong_format,
)
from kernelcal.surroundings.outputs import backup_of, in_turn, refuse_place, written_whole
from kernelcal.surroundings.starting import INTERRUPTED, expect_interrupts, is_command, raise_interrupts

__all__ = [
    "INTERRUPTED",
    "InMemory",
    "archive_bytes",
    "backup_of",
    "checksum",
    "expect_interrupts",
    "format_of",
    "in_turn",
    "is_command",
    "raise_interrupts",
    "read_archive",
    "refuse_place",
    "what_we_wrote",
    "write_archive",
    "written_whole",
    "wrong_format",
]
