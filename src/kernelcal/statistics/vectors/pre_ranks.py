"""Pre-ranks: what turns a vector among others into one number, by which it has a rank among them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.errors import InputError
from kernelcal.predictions import count_below
from kernelcal.registry import Registry

__all__ = ["DEFAULT_PRE_RANKS", "PRE_RANKS", "checked_pre_ranks", "pre_ranks_of", "register_pre_rank"]


PreRank = Callable[[np.ndarray], np.ndarray]
_NUMBERS = 2**21  # differences that are held at once
_DIGITS = 10  # of a pre-rank over the range of its row: closer ones are equal up to rounding
_POWER = 0.5  # of differences, as in the variogram score

PRE_RANKS: Registry[PreRank] = Registry("pre_rank", "a function of the values of every row, (n, M, d) -> (n, M)")
DEFAULT_PRE_RANKS = ("mean", "spread", "dependence", "variogram", "band depth")


def register_pre_rank(name: str, function: PreRank, *, summary: str) -> None:
    """Let the test of vectors know a pre-rank by a name.

    Parameters
    ----------
    name : str
        New name.
    function : callable
        From M vectors a row, shape (n, M, d), to M numbers a row, shape (n, M). It may look at all M vectors of a row,
        and must treat them alike: in another order it gives the same numbers in that order.
    summary : str
        What is large when it is large, in some words.

    Raises
    ------
    InputError
        If the name is taken.

    Examples
    --------
    >>> from kernelcal.statistics.vectors import PRE_RANKS, register_pre_rank
    >>> register_pre_rank("largest", lambda x: x.max(axis=2), summary="largest component")
    >>> "largest" in PRE_RANKS
    True
    >>> PRE_RANKS.forget("largest")
    """
    PRE_RANKS.register(name, function, summary=summary)


def checked_pre_ranks(names: object) -> tuple[str, ...]:
    """Names of pre-ranks, each known and said once."""
    found = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, tuple | list) else ()
    for name in found:
        PRE_RANKS.chosen(name)
    if not found or len(set(found)) < len(found):
        raise InputError(f"pre_ranks must be names, each once, of {', '.join(map(repr, PRE_RANKS))}; got {names!r}")
    return found


def pre_ranks_of(name: str, values: np.ndarray) -> np.ndarray:
    """Pre-ranks of all vectors of every row, equal ones equal to the last digit.

    Parameters
    ----------
    name : str
        Of `PRE_RANKS`.
    values : numpy.ndarray of shape (n, M, d)
        Vectors of every row; their components are brought to mean 0 and standard deviation 1 over the M vectors, so
        that no unit decides. A component that is the same in all of them is 0.

    Returns
    -------
    numpy.ndarray of shape (n, M)
        From 0 to 1 in every row.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.statistics.vectors import pre_ranks_of
    >>> pre_ranks_of("mean", np.array([[[1.0, 2.0], [3.0, 5.0], [0.0, 0.0]]])).argsort()
    array([[2, 0, 1]])
    """
    values = np.asarray(values, dtype=np.float64)
    centred = values - values.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred**2).mean(axis=1, keepdims=True))
    level = np.abs(values).max(axis=1, keepdims=True)
    scaled = np.where(spread > 1e-12 * level, centred / np.where(spread > 0, spread, 1.0), 0.0)
    return unit_range(PRE_RANKS.chosen(name)(scaled))


def unit_range(found: np.ndarray) -> np.ndarray:
    """Numbers of every row from 0 to 1, equal where they are so up to rounding."""
    low, high = found.min(axis=1, keepdims=True), found.max(axis=1, keepdims=True)
    wide = high - low > 1e-12 * np.maximum(np.abs(low), np.abs(high))
    return np.round(np.where(wide, (found - low) / np.where(wide, high - low, 1.0), 0.0), _DIGITS)


def _mean(x: np.ndarray) -> np.ndarray:
    return x.mean(axis=2)


def _spread(x: np.ndarray) -> np.ndarray:
    return ((x - x.mean(axis=2, keepdims=True)) ** 2).mean(axis=2)


def _apart(x: np.ndarray) -> np.ndarray:
    """Differences of components to the power 1/2, of pairs i < j, shape (n, M, pairs)."""
    i, j = np.triu_indices(x.shape[2], 1)
    return np.abs(x[:, :, i] - x[:, :, j]) ** _POWER


def _dependence(x: np.ndarray) -> np.ndarray:
    return _in_parts(x, x.shape[2] ** 2, lambda part: _apart(part).sum(axis=2))


def _variogram(x: np.ndarray) -> np.ndarray:
    def distance(part: np.ndarray) -> np.ndarray:
        apart = _apart(part)
        return ((apart - apart.mean(axis=1, keepdims=True)) ** 2).sum(axis=2)

    return _in_parts(x, x.shape[2] ** 2, distance)


def _component_ranks(x: np.ndarray) -> np.ndarray:
    """Rank of every component among those of its row, from 1, the mean one of equal values: shape (n, M, d)."""
    found = np.empty(x.shape)
    for k in range(x.shape[2]):
        ordered, own = np.sort(x[:, :, k], axis=1), x[:, :, k].T
        found[:, :, k] = 0.5 * (count_below(ordered, own) + count_below(ordered, own, equal=True) + 1).T
    return found


def _average_rank(x: np.ndarray) -> np.ndarray:
    return _component_ranks(x).mean(axis=2)


def _band_depth(x: np.ndarray) -> np.ndarray:
    rank, size = _component_ranks(x), x.shape[1]
    return ((rank - 1) * (size - rank)).mean(axis=2)


def _energy(x: np.ndarray) -> np.ndarray:
    def distance(part: np.ndarray) -> np.ndarray:
        return np.asarray(np.linalg.norm(part[:, :, None] - part[:, None], axis=3).mean(axis=2))

    return _in_parts(x, x.shape[1] * x.shape[2], distance)


def _spanning_tree(x: np.ndarray) -> np.ndarray:
    """Length of the minimum spanning tree of the other vectors, by Prim's algorithm for all rows at once."""
    return np.stack([_tree_length(np.delete(x, k, axis=1)) for k in range(x.shape[1])], axis=1)


def _tree_length(x: np.ndarray) -> np.ndarray:
    rows, size = np.arange(len(x)), x.shape[1]
    nearest = np.linalg.norm(x - x[:, :1], axis=2)
    nearest[:, 0], total = np.inf, np.zeros(len(x))
    waiting = np.ones((len(x), size), dtype=bool)
    waiting[:, 0] = False
    for _ in range(size - 1):
        chosen = np.where(waiting, nearest, np.inf).argmin(axis=1)
        total += nearest[rows, chosen]
        waiting[rows, chosen] = False
        nearest = np.minimum(nearest, np.linalg.norm(x - x[rows, chosen][:, None], axis=2))
    return total


def _in_parts(x: np.ndarray, each: int, function: PreRank) -> np.ndarray:
    """A function of rows, some rows at a time; a vector takes so many numbers."""
    parts = row_slices(len(x), max(1, _NUMBERS // max(1, x.shape[1] * each)))
    return np.concatenate([function(x[part]) for part in parts])


for _name, _function, _summary in (
    ("mean", _mean, "mean of the components"),
    ("spread", _spread, "variance between the components of a vector"),
    ("dependence", _dependence, "distances between components, small where they go together"),
    ("variogram", _variogram, "squared distance of these distances from their means over the row"),
    ("band depth", _band_depth, "how central, component by component"),
    ("average rank", _average_rank, "mean rank of the components"),
    ("energy", _energy, "mean distance to all vectors of the row"),
    ("spanning tree", _spanning_tree, "length of the minimum spanning tree of the other vectors"),
):
    register_pre_rank(_name, _function, summary=_summary)
