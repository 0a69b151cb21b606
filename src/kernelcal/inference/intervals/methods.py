"""Ways to the uncertainty of the SKCE: ends of confidence intervals, and p-values of equivalence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference.draws import Draws, KeptDraws
from kernelcal.inference.intervals.flips import Flips
from kernelcal.inference.intervals.surprises import FEWEST, Surprises, deepest, expected, hoeffding_parts, surprises_of
from kernelcal.predictions import ClassPredictions
from kernelcal.registry import Registry
from kernelcal.runs import Run

__all__ = [
    "INTERVAL_METHODS",
    "IntervalMethod",
    "Request",
    "Spread",
    "block_spread",
    "block_spread_of",
    "of_draws",
    "root_spread",
    "source_of",
]


_ALL = "SKCE, unbiased"
_BYTES = 2**27  # for the columns of one batch of draws


@dataclass(frozen=True, eq=False)
class Request:
    """What a method works on.

    Attributes
    ----------
    case : Case
        Targets, predictions in NumPy, case weights.
    prepared
        The statistic, with what depends on predictions and weights done.
    run : Run
        How many draws, of which seed, and whom to tell.
    units
        Units in the place of rows, where rows depend on each other (``UnitPairs``, ``BlockUnits``, ``OperatorUnits``);
        else None. Case and statistic are then in their order.
    shared : Draws or None
        Draws of several requests about the same rows, `source_of`.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.cases import Case
    >>> from kernelcal.inference import Request
    >>> from kernelcal.runs import Run
    >>> case = Case.of([0, 1, 1, 0], [0.2, 0.8, 0.7, 0.4])
    >>> len(Request(case, kc.SKCE().prepare(case.predictions), Run()).case)
    4
    """

    case: Case
    prepared: Any
    run: Run
    units: Any = None
    shared: Draws | None = None

    @cached_property
    def matrix(self) -> Any:
        """Values of pairs of rows, or of units in their place."""
        return self.prepared.matrix(self.case.targets) if self.units is None else self.units

    @cached_property
    def surprises(self) -> Surprises | None:
        """Pseudo-surprises; of rows in units several come together."""
        if self.units is None:
            return surprises_of(self.matrix, self.case)
        return self.units.surprises(lambda rows, sums: surprises_of(rows, self.case, sums))

    @cached_property
    def estimate(self) -> float:
        """Unbiased value, from the sums that the matrix has."""
        if self.units is not None:
            return float(self.units.estimate)
        return float((self.matrix.row_sums - self.matrix.diagonal).sum() / self.prepared.total)

    @cached_property
    def source(self) -> Draws:
        """Where the draws come from: what several requests share, or its own, whose counts of rows are kept."""
        return self.shared or source_of(self.case, self.run)

    def columns(self, n: int) -> list[slice]:
        """Batches of draws that fit the memory, for n numbers a draw."""
        draws, step = self.run.draws, max(1, _BYTES // (8 * n))
        return [slice(first, min(first + step, draws)) for first in range(0, draws, step)]


def source_of(case: Case, run: Run) -> Draws:
    """Draws of an interval, which serve all models of the same rows; those of classes are asked several times."""
    if not isinstance(case.predictions, ClassPredictions):
        return Draws(run.rng, "draws of an interval")
    return KeptDraws(run.rng, "draws of an interval", len(case), run.draws)


@dataclass(frozen=True, eq=False)
class Spread:
    """What a method knows of a squared error.

    Attributes
    ----------
    estimate : float
        The error, on the squared scale like everything here.
    ends : callable
        Lower and upper end of the interval of a level.
    upper : callable
        Upper end of the one-sided interval of a level.
    above : callable
        P-value of the hypothesis that the error is at least some value: 1 - the one-sided level whose upper end it is.
    notes : tuple of str
        What the reader must know of it.
    units : str
        What took the place of rows, to be said after the method; empty where nothing did.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.inference import block_spread
    >>> spread = block_spread(np.array([0.1, 0.2, 0.3, 0.2]))
    >>> round(spread.estimate, 3), [round(end, 3) for end in spread.ends(0.95)]
    (0.2, [0.07, 0.33])
    """

    estimate: float
    ends: Callable[[float], tuple[float, float]]
    upper: Callable[[float], float]
    above: Callable[[float], float]
    notes: tuple[str, ...] = ()
    units: str = ""


@dataclass(frozen=True)
class IntervalMethod:
    """A way to the uncertainty of an error.

    Attributes
    ----------
    spread : callable
        ``spread(request)`` returns what is known of the error.
    label : str
        What it is called in results.
    tested : bool
        Whether the lower end is 0 unless the exact test rejects.
    weightless : str
        Why it takes no case weights, and what does; empty where it takes them.
    of_units : bool
        Whether it works on `Request.units` where rows depend on each other; else it is refused for such rows.

    Examples
    --------
    >>> from kernelcal.inference import IntervalMethod, block_spread
    >>> import numpy as np
    >>> half = IntervalMethod(lambda request: block_spread(np.array([0.1, 0.2, 0.3])), "of three values")
    >>> half.label
    'of three values'
    """

    spread: Callable[[Request], Spread]
    label: str
    tested: bool = False
    weightless: str = ""
    of_units: bool = False


def of_draws(estimate: float, values: np.ndarray, surprised: Callable[[float], np.ndarray] | None = None) -> Spread:
    """Percentiles of drawn values; above, the larger of theirs and of draws with so many surprises."""

    def ends(level: float) -> tuple[float, float]:
        lower, upper = np.quantile(values, [(1 - level) / 2, (1 + level) / 2])
        if surprised is not None:
            upper = max(upper, np.quantile(surprised(expected(_normal(level))), (1 + level) / 2))
        return float(lower), float(upper)

    def above(value: float) -> float:
        pvalue = _share(values, value)
        if surprised is None:
            return pvalue
        pvalue = max(pvalue, _share(surprised(FEWEST), value))
        z = -_probit(pvalue)  # the deeper the level, the more surprises it asks for
        return pvalue if z <= 2 else max(pvalue, _share(surprised(expected(z)), value))

    return Spread(estimate, ends, _half(ends), above)


def _share(values: np.ndarray, value: float) -> float:
    return float(1 + (values >= value).sum()) / (len(values) + 1)


def _half(ends: Callable[[float], tuple[float, float]]) -> Callable[[float], float]:
    """One-sided upper end of intervals that leave out as much below as above."""
    return lambda level: ends(2 * level - 1)[1]


def _normal(level: float) -> float:
    """Two-sided normal quantile of a level."""
    return _probit(0.5 + level / 2)


def _probit(level: float) -> float:
    """Normal quantile, of one number: SciPy's functions take a tenth of a second to import."""
    return NormalDist().inv_cdf(level) if 0 < level < 1 else math.copysign(math.inf, level - 0.5)


def _tail(z: float) -> float:
    """Probability of a normal value below -z, never 0."""
    from scipy.special import ndtr

    return max(float(ndtr(-z)), 1e-300)


def _bootstrap(request: Request) -> Spread:
    """Percentiles of ``c'H0c / sum_{i != j} w_i w_j c_i c_j`` over multinomial counts c, H0 without its diagonal.

    With surprises some drawn rows have another outcome; those of numbers widen the draws about the estimate.
    """
    matrix = request.matrix
    n = matrix.n
    totals = _row_totals(n, request.case.weights) if request.units is None else request.units.totals
    values, sizes = [], []
    for part in request.columns(n):
        counts = request.source.counts(part.start, part.stop, n)  # of rows or of units
        if part.start == 0:  # every row once: the estimate itself, in the same pass
            counts = np.hstack([np.ones((n, 1)), counts])
        values.append(matrix.quadratic(counts, diagonal=False))
        sizes.append(totals(counts))
        request.run.tell(part.stop)
    pairs, total = np.concatenate(values), np.concatenate(sizes)
    some = total > 1e-9 * n  # a single row drawn n times makes no pair
    estimate, drawn = float(pairs[0] / total[0]), (pairs[1:] / np.where(some, total, 1)[1:])[some[1:]]
    rows, units = (matrix, {}) if request.units is None else (matrix.below, matrix.drawn)
    flips = Flips.of(rows, request.case, request.source, request.run.draws, **units)
    if flips is None:
        return _widened(estimate, drawn, request)

    def surprised(surprises: float) -> np.ndarray:
        moved = pairs[1:] + flips.changes(surprises)
        return (moved / np.where(some, total, 1)[1:])[some[1:]]

    return of_draws(estimate, drawn, surprised)


def _row_totals(n: int, given: np.ndarray | None) -> Callable[[np.ndarray], np.ndarray]:
    """Sum of ``w_i w_j c_i c_j`` over pairs of different rows, for every column c."""
    weights = np.ones(n) if given is None else given
    return lambda counts: (weights @ counts) ** 2 - weights**2 @ counts**2


def _widened(estimate: float, drawn: np.ndarray, request: Request) -> Spread:
    """Draws about the estimate, wider by the noise of outcomes far from what was predicted.

    Drawn rows do not move the estimate towards these, so that there are twice as many as where the root ends.
    """
    surprises = request.surprises
    if surprises is None or request.matrix.n < 4:
        return of_draws(estimate, drawn)
    surprises = replace(surprises, each=2 * surprises.each)
    linear, degenerate = hoeffding_parts(request.matrix)
    return of_draws(
        estimate, drawn, lambda some: estimate + surprises.inflation(linear, degenerate, some) * (drawn - estimate)
    )


def _root(request: Request) -> Spread:
    """Interval of the root from the matrix of all pairs."""
    return root_spread(request.estimate, *hoeffding_parts(request.matrix), request.surprises)


def root_spread(estimate: float, linear: float, degenerate: float, surprises: Surprises | None) -> Spread:
    """Interval of the root: normal below, and above as far as noise along one direction can hide a deviation.

    Below it is ``root - z sd / (2 root)`` with the Hoeffding variance, or 0 where the estimate is not clearly positive.
    Near 0 that variance says nothing of larger deviations. There the root is the length of ``mu + noise``, and along
    any direction the variance of the noise, an eigenvalue over n, is at most ``s = sqrt(degenerate variance / 2)``: so
    the upper end is ``sqrt(max(U, 0) + s) + z sqrt(s)``, or the same with pseudo-surprises where that is larger: the
    variance of residuals that were not surprising is next to nothing.
    """
    deviation, noise = math.sqrt(linear + degenerate), math.sqrt(degenerate / 2)
    root = math.sqrt(max(estimate, 0.0))
    centre = math.sqrt(root**2 + noise)

    def upper(z: float) -> float:
        own = centre + z * math.sqrt(noise)
        return own if surprises is None else max(own, surprises.root(z))

    def ends(level: float) -> tuple[float, float]:
        z = _normal(level)
        lower = 0.0 if estimate <= max(z * deviation, 0.0) else max(root - z * deviation / (2 * root), 0.0) ** 2
        return lower, upper(z) ** 2

    def above(value: float) -> float:
        reach = math.sqrt(value)
        pvalue = _tail((reach - centre) / math.sqrt(noise)) if noise > 0 else float(centre >= reach)
        if surprises is None:
            return pvalue
        return max(pvalue, _pvalue_where(lambda z: surprises.root(z) - reach))

    return Spread(estimate, ends, _half(ends), above)


def _pvalue_where(gap: Callable[[float], float]) -> float:
    """One-sided p-value at the number of standard deviations where a gap that grows with it closes."""
    if gap(2.0) > 0:  # as many surprises for all smaller z: the gap is a straight line
        start, slope = gap(0.0), gap(1.0) - gap(0.0)
        return _tail(-start / slope) if slope > 0 else 1.0
    return _tail(deepest(lambda z: gap(z) >= 0))


def _ball(request: Request) -> Spread:
    """``|mu^| - q <= KCE <= |mu^| + q``, q a quantile of ``sqrt(g'Hg) / n`` with centred normal multipliers g.

    Both ends are also taken with pseudo-surprises, which move mu^ and add to the noise.
    """
    matrix, units, values = request.matrix, request.units, []
    share = np.full(matrix.n, 1 / matrix.n) if units is None else units.weights / units.weights.sum()
    for part in request.columns(matrix.n):
        uniforms = request.source.uniforms(part.start, part.stop, matrix.n)
        multipliers = _probits(uniforms).T
        values.append(matrix.quadratic(multipliers - share @ multipliers))
        request.run.tell(part.stop)
    n = len(request.case)
    norms = np.sort(np.sqrt(np.maximum(np.concatenate(values), 0)) / n)
    whole = float(matrix.row_sums.sum() if units is None else units.whole)
    centre, surprises = math.sqrt(max(whole, 0.0)) / n, request.surprises
    noise = float(matrix.diagonal.sum()) if units is None else whole - n * (n - 1) * request.estimate

    def ends(level: float) -> tuple[float, float]:
        reach = float(np.quantile(norms, level))
        lower, upper = centre - reach, centre + reach
        if surprises is not None:
            low, high = surprises.ball(_normal(level), centre, reach, noise)
            lower, upper = min(lower, low), max(upper, high)
        return max(lower, 0.0) ** 2, upper**2

    def above(value: float) -> float:
        pvalue = _share(norms, math.sqrt(value) - centre)
        if surprises is None or pvalue == 1:
            return pvalue
        least = 1 / (len(norms) + 1)
        z = deepest(lambda z: ends(_within(z))[1] >= value, _normal(1 - least))
        return max(pvalue, min(2 * _tail(z), 1.0))

    return Spread(request.estimate, ends, lambda level: ends(level)[1], above)  # one norm bounds both sides


def _probits(uniforms: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    return np.asarray(ndtri(np.clip(uniforms, 1e-16, None)))


def _within(z: float) -> float:
    """Probability of a normal value between -z and z."""
    return math.erf(z / math.sqrt(2))


def _block(request: Request) -> Spread:
    """Mean of the block values plus and minus standard errors by the law of Student."""
    values = request.prepared.block_values(request.case.targets)
    if request.units is not None:
        return block_spread_of(request.units.mean_values(values), request.prepared, request.case, request.units.sharing)
    return block_spread_of(values, request.prepared, request.case)


def block_spread_of(values: np.ndarray, prepared: Any, case: Case, sharing: Any = None) -> Spread:
    """Law of the mean of the block values of what was prepared, which stands for that of all pairs of rows.

    `sharing` says how many rows one surprise makes, where several come together.
    """
    given, n = prepared.statistic, len(case)
    whole = replace(given, estimator="unbiased", block_size=None, prediction_kernel=prepared.kernels[0])
    ready = whole.prepare(case.predictions)
    sums = float(values.mean()) * n * (n - 1), None
    surprises = surprises_of(ready.matrix(case.targets), case, sums)
    if sharing is not None and surprises is not None:
        surprises = sharing.surprises(surprises)
    return block_spread(values, surprises, given.block_size)


def block_spread(values: np.ndarray, surprises: Surprises | None = None, size: int = 2) -> Spread:
    """Law of the mean of block values: Student's, of one degree of freedom less than there are blocks.

    The upper end is that with pseudo-surprises where it is larger, on the scale of the root as of all pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.inference import block_spread
    >>> round(block_spread(np.array([0.1, 0.2, 0.3, 0.2])).upper(0.95), 3)
    0.296
    """
    from scipy.special import stdtr, stdtrit

    if len(values) < 2:
        raise InputError(f"an interval from blocks needs at least 2 of them, got {len(values)}: use smaller blocks")
    mean, error = float(values.mean()), float(values.std(ddof=1)) / math.sqrt(len(values))
    freedom = len(values) - 1

    def upper(t: float) -> float:
        own = mean + t * error
        if surprises is None:
            return own
        return max(own, surprises.of_blocks(size, t))

    def ends(level: float) -> tuple[float, float]:
        t = float(stdtrit(freedom, 0.5 + level / 2))
        return mean - t * error, upper(t)

    def above(value: float) -> float:
        if upper(0.0) >= value:
            return max(0.5, float(stdtr(freedom, (mean - value) / error)) if error > 0 else float(mean >= value))
        return max(float(stdtr(freedom, -deepest(lambda t: upper(t) >= value))), 1e-300)

    return Spread(mean, ends, _half(ends), above)


_ROWS = "percentile bootstrap without pairs of a row with itself"
_BALL = "ball around the estimated mean element, multiplier quantile"
_NO_WEIGHTS = "method={!r} takes no case weights: use method='bootstrap'"
_NO_WEIGHTS_OF_BLOCKS = "method='block' takes no case weights: use estimator='unbiased'"
INTERVAL_METHODS: Registry[IntervalMethod] = Registry("method", "or 'default', or an IntervalMethod")
for _name, _method, _serves in (
    ("bootstrap", IntervalMethod(_bootstrap, _ROWS, tested=True, of_units=True), _ALL),
    ("root", IntervalMethod(_root, "root scale, Hoeffding variance", True, _NO_WEIGHTS.format("root"), True), _ALL),
    ("ball", IntervalMethod(_ball, _BALL, True, _NO_WEIGHTS.format("ball"), True), _ALL),
    (
        "block",
        IntervalMethod(_block, "law of Student of the block values", False, _NO_WEIGHTS_OF_BLOCKS, True),
        "SKCE, block",
    ),
):
    INTERVAL_METHODS.register(_name, _method, summary=_method.label, serves=_serves)
