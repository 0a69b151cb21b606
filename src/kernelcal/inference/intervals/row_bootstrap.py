"""Rows drawn anew for the CKCE, with one factorisation for all draws, and what that costs, said before it begins."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.dependence import DependentUnits
from kernelcal.errors import KernelcalWarning
from kernelcal.inference.intervals.flips import Flips
from kernelcal.inference.intervals.methods import IntervalMethod, Request, Spread, of_draws
from kernelcal.inference.intervals.surprises import LabelLaw, Surprises, label_law
from kernelcal.pairs import ExactPairs, RandomFourier
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.registry import Registry
from kernelcal.residuals import ClassResidual, FeatureResidual
from kernelcal.statistics import CKCE
from kernelcal.statistics.conditional import MATRIX_UP_TO, PreparedCKCE
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
        return max(1, _BYTES // (40 * (len(self) if self.pairs is not None else self.e.size)))

    def values(self, counts: np.ndarray) -> np.ndarray:
        """Values of drawn rows or units, for how often each is drawn, shape (n, B) or (G, B): shape (B,)."""
        more = counts - 1
        linear, own = self.linear @ more, self.own @ more**2
        if self.units is not None:
            own, more = own + self.next @ (more[1:] * more[:-1]), more[self.units.unit]
        if self.pairs is None:
            pairs = self.operator.quadratic(more[:, :, None] * self.e[:, None, :])
        else:
            pairs = np.einsum("nb,nb->b", more, self.pairs @ more)
        return self.estimate + linear + pairs - own

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
            None if self.pairs is not None or self.units is not None else lambda *drawn: self._flipped(flips, *drawn),
            **({} if self.units is None else {"units": self.units, "alike": request.units.sharing.rows}),
        )
        return lambda surprises: drawn + flips.changes(surprises)

    def _flipped(self, of: Flips, counts: np.ndarray, flips: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Changes by flips of drawn rows where the operator has no matrix: all rows of some draws at once."""
        found = np.empty(counts.shape[1])
        for part in row_slices(len(found), self.draws_at_once):
            delta = of.features.of(labels[part])[None] - of.features.of(of.targets)[:, None]
            delta = delta * (flips[:, part] * of.scale[:, None])[:, :, None]
            x = self.r[:, None, :] + (counts[:, part] - 1)[:, :, None] * self.e[:, None, :]
            own = np.einsum("n,nbk,nbk->b", self.operator.diagonal, 2 * x + delta, delta)
            found[part] = self.operator.quadratic(x + delta) - self.operator.quadratic(x) - own
        return found

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
        values, number = [], len(self) if self.units is None else len(self.units)
        for first in range(0, request.run.draws, self.draws_at_once):
            stop = min(first + self.draws_at_once, request.run.draws)
            values.append(self.values(request.source.resampled(first, stop, number)[0]))
            request.run.tell(stop)
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
