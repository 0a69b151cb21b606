"""Drawings of results: they take plain numbers, and compute nothing."""

from kernelcal.plots.intervals import interval_plot

__all__ = ["interval_plot"]
