"""Predicted times to an event: residuals of outcomes that are censored in part."""

import numpy as np

import kernelcal as kc

months, end, scale, shape = np.genfromtxt("examples/cohort.csv", delimiter=",", skip_header=1, usecols=(1, 3, 4, 5)).T
dead = np.genfromtxt("examples/cohort.csv", delimiter=",", skip_header=1, usecols=2, dtype=str) == "dead"

law = kc.predictions.Weibull(scale, shape)
ax = kc.survival.evaluate((months, dead), law, censoring_time=end).plot()
