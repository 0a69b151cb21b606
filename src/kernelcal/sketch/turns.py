"""How far the draws of a row lie from its own place: the same for many rows, so that sums need no label of a draw."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

__all__ = ["CIRCLE_BITS", "Turns"]


CIRCLE_BITS = 31  # of a place
_MOST = 2**21  # turns that are held; of more than some two thousand draws there are fewer groups


def _first_prime(least: int) -> int:
    """Smallest prime that is not below a number."""
    number = max(2, least)
    while any(number % k == 0 for k in range(2, int(number**0.5) + 1)):
        number += 1
    return number


def _in_any_order(key: tuple[int, int], number: int, stream: int) -> np.ndarray:
    """Numbers from 0 on in an order that a stream of a key tells; streams 0 and 1 are those of rows."""
    counter = np.array([0, 0, stream, 0], dtype=np.uint64)
    words = np.random.Philox(key=np.array(key, dtype=np.uint64), counter=counter).random_raw(number)
    return np.argsort(words, kind="stable")


@dataclass(frozen=True, eq=False)
class Turns:
    """Turns of a circle of 2^31 cells, one a group of rows and draw.

    The classes of a row are arcs of the circle, as long as they are probable. A row has a place in the arc of its
    observed class, uniform there, and belongs to one of G groups, both by its random words. Draw b of group g turns the
    places of the group by ``floor(2^31 (g beta_b mod N) / N)`` cells, for a prime N > B, g from 1 to G = (N - 1) / 2
    (some of these at random, where they were too many), and a random injection beta of the observed targets and the
    draws into 0 to N - 1.

    Attributes
    ----------
    cells : numpy.ndarray of uint32, shape (G, B + 1)
        By how many cells; column 0 is that of the observed targets.
    before : numpy.ndarray of int32, shape (G, N + 1)
        How many draws turn by less than ``2^31 j / N`` cells, for j from 0 to N.
    places : numpy.ndarray of int32, shape (G, B)
        Place of a draw among those of its group, in the order of their cells.

    Notes
    -----
    If outcomes are drawn from the predictions, places are uniform; observed and drawn targets then come about in one
    way, from a uniform place, beta_b and the arcs. So they are exchangeable whatever N and G are, and ranks among them
    exact. For two draws b and c ``g (beta_b - beta_c)`` is every turn but 0 once, up to its direction, so that a row's
    distance between them is as good as uniform: sums over many rows of any two draws are as good as uncorrelated
    (-1 / (N - 1), and what groups of unequal size leave), and p-values vary as those of independent draws do.

    A class begins at one turn and ends at another: sums over rows for all draws are sums, up to a draw, of what begins
    before it: m + 1 additions a row in the place of B + 1.
    """

    cells: np.ndarray
    before: np.ndarray
    places: np.ndarray

    @classmethod
    @lru_cache(maxsize=8)
    def of(cls, key: tuple[int, int], draws: int) -> Turns:
        """Turns of so many draws, by the key of a Philox generator."""
        prime = _first_prime(draws + 1)
        injection = _in_any_order(key, prime, stream=2)[: draws + 1]
        groups = np.arange(1, max(1, (prime - 1) // 2) + 1)
        if len(groups) > max(1, _MOST // (draws + 1)):
            groups = groups[_in_any_order(key, len(groups), stream=3)[: max(1, _MOST // (draws + 1))]]
        multiples = groups[:, None] * injection % prime
        marks = np.zeros((len(groups), prime + 1), dtype=np.int32)
        np.put_along_axis(marks, multiples[:, 1:] + 1, 1, axis=1)
        before = np.cumsum(marks, axis=1, dtype=np.int32)
        places = np.take_along_axis(before, multiples[:, 1:], axis=1)
        return cls(((multiples << CIRCLE_BITS) // prime).astype(np.uint32), before, places)

    @property
    def groups(self) -> int:
        """Number G."""
        return len(self.cells)

    def groups_of(self, words: np.ndarray) -> np.ndarray:
        """Groups of rows, by a word of 64 random bits each: shape (n,)."""
        number = np.uint64(self.groups)
        return np.asarray(((words >> np.uint64(32)) * number) >> np.uint64(32)).astype(np.int64)

    def first_after(self, groups: np.ndarray, cells: np.ndarray) -> np.ndarray:
        """How many draws of a row's group turn by less than so many cells, shape (n, any), from 0 to 2^31."""
        width = self.before.shape[1]
        at = cells * (width - 1)
        at += 2**CIRCLE_BITS - 1
        at >>= CIRCLE_BITS
        at += (groups * width)[:, None]
        return np.asarray(self.before.ravel().take(at))
