"""Drawings of results: they take plain numbers, and compute nothing."""

from kernelcal.plots.axes import axes_or_new, literal
from kernelcal.plots.confidence import confidence_plot
from kernelcal.plots.curve import curve_plot
from kernelcal.plots.histogram import histogram_plot
from kernelcal.plots.intervals import interval_plot
from kernelcal.plots.members import members_plot
from kernelcal.plots.null_draws import null_plot
from kernelcal.plots.panel import panel
from kernelcal.plots.reliability import reliability_plot
from kernelcal.plots.simplex import simplex_plot
from kernelcal.plots.witness import witness_plot

__all__ = [
    "axes_or_new",
    "confidence_plot",
    "curve_plot",
    "histogram_plot",
    "interval_plot",
    "literal",
    "members_plot",
    "null_plot",
    "panel",
    "reliability_plot",
    "simplex_plot",
    "witness_plot",
]
