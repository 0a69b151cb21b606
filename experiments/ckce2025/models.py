"""Does the ranking of models survive a shift of the inputs? Eight models in the simulation of section 5.2.

Every model is a strictly increasing function of x, so that P(Y | Q) is the same at every location: what the paper
assumes of its images holds here by construction.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from common import PAPER, write
from ranking import change, taus
from simulation import data_set, truth

MODELS = [(slope, intercept) for intercept in (0, 1) for slope in (0.5, 2, 3.5, 5)]
LOCATIONS = (-0.75, 0.0, 0.75)


def linear_model(slope, intercept, x):
    """What is predicted; the truth has slope 1 and intercept 0."""
    return truth(slope * x + intercept)


def values(statistic, trial, models=tuple(MODELS)):
    """Values of shape (locations, models): all models predict the same inputs and targets."""
    predict = [partial(linear_model, *model) for model in models]
    return np.array([[float(statistic(*data_set(a, trial, predict=f))) for f in predict] for a in LOCATIONS])


def ranked(statistic, trials):
    """Values of tau between locations, shape (trials, 3), and the change of the mean values."""
    found = np.array([values(statistic, trial) for trial in range(trials)])
    return np.array([taus(v) for v in found]), change(found.mean(axis=0))


def line(name, found, factor):
    mean = found.mean(axis=1)
    return [
        name,
        *(f"{t:.2f}" for t in found.mean(axis=0)),
        f"{mean.mean():.2f} ({mean.std(ddof=1):.2f})",
        f"{factor:.1f}",
    ]


def main(options):
    pairs = ("-0.75, 0", "-0.75, 0.75", "0, 0.75")
    lines = [line(name, *ranked(statistic, options.trials)) for name, statistic in PAPER.items()]
    write("models", ["statistic", *pairs, "mean (sd)", "values change by"], lines)
