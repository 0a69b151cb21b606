"""The law of one statistic under calibration, and where the data lie."""

import numpy as np

import kernelcal as kc

table = np.loadtxt("examples/digits_logistic.csv", delimiter=",", skiprows=1)
y, p = table[:, 0].astype(int), table[:, 1:]

ax = kc.calibration_test(y, p, statistic="skce").plot()
