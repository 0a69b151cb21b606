"""Signals of quantile forecasts: sums over the cells that outcomes fall into, none of which decreases in a claim."""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Self

import numpy as np

from kernelcal.defaults import SIGNIFICANCE
from kernelcal.dependence import MeanLaw
from kernelcal.predictions import QuantileCells, Quantiles
from kernelcal.statistics.base import Merge, Prepared, Statistic
from kernelcal.statistics.signals.clear import beyond_errors, sums_with_errors

__all__ = [
    "SIDES",
    "CellScores",
    "PreparedQuantileSignals",
    "QuantileSignals",
    "level_in_words",
    "level_tails",
    "side_in_words",
    "skewed",
]


SIDES = ("high", "low", "narrow", "wide")
_MIRROR = (1, 0, 3, 2)
_LEAST = -9.0  # normal quantile of levels below which no outcome lies
_PROOF = 40.0  # standard deviations, as which an impossible outcome counts: more than any draw has
_DIGITS = 6  # of log widths: closer ones differ by rounding alone


class CellScores:
    """Four numbers of a row, from the cell of its outcome: is it high, low, far out, in the middle?

    With e_c the normal quantiles of the levels, the cell c between two of them has ``z(c) = E[Z | cell]`` and ``v(c) =
    E[Z^2 - 1 | cell]``, the second less its regression on the first, both of unit variance under the claims; dz_k and
    dv_k are their steps at level k. Then, with the indicators below and above of `QuantileCells`,

    - high ``sum_k dz_k above_k``, low ``sum_k dz_k below_k``,
    - narrow ``sum_k (dv_k)+ above_k + (dv_k)- below_k``, wide ``sum_k (dv_k)+ below_k + (dv_k)- above_k``,

    each less its mean under the claims. Weights are not negative, so that none decreases in an indicator. Where no
    outcome equals a quantile low is -high, and wide -narrow.

    Attributes
    ----------
    cells : QuantileCells
        Of the n rows.
    table : numpy.ndarray of shape (F, codes)
        The numbers for every code; of one level there are no widths, and F = 2.
    mean : numpy.ndarray of shape (n or 1, F)
        Means under the claims.
    covariance : numpy.ndarray of shape (n or 1, F, F)
        Covariances under the claims.
    """

    def __init__(self, cells: QuantileCells) -> None:
        self.cells = cells
        z, v = _normal_scores(cells.taus)
        dz, dv = np.diff(z), np.diff(v)
        size = len(cells.taus) + 1
        lo, hi = np.divmod(np.arange(size * size), size)
        table = [_sums(dz, 0 * dz, lo, hi), _sums(0 * dz, dz, lo, hi)]
        if size > 2:
            outward, inward = np.maximum(dv, 0), np.maximum(-dv, 0)
            table += [_sums(outward, inward, lo, hi), _sums(inward, outward, lo, hi)]
        self.table = np.stack(table)
        drawn = self.table[:, cells.drawn]  # (F, n or 1, Q + 1)
        self.mean = (drawn @ cells.spacings).T
        centred = drawn - self.mean.T[:, :, None]
        self.covariance = np.einsum("fnc,gnc,c->nfg", centred, centred, cells.spacings)

    def of_rows(self, rows: slice) -> Self:
        """Return the same for some of the rows."""
        some = copy(self)
        some.cells = self.cells[rows]
        if len(self.mean) > 1:
            some.mean, some.covariance = self.mean[rows], self.covariance[rows]
        return some

    @property
    def number(self) -> int:
        """Number of numbers F."""
        return len(self.table)

    def codes(self, targets: np.ndarray) -> np.ndarray:
        """Codes that the table has, also of impossible outcomes."""
        codes = self.cells.codes(targets)
        return np.where(codes < 0, -1 - codes, codes)

    def forms(self, codes: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Sums over rows of each number less its mean, times weights of shape (n, m): shape (F, B, m)."""
        expected = (np.broadcast_to(self.mean, (len(weights), self.number)).T @ weights)[:, None]
        return np.stack([table[codes] @ weights for table in self.table]) - expected

    def variances(self, squares: np.ndarray) -> np.ndarray:
        """Sums over rows of the variance of each number times squared weights (n, m): shape (F, m)."""
        own = np.diagonal(self.covariance, axis1=1, axis2=2)
        return np.asarray(np.broadcast_to(own, (len(squares), self.number)).T @ squares)


def _normal_scores(taus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean of a normal number in each cell, and of its square less the regression on the first; unit variance."""
    from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light

    e = ndtri(taus)
    mass = np.diff(taus, prepend=0.0, append=1.0)
    density = np.exp(-e * e / 2) / np.sqrt(2 * np.pi)
    z = -np.diff(density, prepend=0.0, append=0.0) / mass
    v = -np.diff(e * density, prepend=0.0, append=0.0) / mass
    z /= np.sqrt(mass @ z**2)
    v = v - (mass * v) @ z * z
    spread = np.sqrt(mass @ v**2)
    return z, v / spread if len(taus) > 1 and spread > 1e-9 else np.zeros(len(v))


def _sums(above: np.ndarray, below: np.ndarray, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
    """Sums of steps over the levels that an outcome lies above, and below."""
    over, under = (np.concatenate([[0.0], np.cumsum(steps)]) for steps in (above, below))
    return over[lo] + under[-1] - under[hi]


@dataclass(frozen=True)
class QuantileSignals(Statistic):
    """What quantile forecasts claim, by sums that do not decrease where a claim is broken.

    ``high``, ``low``, ``narrow``, ``wide``: sums of the numbers of `CellScores`. ``high in wide rows``, ...: the same
    with rows of wide intervals against rows of narrow ones, ``sum_i s+ high + s- low`` with the normal scores s of the
    ranks of ``q_Q - q_1``; ``high in high rows``, ...: with the ranks of the median. ``levels below``, ``levels
    above``: the smallest tail over the levels of the binomial law of the number of outcomes strictly below (above) a
    quantile. ``cells``: squared excess of the numbers of outcomes surely inside and surely outside each cell.
    ``impossible target``: outcomes outside the quantiles of the levels 0 and 1, where these were given.

    All are standardised by their moments under the claims, which do not depend on outcomes. Why tests of them are
    exact, and conservative where outcomes equal quantiles: see `QuantileCells`.

    Notes
    -----
    Case weights multiply every row. Cost: O(n) a draw.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import QuantileSignals
    >>> q = kc.Quantiles(np.tile([-0.3, 0.0, 0.3], (60, 1)), [0.1, 0.5, 0.9])
    >>> y = np.random.default_rng(0).normal(size=60)
    >>> kc.calibration_test(y, q, statistic=QuantileSignals(), draws=99).pvalue
    0.01
    """

    def prepare(self, predictions: Quantiles, weights: np.ndarray | None = None) -> PreparedQuantileSignals:
        """Compute scores of cells, ranks of widths and medians."""
        return PreparedQuantileSignals(predictions, weights)


class PreparedQuantileSignals(Prepared):
    """Signals of fixed quantile forecasts, with their directions.

    Attributes
    ----------
    overall : Merge
        The merge of what all rows say together, without that of wide or high ones: quantile calibration.
    """

    aimless = "no single direction: neither one shift nor one width of all forecasts explains how outcomes deviate"
    engine = "sums over rows"
    by_cells = True
    proof: ClassVar[float] = _PROOF

    def __init__(self, predictions: Quantiles, weights: np.ndarray | None = None) -> None:
        self.scores = CellScores(predictions.cells)
        self.cells, n = self.scores.cells, len(predictions)
        self.weights = np.ones(n) if weights is None else weights
        self.total = float(self.weights.sum())
        self.by = {name: s for name, s in _by(self.cells).items() if s.any()}
        self.bytes_per_draw = 40 * n
        sides = SIDES[: self.scores.number]
        more = tuple(f"{side} in {by} rows" for by in self.by for side in sides)
        ends = ("impossible target",) if len(self.cells.taus) < len(self.cells.levels) else ()
        self.directed = (*sides, *more, "levels below", "levels above", "cells")
        self.names = (*self.directed, *ends)
        first, second = len(sides), len(sides) + len(more)
        bounds = [range(first), range(first, second), range(second, second + 3), range(second + 3, len(self.names))]
        self.merge = Merge(tuple(tuple(group) for group in bounds if len(group)), standardised=True)
        overall = (bounds[0], *bounds[2:])
        self.overall = Merge(tuple(tuple(group) for group in overall if len(group)), standardised=True)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Signals of outcomes or codes of shape (B, n): shape (B, signals)."""
        codes = self.scores.codes(targets)
        forms = self.scores.forms(codes, self._columns) / self._spreads[:, None]
        plain = forms[:, :, 0]
        found = [*plain]
        for k in range(len(self.by)):
            up, down = forms[:, :, 1 + 2 * k], forms[:, :, 2 + 2 * k]
            found += [self._both(up, down, f, k) for f in range(self.scores.number)]
        found += [*self._levels(codes), self._squares(codes)]
        if len(found) < len(self.names):
            found.append(_PROOF * (self.cells.codes(targets) < 0).sum(axis=1))
        return np.stack(found, axis=1).astype(np.float64)

    @cached_property
    def _columns(self) -> np.ndarray:
        """Weights of rows: all alike, then positive and negative parts of each score, shape (n, 1 + 2 scores)."""
        parts = [self.weights]
        for score in self.by.values():
            parts += [self.weights * np.maximum(score, 0), self.weights * np.maximum(-score, 0)]
        return np.stack(parts, axis=1)

    @cached_property
    def _spreads(self) -> np.ndarray:
        """Standard deviations of the sums under the claims, shape (F, 1 + 2 scores)."""
        spreads = np.sqrt(self.scores.variances(self._columns**2))
        return np.where(spreads > 0, spreads, 1.0)

    def _both(self, up: np.ndarray, down: np.ndarray, f: int, k: int) -> np.ndarray:
        """Sum of a number where the score is positive, and of its mirror where it is negative; standardised."""
        a, b = self._spreads[f, 1 + 2 * k], self._spreads[_MIRROR[f], 2 + 2 * k]
        return np.asarray((a * up[f] + b * down[_MIRROR[f]]) / np.hypot(a, b))

    def counts(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Weighted numbers of outcomes: below the quantiles, above them (B, Q), and surely in the cells (B, Q + 1)."""
        size = len(self.cells.taus) + 1
        lo, hi = np.divmod(codes, size)
        at_lo = self._binned(lo, size)
        at_hi = at_lo if np.array_equal(lo, hi) else self._binned(hi, size)
        inside = at_lo if at_hi is at_lo else self._binned(np.where(lo == hi, lo, size), size + 1)[:, :-1]
        return np.cumsum(at_hi, axis=1)[:, :-1], self.total - np.cumsum(at_lo, axis=1)[:, :-1], inside

    def _binned(self, values: np.ndarray, size: int) -> np.ndarray:
        draws, n = values.shape
        flat = (values + size * np.arange(draws)[:, None]).ravel()
        weights = None if np.all(self.weights == 1) else np.broadcast_to(self.weights, (draws, n)).ravel()
        return np.bincount(flat, weights, size * draws).reshape(draws, size).astype(np.float64)

    @cached_property
    def claimed(self) -> tuple[np.ndarray, np.ndarray]:
        """Mean over rows of the most that may lie below each quantile, and of the least at or below, shape (Q,)."""
        below, upto = self.cells.claims
        return self.weights @ below / self.total, self.weights @ upto / self.total

    def tails(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Binomial tails of the numbers below and above the quantiles, each of shape (B, Q)."""
        below, above, _ = self.counts(codes)
        return level_tails(below, self.total, self.claimed[0]), level_tails(above, self.total, 1 - self.claimed[1])

    def _levels(self, codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Smallest tails over the levels, as normal quantiles of their smallest's law if levels were independent."""
        from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light

        found = []
        for tail in self.tails(codes):
            with np.errstate(divide="ignore"):
                found.append(np.maximum(-ndtri(-np.expm1(tail.shape[1] * np.log1p(-tail.min(axis=1)))), _LEAST))
        return found[0], found[1]

    def _squares(self, codes: np.ndarray) -> np.ndarray:
        """``sum_c [(N_in - E N_in)+^2 + (N_out - E N_out)+^2] / (n pi_c)``, by normal quantiles of its gamma law."""
        expected, mean = self._cells
        found = self._in_and_out(*self.counts(codes))
        excess = np.maximum(found - expected[:, None], 0.0) ** 2 / (self.total * self.cells.spacings)
        return skewed(excess.sum(axis=(0, 2)), mean, 2 * mean)

    def _in_and_out(self, below: np.ndarray, above: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Weighted numbers surely inside and surely outside each cell, shape (2, B, Q + 1)."""
        zeros = np.zeros((len(below), 1))
        return np.stack([inside, np.concatenate([zeros, below], axis=1) + np.concatenate([above, zeros], axis=1)])

    @cached_property
    def _cells(self) -> tuple[np.ndarray, float]:
        """Expected numbers inside and outside, (2, Q + 1), and half of the mean of the squares under the claims."""
        lo, hi = self.cells.ends(self.cells.drawn)
        places = np.arange(len(self.cells.taus) + 1)
        surely = (lo == hi)[:, None] & (lo[:, None] == places[:, None])
        never = (hi[:, None] < places[:, None]) | (lo[:, None] > places[:, None])
        inside, outside = surely @ self.cells.spacings, never @ self.cells.spacings
        shares = np.stack([np.broadcast_to(x, (len(self.weights), len(places))) for x in (inside, outside)])
        variance = np.einsum("snc,n->sc", shares * (1 - shares), self.weights**2)
        mean = float((variance / (2 * self.total * self.cells.spacings)).sum())
        return np.einsum("snc,n->sc", shares, self.weights), mean

    def named(
        self,
        found: list[str],
        pvalues: dict[str, float],
        targets: np.ndarray,
        fired: str,
        alpha: float,
        law: MeanLaw | None = None,
    ) -> list[str]:
        """Signals to name of those that speak against calibration: the clear ones, or else the first."""
        return [name for name in found if self.clear(name, targets, law)] or found[:1]

    def clear(self, name: str, targets: np.ndarray, law: MeanLaw | None = None) -> bool:
        """Tell whether a signal is large by the spread of the observed rows too; of levels, by their binomial laws.

        What is said of all rows is not said again of wide or high ones.
        """
        codes = self.scores.codes(targets[None])
        if name == "cells":
            return False  # high, low, narrow or wide say more, where one of them is clear
        if name.startswith("levels"):
            tail = self.tails(codes)[name == "levels above"]
            few = bool(tail.min() * tail.shape[1] <= SIGNIFICANCE)
            return few and (law is None or self._clear_of_dependent(name, codes[0], law))
        side, *by = name.split(" in ")
        if by and any(self.clear(other, targets, law) for other in (side, SIDES[_MIRROR[SIDES.index(side)]])):
            return False
        terms = self._terms(name, codes[0])
        far = beyond_errors(*sums_with_errors([terms], law))
        return bool(far[0]) and float(terms.sum()) > 0

    def _clear_of_dependent(self, name: str, codes: np.ndarray, law: MeanLaw) -> bool:
        """Tell whether more lie below a level, or above it, than is claimed, by the spread of rows that depend."""
        (below, upto), k = self.cells.claims, np.arange(len(self.cells.taus))
        low, high = (x[:, None] for x in np.divmod(codes, len(k) + 1))
        terms = (low > k) - (1 - upto) if name == "levels above" else (high <= k) - below
        sums, errors = sums_with_errors((self.weights[:, None] * terms).T, law, len(k))
        return bool((beyond_errors(sums, errors) & (sums > 0)).any())

    def _terms(self, name: str, codes: np.ndarray) -> np.ndarray:
        side, *by = name.split(" in ")
        f = SIDES.index(side)
        own, mirror = ((self.scores.table[g][codes] - self.scores.mean[:, g]) for g in (f, _MIRROR[f]))
        if not by:
            return np.asarray(self.weights * own)
        score = self.by[by[0].removesuffix(" rows")]
        return np.asarray(self.weights * (np.maximum(score, 0) * own + np.maximum(-score, 0) * mirror))

    def sentence(self, name: str, targets: np.ndarray, law: MeanLaw | None = None) -> str:
        """Say in which direction a signal deviates, for one set of targets."""
        if name.startswith("levels"):
            return self._level_in_words(targets, above=name == "levels above")
        if name == "cells":
            return self._cell_in_words(targets)
        side, *by = name.split(" in ")
        if not by:
            return side_in_words(side, one=side == "narrow" and self._on_one_side(targets))
        kind = by[0].removesuffix(" rows")
        here, there = _ROWS[kind]
        return f"{_WORDS[side]} more often than claimed in rows with {here} than in rows with {there}"

    def _on_one_side(self, targets: np.ndarray) -> bool:
        """Tell whether more than claimed lie beyond one end of all intervals only: a shift does that to wide ones."""
        below, above, _ = self.counts(self.scores.codes(targets[None]))
        low = below[0, 0] > self.total * self.claimed[0][0]
        return bool(low != (above[0, -1] > self.total * (1 - self.claimed[1][-1])))

    def _level_in_words(self, targets: np.ndarray, *, above: bool) -> str:
        codes = self.scores.codes(targets[None])
        k = int(self.tails(codes)[above].argmin())
        below, over, _ = self.counts(codes)
        share = (over if above else below)[0, k] / self.total
        return level_in_words(self.cells.taus[k], share, self.claimed[above][k], above=above)

    def _cell_in_words(self, targets: np.ndarray) -> str:
        expected, _ = self._cells
        inside, outside = self._in_and_out(*self.counts(self.scores.codes(targets[None])))[:, 0]
        root = np.sqrt(self.total * self.cells.spacings)
        more, less = (inside - expected[0]) / root, (outside - expected[1]) / root
        c = int(np.maximum(more, less).argmax())
        bounds = np.concatenate([[0.0], self.cells.taus, [1.0]])
        where = f"between the quantiles of the levels {bounds[c]:g} and {bounds[c + 1]:g}"
        if c in (0, len(bounds) - 2):
            where = f"below the quantile of level {bounds[1]:g}" if c == 0 else f"above that of level {bounds[-2]:g}"
        if more[c] >= less[c]:
            return f"{100 * inside[c] / self.total:.1f} % of outcomes lie {where}, more than claimed"
        return f"at most {100 * (1 - outside[c] / self.total):.1f} % of outcomes lie {where}, less than claimed"


def level_in_words(level: float, share: float, claimed: float, *, above: bool) -> str:
    """Say how many outcomes lie below the quantiles of a level, or by the share above them, and what was claimed."""
    if above:
        said = f"at least {100 * claimed:.4g} % was claimed"
        return f"at level {level:g}, {100 * (1 - share):.1f} % lie at or below; {said}"
    return f"at level {level:g}, {100 * share:.1f} % lie strictly below; at most {100 * claimed:.4g} % was claimed"


def side_in_words(side: str, *, one: bool = False) -> str:
    """Say on which side of the quantiles outcomes lie too often; whether beyond one end of the intervals only."""
    return _ONE_SIDE if one else _PLAIN[side]


_PLAIN = {
    "high": "outcomes lie above the quantiles more often than claimed",
    "low": "outcomes lie below the quantiles more often than claimed",
    "narrow": "outcomes lie outside the intervals more often than claimed: intervals too narrow",
    "wide": "outcomes lie inside the intervals more often than claimed: intervals too wide",
}
_ONE_SIDE = "outcomes lie outside the intervals more often than claimed, on one side only"
_WORDS = {
    "high": "outcomes lie above the quantiles",
    "low": "outcomes lie below the quantiles",
    "narrow": "outcomes lie outside the intervals",
    "wide": "outcomes lie inside the intervals",
}
_ROWS = {"wide": ("wide intervals", "narrow ones"), "high": ("high forecasts", "low ones")}


def _by(cells: QuantileCells) -> dict[str, np.ndarray]:
    """Normal scores of the ranks of the widths and of the medians of the rows."""
    from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light
    from scipy.stats import rankdata

    q, n = cells.quantiles, len(cells)
    with np.errstate(divide="ignore"):
        widths = np.round(np.log(q[:, -1] - q[:, 0]), _DIGITS)
    middle = q[:, int(np.abs(cells.taus - 0.5).argmin())]
    return {name: ndtri((rankdata(x) - 0.5) / n) for name, x in (("wide", widths), ("high", middle))}


def level_tails(counts: np.ndarray, n: float, p: np.ndarray) -> np.ndarray:
    """P(Bin(n, p) >= counts) by the incomplete beta function, which takes weighted counts too."""
    from scipy.special import betainc  # imported when needed: the import of kernelcal stays light

    k = np.clip(counts, 0.0, n)
    return np.asarray(np.where(k > 0, betainc(np.maximum(k, 1e-300), np.maximum(n - k, 0.0) + 1, p), 1.0))


def skewed(values: np.ndarray, mean: float, variance: float) -> np.ndarray:
    """Normal quantiles of gamma numbers of a mean and variance, nearly (Wilson, Hilferty 1931): one scale for all."""
    if mean <= 0 or variance <= 0:
        return values
    shape = mean * mean / variance
    return np.asarray(3 * np.sqrt(shape) * (np.cbrt(values / mean) - (1 - 1 / (9 * shape))))
