"""Expected calibration error over equal-width bins, for a question that is named."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import ClassPredictions, checked_pair
from kernelcal.statistics.base import Estimate

__all__ = ["ece"]


def ece(y: Any, predictions: Any, *, question: str = "top label", bins: int = 15, classes: Any = None) -> Estimate:
    """Expected calibration error: ``sum_b (n_b / n) |mean confidence - share of hits|`` over equal-width bins.

    Parameters
    ----------
    y, predictions, classes
        As for `skce`.
    question : {"top label", "positive class"}
        ``top label``: is the most probable class right as often as it claims? ``positive class`` (two classes):
        does class 1 occur as often as predicted? These are different numbers.
    bins : int
        Bins of equal width on [0, 1], closed on the right: bin k holds ``ceil(p * bins) = k``, and 0 is in the
        first. Empty bins count nothing.

    Returns
    -------
    Estimate

    Notes
    -----
    A binned error depends on its bins and is positive for calibrated models too: it is an effect size to be
    compared with others' figures, not evidence. `calibration_test` gives evidence.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = [1, 1, 1, 1], [0.2, 0.2, 0.8, 0.8]
    >>> round(float(kc.ece(y, p, question="positive class", bins=10)), 12)
    0.5
    >>> round(float(kc.ece(y, p, question="top label", bins=10)), 12)
    0.3
    """
    labels, batch = checked_pair(y, predictions, classes=classes)
    if not isinstance(bins, int) or bins < 1:
        raise InputError(f"bins must be a positive whole number, got {bins!r}")
    confidence, hit = _confidence(labels, batch, question)
    index = np.clip(np.ceil(confidence * bins).astype(np.int64) - 1, 0, bins - 1)
    gaps = np.bincount(index, confidence - hit, minlength=bins)
    value = np.abs(gaps).sum() / len(labels)
    options = {"question": question, "bins": f"{bins} equal-width bins"}
    return Estimate(value, f"ECE, {question}", "binned", len(batch), "one pass", options, batch.notes)


def _confidence(labels: np.ndarray, batch: ClassPredictions, question: str) -> tuple[np.ndarray, np.ndarray]:
    if question == "top label":
        top = batch.top_labels()
        return batch.probability_of(top).astype(np.float64), (top == labels).astype(np.float64)
    if question != "positive class":
        raise InputError(f"question must be 'top label' or 'positive class', got {question!r}")
    if batch.n_classes != 2:
        raise InputError(f"question='positive class' is for two classes, the predictions have {batch.n_classes}")
    return to_numpy(batch.probabilities)[:, 1].astype(np.float64), labels.astype(np.float64)
