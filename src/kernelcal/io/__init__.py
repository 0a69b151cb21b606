"""Files to predictions and targets."""

from kernelcal.io.reading import KINDS, Data, ReadOptions, read

__all__ = ["KINDS", "Data", "ReadOptions", "read"]
