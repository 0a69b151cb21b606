"""All pairs of models: differences of SKCE, CKCE and scores, corrected over the pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference import PairedDifference, Spread, block_spread
from kernelcal.inference.intervals import (
    difference_of_draws,
    difference_of_pairs,
    hoeffding_sums,
    mean_difference,
    root_spread,
)
from kernelcal.inference.test import holm_adjusted
from kernelcal.pairs import joint_sums
from kernelcal.predictions import ClassPredictions
from kernelcal.statistics import crps_rows_of, log_score_rows_of, negative_log_likelihood_rows_of
from kernelcal.statistics.pairwise import PreparedPairMean

__all__ = ["by_draws", "by_rows", "score_rows", "skce_differences"]


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


Found = Callable[[str, str], tuple[float, float]]  # two names -> difference and standard error
_INFINITE = "an outcome had probability 0: the mean score is infinite, and its difference has no standard error"


def skce_differences(
    models: Mapping[str, Case], prepared: Mapping[str, PreparedPairMean]
) -> tuple[list[PairedDifference], dict[str, Spread]]:
    """Differences of the SKCE and what is known of each, over all pairs of rows in one pass, or over blocks."""
    names = list(models)
    if prepared[names[0]].statistic.estimator == "block":
        values = {name: prepared[name].block_values(models[name].targets) for name in names}
        return by_rows("SKCE", values), {name: block_spread(own) for name, own in values.items()}
    sums, products = joint_sums([prepared[name].matrix(models[name].targets) for name in names])
    pairs, place = sums.shape[1] * (sums.shape[1] - 1), names.index
    spreads = {
        name: root_spread(float(sums[k].sum()) / pairs, *hoeffding_sums(sums[k], float(products[k, k])))
        for k, name in enumerate(names)
    }
    return _corrected("SKCE", names, lambda a, b: difference_of_pairs(sums, products, place(a), place(b))), spreads


def by_draws(measure: str, estimates: Mapping[str, float], draws: Mapping[str, np.ndarray]) -> list[PairedDifference]:
    """Differences of estimates whose spread is that of drawn rows, the same for all models."""
    return _corrected(
        measure,
        list(estimates),
        lambda a, b: difference_of_draws((estimates[a], estimates[b]), draws[a], draws[b]),
    )


def by_rows(measure: str, rows: Mapping[str, np.ndarray]) -> list[PairedDifference]:
    """Differences of means of what every row (or block) has."""
    return _corrected(measure, list(rows), lambda a, b: mean_difference(rows[a], rows[b]))


def _corrected(measure: str, names: list[str], found: Found) -> list[PairedDifference]:
    pairs = list(combinations(names, 2))
    values = [found(a, b) for a, b in pairs]
    pvalues = [_pvalue(*value) for value in values]
    tested = [k for k, p in enumerate(pvalues) if p is not None]
    adjusted: dict[int, float] = dict(
        zip(tested, holm_adjusted(np.array([pvalues[k] for k in tested], dtype=float)).tolist(), strict=True)
    )
    return [
        PairedDifference(
            measure,
            a,
            b,
            difference,
            error if math.isfinite(error) else None,
            pvalues[k],
            adjusted.get(k),
            () if k in adjusted else (_INFINITE,),
        )
        for k, ((a, b), (difference, error)) in enumerate(zip(pairs, values, strict=True))
    ]


def _pvalue(difference: float, error: float) -> float | None:
    """Two-sided p-value by the normal law, never 0; 1 for models that do not differ, None where there is no error."""
    from scipy.special import ndtr  # imported when needed: the import of kernelcal stays light

    if not math.isfinite(error):
        return None
    if error == 0:
        return 1.0 if difference == 0 else 1e-300
    return max(2 * float(ndtr(-abs(difference) / error)), 1e-300)
