"""In plain words, in which direction class predictions are wrong."""

from __future__ import annotations

import numpy as np

from kernelcal.inference.result import Member
from kernelcal.predictions import ClassPredictions
from kernelcal.statistics.directed import PreparedScores

__all__ = ["directions", "impossible_note", "impossible_rows"]

_LEVEL = 0.05  # a direction is named when its own exact p-value is at most this
_CLASSES_NAMED = 3


def directions(scores: PreparedScores, labels: np.ndarray, members: tuple[Member, ...], fired: str) -> tuple[str, ...]:
    """Sentences for the directed members that speak against calibration, the fired one first."""
    pvalues = {member.name: member.pvalue for member in members}
    found = {}
    if pvalues.get("slope", 1.0) <= _LEVEL:
        found["slope"] = _confidence(float(scores.slope(labels[None])[0][0]))
    if pvalues.get("bias", 1.0) <= _LEVEL:
        found["bias"] = _classes(scores, labels)
    ordered = sorted(found, key=lambda name: (name != fired, pvalues[name]))
    if ordered:
        return tuple(found[name] for name in ordered)
    return ("no single direction: how frequencies deviate changes from prediction to prediction",)


def _confidence(slope: float) -> str:
    return "over-confident" if slope < 0 else "under-confident"


def _classes(scores: PreparedScores, labels: np.ndarray) -> str:
    deviations, counts = scores.bias(labels[None])[0], scores.counts(labels[None])[0]
    if len(deviations) == 2:
        return _one_class(scores.predictions, 1, deviations[1], counts[1], scores.expected[1])
    largest = np.argsort(-np.abs(deviations))[:_CLASSES_NAMED]
    strong = [k for k in largest if abs(deviations[k]) >= 0.5 * abs(deviations[largest[0]])]
    return ", ".join(_one_class(scores.predictions, k, deviations[k], counts[k], scores.expected[k]) for k in strong)


def _one_class(predictions: ClassPredictions, k: int, deviation: float, count: float, expected: float) -> str:
    word = "over-predicted" if deviation < 0 else "under-predicted"
    return f"class {predictions.class_name(k)} is {word} ({expected:,.1f} expected, {count:,.10g} observed)"


def impossible_rows(predictions: ClassPredictions, labels: np.ndarray) -> np.ndarray:
    """Rows whose label had a predicted probability of exactly 0."""
    return np.flatnonzero(predictions.probability_of(labels) == 0)


def impossible_note(predictions: ClassPredictions, labels: np.ndarray, rows: np.ndarray, counted: bool) -> str:
    """Sentence that names the first of these rows."""
    row = int(rows[0])
    more = f" (and {len(rows) - 1:,} more rows)" if len(rows) > 1 else ""
    unseen = "" if counted else "; this p-value does not count it, that of the default test does"
    return (
        f"row {row}: the label {predictions.class_name(labels[row])} had a predicted probability of exactly 0{more}. "
        "Such a label is proof against calibration; if small probabilities were rounded to 0 on the way here, keep "
        f"more digits{unseen}"
    )
