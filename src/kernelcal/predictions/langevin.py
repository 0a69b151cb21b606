"""Draws from densities known up to a constant: the Metropolis-adjusted Langevin algorithm."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.predictions.langevin_chains import LangevinChains
from kernelcal.predictions.langevin_checks import whole
from kernelcal.predictions.real import RealPredictions
from kernelcal.predictions.samples import Samples
from kernelcal.randomness import generator_of

__all__ = ["langevin_draws"]


def langevin_draws(
    predictions: RealPredictions, draws: int, *, steps: int, step_size: Any, start: Any = None, rng: Any = 0
) -> Samples:
    """Draw from every prediction by the Metropolis-adjusted Langevin algorithm (MALA), one chain a draw.

    A step proposes ``y' = y + e s(y) + sqrt(2 e) xi`` with the score s, the step size e and standard normal xi, and
    accepts it with probability ``min(1, p(y') q(y | y') / (p(y) q(y' | y)))``, q being the density of the proposal. A
    proposal at which log density or score is not finite is rejected.

    Parameters
    ----------
    predictions : UnnormalizedDensity, or a family with density and score
        Predicted densities, known up to a constant a row.
    draws : int
        Draws S a row: the ends of S independent chains.
    steps : int
        Steps of every chain.
    step_size : float, or array of shape (n,)
        Step size e, in squared units of the targets, for all rows or for each.
    start : array of shape ``(n, *event_shape)`` or ``(n, S, *event_shape)``, optional
        Where the chains of a row, or each of them, begin. Default: standard normal numbers. The ``draws`` of an
        earlier result let the chains go on.
    rng : int, numpy.random.Generator or None
        Source of random numbers (SPEC 7).

    Returns
    -------
    Samples
        Draws of shape ``(n, S, *event_shape)``, with a note on steps and acceptance that test results repeat.

    Raises
    ------
    InputError
        For predictions without log density, and for a start where density or score are not finite, with the row.

    Notes
    -----
    Convergence is not checked. Until the chains have converged their ends are **not** draws from the predictions:
    `SKCE` and the swap test, which take them for such, reject calibrated models too often. `KCCSD` needs no draws.

    A small step size accepts nearly all proposals and goes nowhere; rates from 0.4 to 0.8 are usual. Isolated modes
    are not left. Cost: log density and score of n S targets a step. `langevin_chains.LangevinChains` tells
    the acceptance of each row.

    References
    ----------
    Roberts, Tweedie (1996), *Exponential convergence of Langevin distributions and their discrete approximations*.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.predictions import UnnormalizedDensity, langevin_draws
    >>> quartic = UnnormalizedDensity(
    ...     lambda y, a: -((y - a) ** 4), np.array([0.0, 5.0]), gradient=lambda y, a: -4 * (y - a) ** 3
    ... )
    >>> sampled = langevin_draws(quartic, 500, steps=200, step_size=0.15, start=np.array([0.0, 5.0]))
    >>> sampled.draws.shape, np.abs(sampled.mean - [0.0, 5.0]) < 0.1
    ((2, 500), array([ True,  True]))
    """
    rng = generator_of(rng)
    chains = LangevinChains.begin(predictions, whole(draws, "draws"), step_size, start, rng)
    for _ in range(whole(steps, "steps")):
        chains = chains.step(rng)
    return Samples(chains.by_row(chains.y), notes=_notes(chains))


def _notes(chains: LangevinChains) -> tuple[str, ...]:
    """What the reader of a result must know of these draws."""
    rates, sizes = chains.acceptance, np.unique(chains.sizes)
    row = int(np.argmin(rates))
    size = f"{sizes[0]:g}" + (f" to {sizes[-1]:g}" if len(sizes) > 1 else "")
    told = (
        f"the draws are ends of Markov chains (Metropolis-adjusted Langevin, steps: {chains.steps}, step size: {size}, "
        f"acceptance rate: {rates.mean():.2f}, lowest {rates[row]:.2f} in row {row}): chains that have not converged "
        "give no draws from the predictions, and tests that take them for such (SKCE, null='swap') reject calibrated "
        "models too often; KCCSD needs no draws"
    )
    wrong = f"the log density was NaN at {chains.undefined} proposals, which were rejected: mend the function"
    return (told, wrong) if chains.undefined else (told,)
