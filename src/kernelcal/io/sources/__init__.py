"""A file as named columns of numbers, text or lists."""

from kernelcal.io.sources.binary import arrow_arrays
from kernelcal.io.sources.columns import (
    EXACT,
    MISSING,
    READERS,
    Arrays,
    Cells,
    Source,
    absent,
    is_number,
    missing,
    reads,
    typed,
)
from kernelcal.io.sources.opening import open_source, readers
from kernelcal.io.sources.text import Text

__all__ = [
    "EXACT",
    "MISSING",
    "READERS",
    "Arrays",
    "Cells",
    "Source",
    "Text",
    "absent",
    "arrow_arrays",
    "is_number",
    "missing",
    "open_source",
    "readers",
    "reads",
    "typed",
]
