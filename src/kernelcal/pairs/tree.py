"""Sums over pairs of sorted points by joining neighbours, then their neighbours: a scan without a loop over rows.

A kernel on a line is a sum of branches: a power of the smaller point times a polynomial times a decay.

A node of the tree is a run of consecutive points. Seen from outside, all its points are `order` sums: those of
``f_i d_k(rate (x_i - low))`` towards its lowest point and of ``g_j d_k(rate (high - x_j))`` towards its highest, with
``d_k(s) = s^k exp(-s) / k!``. The binomial theorem moves sums from one end to another. All factors lie in [0, 1], so
nothing overflows or cancels, whatever the lengthscale; every level is a few operations on whole arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np

from kernelcal.kernels import Brownian, Kernel, Laplacian, Matern32, Matern52, Product, Scaled, Stationary, Sum

__all__ = [
    "Branch",
    "Join",
    "States",
    "Strands",
    "Walk",
    "branches_of",
    "climb",
    "decays",
    "joins",
    "power_of",
    "side_sums",
    "triple_weights",
]


_ZERO_FROM = 800.0  # exp(-800) is 0 in float64; a larger exponent would make 0 times infinity


@dataclass(frozen=True)
class Branch:
    """A kernel ``x^m sum_k c_k s^k / k! exp(-s)``, x the smaller of two points and ``s = rate * distance``.

    Attributes
    ----------
    power : int
        m.
    rate : float
        Decay per unit of distance, 0 for none.
    coefficients : tuple of float
        c_k, k = 0, 1, ...; without decay there is one.
    """

    power: int
    rate: float
    coefficients: tuple[float, ...]

    @property
    def order(self) -> int:
        """Number of coefficients, and of the sums that stand for all points on one side."""
        return len(self.coefficients)

    def values(self, distance: np.ndarray) -> np.ndarray:
        """Values without the power of x."""
        parts = decays(self.rate * distance, self.order)
        return np.sum([c * part for c, part in zip(self.coefficients, parts, strict=True)], axis=0)

    def polynomial(self, unit: float) -> np.ndarray:
        """Coefficients of the powers of ``unit * distance``."""
        return np.array([c * (self.rate / unit) ** k / math.factorial(k) for k, c in enumerate(self.coefficients)])

    def __mul__(self, other: Branch) -> Branch:
        """Product of two branches: powers, rates and polynomials are joined."""
        rate = self.rate + other.rate
        unit = rate or 1.0
        joined = np.convolve(self.polynomial(unit), other.polynomial(unit))
        coefficients = tuple(float(c) * math.factorial(k) for k, c in enumerate(joined))
        return Branch(self.power + other.power, rate, coefficients)


def decays(s: np.ndarray, order: int) -> list[np.ndarray]:
    """Return ``s^k exp(-s) / k!`` for every k below the order, of distances s."""
    s = np.clip(s, 0, _ZERO_FROM)  # below 0 only beside empty nodes, whose sums are 0
    parts = [np.exp(-s)]
    for k in range(1, order):
        parts.append(parts[-1] * (s / k))
    return parts


_LEAVES: dict[type[Kernel], Callable[..., Branch]] = {
    Laplacian: lambda kernel: Branch(0, 1 / kernel.scale, (1.0,)),
    Matern32: lambda kernel: Branch(0, math.sqrt(3) / kernel.scale, (1.0, 1.0)),
    Matern52: lambda kernel: Branch(0, math.sqrt(5) / kernel.scale, (1.0, 1.0, 2 / 3)),
    Brownian: lambda kernel: Branch(1, 0.0, (1.0,)),
}


def branches_of(kernel: Kernel) -> tuple[Branch, ...] | None:
    """Branches whose sum is the kernel of points on a line, or None where there are none.

    `Laplacian`, `Matern32`, `Matern52` and `Brownian` are one branch each; multiples, sums and products have branches
    if their parts have.
    """
    if isinstance(kernel, Scaled):
        inside = branches_of(kernel.kernel)
        return inside and tuple(_scaled(branch, kernel.factor) for branch in inside)
    if isinstance(kernel, Sum | Product):
        left, right = branches_of(kernel.left), branches_of(kernel.right)
        if left is None or right is None:
            return None
        return left + right if isinstance(kernel, Sum) else _products(left, right)
    rule = _LEAVES.get(type(kernel))
    return None if rule is None or _unresolved(kernel) else (rule(kernel),)


def _unresolved(kernel: Kernel) -> bool:
    return isinstance(kernel, Stationary) and isinstance(kernel.lengthscale, str)


def _scaled(branch: Branch, factor: float) -> Branch:
    return Branch(branch.power, branch.rate, tuple(factor * c for c in branch.coefficients))


def _products(left: Sequence[Branch], right: Sequence[Branch]) -> tuple[Branch, ...]:
    return tuple(a * b for a, b in product(left, right))


def power_of(branches: Sequence[Branch], exponent: int) -> tuple[Branch, ...]:
    """Branches of a power of the kernel."""
    return reduce(_products, [tuple(branches)] * exponent)


def triple_weights(first: Branch, second: Branch, outer: Branch) -> np.ndarray:
    """Coefficients w of ``first(a) second(b) outer(a + b) = sum_pq w_pq d_p(a) e_q(b)``, powers of x left out.

    d are the `decays` of the joined rate of first and outer, e those of second and outer.
    """
    near, far = first.rate + outer.rate, second.rate + outer.rate
    unit = max(near, far) or 1.0
    weights = np.zeros((first.order + outer.order - 1, second.order + outer.order - 1))
    left, right = first.polynomial(unit), second.polynomial(unit)
    for k, c in enumerate(outer.polynomial(unit)):
        for i in range(k + 1):
            both = np.outer(left, right) * (c * math.comb(k, i))
            weights[i : i + first.order, k - i : k - i + second.order] += both
    for axis, rate in ((0, near), (1, far)):
        scale = [math.factorial(k) * (unit / rate) ** k if k else 1.0 for k in range(weights.shape[axis])]
        weights *= np.array(scale)[:, None] if axis == 0 else np.array(scale)
    return weights


States = list[np.ndarray]  # sums of the nodes, one array (..., nodes) an order


def _neighbours(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Even and odd nodes; a last node without a neighbour gets an empty one."""
    if values.shape[-1] % 2:
        values = np.concatenate([values, np.zeros_like(values[..., -1:])], axis=-1)
    return values[..., ::2], values[..., 1::2]


@dataclass(frozen=True, eq=False)
class Join:
    """Factors that join every left node with the right one beside it.

    Attributes
    ----------
    down, gap, up : list of arrays
        `decays` of the distance between the lowest points, between the nodes, and between the highest points.
    cross : list of lists of arrays
        Entry a, b: kernel between sum a of the right node and sum b of the left one.
    """

    down: States
    gap: States
    up: States
    cross: list[States]

    def pairs(self, right: States, left: States) -> np.ndarray:
        """Sum of the kernel over the pairs of the two nodes, over all nodes: shape (...)."""
        total: np.ndarray | float = 0.0
        for a, row in enumerate(self.cross[: len(right)]):
            for b, factors in enumerate(row[: len(left)]):
                total = total + (right[a] * left[b]) @ factors
        return np.asarray(total)


def joins(branch: Branch, low: np.ndarray, high: np.ndarray, until: int = 1) -> Iterator[Join]:
    """Factors of every level, from nodes with these ends, until so many nodes are left."""
    while len(low) > until:
        (low, right), (left, high) = _neighbours(_even(low)), _neighbours(_even(high))
        down, gap, up = (decays(branch.rate * d, branch.order) for d in (right - low, right - left, high - left))
        cross = [[_cross(branch, gap, a + b) for b in range(branch.order - a)] for a in range(branch.order)]
        yield Join(down, gap, up, cross)


def _even(ends: np.ndarray) -> np.ndarray:
    """Ends of an even number of nodes: an empty node lies where the last one does."""
    return np.append(ends, ends[-1]) if len(ends) % 2 else ends


def _cross(branch: Branch, gap: States, taken: int) -> np.ndarray:
    """Factor of two sums of orders a + b: the rest of ``s^k / k!`` falls to the gap between the nodes."""
    rest = zip(branch.coefficients[taken:], gap, strict=False)
    parts = [factor if c == 1 else c * factor for c, factor in rest]
    return sum(parts[1:], start=parts[0])


def climb(
    levels: Iterable[Join], f: States, g: States, below: list[tuple[States, States, int]] | None = None
) -> tuple[np.ndarray, States, States]:
    """Sum of ``f_i k(x_i, x_j) g_j`` over i above j, inside the nodes that are left, and the sums of these nodes.

    What a way down again needs is added to the list `below`.
    """
    total: np.ndarray | float = 0.0
    for join in levels:
        (f_left, f_right), (g_left, g_right) = _both(f), _both(g)
        if below is not None:
            below.append((f_right, g_left, f[0].shape[-1]))
        total = total + join.pairs(f_right, g_left)
        f, g = _joined(join.down, f_right, f_left), _joined(join.up, g_left, g_right)
    return np.asarray(total), f, g


def _both(states: States) -> tuple[States, States]:
    pairs = [_neighbours(state) for state in states]
    return [left for left, _ in pairs], [right for _, right in pairs]


def _joined(factors: States, moving: States, staying: States) -> States:
    """Sums of the joined node: those that are moved to its end and those that are there already."""
    found = []
    for order in range(len(factors)):
        total = _moved(factors, moving, order)
        if order < len(staying):
            total += staying[order]
        found.append(total)
    return found


def _moved(factors: States, states: States, order: int) -> np.ndarray:
    """Sum of one order after a move: the binomial theorem."""
    total = factors[order] * states[0]
    for a in range(1, min(order + 1, len(states))):
        total += factors[order - a] * states[a]
    return total


def side_sums(branch: Branch, x: np.ndarray, f: np.ndarray, g: np.ndarray) -> tuple[States, States]:
    """Sums over the points on either side of every sorted point: ``sum_{j < i} g_j d_k`` and ``sum_{j > i} f_j d_k``.

    Up the tree and down again, for f and g of shape (..., n).
    """
    levels: list[Join] = list(joins(branch, x, x))
    kept: list[tuple[States, States, int]] = []
    climb(levels, [f], [g], kept)
    lower = [np.zeros((*f.shape[:-1], 1)) for _ in range(branch.order)]
    upper = lower
    for join, (f_right, g_left, number) in zip(reversed(levels), reversed(kept), strict=True):
        beyond_left, beyond_right = _joined_all(join, upper, lower, f_right, g_left)
        lower = _woven(lower, beyond_right, number)
        upper = _woven(beyond_left, upper, number)
    return lower, upper


def _joined_all(join: Join, upper: States, lower: States, f_right: States, g_left: States) -> tuple[States, States]:
    """What lies above the left nodes and below the right ones: what is beyond both, and the node between."""
    orders = range(len(join.gap))
    above = [_moved(join.up, upper, k) + _moved(join.gap, f_right, k) for k in orders]
    return above, [_moved(join.down, lower, k) + _moved(join.gap, g_left, k) for k in orders]


def _woven(left: States, right: States, number: int) -> States:
    """Left and right nodes in turn."""
    return [
        np.stack(pair, axis=-1).reshape(*pair[0].shape[:-1], -1)[..., :number] for pair in zip(left, right, strict=True)
    ]


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
        between = climb(joins(self.branch, x[0], x[-1]), self.above, self.below)[0]
        return self.total + between


def _move(factors: Sequence[np.ndarray], states: States, scratch: np.ndarray) -> None:
    """Move sums to the next points, in place: the highest order first, which needs the others as they were."""
    for order in range(len(states) - 1, -1, -1):
        states[order] *= factors[0]
        for a in range(order):
            states[order] += np.multiply(states[a], factors[order - a], out=scratch)
