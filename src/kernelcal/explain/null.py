"""One batch of draws for the witness and for all groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.inference import DrawnValues, Draws, exact_null
from kernelcal.predictions import Samples
from kernelcal.runs import Run
from kernelcal.statistics import Prepared

__all__ = ["Null", "Together"]


@dataclass(frozen=True, eq=False)
class Null:
    """Observed targets among redrawn ones.

    Attributes
    ----------
    case : Case
        Observed targets, the predictions themselves, case weights.
    pool : Case
        The same with what targets are drawn from: of `Samples` the pool of draws and outcome, which no draw changes.
    run : Run
        How many draws, all of which are made.
    source : Draws
        Where from.
    """

    case: Case
    pool: Case
    run: Run
    source: Draws

    @classmethod
    def of(cls, case: Case, run: Run) -> Self:
        """Targets redrawn from the predictions; where these are draws, the outcome swapped with them."""
        batch = case.predictions
        pool = replace(case, predictions=batch.pooled(case.targets)) if isinstance(batch, Samples) else case
        return cls(case, pool, replace(run, early_stopping=False), Draws(run.rng))

    def ranked(self, prepared: Prepared) -> DrawnValues:
        """Values of prepared statistics, all draws made."""
        return exact_null(prepared, self.pool, self.run, self.source)

    def part(self, rows: np.ndarray) -> Self:
        """Return the same for some of the rows, of whose draws nobody is told."""
        pool = self.pool[rows]
        case = pool if self.case is self.pool else self.case[rows]
        return replace(self, case=case, pool=pool, run=replace(self.run, progress=None))


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
