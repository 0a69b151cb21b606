"""Files to predictions and targets."""

from kernelcal.io.options import KINDS, ReadOptions
from kernelcal.io.reading import Data, read

__all__ = ["KINDS", "Data", "ReadOptions", "read"]
