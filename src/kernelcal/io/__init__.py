"""Files to predictions and targets."""

from kernelcal.io.models import read_models
from kernelcal.io.opening import open_source, readers
from kernelcal.io.options import CROSSING, KINDS, ReadOptions
from kernelcal.io.reading import Data, read
from kernelcal.io.sources import READERS, Source, reads

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
    "readers",
    "reads",
]
