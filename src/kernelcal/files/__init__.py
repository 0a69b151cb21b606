"""Files of our own: places they are written to, whole or not at all, and archives that tell when they are damaged."""

from kernelcal.files.archives import (
    InMemory,
    archive_bytes,
    checksum,
    format_of,
    read_archive,
    what_we_wrote,
    write_archive,
    wrong_format,
)
from kernelcal.files.outputs import backup_of, in_turn, refuse_place, written_whole

__all__ = [
    "InMemory",
    "archive_bytes",
    "backup_of",
    "checksum",
    "format_of",
    "in_turn",
    "read_archive",
    "refuse_place",
    "what_we_wrote",
    "write_archive",
    "written_whole",
    "wrong_format",
]
