"""Cells of a product grid: rows that share the bin of every component."""

from __future__ import annotations

import numpy as np

from kernelcal.binning.base import Bins

__all__ = ["equal_rows", "grid"]


def grid(places: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Bins:
    """Bins from the place of every component, shape (n, d) of whole numbers; edges are those of one component.

    One component lists all its bins. Several have a bin for each cell that holds a row: the others are too many.
    """
    if places.shape[1] == 1:
        return Bins(places[:, 0].astype(np.int64), len(lower), lower, upper)
    index, size = equal_rows(places)
    return Bins(index, size)


def equal_rows(rows: np.ndarray) -> tuple[np.ndarray, int]:
    """Number of the group of each row, equal rows in one group, and the number of groups.

    Rows are compared through a 64-bit hash, which takes one pass, and then exactly; a collision, which does not
    happen in practice, costs a sort of whole rows.
    """
    words = _words(rows)
    # odd multipliers from a fixed seed: the same rows get the same hash in every run
    multipliers = np.random.default_rng(0).integers(0, 2**63, words.shape[1], dtype=np.uint64) * 2 + 1
    hashes = _mixed(words) @ multipliers
    _, first, index = np.unique(hashes, return_index=True, return_inverse=True)
    if len(first) < len(rows) and not np.array_equal(words, words[first[index]]):
        whole = np.ascontiguousarray(words).view(np.dtype((np.void, 8 * words.shape[1])))[:, 0]
        _, first, index = np.unique(whole, return_index=True, return_inverse=True)
    return index, len(first)


def _words(rows: np.ndarray) -> np.ndarray:
    """Bytes of each row as 64-bit words, filled up with zeros."""
    width = rows.shape[1] * rows.itemsize
    if width % 8 == 0:
        return np.ascontiguousarray(rows).view(np.uint64)
    padded = np.zeros((len(rows), width + 8 - width % 8), dtype=np.uint8)
    padded[:, :width] = np.ascontiguousarray(rows).view(np.uint8)
    return padded.view(np.uint64)


def _mixed(words: np.ndarray) -> np.ndarray:
    """Fold high bits into low ones, since a product alone never carries them down."""
    return words ^ (words >> np.uint64(29))
