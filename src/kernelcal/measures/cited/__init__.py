"""Measures that papers cite."""

from kernelcal.measures.cited.binned import BinnedError
from kernelcal.measures.known import register_measure

__all__ = ["BinnedError"]

register_measure(
    "ece", BinnedError, summary="binned error of the positive class, 15 bins of equal width", field="cited"
)
