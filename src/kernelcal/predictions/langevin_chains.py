"""Markov chains of the Metropolis-adjusted Langevin algorithm, for all rows and draws at once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.langevin_checks import checked_density, checked_sizes, checked_start
from kernelcal.predictions.real import RealPredictions
from kernelcal.predictions.unnormalized import UnnormalizedDensity

__all__ = ["LangevinChains", "log_acceptance"]

State = tuple[np.ndarray, np.ndarray, np.ndarray]  # targets, log densities and scores


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
    >>> from kernelcal.predictions.langevin_chains import LangevinChains
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
        checked_density(predictions)
        n = len(predictions)
        every = predictions.map_arrays(to_numpy)[np.repeat(np.arange(n), draws)]
        y = checked_start(start, (n, draws, *predictions.event_shape), rng)
        log_density, score = _density_and_score(every, y)
        _refuse_start(log_density, score, draws)
        sizes = np.repeat(checked_sizes(step_size, n), draws)
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
