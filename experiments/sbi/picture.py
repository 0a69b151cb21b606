"""One posterior, exact and estimated, and the coverage of all of them."""

from __future__ import annotations

import numpy as np
import simulator
import torch

import kernelcal as kc
from kernelcal.statistics import highest_density_coverage

SEEN, GRID, LEVELS = np.array([2.5, 0.5]), np.linspace(-3, 3, 121), np.linspace(0.05, 0.95, 19)


def log_densities(posteriors):
    """Log densities on a grid for one x, exact first."""
    theta = np.stack(np.meshgrid(GRID, GRID), axis=-1).reshape(-1, 2)
    x = np.broadcast_to(SEEN, theta.shape).copy()
    found = {"exact": simulator.log_posterior(theta, x)}
    for name, network in posteriors.items():
        found[name] = network.log_prob(torch.tensor(theta), torch.tensor(x)).numpy()
    return {name: values.reshape(len(GRID), -1) for name, values in found.items()}


def curves(theta, knowns):
    """Coverage at many levels."""
    for name, known in knowns.items():
        found = highest_density_coverage(
            theta, kc.Samples(known.draws), levels=LEVELS, log_density=known.density.unnormalized_log_prob
        )
        yield name, found.expected, found.shares


def draw(path, posteriors, theta, knowns):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    logs = log_densities(posteriors)
    figure, axes = plt.subplots(1, len(logs) + 1, figsize=(2.3 * (len(logs) + 1), 2.7), layout="constrained")
    for ax, (name, values) in zip(axes, logs.items(), strict=False):
        ax.contourf(GRID, GRID, np.exp(values - values.max()), levels=np.linspace(0.02, 1, 9), cmap="Blues")
        ax.set(title=name, xlabel=r"$\theta_1$", aspect="equal")
    axes[0].set_ylabel(r"$\theta_2$")
    axes[-1].plot([0, 1], [0, 1], color="0.7")
    for name, expected, shares in curves(theta, knowns):
        axes[-1].plot(expected, shares, label=name, linewidth=1)
    axes[-1].set(title="coverage", xlabel="level", aspect="equal")
    axes[-1].legend(fontsize=6)
    figure.savefig(path, dpi=90)
    plt.close(figure)
