"""Engines by name."""

from __future__ import annotations

from collections.abc import Callable

from kernelcal.pairs.approximations import Nystrom, RandomFourier
from kernelcal.pairs.base import Engine
from kernelcal.pairs.exact import ExactPairs
from kernelcal.registry import Registry

__all__ = ["ENGINES"]


ENGINES: Registry[Callable[..., Engine]] = Registry("engine", "or an Engine such as kernelcal.Nystrom(256)")
ENGINES.register("pairs", ExactPairs, summary="all of them, exactly")
ENGINES.register("nystrom", Nystrom, summary="features at landmarks among the predictions")
ENGINES.register("fourier", RandomFourier, summary="random Fourier features")
