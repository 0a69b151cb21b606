"""Observed minus predicted over a column that the model did not see."""

import numpy as np

import kernelcal as kc

malignant, risk = np.genfromtxt("examples/biopsies.csv", delimiter=",", skip_header=1, usecols=(0, 1)).T
cells = np.genfromtxt("examples/biopsies.csv", delimiter=",", skip_header=1, usecols=2, dtype=str)

ax = kc.calibration_test(malignant.astype(int), risk, given={"cells": cells}).given.plot()
