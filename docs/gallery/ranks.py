"""Simulation-based calibration: ranks of two parameters, with simultaneous bands."""

import numpy as np

import kernelcal as kc

ranks = np.loadtxt("examples/sbc_ranks.csv", delimiter=",", skiprows=1)[:, 1:]

ax = kc.ranks.rank_test(ranks, draws_per_rank=99, names=["mu", "sigma"]).plot()[0]
