"""Random generators from what a caller passes as `rng` (SPEC 7), each purpose with a stream of its own."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from kernelcal.errors import InputError

__all__ = ["generator_of"]

_WORDS = 4  # 64-bit numbers that are taken from a generator as the seed of another: 256 bits


def generator_of(rng: Any, purpose: str = "") -> np.random.Generator:
    """Generator of a seed, a SeedSequence, another generator, or None for fresh entropy, for one purpose.

    Parameters
    ----------
    rng : int, sequence of int, numpy.random.SeedSequence, numpy.random.Generator or None
        What the caller passed. From a generator the seed is drawn, so that it moves on.
    purpose : str
        What the numbers are for. Streams of two purposes are independent for one seed, and none is the stream that
        ``numpy.random.default_rng(seed)`` gives: a caller who simulated data from the same seed meets other numbers
        here. Without a purpose: the plain stream.

    Returns
    -------
    numpy.random.Generator

    Raises
    ------
    InputError
        For what is no source of random numbers.

    Notes
    -----
    The purpose enters the seed as a spawn key, the CRC-32 of its words: the same on every machine.
    """
    try:
        if isinstance(rng, bool | np.bool_):
            raise TypeError
        if not purpose:
            return np.random.default_rng(rng)
        if isinstance(rng, np.random.Generator | np.random.BitGenerator):
            rng = np.random.default_rng(rng).integers(2**63, size=_WORDS).tolist()
        seed = rng if isinstance(rng, np.random.SeedSequence) else np.random.SeedSequence(rng)
        key = (*seed.spawn_key, zlib.crc32(purpose.encode()))
        return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key, pool_size=seed.pool_size))
    except (TypeError, ValueError):
        raise InputError(
            f"rng must be a seed such as 0, a numpy.random.Generator or SeedSequence, or None, got {rng!r}"
        ) from None
