"""Calibration curve of a clinical risk, isotonic, with an exact band."""

import numpy as np

import kernelcal as kc

malignant, risk = np.genfromtxt("examples/biopsies.csv", delimiter=",", skip_header=1, usecols=(0, 1)).T

ax = kc.measures.calibration_curve(malignant.astype(int), risk).plot()
