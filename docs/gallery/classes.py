"""Reliability of the classes that happen most."""

import numpy as np

import kernelcal as kc

table = np.loadtxt("examples/digits_logistic.csv", delimiter=",", skiprows=1)
y, p = table[:, 0].astype(int), table[:, 1:]

ax = kc.class_reliability(y, p, bins=8).plot(number=3)[0]
