"""The default family of statistics: kernels and signals with a direction; that of classes, and which there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kernelcal.arrays import is_numpy, row_slices, to_numpy
from kernelcal.cases import Case
from kernelcal.defaults import SIGNIFICANCE
from kernelcal.dependence import Dependence, mean_law
from kernelcal.errors import InputError
from kernelcal.inference.result import Member
from kernelcal.inference.test.number_family import FACTORS, SHARE, number_kernel, number_merge, number_parts
from kernelcal.inference.test.placed_members import placed_at_once
from kernelcal.inference.test.quantile_family import QUANTILE_FACTORS, PreparedQuantileKernels, quantile_merge
from kernelcal.kernels import (
    PIT,
    Dirac,
    Kernel,
    Laplacian,
    QuantileLevels,
    Spectral,
    Stationary,
    class_matrix,
    kernels_between,
    resolve,
    resolve_target,
)
from kernelcal.pairs import FEATURE, Engine, ExactPairs, Nystrom
from kernelcal.predictions import ClassPredictions, Predictions, Quantiles, RealPredictions
from kernelcal.randomness import generator_of, some_rows
from kernelcal.residuals import Residual, residual_of, target_kernel_of
from kernelcal.statistics import (
    SKCE,
    ClassSignals,
    Estimate,
    Merge,
    NumberSignals,
    Prepared,
    QuantileSignals,
    Statistic,
)
from kernelcal.statistics.pairwise import PreparedPairMean
from kernelcal.statistics.signals import PreparedClassSignals, PreparedNumberSignals, PreparedQuantileSignals

__all__ = [
    "DefaultFamily",
    "PreparedFamily",
    "Signals",
    "SummedKernels",
    "class_factors",
    "directions",
    "family_of_pairs",
    "impossible_note",
    "impossible_rows",
    "prepared_signals",
    "ruled_out_in_words",
    "spectral_target",
]


_ONE, _SEVERAL = (2**-5, 2**-3, 2**-1), (2**-1, 2.0)
_ROWS = 400  # whose pairs tell the standard deviations: they need not be exact
_PART = 4096  # rows whose probabilities stay in the cache


def class_factors(predictions: ClassPredictions) -> tuple[float, ...]:
    """Multiples of the lengthscale: finer ones for one probability, whose rows lie close, coarser ones for several."""
    return _ONE if predictions.n_classes == 2 else _SEVERAL


class SummedKernels(Prepared):
    """Unbiased SKCE at several lengthscales, each divided by its standard deviation under calibration, and summed.

    One member of a family, where several would have to be paid for: neighbouring lengthscales see much the same.

    Parameters
    ----------
    pairs : PreparedPairMean
        Kernels of class predictions.
    predictions : ClassPredictions
        The same in NumPy.

    Notes
    -----
    Given the predictions the mean of ``K_ij <r_i, r_j>`` over pairs has variance ``2 sum_{i != j} (w_i w_j K_ij)^2
    tr(V_i A V_j A)`` over the squared number of pairs, with the covariance V_i of the label's indicator and the matrix
    A of the target kernel. It is computed from the pairs of at most 400 rows, chosen by the variance of their labels:
    factors that do not look at targets leave the test exact, whatever they are.
    """

    def __init__(self, pairs: PreparedPairMean, predictions: ClassPredictions) -> None:
        self.pairs, self.forms, self.kernels = pairs, pairs.forms, pairs.kernels
        self.engine, self.notes, self.bytes_per_draw = pairs.engine, pairs.notes, pairs.bytes_per_draw
        several = len(pairs.names) > 1
        first, last = (name.removeprefix("kernel at ") for name in (pairs.names[0], pairs.names[-1]))
        self.names = (f"kernels at {first} to {last}",) if several else pairs.names
        self.spreads = _spreads(pairs.kernels, pairs.target_kernel, predictions, pairs.residual.weights)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Sums of standardised values, shape (B, 1); of a single kernel its value."""
        values = self.pairs.values(targets)
        return values if len(self.spreads) == 1 else (values / self.spreads).sum(axis=1, keepdims=True)


def _spreads(
    kernels: Sequence[Kernel], target: Kernel, predictions: ClassPredictions, weights: np.ndarray | None
) -> np.ndarray:
    """Standard deviation of the unbiased SKCE under every kernel, roughly; 1 where nothing can vary."""
    n, table = len(predictions), predictions.table()
    w = np.ones(n) if weights is None else weights / weights.mean()
    parts = (table[part].astype(np.float64) for part in row_slices(n, _PART))
    rows, times = _by_variance(w**2 * np.concatenate([(p * (1 - p)).sum(axis=1) for p in parts]))
    some, p, own = predictions[rows], table[rows].astype(np.float64), times * w[rows] ** 2
    moments = _covariances(p, None if isinstance(target, Dirac) else class_matrix(target, p.shape[1]))
    moments *= np.outer(own, own)
    np.fill_diagonal(moments, 0.0)
    found = [2 * float((np.asarray(k) ** 2 * moments).sum()) for k in kernels_between(kernels, some, some)]
    spreads = np.sqrt(np.maximum(found, 0.0)) / (n * (n - 1))
    return np.where(spreads > 0, spreads, 1.0)


def _by_variance(variance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Choose rows by their share of a sum, and tell how many rows each stands for; of few rows all."""
    n, total = len(variance), float(variance.sum())
    if n <= _ROWS or total == 0:
        rows = some_rows(n, _ROWS)
        return rows, np.full(len(rows), n / len(rows))
    places = (np.arange(_ROWS) + generator_of(0, "rows that vary").random(_ROWS)) * (total / _ROWS)
    found = np.searchsorted(np.cumsum(variance), places, side="right").clip(max=n - 1)
    rows, counts = np.unique(found[variance[found] > 0], return_counts=True)
    return rows, counts * total / (_ROWS * variance[rows])


def _covariances(p: np.ndarray, a: np.ndarray | None) -> np.ndarray:
    """``tr(V_i A V_j A)`` for ``V_i = diag(p_i) - p_i p_i'``, shape (n, n); no A stands for the identity."""
    mapped, squared = (p, p) if a is None else (p @ a, p @ a**2)
    crossed = p @ (mapped**2).T
    return squared @ p.T - crossed - crossed.T + (mapped @ p.T) ** 2


# Seconds of a draw and kernel on two cores up to which all pairs are taken; above, features where they take less
_SECONDS = 2e-4

_FEATURES = 32  # features of a target kernel between numbers

_LANDMARKS, _FEW_LANDMARKS, _LARGE = 256, 128, 200_000  # fewer landmarks above so many probabilities


@dataclass(frozen=True, kw_only=True)
class DefaultFamily(Statistic):
    """Unbiased SKCE at several lengthscales beside signals with a direction, combined by the smallest rank.

    For `Quantiles` the members are those of `QuantileSignals` and kernels at 1/4 and 1 of the median distance of
    forecasts, and all look at the cells between the quantiles alone: what lies between the levels was not forecast.

    For classes the signals are slope, bias and bins (`ClassSignals`), and the kernels are one member: their values are
    divided by their standard deviations under calibration, and summed. For numbers and vectors five groups of members
    are ranked (`Merge`): bias and dispersion, each with weight 1.2; both by location and scale, 0.8; the PIT, 1.4
    (`NumberSignals`); and, 0.8, kernels between places of outcomes in their predicted distributions, with the cells
    of these.

    A kernel at one lengthscale is blind to finer structure and weak against over- and under-confidence, the
    failure that is met most often; one family of few members sees both, and every member costs the others little.

    Parameters
    ----------
    kernel : Stationary
        Kernel whose lengthscale is multiplied by the factors. Default `Laplacian`, between numbers with the metric
        `kernels.Standardised`.
    factors : sequence of float, optional
        Multiples of the lengthscale. Default for one probability 2^-5, 2^-3, 2^-1, for several 2^-1, 2, for
        numbers 2^-3, 2^-1.
    target_kernel : Kernel, optional
        Kernel between targets. Default `Dirac` for classes, ``kernels.PIT("polynomials")`` for numbers, and for vectors
        beside it, for what their components share, the finite spectrum of a Gaussian at the median predicted standard
        deviation (`kernels.Spectral`). `Spectral` between numbers compares outcomes on the axis of the targets.
    engine : Engine, optional
        Default: exact pairs while a draw takes about 0.2 ms a kernel at most (any number of rows of one
        probability, whose pairs a scan sums, 1,100 of ten classes, 1,800 of numbers, 600 of vectors), above it Nystrom
        features. The level is exact with either.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> test = kc.calibration_test(y, p, statistic=kc.DefaultFamily(factors=[1.0]), draws=99)
    >>> test.pvalue, [member.name for member in test.members][:3]
    (0.01, ['slope', 'bias', 'bins'])
    """

    kernel: Stationary = field(default_factory=Laplacian)
    factors: Sequence[float] | None = None
    target_kernel: Kernel | None = None
    engine: Engine | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Stationary):
            raise InputError(f"the family needs a profile with a lengthscale, such as Laplacian(), got {self.kernel!r}")
        if self.factors is not None and (len(self.factors) == 0 or not all(factor > 0 for factor in self.factors)):
            raise InputError(f"factors must be one or more positive numbers, got {self.factors!r}")

    def estimated(self, case: Case) -> Estimate:
        """Refused: a family is several statistics, and what they have in common is a p-value."""
        raise InputError(
            "DefaultFamily is several statistics and has no single estimate: pass it to "
            "kernelcal.calibration_test(y, predictions), whose result lists them, or call kernelcal.skce for one number"
        )

    @property
    def resident(self) -> bool:
        """Whether values are made where the predictions lie: those of the kernels."""
        return True

    def prepare(self, predictions: Predictions, weights: np.ndarray | None = None) -> PreparedFamily:
        """Resolve lengthscales, choose the engine, sum what the predictions say."""
        if isinstance(predictions, Quantiles) and self.target_kernel in (None, QuantileLevels()):
            return self._of_quantiles(predictions, weights)
        if isinstance(predictions, RealPredictions):
            factors = FACTORS if self.factors is None else self.factors
            parts = number_parts(predictions, self.kernel, factors, self.target_kernel, self.engine, weights)
            (first, *more), signals = parts
            valued = (*placed_at_once(signals, first), *more)
            return PreparedFamily(first, signals, tuple(more), number_merge(signals, parts[0]), valued)
        base, notes = resolve(self.kernel, predictions, weights=weights)
        assert isinstance(base, Stationary)  # for the type checker: leaves keep their type
        target = spectral_target(self.target_kernel, predictions)
        placed = predictions.placed()
        residual = residual_of(placed, target, weights)
        return self._prepared(base, target, placed, residual, predictions.notes + notes)

    def beside(self, ready: PreparedPairMean, notes: tuple[str, ...] = ()) -> PreparedFamily:
        """Prepare it for the placed predictions of an SKCE that is ready; `kernel` has been resolved for them.

        The residuals are those of the SKCE where the target kernels are the same; `notes` are those of the kernel.
        """
        placed, notes = ready.predictions, ready.predictions.notes + notes
        if isinstance(placed, Quantiles) and self.target_kernel in (None, QuantileLevels()):
            return self._of_quantiles(placed, ready.residual.weights)
        target = spectral_target(self.target_kernel, placed)
        if target == ready.target_kernel:
            return self._prepared(self.kernel, target, placed, ready.residual, notes, ready)
        residual = residual_of(placed, target, ready.residual.weights)
        return self._prepared(self.kernel, target, placed, residual, notes)

    def _prepared(
        self,
        base: Stationary,
        target: Kernel,
        placed: Predictions,
        residual: Residual,
        notes: tuple[str, ...],
        like: PreparedPairMean | None = None,
    ) -> PreparedFamily:
        host = placed if is_numpy(placed.reference) else _on_host(placed)
        assert isinstance(host, ClassPredictions)  # for the type checker: numbers have a family of their own
        factors = class_factors(host) if self.factors is None else self.factors
        scales = [base.scale * factor for factor in factors]
        kernels = [base.with_lengthscale(scale) for scale in scales]
        names = tuple(f"kernel at {scale:.3g}" for scale in scales)

        def prepared(engine: Engine) -> PreparedPairMean:
            statistic = SKCE(prediction_kernel=base, target_kernel=target, engine=engine)
            return PreparedPairMean(statistic, kernels, placed, names, notes, residual.weights, residual, like)

        kernels_ready = SummedKernels(self._of_pairs_or_features(prepared, placed), host)
        return PreparedFamily(kernels_ready, prepared_signals(host, residual.weights))

    def _of_quantiles(self, predictions: Quantiles, weights: np.ndarray | None) -> PreparedFamily:
        """Prepare what quantile forecasts claim, in groups of its own; factors as given, or two."""
        host = predictions.map_arrays(to_numpy)
        base, notes = resolve(self.kernel, host, weights=weights)
        assert isinstance(base, Stationary)  # for the type checker: leaves keep their type
        factors = QUANTILE_FACTORS if self.factors is None else self.factors
        signals = QuantileSignals().prepare(host, weights)
        kernels = PreparedQuantileKernels(base, factors, host, signals.scores, weights, host.notes + notes)
        return PreparedFamily(kernels, signals, merge=quantile_merge(signals, kernels))

    def _of_pairs_or_features(
        self, prepared: Callable[[Engine], PreparedPairMean], predictions: Predictions
    ) -> PreparedPairMean:
        """Take all pairs while a draw is quick, and features where it is not."""
        if self.engine is not None:
            return prepared(self.engine)
        exact = prepared(ExactPairs())
        columns = exact.residual.dimension
        landmarks = _landmarks(len(predictions), predictions.columns, columns, exact.forms.seconds_per_draw)
        return prepared(Nystrom(landmarks, share=SHARE)) if landmarks else exact

    def resolved(self, predictions: Predictions, weights: np.ndarray | None = None) -> DefaultFamily:
        """Fix the lengthscale that the factors multiply, and that of the target kernel."""
        by_levels = isinstance(predictions, Quantiles) and self.target_kernel in (None, QuantileLevels())
        numbers = isinstance(predictions, RealPredictions) and not by_levels
        base, _ = resolve(number_kernel(self.kernel) if numbers else self.kernel, predictions, weights=weights)
        assert isinstance(base, Stationary)  # for the type checker: leaves keep their type
        target = self.target_kernel
        target = target_kernel_of(target, predictions, weights) if target is not None or not numbers else None
        return replace(self, kernel=base, target_kernel=target)


class PreparedFamily(Prepared):
    """Kernels and signals of fixed predictions; `valued` are the same members as they are looked at, not each alone."""

    def __init__(
        self,
        kernels: PreparedPairMean | SummedKernels | PreparedQuantileKernels,
        signals: Signals,
        more: tuple[Prepared, ...] = (),
        merge: Merge | None = None,
        valued: tuple[Prepared, ...] = (),
    ) -> None:
        self.kernels, self.signals, self.more, self.merge = kernels, signals, more, merge
        self.parts: tuple[Prepared, ...] = (signals, kernels, *more)
        self.valued = valued or self.parts
        self.by_cells = kernels.by_cells
        self.names = tuple(name for part in self.parts for name in part.names)
        self.engine, self.notes = kernels.engine, kernels.notes
        self.bytes_per_draw = sum(part.bytes_per_draw for part in self.valued)
        self.draws_a_thread = self.valued[0].draws_a_thread if len(self.valued) == 1 else 0

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of all members, shape (B, members)."""
        return np.hstack([part.values(targets) for part in self.valued])


def family_of_pairs(pairs: PreparedPairMean) -> PreparedFamily:
    """Signals beside the error of a kernel that somebody chose: one member more, in a group of its own."""
    signals = prepared_signals(_on_host(pairs.predictions), pairs.residual.weights)
    if signals.merge is None:
        return PreparedFamily(pairs, signals)
    own = (*signals.merge.groups, (len(signals.names),))
    return PreparedFamily(pairs, signals, merge=Merge(own, (*signals.merge.weights, 1.0)))


def _landmarks(n: int, m: int, columns: int, seconds: float) -> int:
    """Landmarks of features that are quicker than so many seconds a draw over all pairs; 0 where none are."""
    landmarks = _LANDMARKS if n * m <= _LARGE else _FEW_LANDMARKS
    return 0 if seconds <= max(_SECONDS, FEATURE * landmarks * n * max(m, columns)) else landmarks


def spectral_target(kernel: Kernel | None, predictions: Predictions) -> Kernel:
    """Target kernel as given, or the default whose residuals have features: for vectors a finite spectrum."""
    if kernel is None and isinstance(target_kernel_of(None, predictions), PIT | QuantileLevels):
        return target_kernel_of(None, predictions)
    if kernel is None and isinstance(predictions, RealPredictions):
        frequencies = _FEATURES // 2 if predictions.dimension == 1 else _FEATURES
        return resolve_target(Spectral(frequencies=frequencies), predictions)
    return target_kernel_of(kernel, predictions)


def prepared_signals(predictions: Predictions, weights: np.ndarray | None) -> Signals:
    """Prepare the signals that belong to a kind of predictions."""
    if isinstance(predictions, Quantiles):
        return QuantileSignals().prepare(predictions, weights)
    if isinstance(predictions, RealPredictions):
        return NumberSignals().prepare(predictions, weights)
    assert isinstance(predictions, ClassPredictions)  # for the type checker: there is no third kind
    return ClassSignals().prepare(predictions, weights)


def _on_host(predictions: Predictions) -> Predictions:
    """Return the predictions as NumPy: a p-value has no gradient, and the draws are made there."""
    return predictions.map_arrays(to_numpy)


Signals = PreparedClassSignals | PreparedNumberSignals | PreparedQuantileSignals


def directions(
    signals: Signals,
    targets: np.ndarray,
    members: tuple[Member, ...],
    fired: str,
    alpha: float = SIGNIFICANCE,
    rows: Dependence | None = None,
) -> tuple[str, ...]:
    """Sentences for what speaks against calibration: what was ruled out, then directions, the fired one first.

    A direction must be beyond what calibrated outcomes do, and beyond the spread of the observed rows: outcomes that
    spread too wide alone make sums vary more than those of calibrated ones. Beside the first one others are named
    where they deviate at the level over the number of directions. If none is clear, the strongest is named,
    unless it is a slope that a fit does not confirm: that could be the opposite of the truth. Of rows that depend on
    each other the spread is that of sums over clusters or stretches.
    """
    law = mean_law(rows) if rows is not None and rows.overlap else None
    pvalues = {member.name: member.pvalue for member in members}
    found = [name for name in signals.directed if pvalues.get(name, 1.0) <= alpha]
    sizes = {member.name: -abs(float(np.nan_to_num(member.deviation))) for member in members}
    ordered = sorted(found, key=lambda name: (name != fired, pvalues[name], sizes[name]))
    named = signals.named(ordered, pvalues, targets, fired, alpha, law) if ordered else []
    ruled_out = _ruled_out(signals, members, len(targets), alpha)
    if named:
        return (*ruled_out, *dict.fromkeys(signals.sentence(name, targets, law) for name in named))
    of_shape = fired.startswith("PIT") and isinstance(signals, PreparedNumberSignals)
    return ruled_out or (signals.sentence(fired, targets) if of_shape else signals.aimless,)


def _ruled_out(signals: Signals, members: tuple[Member, ...], n: int, alpha: float) -> tuple[str, ...]:
    """Sentence on outcomes of predicted probability 0: proof, which no other direction may hide."""
    for member in members:
        if member.name.startswith("impossible") and member.value > 0 and member.pvalue <= alpha:
            count, what = round(member.value / signals.proof), member.name.removeprefix("impossible ")
            return (ruled_out_in_words(count, n, what),)
    return ()


def ruled_out_in_words(count: int, n: int, what: str) -> str:
    """Say how many labels or targets the predictions had ruled out."""
    return f"{count:,} of {n:,} {what}s had been ruled out (predicted probability 0)"


def impossible_rows(predictions: Predictions, targets: np.ndarray) -> np.ndarray:
    """Rows whose target the prediction had ruled out."""
    return np.flatnonzero(predictions.impossible(targets))


def impossible_note(case: Case, rows: np.ndarray, counted: bool) -> str:
    """Sentence that names the first of these rows, by its number where it comes from."""
    row, predictions, targets = int(rows[0]), case.predictions, case.targets
    number = int(case.row_numbers[row])
    more = f" (and {len(rows) - 1:,} more rows)" if len(rows) > 1 else ""
    unseen = "" if counted else "; this p-value does not count it, that of the default test does"
    if isinstance(predictions, ClassPredictions):
        return (
            f"row {number}: the label {predictions.class_name(targets[row])} had a predicted probability of exactly "
            f"0{more}. Such a label is proof against calibration; if small probabilities were rounded to 0 on the way "
            f"here, keep more digits{unseen}"
        )
    values = ", ".join(f"{value:g}" for value in np.ravel(targets[row]))
    target = f"({values})" if predictions.event_shape else values
    return (
        f"row {number}: the prediction had ruled out the target {target}{more}. Such a target is proof against "
        f"calibration{unseen}"
    )
