"""What is computed for every model of a comparison, and for every pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.comparison.models import ckce_engine
from kernelcal.errors import InputError
from kernelcal.evaluation import seconds_one_by_one
from kernelcal.inference import (
    INTERVAL_METHODS,
    Draws,
    Equivalence,
    Interval,
    PairedDifference,
    Request,
    Spread,
    bootstrap_cost,
    in_words,
    say_bootstrap_cost,
    seconds_of,
)
from kernelcal.inference.intervals import (
    BOOTSTRAP,
    Along,
    BlockSurprises,
    Contrast,
    LabelLaw,
    OwnSurprises,
    PairedSurprises,
    RowBootstrap,
    ScoreSurprises,
    block_spread_of,
    difference_of_draws,
    difference_of_pairs,
    equivalence_of,
    hoeffding_parts,
    interval_of,
    label_law,
    mean_difference,
    method_that_keeps_the_level,
    of_draws,
    root_spread,
    spread_of,
    surprises_of,
)
from kernelcal.inference.test import holm_adjusted
from kernelcal.pairs import joint_sums
from kernelcal.predictions import Bernoulli, ClassPredictions, Quantiles
from kernelcal.runs import Run
from kernelcal.statistics import (
    CKCE,
    SKCE,
    brier_score_rows_of,
    crps_rows_of,
    log_score_rows_of,
    negative_log_likelihood_rows_of,
    weighted_interval_score_rows_of,
)
from kernelcal.statistics.pairwise import PreparedPairMean

__all__ = [
    "all_pairs",
    "by_draws",
    "by_rows",
    "conditional",
    "cost_in_words",
    "dependent_spreads",
    "equivalence",
    "multiplications",
    "own_scores",
    "score_rows",
    "score_surprises",
    "shared_law",
    "skce_differences",
    "skce_spreads",
]


Rows = Callable[[Case], np.ndarray]


def score_rows(models: Mapping[str, Case]) -> dict[str, dict[str, np.ndarray]]:
    """Scores that all models have: of classes the log score; of numbers also the CRPS; of quantiles the WIS."""
    first = next(iter(models.values())).predictions
    measures: dict[str, Rows] = (
        {"log score": log_score_rows_of}
        if isinstance(first, ClassPredictions)
        else {"log score": negative_log_likelihood_rows_of, "CRPS": crps_rows_of}
    )
    if isinstance(first, Quantiles):
        measures = {"WIS": weighted_interval_score_rows_of}
    found = {name: _of_all(rows, models) for name, rows in measures.items()}
    return {name: rows for name, rows in found.items() if rows is not None}


def _of_all(rows: Rows, models: Mapping[str, Case]) -> dict[str, np.ndarray] | None:
    """Rows of every model; None where one of them has no such score."""
    try:
        return {name: rows(case) for name, case in models.items()}
    except InputError:
        return None


Found = Callable[[str, str], Contrast]  # of two names
_TOO_MANY = (
    "kernel errors of so many rows are compared over blocks of rows, which are for independent ones: pass fewer rows, "
    "such as every second cluster or every k-th time"
)
_LEAST = 1e-12  # probability: no surprise is worth more than its logarithm
_INFINITE = "an outcome had probability 0: the mean score is infinite, and its difference has no standard error"


Joint = dict[str, tuple[np.ndarray, dict[str, float]]]  # of every model its row sums, and products with each


def all_pairs(models: Mapping[str, Case], prepared: Mapping[str, PreparedPairMean]) -> Joint | None:
    """Sums over the pairs of rows of all models, `joint_sums`, which every model then knows; None of blocks."""
    if any(own.statistic.estimator == "block" for own in prepared.values()):
        return None
    sums, products = joint_sums([prepared[name].matrix(case.targets) for name, case in models.items()])
    each = zip(models, sums, products.tolist(), strict=True)
    return {name: (own, dict(zip(models, others, strict=True))) for name, own, others in each}


def skce_differences(
    models: Mapping[str, Case],
    prepared: Mapping[str, PreparedPairMean],
    law: LabelLaw | None = None,
    along: Along | None = None,
    joint: Joint | None = None,
) -> list[PairedDifference]:
    """Differences of the SKCE, over all pairs of rows, whose sums may be known, or over blocks.

    Of rows that depend on each other only pairs of independent rows count, in another pass.
    """
    names, joint = list(models), joint or all_pairs(models, prepared)
    if joint is None:
        if along is not None:
            raise InputError(_TOO_MANY)
        values = {name: prepared[name].block_values(models[name].targets) for name in names}
        unseen = BlockSurprises.of(list(prepared.values()), list(models.values()), law or shared_law(models))
        return by_rows("SKCE", values, unseen)
    matrices = [prepared[name].matrix(models[name].targets) for name in names]
    sums = np.stack([joint[name][0] for name in names])
    products = np.array([[joint[a][1][b] for b in names] for a in names])
    paired, place = PairedSurprises.of(matrices, law or shared_law(models), sums, products), names.index
    if along is not None:
        far = along.far_sums(matrices)
        return _corrected("SKCE", names, lambda a, b: along.of_pairs(sums, products, far, (place(a), place(b)), paired))
    return _corrected("SKCE", names, lambda a, b: difference_of_pairs(sums, products, place(a), place(b), paired))


def skce_spreads(models: Mapping[str, Case], prepared: Mapping[str, PreparedPairMean]) -> dict[str, Spread]:
    """What is known of the SKCE of every model, over the pairs that its differences take."""
    return {name: _spread(prepared[name], case) for name, case in models.items()}


def _spread(prepared: PreparedPairMean, case: Case) -> Spread:
    if prepared.statistic.estimator == "block":
        return block_spread_of(prepared.block_values(case.targets), prepared, case)
    matrix = prepared.matrix(case.targets)
    estimate = float((matrix.row_sums - matrix.diagonal).sum()) / matrix.pairs
    return root_spread(estimate, *hoeffding_parts(matrix), surprises_of(matrix, case))


def by_draws(
    measure: str,
    estimates: Mapping[str, float],
    draws: Mapping[str, np.ndarray],
    surprised: Mapping[str, Callable[[float], np.ndarray]] | None = None,
    along: tuple[Along, Mapping[str, np.ndarray]] | None = None,
) -> list[PairedDifference]:
    """Differences of estimates whose spread is that of drawn rows, the same for all models.

    Of rows that depend on each other it is that of the influences of rows, which `along` has for every model.
    """

    def found(a: str, b: str) -> Contrast:
        more = None if surprised is None else (lambda some: (surprised[a](some), surprised[b](some)))
        if along is not None:
            influence = along[1][a] - along[1][b]
            return along[0].of_draws((estimates[a], estimates[b]), influence, draws[a], draws[b], more)
        return difference_of_draws((estimates[a], estimates[b]), draws[a], draws[b], more)

    return _corrected(measure, list(estimates), found)


def by_rows(
    measure: str,
    rows: Mapping[str, np.ndarray],
    surprises: ScoreSurprises | OwnSurprises | BlockSurprises | None = None,
    along: Along | None = None,
) -> list[PairedDifference]:
    """Differences of means of what every row (or block) has."""
    place = list(rows).index

    def found(a: str, b: str) -> Contrast:
        if along is not None:
            more = None if surprises is None else (lambda gaps: surprises.errors(gaps, place(a), place(b)))
            return along.of_rows(rows[a], rows[b], more)
        if surprises is None:
            return mean_difference(rows[a], rows[b])
        return mean_difference(rows[a], rows[b], lambda gaps: surprises.errors(gaps, place(a), place(b)))

    return _corrected(measure, list(rows), found)


def score_surprises(measure: str, models: Mapping[str, Case]) -> ScoreSurprises | None:
    """Pseudo-differences of log scores of classes, whose rows say little where few outcomes were surprising."""
    batches = [case.predictions for case in models.values()]
    classes = [batch for batch in batches if isinstance(batch, ClassPredictions)]
    return ScoreSurprises(classes) if measure == "log score" and len(classes) == len(batches) else None


def own_scores(models: Mapping[str, Case], along: Along | None = None) -> list[PairedDifference]:
    """Differences of scores of classes row by row, each model judged by the outcome that it was asked about."""
    batches = [case.predictions for case in models.values()]
    classes = [batch for batch in batches if isinstance(batch, ClassPredictions)]
    if len(classes) < len(batches):
        return []
    scale = 0.5 if all(isinstance(batch, Bernoulli) for batch in classes) else 1.0  # of one probability the usual half

    def brier(p: np.ndarray) -> np.ndarray:
        squares: np.ndarray = scale * ((p**2).sum(axis=1, keepdims=True) - 2 * p + 1)
        return squares

    def log(p: np.ndarray) -> np.ndarray:
        scores: np.ndarray = -np.log(np.maximum(p, _LEAST))
        return scores

    found: list[PairedDifference] = []
    for measure, rows_of, scores in (("log score", log_score_rows_of, log), ("Brier", brier_score_rows_of, brier)):
        rows = {name: rows_of(case) for name, case in models.items()}
        found += by_rows(measure, rows, OwnSurprises(classes, scores), along)
    return found


def _corrected(measure: str, names: list[str], found: Found) -> list[PairedDifference]:
    pairs = list(combinations(names, 2))
    values = [found(a, b) for a, b in pairs]
    tested = [k for k, value in enumerate(values) if value.pvalue is not None]
    adjusted: dict[int, float] = dict(
        zip(tested, holm_adjusted(np.array([values[k].pvalue for k in tested], dtype=float)).tolist(), strict=True)
    )
    return [
        PairedDifference(
            measure,
            a,
            b,
            value.difference,
            value.error if math.isfinite(value.error) else None,
            value.pvalue,
            adjusted.get(k),
            () if k in adjusted else (_INFINITE,),
        )
        for k, ((a, b), value) in enumerate(zip(pairs, values, strict=True))
    ]


# values over drawn rows, the same with surprises, and of dependent rows what each adds
Drawn = tuple[np.ndarray, Callable[[float], np.ndarray], np.ndarray]


def conditional(
    case: Case,
    ckce: CKCE,
    run: Run,
    pvalue: float | None,
    law: LabelLaw | None = None,
    source: Draws | None = None,
) -> tuple[Interval, float, Drawn]:
    """CKCE with its interval, the published value, and the values of drawn rows; models share label law and draws."""
    say_bootstrap_cost(ckce, case.predictions, run.draws)
    prepared = ckce.prepare(case.predictions)
    rows, request = RowBootstrap(prepared, case.targets), Request(case, prepared, run, shared=source)
    drawn = rows.drawn(request)
    if case.rows is not None:
        method = BOOTSTRAP if pvalue is not None else replace(BOOTSTRAP, tested=False)
        found = interval_of(case, ckce, run, method=method, pvalue=pvalue)
        return found, rows.plug_in, (drawn, rows.surprised(request, drawn, law), len(case) * rows.linear)
    level = run.confidence_level
    lower, upper = of_draws(rows.estimate, drawn, rows.surprised(request, drawn)).ends(level)
    notes: tuple[str, ...] = ()
    if pvalue is not None and pvalue > 1 - level:
        lower, notes = 0.0, (f"the lower end is 0: the exact test does not reject (p = {pvalue:.3g})",)
    interval = Interval(
        rows.estimate,
        max(lower, 0.0),
        max(upper, 0.0),
        level,
        BOOTSTRAP.label,
        len(case.targets),
        notes,
        "CKCE, corrected",
    )
    return interval, rows.plug_in, (drawn, rows.surprised(request, drawn, law), rows.linear)


def shared_law(models: Mapping[str, Case]) -> LabelLaw | None:
    """Label law of the surprises of all models, for classes."""
    cases = list(models.values())
    classes = [case.predictions for case in cases if isinstance(case.predictions, ClassPredictions)]
    return label_law(cases[0].targets, classes) if len(classes) == len(cases) else None


def dependent_spreads(models: Mapping[str, Case], skce: SKCE, run: Run) -> dict[str, Spread]:
    """What is known of the SKCE of every model whose rows depend on each other."""
    method = INTERVAL_METHODS[method_that_keeps_the_level(skce)]
    return {name: spread_of(method, skce, case, run) for name, case in models.items()}


def equivalence(spread: Spread, within: float, skce: SKCE, n: int, alpha: float) -> Equivalence:
    """Whether a model is calibrated to within the bound."""
    label = INTERVAL_METHODS[method_that_keeps_the_level(skce)].label + spread.units
    return equivalence_of(spread, within, label, n, alpha, spread.notes)


_ALL_PAIRS = 4.0  # seconds; above, blocks are taken
_LANDMARKS = 250  # of the exact test
_KERNELS = 4


def multiplications(predictions: Mapping[str, Any], draws: int) -> float:
    """Multiplications of a comparison, roughly; early stopping takes less."""
    return sum(_of_model(batch, draws) for batch in predictions.values())


def _of_model(batch: Any, draws: int) -> float:
    n = float(len(batch))
    if isinstance(batch, Quantiles):
        return _KERNELS * n * 64 * draws
    pairs = 4 * min(seconds_one_by_one(batch), _ALL_PAIRS) / seconds_of(1)
    exact_test = _KERNELS * n * min(n, 8 * _LANDMARKS) * draws
    return pairs + exact_test + bootstrap_cost(CKCE(engine=ckce_engine(len(batch))), batch, draws)


def cost_in_words(predictions: Mapping[str, Any], draws: int) -> str:
    """Return ``comparing 8 models on 10,000 rows: about 2 minutes on two cores``."""
    rows = len(next(iter(predictions.values())))
    seconds = in_words(max(1.0, seconds_of(multiplications(predictions, draws))))
    return f"comparing {len(predictions)} models on {rows:,} rows: about {seconds} on two cores"
