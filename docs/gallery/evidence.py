"""What the exact test looked at, against 999 redrawn data sets."""

import numpy as np

import kernelcal as kc

table = np.loadtxt("examples/digits_logistic.csv", delimiter=",", skiprows=1)
y, p = table[:, 0].astype(int), table[:, 1:]

ax = kc.calibration_test(y, p).plot()
