"""Ranks of outcomes among draws."""

from kernelcal.ranks.vectors import vectors_test, vectors_tested

__all__ = ["vectors_test", "vectors_tested"]
