"""How far off a group is, from sums over its rows: the figures and intervals that `evaluate` has of its rows."""

from __future__ import annotations

import math
from contextlib import suppress
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.dependence import binomial_interval, bounded_ends, errors_aside
from kernelcal.errors import InputError
from kernelcal.explanation import Sizes, claims_of, gap_variances, hits, kind_of
from kernelcal.inference.intervals import expected
from kernelcal.runs import Run
from kernelcal.sketch.exact import floating, number_of
from kernelcal.statistics import crps_rows_of, log_score_rows_of, weighted_interval_score_rows_of

__all__ = ["NUMBER", "size_sums", "sizes_of_sums"]


NUMBER = 9  # of sums, of which each has digits
_ENOUGH = 20  # rows, for the normal law
_FLOOR = 1e-300

Ends = tuple[float, float]


def size_sums(case: Case) -> np.ndarray:
    """Nine exact sums over rows, by the kind of their predictions; what a kind does not have is 0.

    First the number of rows whose gap has a variance that is known, and the sum of these; then the proper score and its
    square. Of classes: whether it happened, what was said, and of the outcomes other than the likeliest their expected
    number, and their log scores and squares times it. Of numbers: the standardised residual and its square, the outcome
    and what was predicted. Of quantiles: the gap and its square, and what was claimed.
    """
    kind, n = kind_of(case.predictions), len(case)
    variances = gap_variances(case.predictions)
    known = np.zeros((2, n)) if variances is None else np.stack([np.ones(n), variances])
    more = {"quantiles": _of_quantiles, "numbers": _of_numbers}.get(kind, _of_classes)(case)
    columns = np.concatenate([known, np.stack(more), np.zeros((NUMBER - 2 - len(more), n))])
    return floating(columns.T)


def _squares(x: np.ndarray) -> list[np.ndarray]:
    x = np.asarray(x, dtype=np.float64)
    return [x, x * x]


def _of_classes(case: Case) -> list[np.ndarray]:
    hit, p = hits(case)
    likely = np.array(case.predictions.table(), dtype=np.float64)
    scores = -np.log(np.maximum(likely, _FLOOR))
    likely[np.arange(len(likely)), likely.argmax(axis=1)] = 0
    surprises = [(likely * scores**k).sum(axis=1) for k in (0, 1, 2)]
    return [*_squares(log_score_rows_of(case)), hit.astype(np.float64), p, *surprises]


def _of_numbers(case: Case) -> list[np.ndarray]:
    batch, n = case.predictions, len(case)
    z = np.asarray(batch.standardised(case.targets), dtype=np.float64).reshape(n, -1).mean(axis=1)
    told, scores = [np.full(n, np.nan)] * 2, np.full(n, np.nan)
    if not batch.event_shape:
        told = [np.asarray(case.targets, dtype=np.float64), to_numpy(batch.mean).astype(np.float64)]
    with suppress(InputError):  # of a family that has no such score
        scores = np.asarray(crps_rows_of(case), dtype=np.float64)
    return [*_squares(scores), *_squares(z), *told]


def _of_quantiles(case: Case) -> list[np.ndarray]:
    (shares, claimed), _ = claims_of(case)  # without ties, which a sketch refuses, both bounds are one
    told = np.broadcast_to(claimed, len(case)).astype(np.float64)
    return [*_squares(weighted_interval_score_rows_of(case)), *_squares(shares - claimed), told]


def sizes_of_sums(kind: str, n: int, digits: np.ndarray, levels: Any, vector: bool, run: Run) -> Sizes:
    """Figures of n rows by their exact sums; levels are those of quantiles, and vectors have no interval of a score."""
    sums = number_of(digits)
    counted, variance, score, square = sums[:4].tolist()
    ways = {"quantiles": _quantile_sizes, "numbers": _number_sizes}.get(kind, _class_sizes)
    observed, predicted, gap, interval = ways(n, sums[4:], levels, run)
    unseen = errors_aside(1 - run.alpha) * math.sqrt(variance) / n if counted == n else None
    mean = None if math.isnan(score) else score / n
    ends = None if mean is None or vector else _mean_interval(n, score, square, run)
    if kind in ("one", "classes"):
        ends = _log_score_interval(n, score, square, sums[6:9], run)
    return Sizes(observed, predicted, gap, interval, None, unseen, mean, ends)


Found = tuple[float | None, float | None, float, Ends | None]


def _class_sizes(n: int, sums: np.ndarray, levels: Any, run: Run) -> Found:
    observed, predicted = float(sums[0]) / n, float(sums[1]) / n
    low, high = (float(x[0]) for x in binomial_interval(sums[:1], n, run.confidence_level))
    return observed, predicted, observed - predicted, (low - predicted, high - predicted)


def _log_score_interval(n: int, score: float, square: float, surprises: np.ndarray, run: Run) -> Ends | None:
    """Normal law with two surprises that did not happen, as `kernelcal.inference.intervals.ScoreSurprises` has them."""
    if n < _ENOUGH or not math.isfinite(square):
        return None
    z, mean = errors_aside(run.confidence_level), score / n
    total, first, second = surprises.tolist()
    more = (second - 2 * mean * first + mean**2 * total) / total if total > 0 else 0.0
    times = expected(z)
    own = max(square - n * mean**2, 0.0)
    half = z * math.sqrt((own + times * more) / ((n + times - 1) * (n + times)))
    return mean - half, mean + half


def _number_sizes(n: int, sums: np.ndarray, levels: Any, run: Run) -> Found:
    observed, predicted = (x / n if math.isfinite(x) else None for x in sums[2:4].tolist())
    total, square = float(sums[0]), float(sums[1])
    return observed, predicted, total / n, _mean_interval(n, total, square, run)


def _mean_interval(n: int, total: float, square: float, run: Run) -> Ends | None:
    """Normal interval of a mean; None for few rows and for values that are not finite."""
    if n < _ENOUGH or not math.isfinite(square):
        return None
    mean = total / n
    half = errors_aside(run.confidence_level) * math.sqrt(max(square / n - mean**2, 0.0) / (n - 1))
    return mean - half, mean + half


def _quantile_sizes(n: int, sums: np.ndarray, levels: Any, run: Run) -> Found:
    gap, square, claimed = (float(x) / n for x in sums[:3])
    taus = np.array([level for level in levels if 0 < level < 1])
    said, interval = float((1 - taus).mean()), None
    if n >= _ENOUGH:
        error = math.sqrt(max(square - gap**2, 0.0) / n)
        interval = bounded_ends(gap, error, float(n), errors_aside(run.confidence_level), (-claimed, 1 - claimed))
    return said + gap, said, gap, interval
