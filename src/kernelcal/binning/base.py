"""What every binning offers, and the checks that binnings share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.randomness import generator_of

__all__ = ["Binning", "Bins", "UniformBins", "checked_choice", "checked_count", "equal_rows", "grid", "one_column"]


@dataclass(frozen=True, eq=False)
class Bins:
    """Rows put into bins.

    Attributes
    ----------
    index : numpy.ndarray of shape (n,)
        Bin of every row, 0 to size - 1.
    size : int
        Number of bins, empty ones included where they are listed.
    lower, upper : numpy.ndarray of shape (size,), optional
        Edges, for bins of one probability.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> bins = kc.UniformBins(2).assign(np.array([[0.1], [0.7], [0.9]]))
    >>> bins.index, bins.size
    (array([0, 1, 1]), 2)
    """

    index: np.ndarray
    size: int
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None

    @property
    def count(self) -> np.ndarray:
        """Rows in each bin, shape (size,)."""
        return np.bincount(self.index, minlength=self.size)


class Binning(ABC):
    """A rule that puts rows into bins; it sees the predictions (and case weights), never the targets.

    A binning is a frozen dataclass. ``str(binning)`` is what results print, such as ``15 equal-width bins``.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> isinstance(kc.EdgeBins([0.0, 0.2, 1.0]), kc.binning.Binning)
    True
    >>> kc.EdgeBins([0.0, 0.2, 1.0]).assign(np.array([[0.1], [0.7]])).index
    array([0, 1])
    """

    @abstractmethod
    def assign(self, p: np.ndarray, weights: np.ndarray | None = None) -> Bins:
        """Bins of predictions of shape (n, d) with n >= 1; d = 1 for questions about one probability."""

    @abstractmethod
    def __str__(self) -> str: ...


_MOST = 10**9  # more would fill any memory


def checked_count(value: Any, name: str, example: str) -> int:
    """Return a whole number that is at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{name} must be a whole number, at least 1, got {value!r}: for example {example}")
    if value > _MOST:
        raise InputError(f"{name} must be at most {_MOST:,}, got a larger number: for example {example}")
    return int(value)


def checked_choice(value: Any, name: str, choices: tuple[str, ...]) -> None:
    """Refuse what is none of the choices."""
    if not isinstance(value, str) or value not in choices:
        raise InputError(f"{name} must be {' or '.join(map(repr, choices))}, got {value!r}")


def one_column(p: np.ndarray, binning: Binning) -> np.ndarray:
    """Return the one probability a row, shape (n,), or refuse several."""
    if p.shape[1] != 1:
        raise InputError(
            f"{type(binning).__name__} orders the values of one probability, but the question has {p.shape[1]} a row: "
            "use UniformBins() or MedianVarianceBins(), or ask question='class-wise' or 'top label'"
        )
    return p[:, 0]


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
    multipliers = generator_of(0, "factors of a hash").integers(0, 2**63, words.shape[1], dtype=np.uint64) * 2 + 1
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


_PRODUCT = 8  # units of rounding by which bins times p may be off, and values on an edge with it


@dataclass(frozen=True)
class UniformBins(Binning):
    """Bins of equal width on [0, 1], for every component.

    Bin k = 1, ..., B of a probability p is ``ceil(B p)``, and 1 for p = 0: bins are closed on the right, and 0 and 1
    lie in the first and the last one. Several components form a product grid, whose cells are the bins. A probability
    lies on an edge ``k / B`` if it is that number up to two units in the last place of its own precision: .14, 7 / 50
    and the seventh of ``numpy.linspace(0, 1, 51)`` are one edge, though not always one number.

    Parameters
    ----------
    bins : int
        Number B of bins of each component.
    closed : {"right", "left"}
        ``left``: bin ``floor(B p) + 1``, and B for p = 1.

    Raises
    ------
    InputError
        If `bins` is not a whole number above 0.

    See Also
    --------
    EdgeBins : bins with given edges.

    Notes
    -----
    Edges are the numbers ``k / B`` in the precision of the predictions. The product ``B p``, by which other packages
    find the bin, is rounded and puts .14 above the edge of 50 bins: it is only asked away from edges. Cost: O(n d).

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> kc.UniformBins(10).assign(np.array([[0.0], [0.1], [0.45], [1.0]])).index
    array([0, 0, 4, 9])
    >>> kc.UniformBins(2).assign(np.array([[0.4, 0.1, 0.5], [0.3, 0.7, 0.0], [0.5, 0.3, 0.2]])).size
    2
    """

    bins: int = 15
    closed: str = "right"

    def __post_init__(self) -> None:
        checked_count(self.bins, "bins", "UniformBins(15)")
        checked_choice(self.closed, "closed", ("right", "left"))

    def assign(self, p: np.ndarray, weights: np.ndarray | None = None) -> Bins:
        """Bins of predictions of shape (n, d)."""
        p = p if p.dtype.kind == "f" else p.astype(np.float64)
        scaled = p.astype(np.float32) if p.itemsize < 4 else p.copy()
        scaled *= scaled.dtype.type(self.bins)
        near = np.abs(scaled - np.rint(scaled)) <= _PRODUCT * self.bins * float(np.finfo(p.dtype).eps)
        if self.closed == "right":
            np.ceil(scaled, out=scaled)
            np.maximum(scaled, 1, out=scaled)  # 0 joins the first bin
            scaled -= 1
        else:
            np.floor(scaled, out=scaled)
            np.minimum(scaled, self.bins - 1, out=scaled)  # 1 joins the last one
        scaled[near] = self._between_edges(p[near])
        edges = np.arange(self.bins + 1) / self.bins
        return grid(scaled.astype(np.min_scalar_type(self.bins)), edges[:-1], edges[1:])

    def _between_edges(self, p: np.ndarray) -> np.ndarray:
        """Places of values close to an edge; those within rounding of it lie on it."""
        edges = (np.arange(1, self.bins) / self.bins).astype(p.dtype)
        rounding = p.dtype.type(2) * np.spacing(edges)
        if self.closed == "right":
            return np.searchsorted(edges + rounding, p, side="left")
        return np.searchsorted(edges - rounding, p, side="right")

    def __str__(self) -> str:
        return f"{self.bins} equal-width bins" + (", closed on the left" if self.closed == "left" else "")
