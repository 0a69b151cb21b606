"""Scores and binned errors of some rows as exact sums."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import ClassPredictions
from kernelcal.sketch.directions import direction_sums
from kernelcal.sketch.exact import digits_of, fixed, floating, in_units
from kernelcal.sketch.subject import Subject
from kernelcal.statistics import (
    ECE,
    accuracy_of,
    brier_score_rows_of,
    crps_rows_of,
    log_score_rows_of,
    mean_squared_error_rows_of,
    negative_log_likelihood_rows_of,
    weighted_interval_score_rows_of,
)
from kernelcal.statistics.binned import usual_questions

__all__ = ["BIN_BITS", "CLASS_SCORES", "QUANTILE_SCORES", "SCORE_BITS", "score_rows", "score_sums", "scores_of"]


Arrays = dict[str, np.ndarray]
Score = Callable[[Case], np.ndarray]
SCORE_BITS, BIN_BITS = 40, 31  # after the point
_MOST_ROWS, _NUMBERS = 2**13, 2**17  # at a time: threads wait less for each other in few and long steps
CLASS_SCORES: dict[str, Score] = {
    "accuracy": lambda case: np.array([round(len(case) * accuracy_of(case))]),  # of all rows
    "log_score": log_score_rows_of,
    "brier_score": brier_score_rows_of,
}
NUMBER_SCORES: dict[str, Score] = {
    "negative_log_likelihood": negative_log_likelihood_rows_of,
    "crps": crps_rows_of,
    "mean_squared_error": mean_squared_error_rows_of,
}
QUANTILE_SCORES: dict[str, Score] = {
    "weighted_interval_score": weighted_interval_score_rows_of,
    "crps_interpolated": crps_rows_of,
}


def scores_of(subject: Subject) -> dict[str, Score]:
    """Scores whose sums are held, by name; of quantile forecasts also the share below every quantile."""
    if subject.of_classes:
        return CLASS_SCORES
    if not subject.levels:
        return NUMBER_SCORES
    return QUANTILE_SCORES | {f"share below level {level:g}": partial(_below, level) for level in subject.levels}


def _below(level: float, case: Case) -> np.ndarray:
    return np.asarray(case.targets < case.predictions.at(level), dtype=np.float64)


def score_rows(columns: int) -> int:
    """Rows at a time, of so many numbers each."""
    return max(2**8, min(_MOST_ROWS, _NUMBERS // columns))


def score_sums(case: Case, bins: int, subject: Subject) -> Arrays:
    """Rows, impossible targets, sums of scores, and sums in bins, of some thousand rows."""
    batch, targets = case.predictions, case.targets
    sums = {"n": np.array(len(case)), "impossible": np.array(int(batch.impossible(targets).sum()))}
    sums |= direction_sums(case)
    if not isinstance(batch, ClassPredictions):
        return sums | {name: floating(_where_defined(score, case)) for name, score in scores_of(subject).items()}
    for k, question in enumerate(usual_questions(batch)):
        sums |= _in_bins(k, targets, batch, ECE(question=question, bins=bins))
    logs = log_score_rows_of(case)  # infinite where a label was ruled out, which is counted
    sums["accuracy"] = CLASS_SCORES["accuracy"](case).sum()
    sums["log_score"] = fixed(np.where(np.isfinite(logs), logs, 0.0), SCORE_BITS)
    sums["brier_score"] = fixed(brier_score_rows_of(case), SCORE_BITS)
    return sums


def _in_bins(k: int, targets: np.ndarray, batch: ClassPredictions, ece: ECE) -> Arrays:
    """Rows and events of every bin, shape (2, bins), and the digits of its sum of probabilities."""
    part = ece.prepare(batch).parts[0]
    index, size = part.bins.index, part.bins.size
    events, whole = part.part.relabel(targets[None])[0], in_units(part.p[:, 0], BIN_BITS)
    counts = [np.bincount(index, minlength=size), np.bincount(index, events, minlength=size)]
    return {
        f"bins {k}": np.stack(counts).astype(np.int64),
        f"predicted {k}": digits_of(np.bincount(index, whole, minlength=size)),
    }


def _where_defined(score: Score, case: Case) -> np.ndarray:
    """Score of every row, or NaN for a family that does not have it."""
    try:
        return np.asarray(score(case), dtype=np.float64)
    except InputError:
        return np.full(len(case), np.nan)
