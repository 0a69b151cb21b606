"""Claimed and observed levels of forecasts of numbers."""

import numpy as np

import kernelcal as kc

observed, mean, std = np.genfromtxt("examples/temperatures.csv", delimiter=",", skip_header=1, usecols=(4, 5, 6)).T

ax = kc.quantile_calibration(observed, kc.Normal(mean, std)).plot()
