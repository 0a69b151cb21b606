"""PIT histogram: where temperatures fell in their predicted distributions."""

import numpy as np

import kernelcal as kc

observed, mean, std = np.genfromtxt("examples/temperatures.csv", delimiter=",", skip_header=1, usecols=(4, 5, 6)).T

ax = kc.pit_histogram(observed, kc.Normal(mean, std)).plot()
