"""Many draws at once: sorted rows cut into strands that are walked side by side, all strands in one operation.

Along a strand the sums over the points passed follow from those one step before. What a strand is for the others, its
decayed sums towards both ends, is joined in a tree (`scan_tree`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelcal.pairs.branches import Branch, decays
from kernelcal.pairs.scan_tree import States, by_neighbours, climb, joins

__all__ = ["Strands", "Walk"]

_STRANDS = 2_048  # at most: with some draws a step is long enough for NumPy, and short enough for the cache
_STEPS = 16  # at least


class Strands:
    """Sorted points as strands: point j of every strand is a row of an array (steps, strands).

    Attributes
    ----------
    rows : numpy.ndarray of shape (steps, strands)
        Positions among the sorted points; behind the last point it stands again.
    x : numpy.ndarray of shape (steps, strands)
        Points.
    present : numpy.ndarray of shape (steps,)
        Strands that have a point in this step: the first ones.
    """

    def __init__(self, x: np.ndarray) -> None:
        n = len(x)
        width = max(1, min(_STRANDS, n // _STEPS))
        steps = -(-n // width)
        rows = np.arange(steps)[:, None] + steps * np.arange(width)
        self.present = (rows < n).sum(axis=1)
        self.rows = np.minimum(rows, n - 1)
        self.x = x[self.rows]

    def factors(self, branch: Branch) -> tuple[States, States]:
        """`decays` of every step from the one before, and from the start of the strand: (steps, strands) an order."""
        gaps = np.diff(self.x, axis=0, prepend=self.x[:1])
        return decays(branch.rate * gaps, branch.order), decays(branch.rate * (self.x - self.x[0]), branch.order)


class Walk:
    """Sums of one branch for some draws, while the strands are walked.

    Parameters
    ----------
    branch : Branch
        Part of the kernel.
    strands : Strands
        The points.
    factors : tuple of lists of arrays
        What `Strands.factors` gives, computed once for all draws.
    draws : int
        Number of draws.
    """

    def __init__(self, branch: Branch, strands: Strands, factors: tuple[States, States], draws: int) -> None:
        self.branch, self.strands = branch, strands
        self.gaps, self.starts = factors
        shape = (draws, strands.x.shape[1])
        self.below = [np.zeros(shape) for _ in range(branch.order)]
        self.above = [np.zeros(shape) for _ in range(branch.order)]
        self.scratch, self.total = np.empty(shape), np.zeros(draws)

    def step(self, j: int, r: np.ndarray) -> None:
        """Take residuals r of shape (draws, strands): pairs with all points passed, then pass these points too."""
        if j:
            _move([gap[j] for gap in self.gaps], self.below, self.scratch)
            for c, below in zip(self.branch.coefficients, self.below, strict=True):
                self.total += c * np.vecdot(below, r)
        for start, above in zip(self.starts, self.above, strict=True):
            above += np.multiply(r, start[j], out=self.scratch)
        if self.branch.power:
            r = np.multiply(r, self.strands.x[j] ** self.branch.power, out=self.scratch)
        self.below[0] += r

    def sum(self) -> np.ndarray:
        """Sum over pairs i above j, shape (draws,), when all steps are done."""
        x = self.strands.x
        between = climb(joins(self.branch, x[0], x[-1], by_neighbours), self.above, self.below, by_neighbours)[0]
        return self.total + between


def _move(factors: Sequence[np.ndarray], states: States, scratch: np.ndarray) -> None:
    """Move sums to the next points, in place: the highest order first, which needs the others as they were."""
    for order in range(len(states) - 1, -1, -1):
        states[order] *= factors[0]
        for a in range(order):
            states[order] += np.multiply(states[a], factors[order - a], out=scratch)
