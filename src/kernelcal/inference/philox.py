"""Philox, the generator that counts: words of any counters, and of rows by their identities, in any order."""

from __future__ import annotations

import numpy as np

__all__ = ["WORDS", "keyed_words", "philox4x32", "philox_words"]


WORDS, _ROUNDS = 4, 10  # words that one count gives
_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = 0x9E3779B9, 0xBB67AE85
_WIDE_MULTIPLIERS = np.uint64(0xD2E7470EE14C6C93), np.uint64(0xCA5A826395121157)
_WIDE_WEYL = np.array([0x9E3779B97F4A7C15, 0xBB67AE8584CAA73B], dtype=np.uint64)
_LOW, _HALF, _MASK = np.uint64(0xFFFFFFFF), np.uint64(32), 0xFFFFFFFF
_AT_ONCE = 8192  # counts: their four words and two products stay in the cache


def philox4x32(counters: np.ndarray, key: tuple[int, int]) -> np.ndarray:
    """Philox4x32 with 10 rounds, of many counters at once.

    Parameters
    ----------
    counters : numpy.ndarray of uint64, shape (4, n)
        The four 32-bit words of every counter; they are written over.
    key : tuple of two int
        The two 32-bit words of the key.

    Returns
    -------
    numpy.ndarray of uint64, shape (4, n)
        Four random 32-bit words of every counter.

    References
    ----------
    Salmon, Moraes, Dror, Shaw (2011), Parallel random numbers: as easy as 1, 2, 3.
    """
    a, b, c, d = counters
    first, second = np.empty_like(a), np.empty_like(a)
    left, right = key
    for _ in range(_ROUNDS):
        np.multiply(a, _MULTIPLIERS[0], out=first)
        np.multiply(c, _MULTIPLIERS[1], out=second)
        np.right_shift(second, _HALF, out=a)
        a ^= b
        a ^= np.uint64(left)
        np.right_shift(first, _HALF, out=c)
        c ^= d
        c ^= np.uint64(right)
        np.bitwise_and(second, _LOW, out=b)
        np.bitwise_and(first, _LOW, out=d)
        left, right = (left + _WEYL[0]) & _MASK, (right + _WEYL[1]) & _MASK
    return counters


def keyed_words(key: np.ndarray, identities: np.ndarray, start: int, stop: int, stream: int = 0) -> np.ndarray:
    """Random words start to stop - 1 of rows by their identities.

    Parameters
    ----------
    key : numpy.ndarray of uint64
        Its first number is the key of the generator.
    identities : numpy.ndarray of uint64, shape (n,)
        What rows are known by.
    start, stop : int
        Numbers of words, from 0 to 2^34.
    stream : int
        Another one has other words.

    Returns
    -------
    numpy.ndarray of uint32, shape (n, stop - start)
        Word w is word w mod 4 of the counter (low half of the identity, high half, w // 4, stream).
    """
    n, own = len(identities), (int(key[0]) & _MASK, int(key[0]) >> 32)
    counts = np.arange(start // WORDS, -(-stop // WORDS), dtype=np.uint64)
    words = np.empty((n, len(counts), WORDS), dtype=np.uint32)
    step = max(1, _AT_ONCE // max(1, len(counts)))
    for first in range(0, n, step):
        some = identities[first : first + step]
        counters = np.empty((WORDS, len(some), len(counts)), dtype=np.uint64)
        counters[0], counters[1] = (some & _LOW)[:, None], (some >> _HALF)[:, None]
        counters[2], counters[3] = counts, stream
        found = philox4x32(counters.reshape(WORDS, -1), own).reshape(counters.shape)
        words[first : first + step] = found.transpose(1, 2, 0)
    begin = start % WORDS
    return words.reshape(n, -1)[:, begin : begin + stop - start]


def philox_words(key: np.ndarray, first: np.ndarray, second: np.ndarray, third: np.ndarray) -> np.ndarray:
    """Philox4x64 with 10 rounds, that of NumPy: the four 64-bit words of every counter (first, second, third, 0).

    Parameters
    ----------
    key : numpy.ndarray of 2 uint64
        Key of the generator.
    first, second, third : numpy.ndarray of uint64, shape (n,)
        Words of the counters; NumPy counts before it computes, so that its first words are those of counter 1.

    Returns
    -------
    numpy.ndarray of uint64, shape (4, n)
    """
    keys = key + np.arange(_ROUNDS, dtype=np.uint64)[:, None] * _WIDE_WEYL  # wraps round, as it should
    a, b, c, d = first, second, third, np.zeros_like(first)
    for k in keys:
        high_a, low_a = _product(a, _WIDE_MULTIPLIERS[0])
        high_c, low_c = _product(c, _WIDE_MULTIPLIERS[1])
        a, b, c, d = high_c ^ b ^ k[0], low_c, high_a ^ d ^ k[1], low_a
    return np.stack([a, b, c, d])


def _product(x: np.ndarray, factor: np.uint64) -> tuple[np.ndarray, np.ndarray]:
    """High and low 64 bits of a product, from the products of halves."""
    x_low, x_high = x & _LOW, x >> _HALF
    f_low, f_high = factor & _LOW, factor >> _HALF
    middle = x_high * f_low + ((x_low * f_low) >> _HALF)
    other = x_low * f_high + (middle & _LOW)
    return x_high * f_high + (middle >> _HALF) + (other >> _HALF), x * factor
