"""Proper scores of every row, for paired differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import ClassPredictions
from kernelcal.statistics.class_scores import log_score_rows_of
from kernelcal.statistics.crps import crps_rows_of
from kernelcal.statistics.number_scores import negative_log_likelihood_rows_of

__all__ = ["score_rows"]

Rows = Callable[[Case], np.ndarray]


def score_rows(models: Mapping[str, Case]) -> dict[str, dict[str, np.ndarray]]:
    """Scores that all models have: of classes the log score; of numbers also the CRPS."""
    first = next(iter(models.values())).predictions
    measures: dict[str, Rows] = (
        {"log score": log_score_rows_of}
        if isinstance(first, ClassPredictions)
        else {"log score": negative_log_likelihood_rows_of, "CRPS": crps_rows_of}
    )
    found = {name: _of_all(rows, models) for name, rows in measures.items()}
    return {name: rows for name, rows in found.items() if rows is not None}


def _of_all(rows: Rows, models: Mapping[str, Case]) -> dict[str, np.ndarray] | None:
    """Rows of every model; None where one of them has no such score."""
    try:
        return {name: rows(case) for name, case in models.items()}
    except InputError:
        return None
