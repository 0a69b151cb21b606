"""How far off a group is: what was predicted and observed, its gap, proper score and kernel error, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.defaults import DRAWS
from kernelcal.dependence import bounded_interval, errors_aside, share_interval
from kernelcal.errors import InputError
from kernelcal.inference.intervals import INTERVAL_METHODS, ScoreSurprises, ends_of_mean, expected, interval_of
from kernelcal.lenses import TopLabel
from kernelcal.predictions import ClassPredictions, Quantiles, Samples
from kernelcal.runs import Run
from kernelcal.statistics import SKCE, crps_rows_of, log_score_rows_of, weighted_interval_score_rows_of
from kernelcal.statistics.pairwise import PreparedPairMean

__all__ = [
    "FEW",
    "GAPS",
    "SCORES",
    "KernelSize",
    "Sizes",
    "claims_of",
    "gap_name",
    "gap_variances",
    "has_ties",
    "hits",
    "kernel_size",
    "kind_of",
    "score_name",
    "sizes_of",
]


FEW = 100  # rows below which only gross errors show, as a verdict says
_ENOUGH = 20  # rows, for the normal law
_BOOTSTRAPPED, _BLOCKED = 2_000, 5_000  # rows of a group up to which rows are drawn again, and all pairs taken
_BLOCK = 500

Ends = tuple[float, float]


@dataclass(frozen=True)
class Sizes:
    """Figures of a group of rows.

    Attributes
    ----------
    observed, predicted : float or None
        Of one probability its frequency and mean; of classes accuracy and mean confidence of the first choice; of
        numbers the mean outcome and the mean of the predicted ones; of quantiles the share above them and that which
        they claim. None for vectors, and where no row has weight.
    gap : float or None
        Observed minus predicted; of numbers the mean standardised residual.
    gap_interval : tuple of float or None
        Of shares Clopper-Pearson, less what was predicted; of means the normal law, and of quantiles that of Agresti
        and Coull, from 20 rows; with ties of the least gap that agrees with the claims. None with weights.
        Of rows that depend on each other the same of `dependence.share_interval`, `dependence.bounded_interval` and
        `inference.intervals.mean_of_units`.
    median : float or None
        Of numbers the median of what `gap` is the mean of, which no single row rules.
    unseen : float or None
        Normal quantile of the gap of calibrated outcomes at the level of the test: a gap below this does not show by
        itself. None where its law has no variance that is known.
    score : float or None
        Mean log score (classes), CRPS (numbers) or weighted interval score (quantiles); None where there is none.
    score_interval : tuple of float or None
        Normal law, from 20 rows; of log scores with two surprises that did not happen. None with weights.
    """

    observed: float | None
    predicted: float | None
    gap: float | None
    gap_interval: Ends | None = None
    median: float | None = None
    unseen: float | None = None
    score: float | None = None
    score_interval: Ends | None = None


@dataclass(frozen=True)
class KernelSize:
    """Unbiased SKCE of a group by itself, under the kernels of all rows, and the interval of its root.

    Attributes
    ----------
    skce : float or None
        None for a group with less than two rows.
    root_interval : tuple of float or None
        None for less than 20 rows.
    """

    skce: float | None = None
    root_interval: Ends | None = None


GAPS = {  # what the gap of a group is, by the kind of predictions
    "one": "observed - predicted",
    "classes": "accuracy - confidence",
    "quantiles": "share above quantiles, observed - claimed",
    "numbers": "mean standardised residual",
}
SCORES = {
    "one": "log score",
    "classes": "log score",
    "quantiles": "weighted interval score",
    "numbers": "CRPS",
}  # and its score


def kind_of(batch: Any) -> str:
    """Which figures groups of these predictions have."""
    if isinstance(batch, ClassPredictions):
        return "one" if batch.n_classes == 2 else "classes"
    return "quantiles" if isinstance(batch, Quantiles) else "numbers"


def gap_name(case: Case) -> str:
    """What the gap of a group is."""
    return f"{'least ' * has_ties(case)}{GAPS[kind_of(case.predictions)]}"


def score_name(batch: Any) -> str:
    """Which proper score these predictions have."""
    return SCORES[kind_of(batch)]


def sizes_of(case: Case, run: Run, level: float) -> Sizes:
    """Figures of the rows of a case, with intervals of the run; `level` is that of the test."""
    own = case.weights
    if own is not None and not own.any():
        return Sizes(None, None, None)
    if isinstance(case.predictions, ClassPredictions):
        found = _of_classes(case, run)
    elif isinstance(case.predictions, Quantiles):
        found = _of_quantiles(case, run)
    else:
        found = _of_numbers(case, run)
    variance = gap_variances(case.predictions)
    if variance is None or (case.rows is not None and case.rows.overlap):
        return found
    w = np.ones(len(case)) if own is None else own
    return replace(found, unseen=errors_aside(1 - level) * math.sqrt(float(w**2 @ variance)) / float(w.sum()))


def _of_classes(case: Case, run: Run) -> Sizes:
    hit, p = hits(case)
    observed, predicted = (float(np.average(x, weights=case.weights)) for x in (hit, p))
    interval = None
    if case.weights is None:
        low, high = share_interval(hit[None], case.rows, run.confidence_level)
        interval = _between((float(low[0]) - predicted, float(high[0]) - predicted))
    rows = log_score_rows_of(case)
    score, ends = float(np.average(rows, weights=case.weights)), None
    if case.rows is not None and case.rows.overlap:
        ends = _mean_interval(case, rows, run)
    elif case.weights is None and len(rows) >= _ENOUGH and np.isfinite(rows).all():
        z = errors_aside(run.confidence_level)
        half = z * ScoreSurprises((case.predictions,)).errors(rows, 0)(expected(z))
        ends = score - half, score + half
    return Sizes(observed, predicted, observed - predicted, interval, None, None, score, ends)


def hits(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Whether it happened and its probability: of the event, or of the first choice among several classes."""
    batch, targets = case.predictions, case.targets
    if batch.n_classes == 2:
        return targets == 1, np.asarray(batch.probabilities, dtype=np.float64)[:, 1]
    view = TopLabel().view(batch)
    return view.relabel(targets) == 1, np.asarray(view.predictions.probabilities, dtype=np.float64)[:, 1]


def _of_quantiles(case: Case, run: Run) -> Sizes:
    """With ties levels claim bounds: the gap is the least that agrees with them, and its interval that of the least."""
    scores = weighted_interval_score_rows_of(case)
    score, ends = float(np.average(scores, weights=case.weights)), _mean_interval(case, scores, run)
    sides = claims_of(case)
    gap = _least(*(float(np.average(shares - claimed, weights=case.weights)) for shares, claimed in sides))
    claimed = float((1 - case.predictions.cells.taus).mean())
    interval = None
    if case.weights is None and len(case) >= _ENOUGH:
        low, high = (_share_interval(case, *side, run.confidence_level) for side in sides)
        interval = _between((_least(low[0], high[0]), _least(low[1], high[1])))
    return Sizes(claimed + gap, claimed, gap, interval, None, None, score, ends)


def _least(low: float, high: float) -> float:
    """Least gap that agrees with claims by which it is at least `low` and at most `high`; nan where one is not known.

    It never falls when one of these rises. Above 0 only `low` decides, below 0 only `high`, and where neither does it
    is 0: so the ends of intervals of both, of one level each, are those of an interval of it, of the same level.
    """
    return low + high if math.isnan(low + high) else max(low, 0.0) + min(high, 0.0)


def _share_interval(case: Case, shares: np.ndarray, claimed: np.ndarray, level: float) -> Ends:
    """Interval of a mean of shares of levels less what was claimed, which is at least -claimed and at most 1 more."""
    least = -float(claimed.mean())
    return bounded_interval(shares - claimed, (least, least + 1), case.rows, level)


def has_ties(case: Case) -> bool:
    """Tell whether outcomes equal quantiles, or quantiles each other, so that levels claim bounds alone."""
    return isinstance(case.predictions, Quantiles) and case.predictions.cells.has_ties(case.targets)


def claims_of(case: Case) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Bounds of the gap of every row, as shares of levels and what was claimed of them.

    They are means over levels of ``1[y > q]`` and of ``1[y >= q]``, each beside those of ``1 - l``. Of a calibrated
    model the first gap has a mean of at most 0, and the second of at least 0; without ties they are equal. Of equal
    quantiles the level l is the last one of them in the first bound, and the first one in the second.
    """
    cells = case.predictions.cells
    lo, hi = cells.ends(cells.codes(case.targets))
    below, upto = (claims.mean(axis=1) for claims in cells.claims)
    return (lo / len(cells.taus), 1 - upto), (hi / len(cells.taus), 1 - below)


def _of_numbers(case: Case, run: Run) -> Sizes:
    batch = case.predictions
    z = np.asarray(batch.standardised(case.targets), dtype=np.float64).reshape(len(case), -1).mean(axis=1)
    gap, median = float(np.average(z, weights=case.weights)), float(np.median(z))
    observed = predicted = None
    mean = to_numpy(batch.mean)
    if not batch.event_shape and np.isfinite(mean).all():
        observed, predicted = (float(np.average(x, weights=case.weights)) for x in (case.targets, mean))
    scores = _where_defined(crps_rows_of, case)
    score = None if scores is None else float(np.average(scores, weights=case.weights))
    ends = None if scores is None or batch.event_shape else _mean_interval(case, scores, run)
    return Sizes(observed, predicted, gap, _mean_interval(case, z, run), median, None, score, ends)


def _where_defined(rows: Callable[[Case], np.ndarray], case: Case) -> np.ndarray | None:
    """Scores of all rows, or None for a family that does not have them."""
    try:
        return np.asarray(rows(case), dtype=np.float64)
    except InputError:
        return None


def _mean_interval(case: Case, values: np.ndarray, run: Run) -> Ends | None:
    """Normal interval of a mean; None with weights, for few rows and for values that are not finite."""
    if case.weights is not None or len(values) < _ENOUGH or not np.isfinite(values).all():
        return None
    if case.rows is not None and case.rows.overlap:
        return ends_of_mean(values, case, run.confidence_level)
    half = errors_aside(run.confidence_level) * float(values.std(ddof=1)) / math.sqrt(len(values))
    return float(values.mean()) - half, float(values.mean()) + half


def _between(ends: Ends) -> Ends | None:
    """An interval, or None where it is not known."""
    return None if math.isnan(ends[0]) else ends


def gap_variances(batch: Any) -> np.ndarray | None:
    """Variance of the gap of every row under its prediction; None where it is not known."""
    if isinstance(batch, ClassPredictions):
        p = np.asarray(batch.probabilities, dtype=np.float64)
        chosen = p[:, 1] if batch.n_classes == 2 else p[np.arange(len(p)), p.argmax(axis=1)]
        return np.asarray(chosen * (1 - chosen))
    if isinstance(batch, Quantiles):
        taus = batch.cells.taus
        among = np.minimum(taus[:, None], taus) - np.outer(taus, taus)
        return np.full(len(batch), float(among.mean()))
    std = to_numpy(batch.std)
    if batch.event_shape or isinstance(batch, Samples) or not np.isfinite(std).all():
        return None
    return np.where(std > 0, 1.0, 0.0)


def kernel_size(case: Case, pairs: PreparedPairMean, pvalue: float, run: Run) -> KernelSize:
    """Kernel error of the rows of a case under kernels that are resolved; the p-value is that of the group alone.

    The interval is the library's: rows drawn again up to 2,000 rows and with weights, above them the root with the
    Hoeffding variance, above 5,000 rows blocks of 500.
    """
    run = run.with_at_least(DRAWS)  # percentiles of few draws would be rough
    overlap = case.rows is not None and case.rows.overlap
    if len(case) > _BLOCKED and not overlap and case.weights is None and isinstance(pairs.statistic, SKCE):
        error = replace(pairs.statistic, estimator="block", block_size=_BLOCK, prediction_kernel=pairs.kernels[0])
        found = interval_of(case, error, run, method=INTERVAL_METHODS["block"], pvalue=pvalue)
        return KernelSize(found.estimate, found.root)
    if len(case) < _ENOUGH and not overlap:
        return KernelSize(float(pairs.values(case.targets[None])[0, 0]))
    assert isinstance(pairs.statistic, SKCE)  # for the type checker: what is split is a mean over pairs of residuals
    if overlap:
        return _of_units(case, pairs, pvalue, run)
    few = len(case) <= _BOOTSTRAPPED or case.weights is not None
    method = INTERVAL_METHODS["bootstrap" if few else "root"]
    found = interval_of(case, pairs.statistic, run, method=method, pvalue=pvalue, prepared=pairs)
    return KernelSize(found.estimate, found.root)


def _of_units(case: Case, pairs: PreparedPairMean, pvalue: float, run: Run) -> KernelSize:
    """Interval over clusters or stretches; none where these are too few, and no error where there is one alone."""
    assert isinstance(pairs.statistic, SKCE)  # for the type checker
    try:
        found = interval_of(case, pairs.statistic, run, pvalue=pvalue, prepared=pairs)
        return KernelSize(found.estimate, found.root)
    except InputError:  # too few clusters or stretches
        pass
    try:
        return KernelSize(float(pairs.statistic.of_pairs(pairs, case)))
    except InputError:  # no two rows are known to be independent
        return KernelSize()
