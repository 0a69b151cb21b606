"""Several models on the same rows: which is better calibrated, and how certainly."""

from kernelcal.compare.comparison import ComparedModel, Comparison
from kernelcal.compare.main import compare

__all__ = ["ComparedModel", "Comparison", "compare"]
