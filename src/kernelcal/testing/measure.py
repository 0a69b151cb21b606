"""The check of a measure."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.measures import SCALES, Measure, Measured, PreparedMeasure, measure
from kernelcal.predictions import Bernoulli, Predictions
from kernelcal.testing.contract import claim, close, contract, read_only, tells_what_to_do, within_binomial_bounds
from kernelcal.testing.statistic import check_statistic

__all__ = ["check_measure"]

_DRAWS = 99
_STEP = 1e-4  # of a case weight


def check_measure(
    subject: Measure,
    *,
    predictions: Any = None,
    formula: Callable[[np.ndarray, Any, np.ndarray], float] | None = None,
    wrong: Callable[[Any], Any] | None = None,
    truth: float | None = None,
    refuses: Iterable[Any] = (),
    order: bool = True,
    coverage: float = 0.85,
    rtol: float = 1e-8,
    tries: int = 60,
) -> None:
    """Check that a measure keeps the contract of `kernelcal.measures.Measure`: value, p-value, interval, groups.

    It is a statistic (`check_statistic`, with the level of its exact test). Values with case weights are those of a
    formula; what rows add is the derivative of the value by their weights; a norm of residuals is one; the table of
    `measure` holds what it says; its interval covers what calibrated predictions have.

    Parameters
    ----------
    subject : Measure
        An instance.
    predictions : Predictions, optional
        A batch that it takes, of 20 to 80 rows; default 60 rows of one probability.
    formula : callable, optional
        A second way to its value, ``formula(targets, predictions, weights) -> number`` in NumPy; weights have mean 1.
    wrong : callable, optional
        ``wrong(predictions)`` makes predictions that it must notice, as for `check_statistic`.
    truth : float, optional
        Value that intervals must hold for calibrated predictions of this batch; default `Measure.ideal`. NaN: not
        checked.
    refuses : iterable of Predictions
        Batches that it must refuse.
    order : bool
        Whether the order of the rows is none of its business; False for measures along time.
    coverage : float
        Least share of calibrated data sets whose 95 % interval holds `truth`.
    rtol : float
        Relative rounding of values.
    tries : int
        Number of simulated data sets for level and coverage.

    Raises
    ------
    AssertionError
        With the sentence of the contract that is broken, and the numbers.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.testing import check_measure
    >>> check_measure(kc.measures.CalibrationSlope(), tries=20)
    """
    with contract(subject, "a measure derives from kernelcal.measures.Measure"):
        claim(isinstance(subject, Measure), f"it is a {type(subject).__name__}")
    _check_words(subject)
    batch = read_only(_batch() if predictions is None else predictions)
    check_statistic(subject, predictions=batch, wrong=wrong, order=order, rtol=rtol, tries=tries)
    targets = batch.sample(0, 5)
    weights = np.random.default_rng(3).uniform(0.2, 2.0, len(batch))
    weights /= weights.mean()
    if formula is not None:
        _check_formula(subject, formula, batch, targets, weights, rtol)
    with contract(subject, "prepare(predictions, weights) returns a kernelcal.measures.PreparedMeasure"):
        prepared = subject.prepare(batch, weights)
        claim(isinstance(prepared, PreparedMeasure), f"it returned {type(prepared).__name__}")
    if not subject.no_interval and not prepared.by_cells:
        _check_interval_parts(subject, prepared, batch, targets[0], weights)
    _check_table(subject, batch, targets[0])
    _check_groups(subject, batch, targets[0])
    _check_coverage(subject, batch, subject.ideal if truth is None else truth, coverage, tries)
    for other in refuses:
        with contract(subject, "predictions that it cannot take are refused with the remedy"):
            claim(not subject.takes(other), f"takes() says that a batch of {type(other).__name__} is served")
            try:
                measure(other.sample(0, 1)[0], other, subject)
            except InputError as error:
                tells_what_to_do(str(error))
            else:
                raise AssertionError(f"Here a batch of {type(other).__name__} was accepted")


def _batch() -> Predictions:
    return Bernoulli(np.random.default_rng(0).uniform(0.1, 0.8, 60))


def _check_words(subject: Measure) -> None:
    with contract(subject, "it has a name, says what it serves, and its scale is one of those that are known"):
        claim(isinstance(subject.name, str) and subject.name, f"name is {subject.name!r}")
        claim(isinstance(subject.serves, str) and len(subject.serves.split()) > 1, f"serves is {subject.serves!r}")
        claim(subject.scale in SCALES, f"scale is {subject.scale!r}, which is none of {', '.join(SCALES)}")
        claim(isinstance(subject.signed, bool), f"signed is {subject.signed!r}")
        claim(subject.ideal is None or math.isfinite(subject.ideal), f"ideal is {subject.ideal!r}")


def _shown(batch: Any, targets: np.ndarray, prepared: PreparedMeasure) -> np.ndarray:
    return Case(targets, batch).in_cells.targets if prepared.by_cells else targets


def _value(subject: Measure, batch: Any, targets: np.ndarray, weights: np.ndarray | None = None) -> float:
    prepared = subject.prepare(batch, weights)
    return float(prepared.measured(_shown(batch, targets, prepared)[None])[0])


def _check_formula(
    subject: Measure, formula: Any, batch: Any, targets: np.ndarray, weights: np.ndarray, rtol: float
) -> None:
    even = np.ones(len(batch))
    with contract(subject, "the value is that of the formula, with case weights too"):
        for one in targets[:3]:
            for given, w in ((None, even), (weights, weights)):
                expected = float(formula(one, batch, w))
                close(_value(subject, batch, one, given), expected, rtol=max(rtol, 1e-7), atol=1e-9)


def _check_interval_parts(
    subject: Measure, prepared: PreparedMeasure, batch: Any, targets: np.ndarray, weights: np.ndarray
) -> None:
    influences = prepared.influences(targets)
    if influences is not None:
        with contract(subject, "influences(targets) is n times the derivative of the value by case weights of mean 1"):
            claim(np.shape(influences) == (len(batch),), f"it has shape {np.shape(influences)} for {len(batch)} rows")
            mean = float(weights @ influences / weights.sum())
            claim(abs(mean) < 1e-6 * (1 + np.abs(influences).max()), f"their weighted mean is {mean:.3g}, expected 0")
            for row in np.linspace(0, len(batch) - 1, 7).astype(int):
                ends = []
                for step in (_STEP, -_STEP):
                    moved = weights.copy()
                    moved[row] += step
                    ends.append(_value(subject, batch, targets, moved))
                slope = (ends[0] - ends[1]) / (2 * _STEP) * weights.sum()
                tolerance = 1e-4 * float(np.abs(influences).max())
                close(influences[row], slope, rtol=1e-3, atol=tolerance, what=f"the influence of row {row}")
        return
    with contract(subject, "it has influences(targets), or noise(targets, factors), or says why no_interval"):
        found = prepared.noise(targets, np.ones((1, len(batch))))
        claim(found is not None, "influences and noise both returned None, and no_interval is empty")
    with contract(
        subject,
        "noise(targets, factors) is a norm of residuals times factors: with 1 it is the value, or apart(targets) away",
    ):
        away = np.asarray(found) - prepared.measured(targets[None])
        close(
            away,
            np.full(1, prepared.apart(targets)),
            rtol=1e-8,
            atol=1e-12,
            what="noise with factors of 1, less the value,",
        )
        one, other = np.random.default_rng(5).normal(size=(2, 4, len(batch)))
        parts = np.asarray(prepared.noise(targets, one)) + np.asarray(prepared.noise(targets, other))
        whole = np.asarray(prepared.noise(targets, one + other))
        claim(bool((whole <= parts + 1e-9).all()), f"of sums it is {whole}, more than the sum of both, {parts}")
        turned = np.asarray(prepared.noise(targets, -one))
        close(turned, prepared.noise(targets, one), rtol=1e-8, atol=1e-12, what="noise with all signs turned")


def _check_table(subject: Measure, batch: Any, targets: np.ndarray) -> None:
    plain = batch.without_names() if hasattr(batch, "without_names") else batch
    with contract(subject, "measure(y, predictions, it) puts mean under calibration and p-value beside the value"):
        found = measure(targets, plain, subject, draws=_DRAWS)
        claim(isinstance(found, Measured), f"it returned {type(found).__name__}")
        own = found[subject.name]
        close(own.value, _value(subject, plain, targets), rtol=1e-6, atol=1e-9, what="the value in the table")
        claim(0 < own.pvalue <= 1, f"the p-value is {own.pvalue}")
        steps = own.pvalue * (_DRAWS + 1)
        claim(abs(steps - round(steps)) < 1e-9, f"the p-value {own.pvalue} is no multiple of 1 / {_DRAWS + 1}")
        claim(math.isfinite(own.expected), f"the mean under calibration is {own.expected}")
        low, high = own.interval
        claim(math.isnan(low) or low <= own.value <= high, f"{own.value} is outside of its interval {own.interval}")
        claim(
            not math.isnan(low) or own.how.startswith("no interval: "), f"there is no interval, and how is {own.how!r}"
        )
    with contract(subject, "weights that are all alike change nothing"):
        same = measure(targets, plain, subject, draws=_DRAWS, weights=np.full(len(batch), 2.0))[subject.name]
        close(same.pvalue, own.pvalue, what="the p-value with equal weights")
        close(same.expected, own.expected, rtol=1e-6, atol=1e-9, what="the mean with equal weights")
    if type(batch).__name__ != "Samples" and not subject.prepare(batch, None).by_cells:
        with contract(subject, "the mean under calibration is that of targets drawn from the predictions"):
            drawn = subject.prepare(batch, None).measured(batch.sample(11, 400))
            drawn = drawn[np.isfinite(drawn)]
            error = math.hypot(float(drawn.std()) / math.sqrt(len(drawn)), own.expected_error)
            gap = abs(float(drawn.mean()) - own.expected)
            claim(gap <= 6 * error + 1e-9, f"it is {own.expected:.6g}, and {drawn.mean():.6g} by other draws")


def _check_groups(subject: Measure, batch: Any, targets: np.ndarray) -> None:
    plain = batch.without_names() if hasattr(batch, "without_names") else batch
    n = len(batch)
    group = np.where(np.arange(n) % 5 < 3, "a", "b")
    with contract(subject, "the value of a group is that of its rows alone"):
        found = measure(targets, plain, subject, groups={"g": group}, draws=19)
        for one in found.groups:
            rows = np.flatnonzero(group == one.group)
            alone = _value(subject, plain[rows], targets[rows])
            close(one.value, alone, rtol=1e-6, atol=1e-9, what=f"the value of group {one.group}")


def _check_coverage(subject: Measure, batch: Any, truth: float | None, coverage: float, tries: int) -> None:
    if subject.no_interval or truth is None or math.isnan(truth):
        return
    plain = batch.without_names() if hasattr(batch, "without_names") else batch
    held, asked = 0, 0
    with contract(subject, f"intervals of 95 % hold {truth:g}, the value of calibrated predictions"):
        for k in range(tries):
            y = batch.sample([9, k])[0]
            low, high = measure(y, plain, subject, draws=19, rng=k)[subject.name].interval
            if not math.isnan(low):
                asked, held = asked + 1, held + (low <= truth <= high)
        claim(asked > tries / 2, f"there is an interval in {asked} of {tries} calibrated data sets")
        within_binomial_bounds(held, asked, least=coverage, what=f"the interval held {truth:g}")
