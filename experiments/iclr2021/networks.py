"""Friedman 1 and the ten networks of A.3, trained at once."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch

NETWORKS, WIDTHS = 10, (10, 200, 50, 1)
TRAINING, TEST = 100, 50
ITERATIONS, EVERY, RATE = 5_000, 100, 1e-3


def friedman(rng, n):
    """Inputs uniform on the unit cube of 10 dimensions, five of which matter; targets with standard normal noise."""
    x = rng.random((n, 10))
    y = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2 + 10 * x[:, 3] + 5 * x[:, 4]
    return x, y + rng.standard_normal(n)


def data(seed):
    """Training and test pairs."""
    rng = np.random.default_rng([5, seed])
    return friedman(rng, TRAINING), friedman(rng, TEST)


class Networks:
    """Fully connected networks with ReLU, stacked: a layer is one array for all of them."""

    def __init__(self, seed, number=NETWORKS):
        rng = np.random.default_rng([6, seed])
        self.number, self.weights, self.biases = number, [], []
        for fan_in, fan_out in pairwise(WIDTHS):
            bound = np.sqrt(6 / (fan_in + fan_out))  # Glorot, uniform
            w = torch.tensor(rng.uniform(-bound, bound, (number, fan_in, fan_out)))
            self.weights.append(w.requires_grad_())
            self.biases.append(torch.zeros(number, 1, fan_out, dtype=torch.float64, requires_grad=True))

    def __call__(self, x):
        """Outputs of shape (networks, rows)."""
        hidden = x.expand(self.number, *x.shape)
        for w, b in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = torch.relu(torch.baddbmm(b, hidden, w))
        return torch.baddbmm(self.biases[-1], hidden, self.weights[-1])[..., 0]

    def parameters(self):
        return [*self.weights, *self.biases]


@dataclass(frozen=True)
class Snapshot:
    """What the networks predict after some iterations.

    Attributes
    ----------
    iteration : int
        Updates that were made.
    means : dict
        Means on the data sets "train" and "test", shape (networks, rows).
    std : array of shape (networks,)
        Root of the mean squared error on the training data.
    """

    iteration: int
    means: dict
    std: np.ndarray


def train(seed, iterations=ITERATIONS, every=EVERY, number=NETWORKS):
    """Train on all pairs by Adam; a snapshot every so many updates.

    The sum of the networks' losses is minimised: Adam scales every parameter by itself, so that each network takes the
    steps that it would take alone.
    """
    torch.set_num_threads(1)
    (x, y), (x_test, _) = data(seed)
    inputs = {"train": torch.tensor(x), "test": torch.tensor(x_test)}
    targets, networks, snapshots = torch.tensor(y), Networks(seed, number), []
    optimiser = torch.optim.Adam(networks.parameters(), lr=RATE)
    for iteration in range(1, iterations + 1):
        optimiser.zero_grad()
        ((networks(inputs["train"]) - targets) ** 2).mean(dim=1).sum().backward()
        optimiser.step()
        if iteration % every == 0:
            snapshots.append(_snapshot(iteration, networks, inputs, y))
    return snapshots


def _snapshot(iteration, networks, inputs, y):
    with torch.no_grad():
        means = {name: networks(x).numpy().copy() for name, x in inputs.items()}
    return Snapshot(iteration, means, np.sqrt(((means["train"] - y) ** 2).mean(axis=1)))
