"""What is asked of a posterior on held-out rows: five tests and two coverages, as a user asks them."""

from __future__ import annotations

from dataclasses import dataclass

import simulator
import torch

import kernelcal as kc
from kernelcal.predictions import UnnormalizedDensity
from kernelcal.statistics import KCCSD, highest_density_coverage

LEVELS, SIZE, DRAWS = (0.5, 0.9), 100, 199
NARROW = KCCSD(target_kernel=kc.Gaussian(0.5))


@dataclass(frozen=True)
class Known:
    """A posterior on n rows: its density, known through `density`, S draws a row and, if there is one, its family."""

    density: UnnormalizedDensity
    draws: object
    mixture: kc.Mixture | None = None

    @property
    def with_draws(self):
        """Density and draws together: the draws tell where to look, and make the KCCSD test exact."""
        density = self.density
        return type(density)(
            density.log_density,
            density.parameters,
            gradient=density.gradient,
            event_shape=density.event_shape,
            draws=self.draws,
        )


def exact_posterior(x, rng):
    """The posterior of the simulator, with its score by hand."""
    density = UnnormalizedDensity(simulator.log_posterior, x, gradient=simulator.posterior_score, event_shape=2)
    return Known(density, simulator.posterior_draws(rng, x, SIZE))


def estimated_posterior(network, x, seed):
    """What a network says, with its score by automatic differentiation."""
    x = torch.tensor(x)
    density = UnnormalizedDensity(network.log_prob, x, event_shape=2)
    return Known(density, network.sample(x, SIZE, seed).numpy(), network.mixture(x))


def pvalues(theta, known):
    """P-values of all tests; None for the family of a posterior that has none."""
    asked = {
        "KCCSD, wild bootstrap": (known.density, "default"),
        "KCCSD, lengthscale 0.5": (known.density, NARROW),
        "KCCSD, draws swapped": (known.with_draws, "default"),
        "default family, draws swapped": (kc.Samples(known.draws), "default"),
        "default family, exact": (known.mixture, "default"),
    }
    return {
        name: None if batch is None else kc.calibration_test(theta, batch, statistic=statistic, draws=DRAWS).pvalue
        for name, (batch, statistic) in asked.items()
    }


def coverages(theta, known):
    """Coverage by log density and draws, and by the family."""
    samples, log_density = kc.Samples(known.draws), known.density.unnormalized_log_prob
    found = {"log density and draws": highest_density_coverage(theta, samples, levels=LEVELS, log_density=log_density)}
    if known.mixture is not None:
        found["family"] = highest_density_coverage(theta, known.mixture, levels=LEVELS)
    return found
