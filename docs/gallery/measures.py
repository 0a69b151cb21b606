"""What a field calls calibration, each beside its value for calibrated predictions."""

import numpy as np

import kernelcal as kc

malignant, risk = np.genfromtxt("examples/biopsies.csv", delimiter=",", skip_header=1, usecols=(0, 1)).T

ax = kc.measures.measure(malignant.astype(int), risk, "clinical").plot()
