"""Drawings of results: they take plain numbers, and compute nothing."""

from kernelcal.surroundings import at_first_use

with at_first_use(__name__):
    from kernelcal.plots.axes import ACCENT, BAND, INK, OBSERVED, axes_or_new, finished, literal, panel, percent, pyplot
    from kernelcal.plots.coverage import risk_coverage_plot
    from kernelcal.plots.distributions import (
        calibration_plot,
        confidence_plot,
        curve_plot,
        difference_plot,
        histogram_plot,
        levels_plot,
    )
    from kernelcal.plots.gaps import reliability_plot, simplex_plot, witness_plot
    from kernelcal.plots.histories import history_plot
    from kernelcal.plots.members import forest_plot, interval_plot, members_plot, null_plot
    from kernelcal.plots.profile import profile_plot

__all__ = [
    "ACCENT",
    "BAND",
    "INK",
    "OBSERVED",
    "axes_or_new",
    "calibration_plot",
    "confidence_plot",
    "curve_plot",
    "difference_plot",
    "finished",
    "forest_plot",
    "histogram_plot",
    "history_plot",
    "interval_plot",
    "levels_plot",
    "literal",
    "members_plot",
    "null_plot",
    "panel",
    "percent",
    "profile_plot",
    "pyplot",
    "reliability_plot",
    "risk_coverage_plot",
    "simplex_plot",
    "witness_plot",
]
