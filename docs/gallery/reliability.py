"""Reliability diagram of a classifier: the first choice."""

import numpy as np

import kernelcal as kc

table = np.loadtxt("examples/digits_logistic.csv", delimiter=",", skiprows=1)
y, p = table[:, 0].astype(int), table[:, 1:]

ax = kc.reliability(y, p, bins=10).plot()
