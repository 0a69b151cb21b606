"""Three kinds of predictions: classes, numbers, and ranks of a posterior."""

import matplotlib.pyplot as plt
import numpy as np

import kernelcal as kc
from kernelcal.plots import panel

digits = np.loadtxt("examples/digits_logistic.csv", delimiter=",", skiprows=1)
classes = kc.reliability(digits[:, 0].astype(int), digits[:, 1:], bins=10)

observed, mean, std = np.genfromtxt("examples/temperatures.csv", delimiter=",", skip_header=1, usecols=(4, 5, 6)).T
numbers = kc.pit_histogram(observed, kc.Normal(mean, std))

table = np.loadtxt("examples/sbc_ranks.csv", delimiter=",", skiprows=1)[:, 1:]
ranks = kc.ranks.rank_test(table, draws_per_rank=99, names=["mu", "sigma"])

figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
ax = panel([classes.plot, numbers.plot, ranks.ecdf("sigma").plot], axes=axes)[0]
for one, title in zip(axes, ("Digits: too unsure", "Temperatures: too warm", "A posterior: too narrow"), strict=True):
    one.set_title(title, loc="left")
