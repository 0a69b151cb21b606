"""How a computation is to be made, checked once, before anything long starts: draws, seed, confidence level, engine."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.pairs import Engine
from kernelcal.randomness import MOVING, generator_of, refuse_no_source

__all__ = ["Progress", "Run", "Steps"]


Progress = Callable[[int, int], None]
_ROUNDING = 1e-9
_MOST = 10**8  # draws: their values are kept, and more would fill any memory
_OF_MODELS = 99  # draws, at least, of intervals of several models


@dataclass(frozen=True, kw_only=True)
class Run:
    """Options that no function has for itself alone; a wrong one is refused when the run is made.

    Public functions make it first, before they look at data; what stands behind them is handed the run whole. What a
    function needs besides (draws enough for a band, a seed that can be named) is a method here with one message.

    Attributes
    ----------
    confidence_level : float
        Nominal coverage of intervals and bands, between 0 and 1.
    alpha : float
        Level at which tests reject, between 0 and 1: verdicts, directions, what tables name and corrections for many
        tests all ask for ``p <= alpha``. Independent of the coverage of intervals.
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

    Examples
    --------
    >>> from kernelcal.runs import Run
    >>> Run(draws=99).draws, Run(alpha=0.01).alpha
    (99, 0.01)
    """

    confidence_level: float = CONFIDENCE_LEVEL
    alpha: float = SIGNIFICANCE
    draws: int = DRAWS
    rng: Any = 0
    early_stopping: bool = True
    progress: Progress | None = None
    engine: Engine | None = None

    def __post_init__(self) -> None:
        for name, usual in (("confidence_level", CONFIDENCE_LEVEL), ("alpha", SIGNIFICANCE)):
            level = getattr(self, name)
            if isinstance(level, bool) or not isinstance(level, int | float | np.number) or not 0 < level < 1:
                raise InputError(f"{name} must lie between 0 and 1, such as {usual}, got {level!r}")
            object.__setattr__(self, name, float(level))
        draws = self.draws
        if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
            raise InputError(f"draws must be a positive whole number, got {draws!r}: for example {DRAWS}")
        if draws > _MOST:
            raise InputError(
                f"draws must be at most {_MOST:,}, got {draws:,}: smaller p-values are computed without draws, "
                "statistic='skce' with null='saddlepoint'"
            )
        if type(self.rng) is not int or self.rng < 0:  # what is no plain seed
            refuse_no_source(self.rng)
        if not isinstance(self.early_stopping, bool | np.bool_):
            raise InputError(f"early_stopping must be True or False, got {self.early_stopping!r}")
        if self.progress is not None and not callable(self.progress):
            raise InputError(f"progress must be called as progress(done, total), got {self.progress!r}")
        if self.engine is not None and not isinstance(self.engine, Engine):
            raise InputError(f"engine must be ExactPairs(), Nystrom() or RandomFourier(), got {self.engine!r}")
        object.__setattr__(self, "draws", int(draws))

    @property
    def outside(self) -> int:
        """How many of the draws may be further out than a band: ``k = floor((1 - confidence_level) (B + 1))``.

        Of B + 1 exchangeable suprema the observed one exceeds the k-th largest of the others with probability at most
        k / (B + 1): it stays inside with probability at least the confidence level, and its p-value is at most
        1 - confidence_level exactly when it does not.

        Raises
        ------
        InputError
            For fewer draws than such a band needs.
        """
        level = self.confidence_level
        rank = math.floor((1 - level) * (self.draws + 1) + _ROUNDING)
        if rank < 1:
            least = math.ceil((1 - _ROUNDING) / (1 - level)) - 1
            raise InputError(
                f"a band of confidence_level {level:.4g} needs at least {least:,} draws, got {self.draws:,}: better "
                f"{max(DRAWS, least):,}"
            )
        return rank

    def tell(self, done: int) -> None:
        """Say how many of the draws are made, to whom wants to know."""
        if self.progress is not None:
            self.progress(done, self.draws)

    def refuse_fewer(self, draws: int, what: str) -> Self:
        """Return itself, or refuse fewer draws than so many."""
        if self.draws < draws:
            raise InputError(f"draws must be at least {draws:,} for {what}, got {self.draws:,}")
        return self

    def refuse_for_models(self) -> None:
        """Refuse what does not serve several models: few draws, and draws that differ from one model to the next."""
        self.refuse_fewer(_OF_MODELS, "intervals")
        self.seed("all models are given the same draws")

    def with_at_least(self, draws: int) -> Self:
        """Return the run of a part with so many draws or more, which tells nobody how far it is."""
        return replace(self, draws=max(self.draws, draws), progress=None)

    def seed(self, why: str) -> int:
        """Return the seed as a number, or refuse other sources of random numbers."""
        if not isinstance(self.rng, int | np.integer):
            raise InputError(f"rng must be a seed, a whole number from 0: {why}; got {self.rng!r}")
        return int(self.rng)

    @property
    def named_seed(self) -> int | None:
        """The seed that a result names, so that it can be repeated; None where a generator moved on."""
        return int(self.rng) if isinstance(self.rng, int | np.integer) else None

    @property
    def deciding(self) -> Self:
        """The same run with bands outside of which lies what is significant: they hold ``1 - alpha``."""
        return replace(self, confidence_level=1 - self.alpha)

    def shared(self) -> Self:
        """Return the run with one seed for all that is computed from it.

        A seed gives the same draws each time it is used; a generator, or fresh entropy, would give others to every
        part. One seed is drawn from these, once.
        """
        if self.rng is not None and not isinstance(self.rng, MOVING):
            return self
        return replace(self, rng=int(generator_of(self.rng, "seed of all parts").integers(2**63)))


class Steps:
    """Pieces of equal length, reported as one: a piece that ends early counts as whole."""

    def __init__(self, progress: Progress | None, pieces: int, length: int) -> None:
        self.progress, self.pieces, self.length, self.done = progress, pieces, length, 0

    def next(self) -> Progress | None:
        """Progress of the next piece."""
        if self.progress is None:
            return None
        start, self.done = self.done * self.length, self.done + 1
        report, total = self.progress, self.pieces * self.length
        report(start, total)
        return lambda done, of: report(start + min(self.length, self.length * done // max(of, 1)), total)

    def finish(self) -> None:
        """Say that all is done."""
        if self.progress is not None:
            self.progress(self.pieces * self.length, self.pieces * self.length)
