"""Shifts of the predictions: confident rows a number of times as frequent as the others, or the reverse.

The first threshold is that of no network: a row is confident if its top-label confidence, averaged over all networks,
is above the median of the rows. So the shift is one of the images, as in the paper, and both halves are equally large.
It changes P(Y | Q) a little, since the other networks know something of the label. A network's own confidence does not,
but then the networks are shifted unequally; both are tried.
"""

from __future__ import annotations

import numpy as np

SETTINGS = {"as is": 1.0, "confident x5": 5.0, "unconfident x5": 0.2}


def confidence(predictions):
    """Probability of the top label."""
    return np.asarray(predictions.probabilities).max(axis=1)


def by_mean(networks, quantile=0.5):
    """One division of the rows for all networks: mean confidence above a quantile of it."""
    mean = np.mean([confidence(p) for _, p in networks.values()], axis=0)
    return dict.fromkeys(networks, mean > np.quantile(mean, quantile))


def by_own(networks, threshold=None):
    """A division a network: own confidence above a threshold, or above its median."""
    own = {name: confidence(p) for name, (_, p) in networks.items()}
    return {name: c > (np.median(c) if threshold is None else threshold) for name, c in own.items()}


def weights(confident, factor):
    """Case weights; only their ratios matter, so that a factor 1/5 makes the others five times as frequent."""
    return np.where(confident, factor, 1.0)


def at_one_scale(statistic, predictions):
    """The statistic with the lengthscales of the rows as they are: gamma is the same in all settings."""
    return statistic.resolved(predictions) if hasattr(statistic, "resolved") else statistic


def values(statistic, networks, confident, factors):
    """Values of shape (factors, networks)."""
    return np.array(
        [
            [
                float(at_one_scale(statistic, p)(y, p, weights=weights(confident[name], f)))
                for name, (y, p) in networks.items()
            ]
            for f in factors
        ]
    )
