"""Markov chains of the Metropolis-adjusted Langevin algorithm, for all rows and draws at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.arrays import as_array, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.compositions import Samples
from kernelcal.predictions.densities.score import Score
from kernelcal.predictions.densities.unnormalized import UnnormalizedDensity
from kernelcal.predictions.real import RealPredictions
from kernelcal.randomness import generator_of

__all__ = ["LangevinChains", "langevin_draws", "log_acceptance"]


State = tuple[np.ndarray, np.ndarray, np.ndarray]  # targets, log densities and scores


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
    are not left. Cost: log density and score of n S targets a step. `LangevinChains` tells
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
    rng = generator_of(rng, "Markov chains")
    chains = LangevinChains.begin(predictions, _whole(draws, "draws"), step_size, start, rng)
    for _ in range(_whole(steps, "steps")):
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


@dataclass(frozen=True, eq=False)
class LangevinChains:
    """State of all chains: row i of S chains stands S times, one after the other, so that a step is one call.

    Attributes
    ----------
    predictions : RealPredictions
        Every row repeated S times.
    y, log_density, score : array
        Where the chains are, of shape ``(n S, *event_shape)``, and density and score there.
    sizes : array of shape (n S,)
        Step sizes.
    draws, steps, undefined : int
        Chains a row; steps made; proposals at which the log density was NaN.
    accepted : array of shape (n S,)
        Proposals accepted by each chain.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.predictions.densities.langevin import LangevinChains
    >>> rng = np.random.default_rng(0)
    >>> chains = LangevinChains.begin(kc.Normal([0.0, 1.0], [1.0, 0.1]), 100, 0.5, np.array([0.0, 1.0]), rng)
    >>> chains.step(rng).acceptance.round(2)  # far too wide for the second row
    array([0.92, 0.03])
    """

    predictions: RealPredictions
    y: np.ndarray
    log_density: np.ndarray
    score: np.ndarray
    sizes: np.ndarray
    draws: int
    accepted: np.ndarray
    steps: int = 0
    undefined: int = 0

    @classmethod
    def begin(
        cls, predictions: RealPredictions, draws: int, step_size: Any, start: Any, rng: np.random.Generator
    ) -> Self:
        """Chains that have not moved."""
        _checked_density(predictions)
        n = len(predictions)
        every = predictions.map_arrays(to_numpy)[np.repeat(np.arange(n), draws)]
        y = _checked_start(start, (n, draws, *predictions.event_shape), rng)
        log_density, score = _density_and_score(every, y)
        _refuse_start(log_density, score, draws)
        sizes = np.repeat(_checked_sizes(step_size, n), draws)
        return cls(every, y, log_density, score, sizes, draws, accepted=np.zeros(n * draws, dtype=np.int64))

    def step(self, rng: np.random.Generator) -> Self:
        """Chains after one more step."""
        e = self._beside(self.sizes)
        y = self.y + e * self.score + np.sqrt(2 * e) * rng.standard_normal(self.y.shape)
        log_density, score = _density_and_score(self.predictions, y)
        usable = np.isfinite(log_density) & _rows(np.isfinite(score)).all(axis=1)
        with np.errstate(invalid="ignore", over="ignore"):  # where it is not usable
            ratio = log_acceptance((self.y, self.log_density, self.score), (y, log_density, score), self.sizes)
        moved = usable & (np.log1p(-rng.random(len(y))) < ratio)
        beside = self._beside(moved)
        return replace(
            self,
            y=np.where(beside, y, self.y),
            log_density=np.where(moved, log_density, self.log_density),
            score=np.where(beside, score, self.score),
            accepted=self.accepted + moved,
            steps=self.steps + 1,
            undefined=self.undefined + int(np.isnan(log_density).sum()),
        )

    def _beside(self, values: np.ndarray) -> np.ndarray:
        """One value a chain, with the axis of vectors."""
        return values[:, None] if self.y.ndim == 2 else values

    def by_row(self, values: np.ndarray) -> np.ndarray:
        """Values of the chains, shape (n, S, ...)."""
        return values.reshape(-1, self.draws, *values.shape[1:])

    @property
    def acceptance(self) -> np.ndarray:
        """Share of accepted proposals of every row, shape (n,)."""
        return self.by_row(self.accepted).mean(axis=1) / max(self.steps, 1)


def log_acceptance(here: State, there: State, sizes: np.ndarray) -> np.ndarray:
    """Logarithm of ``p(y') q(y | y') / (p(y) q(y' | y))``."""
    return there[1] - here[1] + _log_proposal(there, here[0], sizes) - _log_proposal(here, there[0], sizes)


def _log_proposal(here: State, target: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """Log density of a proposal, ``N(y + e s, 2 e I)``, up to a constant."""
    y, _, score = here
    drift = _rows(target) - _rows(y) - sizes[:, None] * _rows(score)
    return -(drift**2).sum(axis=1) / (4 * sizes)


def _rows(values: np.ndarray) -> np.ndarray:
    return values.reshape(len(values), math.prod(values.shape[1:]))


def _density_and_score(predictions: RealPredictions, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    if isinstance(predictions, UnnormalizedDensity):
        log_density = predictions.unnormalized_log_prob(y)
    else:
        log_density = predictions.log_prob(y)
    return to_numpy(log_density).astype(np.float64), to_numpy(predictions.score(y)).astype(np.float64)


def _refuse_start(log_density: np.ndarray, score: np.ndarray, draws: int) -> None:
    bad = ~(np.isfinite(log_density) & _rows(np.isfinite(score)).all(axis=1))
    if bad.any():
        row = int(np.argmax(bad)) // draws
        raise InputError(
            f"the log density or its gradient is not finite where a chain of row {row} begins ({bad.sum()} such "
            "chains): pass start= with points inside the support, or mend the function"
        )


def _checked_density(predictions: Any) -> None:
    """Refuse what has no log density of numbers; families without score say so themselves."""
    if isinstance(predictions, Score):
        raise InputError(
            "Score tells gradients only, and whether a proposal is accepted depends on log densities: use "
            "UnnormalizedDensity(log_density, gradient=...), or KCCSD, which needs no draws"
        )
    if not isinstance(predictions, RealPredictions):
        raise InputError(
            f"Langevin steps need densities of numbers or vectors, got {type(predictions).__name__}: such as "
            "UnnormalizedDensity(log_density, gradient=...)"
        )
    if len(predictions) == 0:
        raise InputError("there are no predictions to draw from: the batch has no rows")


def _whole(value: Any, name: str) -> int:
    """Return a positive whole number."""
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise InputError(f"{name} must be a positive whole number, got {value!r}")
    return int(value)


def _checked_sizes(step_size: Any, n: int) -> np.ndarray:
    """Return one positive step size a row."""
    try:
        sizes = np.asarray(step_size, dtype=np.float64)
    except (TypeError, ValueError):
        sizes = np.full(2, np.nan)
    if sizes.shape not in ((), (n,)) or not np.all((sizes > 0) & np.isfinite(sizes)):
        raise InputError(
            f"step_size must be a positive number, or one for each of the {n:,} rows, such as a tenth of the predicted "
            f"variance, got {step_size!r}"
        )
    return np.broadcast_to(sizes, (n,))


def _checked_start(start: Any, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    """Return starts of all chains, row by row; `shape` is ``(n, S, *event_shape)``."""
    n, draws, *event = shape
    if start is None:
        return rng.standard_normal((n * draws, *event))
    given = to_numpy(as_array(start)).astype(np.float64)
    if given.shape == (n, *event):
        given = np.repeat(given[:, None], draws, axis=1)
    if given.shape != shape:
        own = "".join(f", {size}" for size in event)
        raise InputError(
            f"start must have shape ({n}{own or ','}), a point a row, or ({n}, {draws}{own}), a point a draw, got "
            f"{given.shape}"
        )
    return given.reshape(n * draws, *event)
