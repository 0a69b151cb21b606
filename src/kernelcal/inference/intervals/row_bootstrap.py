"""Rows drawn anew for the CKCE, with one factorisation for all draws, and what that costs, said before it begins."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import cached_property

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.dependence import DependentUnits
from kernelcal.errors import KernelcalWarning
from kernelcal.inference.draws import Draws
from kernelcal.inference.intervals.flips import Flipped, Flips
from kernelcal.inference.intervals.methods import IntervalMethod, Request, Spread, of_draws
from kernelcal.inference.intervals.surprises import LabelLaw, Surprises, label_law
from kernelcal.pairs import ExactPairs, RandomFourier
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.registry import Registry
from kernelcal.residuals import ClassResidual, FeatureResidual
from kernelcal.statistics import CKCE
from kernelcal.statistics.conditional import MATRIX_UP_TO, ByFeatures, PreparedCKCE
from kernelcal.statistics.pairwise import not_definite

__all__ = [
    "BOOTSTRAP",
    "OPERATOR_METHODS",
    "RowBootstrap",
    "bootstrap_cost",
    "in_words",
    "say_bootstrap_cost",
    "seconds_of",
]


_RATE = 1.5e10  # multiplications a second of matrix products in float64 on two cores
_LONG = 60.0
_RANK = 250  # usual columns of an incomplete factor
_NUMBER_FEATURES = 32  # of targets that are numbers


def bootstrap_cost(statistic: CKCE, predictions: Predictions, draws: int) -> float:
    """Multiplications of a CKCE with the bootstrap of its rows, roughly: the rank of a factor is not known before."""
    n, classes = float(len(predictions)), isinstance(predictions, ClassPredictions)
    features = predictions.n_classes if isinstance(predictions, ClassPredictions) else _NUMBER_FEATURES
    engine = statistic.engine
    if isinstance(engine, ExactPairs):
        once = n**3 * (3.0 if n <= MATRIX_UP_TO else 1.0)
        return once + draws * n * n * (1.0 if n <= MATRIX_UP_TO else 2.0 * features)
    if isinstance(engine, RandomFourier):
        rank = 2 * engine.frequencies + (features if classes else 0)
    else:
        rank = engine.rank or _RANK
    return n * rank * (2.0 * rank + 3 * draws * features)  # as they are, and with surprises


def seconds_of(multiplications: float) -> float:
    """Seconds on two cores, roughly."""
    return multiplications / _RATE


def in_words(seconds: float) -> str:
    """Return a rough time in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def say_bootstrap_cost(statistic: CKCE, predictions: Predictions, draws: int) -> None:
    """Warn of a bootstrap that takes more than a minute, before anything is computed."""
    seconds = seconds_of(bootstrap_cost(statistic, predictions, draws))
    if seconds > _LONG:
        warnings.warn(
            f"the bootstrap of the CKCE over {len(predictions):,} rows with {draws:,} draws takes about "
            f"{in_words(seconds)} on two cores: fewer draws, or CKCE(engine=kernelcal.IncompleteCholesky()), take less",
            KernelcalWarning,
            3,
        )


_RUNS = 256  # rows whose left-out pairs are looked at together
_BYTES = 2**28  # for the residuals of one batch of draws
_IN_CACHE = 2**16  # numbers
_KEPT_BYTES = 2**26  # coefficients of all draws, which flips of any number of surprises ask for again


class RowBootstrap:
    """CKCE without the noise of the targets, ``U = sum_{i != j} M_ij <r_i, r_j>``, over rows drawn with replacement.

    Drawing rows changes the targets and the operator. With w_i the number of times that row i is drawn and
    ``e = r - K W r`` what ridge regression leaves of the residuals, the coefficients of the regression are, to the
    first order in w - 1, those of the residuals ``r + (w - 1) e`` under the operator of all rows. Hence

    ``U(w) = U + sum_i (w_i - 1) a_i + sum_{i != j} (w_i - 1) (w_j - 1) M_ij <e_i, e_j>``,
    ``a_i = 2 <e_i, (M r)_i - M_ii r_i>``,

    and a is to the leading order the influence function over n, without the pairs of a row with itself exactly so: the
    bootstrap has the variance of the exact one where the model is miscalibrated, and more than that of U where it is
    calibrated.

    Of rows that depend on each other clusters or stretches are drawn, and pairs of rows that are left out beside each
    other are left out of all three sums.

    Parameters
    ----------
    prepared : PreparedCKCE
        Its lambda a number.
    targets : numpy.ndarray
        Observed targets.
    units : DependentUnits, optional
        What is drawn in the place of rows, which are in its order.
    """

    def __init__(self, prepared: PreparedCKCE, targets: np.ndarray, units: DependentUnits | None = None) -> None:
        if not prepared.kernel.positive_definite(prepared.predictions):
            warnings.warn(not_definite(prepared.kernel, prepared.predictions), KernelcalWarning, stacklevel=2)
        self.prepared, self.operator = prepared, prepared.operator
        self.residual, self.targets = prepared.residual, targets
        self.r = r = prepared.observed(targets)
        self.e, mr = self.operator.regression(r)
        self.pairs = self.operator.pairs(self.e)
        self._kept: tuple[Draws, np.ndarray] | None = None
        self.units = units
        if units is None:
            own = self.operator.diagonal
            self.linear = 2 * np.einsum("nk,nk->n", self.e, mr - own[:, None] * r)
            self.own = own * np.einsum("nk,nk->n", self.e, self.e)
            self.estimate = float(np.einsum("nk,nk->", r, mr) - own @ np.einsum("nk,nk->n", r, r))
            return
        near, self.own, self.next = self._near(units)
        self.linear = 2 * units.sums(np.einsum("nk,nk->n", self.e, mr - near))
        self.estimate = float(np.einsum("nk,nk->", r, mr - near))

    def _near(self, units: DependentUnits) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sums over pairs that are left out: of ``M_ij r_j`` for every row, shape (n, k), and of ``M_ij <e_i, e_j>``.

        These inside every unit, shape (G,), and of a unit and the one after it, both orders counted, shape (G - 1,).
        """
        n, near = len(self), np.empty_like(self.r)
        inside, following = np.zeros(len(units)), np.zeros(len(units))
        for rows in row_slices(n, _RUNS):
            columns = slice(int(units.first[rows.start]), int(units.last[rows.stop - 1]))
            place = np.arange(columns.start, columns.stop)
            m = self.operator.rows(rows)[:, columns]
            m = np.where((place >= units.first[rows, None]) & (place < units.last[rows, None]), m, 0.0)
            near[rows] = m @ self.r[columns]
            products, steps = m * (self.e[rows] @ self.e[columns].T), units.unit[place] - units.unit[rows, None]
            np.add.at(inside, units.unit[rows], (products * (steps == 0)).sum(axis=1))
            np.add.at(following, units.unit[rows], 2 * (products * (steps == 1)).sum(axis=1))
        return near, inside, following[:-1]

    def __len__(self) -> int:
        return len(self.e)

    @property
    def plug_in(self) -> float:
        """The published value of all rows, with the pairs of a row with itself."""
        if isinstance(self.residual, FeatureResidual):
            return float(self.operator.quadratic(self.r[:, None, :])[0])
        return float(self.operator.values(self.residual, self.targets[None])[0])

    @property
    def draws_at_once(self) -> int:
        """Draws whose counts, or whose residuals and solutions, fit the memory."""
        if isinstance(self.operator, ByFeatures):
            return max(1, _BYTES // (40 * (len(self) + self.operator.size * self.e.shape[1])))
        return max(1, _BYTES // (40 * (len(self) if self.pairs is not None else self.e.size)))

    def values(self, counts: np.ndarray) -> np.ndarray:
        """Values of drawn rows or units, for how often each is drawn, shape (n, B) or (G, B): shape (B,)."""
        rows, rest = self._of_counts(counts)
        if self.pairs is None:
            return rest + self.operator.drawn(self.e, rows)
        return np.asarray(rest + np.einsum("nb,nb->b", rows, self.pairs @ rows))

    def _of_counts(self, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``w - 1`` of every row, and all but the sum over pairs."""
        more, rest = counts - 1, np.empty(counts.shape[1])
        step = max(1, _IN_CACHE // len(more))
        for first in range(0, len(rest), step):
            part = slice(first, first + step)
            some = more[:, part]
            rest[part] = self.estimate + self.linear @ some - self.own @ some**2
            if self.units is not None:
                rest[part] -= self.next @ (some[1:] * some[:-1])
        return more if self.units is None else more[self.units.unit], rest

    def surprised(
        self, request: Request, drawn: np.ndarray, law: LabelLaw | None = None
    ) -> Callable[[float], np.ndarray]:
        """Values of the same draws with so many surprises.

        Of classes some drawn rows are given another outcome, labels of a law that several models may share; of numbers
        the draws lie further from the estimate, by outcomes far from what was predicted.
        """
        if not isinstance(self.residual, ClassResidual):
            return self._widened(drawn, request)
        n, roots = len(self), self.residual.weights
        weights = np.ones(n) if roots is None else roots**2
        law = law or label_law(self.targets, [self.prepared.predictions], None if roots is None else weights)
        flips = Flips(
            request.source,
            request.run.draws,
            lambda rows: self.operator.rows(rows).copy(),
            [(self.r, None), (self.e, lambda counts: counts - 1)],
            self.residual.label_features,
            np.ones(n) if roots is None else roots,
            self.targets.astype(np.intp),
            weights,
            law,
            None if self.pairs is not None or self.units is not None else self._flipped,
            **({} if self.units is None else {"units": self.units, "alike": request.units.sharing.rows}),
        )
        return lambda surprises: drawn + flips.changes(surprises)

    def _flipped(self, of: Flips, flipped: Flipped) -> np.ndarray:
        """Changes by flips of drawn rows where the operator has no matrix, some draws at a time.

        With x the drawn rows and d the change of a copy: ``sum M_ij (2 <x_i, d_j> + <d_i, d_j>)`` over different rows.
        Of features that is ``2 <Q'x, Q'd> + |Q'd|^2`` less the pairs of a row with itself, and only Q'd is made anew.
        """
        copies = of.scale[flipped.rows, None] * (
            of.features.of(flipped.labels[flipped.draws]) - of.features.of(of.targets[flipped.rows])
        )
        first = np.ones(len(copies), dtype=bool)  # copies of a row change it together
        first[1:] = (np.diff(flipped.rows) != 0) | (np.diff(flipped.draws) != 0)
        starts = np.flatnonzero(first)
        delta = np.add.reduceat(copies, starts) if len(starts) else copies
        rows, draws, counts = flipped.rows[first], flipped.draws[first], flipped.counts[first]
        x = self.r[rows] + (counts - 1)[:, None] * self.e[rows]
        own = self.operator.diagonal[rows] * np.einsum("fk,fk->f", 2 * x + delta, delta)
        found = -np.bincount(draws, own, minlength=of.draws)
        step = self.draws_at_once
        for start in range(0, of.draws, step):
            part = slice(start, min(start + step, of.draws))
            inside = slice(*np.searchsorted(draws, [part.start, part.stop]))
            found[part] += self._changed(of, part, rows[inside], delta[inside], draws[inside] - start)
        return found

    def _changed(self, of: Flips, part: slice, rows: np.ndarray, delta: np.ndarray, draws: np.ndarray) -> np.ndarray:
        """``sum_ij M_ij <2 x_i + d_i, d_j>`` of some draws."""
        number = part.stop - part.start
        if isinstance(self.operator, ByFeatures):
            changes = self.operator.coefficients_of(rows, self._turned(delta), draws, number)
            changed = changes + 2 * self._coefficients(of, part)
            return np.asarray(np.einsum("kbd,kbd->b", changed, changes))
        more = of.source.counts(part.start, part.stop, len(self)) - 1
        x = self.r[:, None, :] + more[:, :, None] * self.e[:, None, :]
        before = self.operator.quadratic(x)
        x[rows, draws] += delta
        return self.operator.quadratic(x) - before

    def _coefficients(self, of: Flips, part: slice) -> np.ndarray:
        """``Q'x`` of the drawn rows ``x = r + (w - 1) e`` of some draws, shape (k, B, D): kept where they fit."""
        assert isinstance(self.operator, ByFeatures)  # for the type checker
        if self._kept is not None and self._kept[0] is of.source:
            return self._kept[1][:, part]
        more = of.source.counts(part.start, part.stop, len(self)) - 1
        return self._observed + self.operator.coefficients(self._turned(self.e), more)

    @cached_property
    def _observed(self) -> np.ndarray:
        """``Q'r``, shape (k, 1, D)."""
        assert isinstance(self.operator, ByFeatures)  # for the type checker
        return self.operator.coefficients(self._turned(self.r), np.ones((len(self), 1)))

    def _turned(self, x: np.ndarray) -> np.ndarray:
        """Residuals, or changes of them, whose inner products are the same, in as few columns as they need.

        With one column a class every row sums to 0: a reflection that takes (1, ..., 1) to the first axis leaves
        nothing there.
        """
        if not isinstance(self.residual, ClassResidual) or self.residual.label_features.matrix is not None:
            return x
        axis = np.full(x.shape[1], x.shape[1] ** -0.5)
        axis[0] += 1
        return np.asarray(x[:, 1:] - (x @ axis)[:, None] * axis[1:] / axis[0])

    def _widened(self, drawn: np.ndarray, request: Request) -> Callable[[float], np.ndarray]:
        """Draws about the estimate, by the noise of residuals alone: the operator weighs outcomes alike."""
        far, n = self.residual.far_lengths(), len(self)
        if far is None:
            return lambda some: drawn
        w = np.ones(n) if self.residual.weights is None else self.residual.weights**2
        norms, gram = np.einsum("nk,nk->n", self.r, self.r), self.r.T @ self.r
        squares, pseudo = float((gram**2).sum() - norms @ norms), float(w @ (far * w))
        mixed = min(pseudo * float(norms.sum()), math.sqrt(max(squares, 0.0)) * pseudo)
        surprises = Surprises(n, n, 2.0, 0.0, squares, 0.0, 0.0, 0.0, mixed, pseudo**2, moves=False)
        degenerate = 2 * squares / (n * (n - 1)) ** 2
        if request.units is not None:
            surprises = request.units.sharing.surprises(surprises)
            degenerate *= request.units.sharing.seen**2
        return lambda some: self.estimate + surprises.inflation(0.0, degenerate, some) * (drawn - self.estimate)

    def drawn(self, request: Request) -> np.ndarray:
        """Values of as many draws as asked for."""
        values, number, draws = [], len(self) if self.units is None else len(self.units), request.run.draws
        operator, kept = self.operator, None
        if isinstance(operator, ByFeatures) and self.units is None:
            e = self._turned(self.e)
            shape = (e.shape[1], draws, operator.size)
            kept = np.empty(shape) if 8 * np.prod(shape) <= _KEPT_BYTES else None
        for first in range(0, draws, self.draws_at_once):
            part = slice(first, min(first + self.draws_at_once, draws))
            counts = request.source.counts(part.start, part.stop, number)
            if kept is None or not isinstance(operator, ByFeatures):
                values.append(self.values(counts))
            else:
                rows, rest = self._of_counts(counts)
                found = operator.coefficients(e, rows)
                values.append(rest + np.einsum("kbd,kbd->b", found, found))
                kept[:, part] = found + self._observed
            request.run.tell(part.stop)
        self._kept = None if kept is None else (request.source, kept)
        return np.concatenate(values)


def _rows(request: Request) -> Spread:
    units = None if request.units is None else request.units.units
    rows = RowBootstrap(request.prepared, request.case.targets, units)
    drawn = rows.drawn(request)
    return of_draws(rows.estimate, drawn, rows.surprised(request, drawn))


_LABEL = "percentile bootstrap of the rows, the operator to the first order"
BOOTSTRAP = IntervalMethod(_rows, _LABEL, tested=True, of_units=True)
OPERATOR_METHODS: Registry[IntervalMethod] = Registry("method", "or 'default', or an IntervalMethod")
OPERATOR_METHODS.register("bootstrap", BOOTSTRAP, summary=BOOTSTRAP.label, serves="CKCE")
