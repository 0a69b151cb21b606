"""Predictions watched day by day, until an alarm that holds however often one looks."""

import numpy as np

import kernelcal as kc

rained, probability = np.genfromtxt("examples/rain.csv", delimiter=",", skip_header=1, usecols=(1, 2)).T

monitor = kc.Monitor()
for day in range(30):
    monitor.update(rained[day : day + 1].astype(int), probability[day : day + 1].clip(0.01, 0.99), key=f"day {day + 1}")
ax = monitor.plot()
