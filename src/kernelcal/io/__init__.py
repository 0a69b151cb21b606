"""Files to predictions and targets."""

from kernelcal.io.columns import CROSSING, KINDS, ReadOptions
from kernelcal.io.layouts import Data
from kernelcal.io.reading import read, read_models, read_source
from kernelcal.io.sources import READERS, Source, open_source, readers, reads

__all__ = [
    "CROSSING",
    "KINDS",
    "READERS",
    "Data",
    "ReadOptions",
    "Source",
    "open_source",
    "read",
    "read_models",
    "read_source",
    "readers",
    "reads",
]
