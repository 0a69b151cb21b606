"""How a computation is to be made, checked once, before anything long starts: draws, seed, confidence level, engine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.pairs import Engine
from kernelcal.randomness import generator_of

__all__ = ["CONFIDENCE_LEVEL", "DRAWS", "SIGNIFICANCE", "Progress", "Run"]

DRAWS = 999
CONFIDENCE_LEVEL = 0.95
SIGNIFICANCE = 0.05  # at which verdicts reject

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Run:
    """Options that no function has for itself alone; a wrong one is refused when the run is made.

    Attributes
    ----------
    confidence_level : float
        Nominal coverage of intervals, between 0 and 1.
    draws : int
        Draws of tests and of resampling, at most.
    rng : int, numpy.random.Generator, numpy.random.SeedSequence or None
        Seed (SPEC 7).
    early_stopping : bool
        Whether tests may stop once p is clearly large.
    progress : callable, optional
        Called as ``progress(done, total)``.
    engine : Engine, optional
        How pairs are summed; None: chosen by rows and classes.

    Raises
    ------
    InputError
        Naming the option, what was given and what is expected.
    """

    confidence_level: float = CONFIDENCE_LEVEL
    draws: int = DRAWS
    rng: Any = 0
    early_stopping: bool = True
    progress: Progress | None = None
    engine: Engine | None = None

    def __post_init__(self) -> None:
        level = self.confidence_level
        if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0 < level < 1:
            raise InputError(f"confidence_level must lie between 0 and 1, such as 0.95, got {level!r}")
        draws = self.draws
        if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
            raise InputError(f"draws must be a positive whole number, got {draws!r}: for example 999")
        if not isinstance(self.early_stopping, bool | np.bool_):
            raise InputError(f"early_stopping must be True or False, got {self.early_stopping!r}")
        if self.progress is not None and not callable(self.progress):
            raise InputError(f"progress must be called as progress(done, total), got {self.progress!r}")
        if self.engine is not None and not isinstance(self.engine, Engine):
            raise InputError(f"engine must be ExactPairs(), Nystrom() or RandomFourier(), got {self.engine!r}")
        generator_of(self.rng)  # refuses what is no source of random numbers
