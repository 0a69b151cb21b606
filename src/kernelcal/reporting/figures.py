"""Key numbers of one model, each with its interval or without one, and what it means."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.dependence import binomial_interval, errors_aside, share_interval
from kernelcal.evaluation import Evaluation
from kernelcal.inference import Equivalence
from kernelcal.inference.intervals import ends_of_mean
from kernelcal.kernels import PIT
from kernelcal.lenses import TopLabel
from kernelcal.plots import percent
from kernelcal.predictions import Bernoulli, ClassPredictions, Quantiles, RealPredictions, ScorePredictions
from kernelcal.statistics import crps_rows_of, log_score_rows_of, weighted_interval_score_rows_of
from kernelcal.tables import few_rule

__all__ = [
    "DOES_NOT_APPLY",
    "NONE",
    "Intervals",
    "KeyFigure",
    "figure_in_words",
    "is_number",
    "kernel_error_figures",
    "key_figures",
    "percent_in_words",
    "points_in_words",
    "pvalue_figures",
    "top_or_event",
]


NONE = "none"

DOES_NOT_APPLY = "does not apply"

_ENOUGH = 20  # rows, for the normal law


@dataclass(frozen=True)
class KeyFigure:
    """One number.

    Attributes
    ----------
    name, value, interval, meaning : str
        In words of the reader; the interval is ``none`` where there is none.
    calibrated : str
        What calibrated predictions have, on pages that show it.
    """

    name: str
    value: str
    interval: str
    meaning: str
    calibrated: str = ""


def key_figures(
    case: Case, found: Evaluation, confidence_level: float, equivalence: Equivalence | None = None
) -> tuple[KeyFigure, ...]:
    """Scores with the intervals of their means, the kernel error with its own, and the p-values."""
    overlap = case.rows is not None and case.rows.overlap
    batch, ends = case.predictions, Intervals(confidence_level, case.weights is not None, case if overlap else None)
    if isinstance(batch, ClassPredictions):
        rows = _classes(case, found, ends)
    elif isinstance(batch, Quantiles):
        rows = _quantiles(case, found, ends)
    else:
        rows = _numbers(case, found, ends) if is_number(batch) else []
    return (*rows, *_coverage(found, ends), *kernel_error_figures(found), *pvalue_figures(found), *_within(equivalence))


def _within(found: Equivalence | None) -> list[KeyFigure]:
    """Whether the error is below the bound that was asked for."""
    if found is None:
        return []
    interval = f"error below {found.upper:.4f} ({percent(1 - found.alpha)} limit)"
    name = f"p-value of an error of {found.within:g} or more"
    return [KeyFigure(name, f"{found.pvalue:.3g}", interval, found.verdict.removesuffix("."))]


def is_number(batch: Any) -> bool:
    """Tell whether numbers are predicted by families that have moments and distribution functions."""
    return isinstance(batch, RealPredictions) and not isinstance(batch, ScorePredictions)


def top_or_event(targets: np.ndarray, batch: ClassPredictions) -> tuple[np.ndarray, np.ndarray, bool]:
    """Whether it happened and its probability, of the event, or of the first choice among several classes."""
    if batch.n_classes == 2 and isinstance(batch, Bernoulli):
        return targets == 1, np.asarray(batch.p, dtype=np.float64), batch.question == "top label"
    view = TopLabel().view(batch)
    return view.relabel(targets) == 1, np.asarray(view.predictions.probabilities, dtype=np.float64)[:, 1], True


def _classes(case: Case, found: Any, ends: Intervals) -> list[KeyFigure]:
    targets, batch, own = case.targets, case.predictions, case.weights
    hit, p, top = top_or_event(targets, batch)
    says, does = (
        ("mean confidence in the first choice", "first choice right (accuracy)")
        if top
        else ("mean predicted probability", "share of rows in which it happened")
    )
    log = log_score_rows_of(case)
    brier = "Brier score" if isinstance(batch, Bernoulli) else "Brier score, sum over classes"
    squares = (p - hit) ** 2 if isinstance(batch, Bernoulli) else _squares(targets, batch)
    return [
        KeyFigure(does, percent_in_words(np.average(hit, weights=own)), ends.of(hit), "what happened"),
        KeyFigure(says, percent_in_words(np.average(p, weights=own)), DOES_NOT_APPLY, "what the model said"),
        KeyFigure(
            "difference, said minus happened",
            points_in_words(np.average(p - hit, weights=own)),
            ends.mean(p - hit, points_in_words),
            "percentage points; above 0 it said too much, below 0 too little",
        ),
        KeyFigure(
            brier,
            figure_in_words(found.brier_score),
            ends.mean(squares, figure_in_words),
            "mean squared error of the probabilities; smaller is better",
        ),
        KeyFigure("log score", _nats(found.log_score), ends.mean(log, figure_in_words), _smaller(found.log_score)),
        *(
            KeyFigure(
                f"expected calibration error, {e.name.partition(', ')[2] or 'this question'}",
                figure_in_words(float(e)),
                NONE,
                f"mean gap in {e.options['bins']}; above 0 by chance even for a calibrated model",
            )
            for e in found.eces
        ),
    ]


def _numbers(case: Case, found: Any, ends: Intervals) -> list[KeyFigure]:
    targets, batch, own = case.targets, case.predictions, case.weights
    rows = []
    z = np.asarray(batch.standardised(targets), dtype=np.float64).reshape(len(batch), -1).mean(axis=1)
    if np.isfinite(z).all():
        name, words = "mean standardised residual", "outcome minus predicted mean, in predicted standard deviations"
        mean, median = float(np.average(z, weights=own)), float(np.median(z))
        words += f"; few rows make it, the median is {_signed(median)}" if few_rule(mean, median) else ""
        rows.append(KeyFigure(name, _signed(mean), ends.mean(z, _signed), words))
    if found.crps is not None:
        interval = NONE if batch.event_shape else ends.mean(crps_rows_of(case), figure_in_words)
        words = "mean distance of prediction and outcome, in units of the target; smaller is better"
        rows.append(KeyFigure("CRPS", figure_in_words(found.crps), interval, words))
    if found.negative_log_likelihood is not None:
        words = _smaller(found.negative_log_likelihood)
        rows.append(KeyFigure("log score", _nats(found.negative_log_likelihood), NONE, words))
    return rows


def _quantiles(case: Case, found: Any, ends: Intervals) -> list[KeyFigure]:
    """Scores by the levels that were given, the gap of levels, and shares inside intervals both of whose ends were."""
    score, levels = found.interval_score, found.levels
    rows = weighted_interval_score_rows_of(case)
    words = "spread of the intervals and penalties for what lies outside, in units of the target; smaller is better"
    figures = [
        KeyFigure("weighted interval score", figure_in_words(score.value), ends.mean(rows, figure_in_words), words)
    ]
    least = "least gap" if levels.ties else "gap"
    words = "root mean square over the levels, of all rows together; " + (
        "the least that agrees with the claims, since outcomes equal quantiles" if levels.ties else "0 is as claimed"
    )
    figures.append(KeyFigure(f"{least} between claimed and observed level", points_in_words(levels.gap), NONE, words))
    for nominal, share in list(zip(score.nominal, score.share, strict=True))[-4:]:
        if ends.dependent is None:
            interval = ends.share(round(share * score.n), score.n)
        else:
            low, high = (case.predictions.at(level) for level in ((1 - nominal) / 2, (1 + nominal) / 2))
            interval = ends.of((low <= case.targets) & (case.targets <= high))
        should = f"should be {'at least ' * levels.ties}{percent_in_words(nominal)}"
        figures.append(
            KeyFigure(f"outcomes inside {percent(nominal)} intervals", percent_in_words(share), interval, should)
        )
    return figures


def _coverage(found: Any, ends: Intervals) -> list[KeyFigure]:
    """Shares of outcomes inside intervals or regions; of vectors the range over components is left to the table."""
    parts = getattr(found, "coverage", None) or ()
    parts = parts if isinstance(parts, tuple) else (parts,)
    rows = []
    for k, part in enumerate(parts[:4]):
        number = f", component {k}" if len(parts) > 1 else ""
        columns = zip(part.shares, part.levels, part.low, part.high, part.expected, strict=True)
        for share, level, low, high, expected in columns:
            interval = NONE if np.isnan(low) else ends.share(round(share * part.n), part.n, (low, high))
            words = f"should be {percent_in_words(expected)}"
            rows.append(
                KeyFigure(
                    f"outcomes inside {percent(level)} intervals{number}", percent_in_words(share), interval, words
                )
            )
    return rows


def kernel_error_figures(found: Evaluation) -> list[KeyFigure]:
    """The kernel error, with its interval."""
    name = found.estimate.name
    if name == "least gap":
        return []  # told beside the levels
    if found.interval is None:
        words = "kernel calibration error; its size depends on the scale of the scores"
        return [KeyFigure(f"{name}, {found.estimate.estimator}", f"{float(found.estimate):.3g}", NONE, words)]
    ends = f"{found.interval.root[0]:.4f} to {found.interval.root[1]:.4f}"
    words = "0 for a calibrated model; all kinds of errors count, and nearby predictions are judged together"
    target = found.estimate.options.get("target_kernel")
    if isinstance(target, PIT):
        words = f"{target.unit}, over all levels, nearby predictions judged together; 0 for a calibrated model"
    value = f"{found.root:.4f}" if found.root else "0 (estimate below 0)"
    return [KeyFigure(f"kernel calibration error (root of {name})", value, ends, words)]


def pvalue_figures(found: Any) -> list[KeyFigure]:
    """P-values of the tests."""
    rows = []
    if found.test is not None:
        words = "how often a calibrated model gives evidence as strong as this; never 0"
        rows.append(KeyFigure("p-value of the test of calibration", f"{found.test.pvalue:.3g}", DOES_NOT_APPLY, words))
    if getattr(found, "pit_pvalue", None) is not None:
        words = "the same by where outcomes fall in their predicted distributions"
        rows.append(KeyFigure("p-value of the test of ranks (PIT)", f"{found.pit_pvalue:.3g}", DOES_NOT_APPLY, words))
    return rows


@dataclass(frozen=True)
class Intervals:
    """Intervals of one confidence level; none with case weights.

    Attributes
    ----------
    confidence_level : float
        Nominal coverage.
    weighted : bool
        Whether rows have weights.
    dependent : Case or None
        The case, where its rows depend on each other: intervals are then those of
        `kernelcal.inference.intervals.mean_of_units` and `dependence.share_interval`.
    """

    confidence_level: float
    weighted: bool
    dependent: Case | None = None

    def mean(self, values: np.ndarray, shown: Callable[[float], str]) -> str:
        """Interval of a mean: the normal one, or that of rows that depend on each other."""
        if self.weighted or len(values) < _ENOUGH or not np.isfinite(values).all():
            return NONE
        if self.dependent is not None:
            ends = ends_of_mean(values, self.dependent, self.confidence_level)
            return NONE if ends is None else f"{shown(ends[0])} to {shown(ends[1])}"
        half = errors_aside(self.confidence_level) * float(values.std(ddof=1)) / math.sqrt(len(values))
        return f"{shown(values.mean() - half)} to {shown(values.mean() + half)}"

    def of(self, hit: np.ndarray) -> str:
        """Interval of how often something happened."""
        known = None
        if self.dependent is not None and self.dependent.rows is not None:
            low, high = share_interval(hit[None], self.dependent.rows, self.confidence_level)
            known = float(low[0]), float(high[0])
        return self.share(hit.sum(), len(hit), known)

    def share(self, hits: float, n: int, ends: tuple[float, float] | None = None) -> str:
        """Clopper-Pearson interval of a share; or as it was found for rows that depend on each other."""
        if self.weighted:
            return NONE
        if self.dependent is not None:
            return NONE if ends is None else f"{percent_in_words(ends[0])} to {percent_in_words(ends[1])}"
        low, high = binomial_interval(np.array([hits]), n, self.confidence_level)
        return f"{percent_in_words(low[0])} to {percent_in_words(high[0])}"


def percent_in_words(share: float) -> str:
    """Share in percent with one digit: ``72.9 %``."""
    return f"{100 * share:.1f} %"


def points_in_words(share: float) -> str:
    """Percentage points with a sign."""
    return f"{100 * share:+.1f} points".replace("-", "\N{MINUS SIGN}")


def _signed(value: float) -> str:
    return f"{value:+.3f}".replace("-", "\N{MINUS SIGN}")


def _smaller(score: float) -> str:
    return "smaller is better" if np.isfinite(score) else "something happened that had been given the probability 0"


def _nats(value: float) -> str:
    return f"{figure_in_words(value)} nats" if np.isfinite(value) else "infinite"


def _squares(targets: np.ndarray, batch: Any) -> np.ndarray:
    p = np.asarray(batch.probabilities, dtype=np.float64)
    return np.asarray((p**2).sum(axis=1) - 2 * p[np.arange(len(p)), targets] + 1)


def figure_in_words(value: float) -> str:
    """Number with four digits."""
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4f}" if 0.001 <= abs(value) < 10 else f"{value:.4g}"
