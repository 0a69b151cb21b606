"""Rank histograms of forecasts of vectors: mean and dependence of wind at three hours."""

import numpy as np

import kernelcal as kc
from kernelcal.plots import panel
from kernelcal.statistics.vectors import pre_rank_histogram

with np.load("examples/wind.npz") as wind:
    y, draws = wind["y"], kc.Samples(wind["samples"])

histograms = [pre_rank_histogram(y, draws, name, bins=8) for name in ("mean", "dependence")]
ax = panel([one.plot for one in histograms], "Wind, 150 days, 15 members")[0]
