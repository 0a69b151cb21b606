"""One batch of draws for the witness and for all groups."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference import DrawnValues, Draws, exact_null
from kernelcal.predictions import Samples
from kernelcal.randomness import check_draws
from kernelcal.statistics import Prepared

__all__ = ["Null", "Together", "critical_rank"]


@dataclass(frozen=True, eq=False)
class Null:
    """Observed targets among redrawn ones.

    Attributes
    ----------
    targets : numpy.ndarray
        Observed targets.
    given : Predictions
        The predictions themselves.
    batch : Predictions
        What targets are drawn from; of `Samples` the pool of draws and outcome, which no draw changes.
    weights : numpy.ndarray of shape (n,), or None
        Case weights with mean 1.
    draws : int
        Number B of draws.
    source : Draws
        Where from.
    """

    targets: np.ndarray
    given: Any
    batch: Any
    weights: np.ndarray | None
    draws: int
    source: Draws

    @classmethod
    def of(cls, targets: np.ndarray, batch: Any, weights: np.ndarray | None, draws: int, rng: Any) -> Null:
        """Targets redrawn from the predictions; where these are draws, the outcome swapped with them."""
        pool = batch.pooled(targets) if isinstance(batch, Samples) else batch
        return cls(targets, batch, pool, weights, int(draws), Draws(rng))

    def ranked(self, prepared: Prepared, progress: Callable[[int, int], None] | None = None) -> DrawnValues:
        """Values of prepared statistics, all draws made."""
        return exact_null(
            prepared, self.targets, self.batch, self.draws, self.source, early_stopping=False, progress=progress
        )

    def part(self, rows: np.ndarray) -> Null:
        """Return the same for some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return Null(self.targets[rows], self.given[rows], self.batch[rows], weights, self.draws, self.source)


class Together(Prepared):
    """Several prepared statistics of the same targets, side by side."""

    def __init__(self, parts: Sequence[Prepared]) -> None:
        self.parts = parts
        self.names = tuple(name for part in parts for name in part.names)
        self.engine = "; ".join(dict.fromkeys(part.engine for part in parts))
        self.bytes_per_draw = sum(part.bytes_per_draw for part in parts)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of all of them, shape (B, statistics)."""
        return np.hstack([part.values(targets) for part in self.parts])


def critical_rank(level: Any, draws: Any) -> int:
    """Rank k of the drawn supremum that bounds the band: ``k = floor((1 - level) (B + 1))``.

    Of B + 1 exchangeable suprema the observed one exceeds the k-th largest of the others with probability at most
    k / (B + 1), so that it stays inside with probability at least `level`, and the p-value is at most 1 - `level`
    exactly when it does not.
    """
    if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0 < level < 1:
        raise InputError(f"level must lie between 0 and 1, such as 0.95, got {level!r}")
    check_draws(draws)
    rank = math.floor((1 - level) * (draws + 1) + 1e-9)
    if rank < 1:
        least = math.ceil(1 / (1 - level) - 1e-9) - 1
        raise InputError(f"{draws} draws cannot bound a {level:.4g} band: draws must be at least {least:,}, better 999")
    return rank
