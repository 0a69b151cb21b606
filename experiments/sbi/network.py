"""A mixture density network: posteriors as mixtures of normals with independent components, in PyTorch."""

from __future__ import annotations

import math
from copy import deepcopy

import numpy as np
import torch
from torch import nn

import kernelcal as kc
from kernelcal.predictions import DiagonalNormal

COMPONENTS, WIDTH, BATCH, RATE = 8, 64, 256, 2e-3


class Posterior(nn.Module):
    """Posterior q(theta | x) of two unknowns given two numbers; `factor` multiplies all standard deviations."""

    def __init__(self, x, components=COMPONENTS, factor=1.0):
        super().__init__()
        self.components, self.factor = components, factor
        self.register_buffer("centre", x.mean(dim=0))
        self.register_buffer("scale", x.std(dim=0))
        sizes = (WIDTH, WIDTH, 5 * components)
        layers = [nn.Linear(2, sizes[0]), nn.SiLU(), nn.Linear(sizes[0], sizes[1]), nn.SiLU()]
        self.layers = nn.Sequential(*layers, nn.Linear(sizes[1], sizes[2])).double()

    def forward(self, x):
        """Logarithms of the weights (n, K), means and standard deviations (n, K, 2)."""
        out = self.layers((x - self.centre) / self.scale)
        logits, mean, log_std = out.split([self.components, 2 * self.components, 2 * self.components], dim=-1)
        shape = (*out.shape[:-1], self.components, 2)
        return logits.log_softmax(dim=-1), mean.reshape(shape), self.factor * log_std.reshape(shape).exp()

    def log_prob(self, theta, x):
        """Log density of one theta a row, shape (n,)."""
        log_weights, mean, std = self(x)
        z = (theta[..., None, :] - mean) / std
        logs = -0.5 * (z * z).sum(dim=-1) - std.log().sum(dim=-1) - math.log(2 * math.pi)
        return (log_weights + logs).logsumexp(dim=-1)

    @torch.no_grad()
    def sample(self, x, size, seed):
        """Draws of shape (n, size, 2)."""
        generator = torch.Generator().manual_seed(seed)
        log_weights, mean, std = self(x)
        chosen = torch.multinomial(log_weights.exp(), size, replacement=True, generator=generator)[..., None]
        chosen = chosen.expand(*chosen.shape[:-1], 2)
        noise = torch.randn(chosen.shape, generator=generator, dtype=mean.dtype)
        return mean.gather(1, chosen) + std.gather(1, chosen) * noise

    @torch.no_grad()
    def mixture(self, x):
        """The same posterior as a family of kernelcal."""
        log_weights, mean, std = (values.numpy() for values in self(x))
        components = [DiagonalNormal(mean[:, k], std[:, k]) for k in range(self.components)]
        return kc.Mixture(np.exp(log_weights), components)

    def narrower(self, factor):
        """The same posterior with all standard deviations multiplied by a factor."""
        other = deepcopy(self)
        other.factor = factor
        return other


def train(theta, x, seed, epochs=200, patience=15):
    """Fit by maximum likelihood; a tenth of the pairs says when to stop. Without patience all pairs are fitted to."""
    torch.manual_seed(seed)
    held = len(x) // 10 if patience else 0
    network = Posterior(x)
    optimiser = torch.optim.Adam(network.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
    best, kept, since = math.inf, network.state_dict(), 0
    for _ in range(epochs):
        _epoch(network, optimiser, theta[held:], x[held:])
        schedule.step()
        if not patience:
            continue
        with torch.no_grad():
            loss = -network.log_prob(theta[:held], x[:held]).mean().item()
        since = 0 if loss < best else since + 1
        if loss < best:
            best, kept = loss, deepcopy(network.state_dict())
        if since == patience:
            break
    if patience:
        network.load_state_dict(kept)
    return network.eval().requires_grad_(False)


def _epoch(network, optimiser, theta, x):
    for rows in torch.randperm(len(x)).split(BATCH):
        optimiser.zero_grad()
        (-network.log_prob(theta[rows], x[rows]).mean()).backward()
        optimiser.step()
