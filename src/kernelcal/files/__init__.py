"""Files that names stand for, places written to whole or not at all, and archives that tell when they are damaged."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
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
    from kernelcal.files.inputs import (
        DELIMITERS,
        PARQUET,
        READ_IN_PARTS,
        find_files,
        in_pieces,
        is_many,
        size_in_words,
        size_of,
        suffix_of,
        why_too_large,
    )
    from kernelcal.files.outputs import backup_of, in_turn, refuse_place, written_whole

__all__ = [
    "DELIMITERS",
    "PARQUET",
    "READ_IN_PARTS",
    "InMemory",
    "archive_bytes",
    "backup_of",
    "checksum",
    "find_files",
    "format_of",
    "in_pieces",
    "in_turn",
    "is_many",
    "read_archive",
    "refuse_place",
    "size_in_words",
    "size_of",
    "suffix_of",
    "what_we_wrote",
    "why_too_large",
    "write_archive",
    "written_whole",
    "wrong_format",
]
