"""Random generators from what a caller passes as `rng` (SPEC 7), each purpose with a stream of its own."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np

from kernelcal.errors import InputError

__all__ = ["MOVING", "generator_of", "refuse_no_source", "some_rows"]


_WORDS = 4  # 64-bit numbers that are taken from a generator as the seed of another: 256 bits

MOVING = np.random.Generator | np.random.BitGenerator | np.random.RandomState  # these give other numbers each time


def generator_of(rng: Any, purpose: str) -> np.random.Generator:
    """Generator of a seed, a SeedSequence, another generator, or None for fresh entropy, for one purpose.

    Parameters
    ----------
    rng : int, sequence of int, numpy.random.SeedSequence, numpy.random.Generator or None
        What the caller passed. From a generator the seed is drawn, so that it moves on.
    purpose : str
        What the numbers are for, in words. Streams of two purposes are independent for one seed, and none is the
        stream that ``numpy.random.default_rng(seed)`` gives: a caller who simulated data from the same seed meets other
        numbers here.

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

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.randomness import generator_of
    >>> first = [generator_of(0, purpose).random() for purpose in ("sample", "PIT values")]
    >>> len({*first, np.random.default_rng(0).random()})
    3
    """
    try:
        if isinstance(rng, MOVING):
            rng = np.random.default_rng(rng).integers(2**63, size=_WORDS).tolist()
        seed = _sequence(rng)
        key = (*seed.spawn_key, zlib.crc32(purpose.encode()))
        return np.random.default_rng(np.random.SeedSequence(seed.entropy, spawn_key=key, pool_size=seed.pool_size))
    except (TypeError, ValueError):
        raise _no_source(rng) from None


def some_rows(n: int, number: int) -> np.ndarray:
    """Choose about so many of n rows from everywhere, in no rhythm: one at random of each of as many stretches.

    Every k-th row, or any other regular choice, falls in step with rows that come in a rhythm for some n: all that are
    looked at may be of one kind.

    Parameters
    ----------
    n : int
        Rows; up to `number` of them all are chosen.
    number : int
        Stretches of equal length; where these are short, two may choose the same row.

    Returns
    -------
    numpy.ndarray of int
        Increasing, the same in every call.

    Examples
    --------
    >>> from kernelcal.randomness import some_rows
    >>> some_rows(4, 10).tolist(), len(some_rows(10_000, 100))
    ([0, 1, 2, 3], 100)
    """
    if n <= number:
        return np.arange(n)
    places = np.arange(number) + generator_of(0, "rows from everywhere").random(number)
    return np.unique((places * (n / number)).astype(np.intp))


def refuse_no_source(rng: Any) -> None:
    """Refuse what is no source of random numbers; a generator that is one does not move on."""
    try:
        _ = isinstance(rng, MOVING) or _sequence(rng)
    except (TypeError, ValueError):
        raise _no_source(rng) from None


def _sequence(rng: Any) -> np.random.SeedSequence:
    if isinstance(rng, bool | np.bool_):
        raise TypeError
    return rng if isinstance(rng, np.random.SeedSequence) else np.random.SeedSequence(rng)


def _no_source(rng: Any) -> InputError:
    return InputError(f"rng must be a seed such as 0, a numpy.random.Generator or SeedSequence, or None, got {rng!r}")
