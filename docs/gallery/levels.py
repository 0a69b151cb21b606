"""Quantile forecasts: what each level claims, and what happened."""

import numpy as np

import kernelcal as kc

table = np.genfromtxt("examples/covid_quantiles.csv", delimiter=",", skip_header=1, usecols=range(4, 12))
levels = [0.025, 0.1, 0.25, 0.5, 0.75, 0.9, 0.975]

ax = kc.claimed_levels(table[:, 0], kc.Quantiles(table[:, 1:], levels)).plot()
