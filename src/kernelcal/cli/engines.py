"""Engines as the command line names them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernelcal.errors import InputError
from kernelcal.inference import STATISTICS
from kernelcal.pairs import ENGINES, Engine

__all__ = ["engine_of", "with_engine"]


def engine_of(name: str | None, features: int | None) -> Engine | None:
    """Return the engine of a name, with a number of features; None where none is named."""
    if features is None:
        return None if name is None else ENGINES.made(name)
    if name is None or name == "pairs":
        raise InputError(
            f"--features {features} needs an engine that has features: say --engine nystrom or --engine fourier"
        )
    return ENGINES[name](features)


def with_engine(name: str, engine: Engine | None) -> Any:
    """A statistic that sums by an engine; refused for those that sum no pairs."""
    if engine is None:
        return name
    statistic: Any = STATISTICS.made(name)
    if hasattr(statistic, "engine"):
        return replace(statistic, engine=engine)
    raise InputError(f"--engine chooses how pairs are summed, which --statistic {name} does not: leave it out")
