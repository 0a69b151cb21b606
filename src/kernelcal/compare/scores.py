"""Proper scores of every row, for paired differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.statistics import crps_rows, log_score_rows, negative_log_likelihood_rows

__all__ = ["score_rows"]

Rows = Callable[[np.ndarray, Predictions], np.ndarray]


def score_rows(models: Mapping[str, Case]) -> dict[str, dict[str, np.ndarray]]:
    """Scores that all models have: of classes the log score; of numbers also the CRPS."""
    first = next(iter(models.values())).predictions
    measures: dict[str, Rows] = (
        {"log score": _log_score}
        if isinstance(first, ClassPredictions)
        else {"log score": negative_log_likelihood_rows, "CRPS": crps_rows}
    )
    found = {name: _of_all(rows, models) for name, rows in measures.items()}
    return {name: rows for name, rows in found.items() if rows is not None}


def _log_score(targets: np.ndarray, batch: Predictions) -> np.ndarray:
    assert isinstance(batch, ClassPredictions)  # for the type checker: score_rows has looked
    return log_score_rows(targets, batch.without_names())


def _of_all(rows: Rows, models: Mapping[str, Case]) -> dict[str, np.ndarray] | None:
    """Rows of every model; None where one of them has no such score."""
    try:
        return {name: rows(case.targets, case.predictions) for name, case in models.items()}
    except InputError:
        return None
