"""Engines by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kernelcal.errors import InputError
from kernelcal.inference import DefaultFamily
from kernelcal.pairs import Engine, ExactPairs, Nystrom, RandomFourier
from kernelcal.statistics.pair_means import PairMean

__all__ = ["ENGINES", "engine_of", "with_engine"]

ENGINES: dict[str, Callable[..., Engine]] = {"pairs": ExactPairs, "nystrom": Nystrom, "fourier": RandomFourier}


def engine_of(name: str | None, features: int | None) -> Engine | None:
    """Return the engine of a name, with a number of features; None where none is named."""
    if features is None:
        return None if name is None else ENGINES[name]()
    if name is None or name == "pairs":
        raise InputError(
            f"--features {features} needs an engine that has features: say --engine nystrom or --engine fourier"
        )
    return ENGINES[name](features)


def with_engine(statistic: Any, engine: Engine | None) -> Any:
    """A statistic of the command line that sums by an engine; refused for those that sum no pairs."""
    if engine is None:
        return statistic
    if statistic == "default":
        return DefaultFamily(engine=engine)
    if isinstance(statistic, PairMean):
        return replace(statistic, engine=engine)
    raise InputError(f"--engine chooses how pairs are summed, which --statistic {statistic} does not: leave it out")
