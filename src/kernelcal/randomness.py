"""Random generators from what a caller passes as `rng` (SPEC 7)."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.errors import InputError

__all__ = ["generator_of"]


def generator_of(rng: Any) -> np.random.Generator:
    """Generator of a seed, a SeedSequence, another generator, or None for fresh entropy."""
    try:
        if not isinstance(rng, bool | np.bool_):
            return np.random.default_rng(rng)
    except (TypeError, ValueError):
        pass
    raise InputError(f"rng must be a seed such as 0, a numpy.random.Generator or SeedSequence, or None, got {rng!r}")
