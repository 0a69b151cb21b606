"""Where a model is wrong: observed minus predicted, with an exact band."""

import numpy as np

import kernelcal as kc

malignant, risk = np.genfromtxt("examples/biopsies.csv", delimiter=",", skip_header=1, usecols=(0, 1)).T

ax = kc.explain(malignant.astype(int), risk, draws=999).plot()
