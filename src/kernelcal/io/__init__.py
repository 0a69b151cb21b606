"""Files to predictions and targets."""

from kernelcal.io.models import read_models
from kernelcal.io.options import CROSSING, KINDS, ReadOptions
from kernelcal.io.reading import Data, read

__all__ = ["CROSSING", "KINDS", "Data", "ReadOptions", "read", "read_models"]
