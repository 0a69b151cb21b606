"""Which of several models is better calibrated, and how certainly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from kernelcal.comparison.figures import (
    Drawn,
    all_pairs,
    by_draws,
    by_rows,
    conditional,
    dependent_spreads,
    equivalence,
    own_scores,
    score_rows,
    score_surprises,
    shared_law,
    skce_differences,
    skce_spreads,
)
from kernelcal.comparison.models import (
    Models,
    asked_alike,
    checked_models,
    refuse_statistics,
    shared_ckce,
    shared_skce,
)
from kernelcal.comparison.result import ComparedModel, Comparison, sort_key
from kernelcal.comparison.scores import ScoreComparison, compared_by_scores, notes_of, with_ties
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.evaluation import KernelError, evaluated, pairs_or_blocks
from kernelcal.inference import DefaultFamily, PairedDifference
from kernelcal.inference.intervals import Along, LabelLaw, checked_bound, source_of
from kernelcal.kernels import Medians, resolve
from kernelcal.lenses import Lens
from kernelcal.predictions import Samples
from kernelcal.runs import Progress, Run, Steps
from kernelcal.statistics import CKCE, SKCE

__all__ = ["compare", "compared"]


_FEWEST = 10  # rows
_OWN_OUTCOMES = (
    "every model is asked about an outcome of its own, such as whether its answer was right, and scores compare each "
    "with its own, row by row: one may be better because its outcome is easier to foresee"
)
_OWN_NUMBERS = "every model is asked about a number of its own: their scores have no common unit and are not compared"
_LEVELS = (
    "some models forecast quantiles, so that CKCE, SKCE and WIS of all pairs ask about the same levels; each model is "
    "tested as what it predicts"
)
_NEAR_0 = "no test of calibration rejects either model: both are near 0, and the difference says little"


def compare(
    y: Any,
    predictions: Mapping[str, Any],
    *,
    skce: SKCE | None = None,
    ckce: CKCE | None = None,
    lens: Lens | None = None,
    within: float | None = None,
    classes: Any = None,
    normalize: bool = False,
    confidence_level: float = CONFIDENCE_LEVEL,
    alpha: float = SIGNIFICANCE,
    draws: int = DRAWS,
    rng: int = 0,
    early_stopping: bool = True,
    progress: Progress | None = None,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> Comparison | ScoreComparison:
    """Which of several models is better calibrated on the same rows, and how certainly?

    Every model gets its scores, the SKCE and the CKCE with intervals and the exact test of calibration; every pair of
    models the difference of SKCE, CKCE and proper scores on the same rows, with standard errors and p-values corrected
    over the pairs (Holm). A difference that is not certain is called a tie.

    Parameters
    ----------
    y : array of shape (n,), or (n, d) for vectors
        Targets, the same for all models. Or a mapping of the names of the models to their own, such as whether the
        answer of each was right.
    predictions : mapping of str to Predictions or what `as_predictions` takes
        What each model predicted for these rows, in this order: all classes, or all numbers, of any families.
    skce : SKCE, optional
        Kernels of the SKCE. All models share one kernel; a median lengthscale is the median of those of the models.
    ckce : CKCE, optional
        Kernels, lambda and engine of the CKCE. Default: `CKCE()` up to 2,000 rows, ``engine=IncompleteCholesky()`` up
        to 50,000, ``RandomFourier(100)`` above.
    lens : Lens, optional
        A simpler question, such as `TopLabel`, of every model.
    within : float, optional
        Also test whether each model is calibrated to within this bound: `kernelcal.inference.equivalence_test`.
    classes, normalize
        As for `as_predictions`.
    confidence_level : float
        Nominal coverage of the intervals.
    alpha : float
        Level of the exact tests, and of differences over all pairs: above it they are ties.
    draws, rng
        Draws of the exact tests and of the bootstrap of rows, the same rows for all models, and their seed.
    early_stopping, progress
        As for `calibration_test`; progress goes over all models.
    clusters, time, horizon, series
        Which rows depend on each other, as for `calibration_test`: every test, interval and difference allows for it.
        Differences over time have the p-values of a Diebold-Mariano test that allows for few stretches, see Notes.

    Returns
    -------
    Comparison
        Prints as two tables, the models in the order of their CKCE. Of `Quantiles` some of whose outcomes equal
        quantiles a `ScoreComparison`, in the order of their weighted interval scores: calibration errors then have no
        values.

    Raises
    ------
    InputError
        For models that do not predict the same rows and classes, each named, and as `evaluate`.

    Notes
    -----
    The CKCE does not weigh predictions by how often they are made, so it ranks models that are confident at different
    rates; the SKCE does, and its difference compares the models on the rows as they are. The CKCE here leaves out the
    noise of the targets (``estimator="corrected"``): models whose targets are noisy to different degrees would be
    ranked by their noise otherwise. Paired p-values are those of many rows. Where both models are calibrated the
    differences are degenerate, and the tests reject less often than their level. Rows are assumed to be independent
    unless it is said how they depend.

    Of forecasts whose horizons overlap (``horizon=``), the standard error of a difference is that of the mean of what
    every row adds to it, along time, with the weights of Bartlett up to ``max(1.3 sqrt(n), 2 h)`` steps, and the
    p-value is by the law of the same t for white noise (fixed-b). Of scores this is the test of Diebold and Mariano
    (1995); its usual normal law rejects equal forecasts far too often when n / h is small. Of ``clusters=`` sums over
    clusters have the law of Student, or what takes its place where clusters differ in size. Kernel errors are linear in
    what rows add to the first order; pairs of rows that overlap, or of one cluster, are left out.

    Cost with M models: `evaluate` for each; n^2 (m + M) M / 2 multiplications for all differences of the SKCE; the
    CKCE of each as at `CKCE`, and ``draws`` times n D m (2 n^2 m for ``"exact"``) for its bootstrap.

    References
    ----------
    Moskvichev and Sejdinovic (2025) for the ranking by the CKCE; Holm (1979). Diebold and Mariano (1995), Comparing
    predictive accuracy; Kiefer and Vogelsang (2005), A new asymptotic theory for heteroskedasticity-autocorrelation
    robust tests; Lazarus, Lewis, Stock and Watson (2018) for the window.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], 1000)
    >>> y = kc.Categorical(p).sample(rng)[0]
    >>> sharper = p**2 / (p**2).sum(axis=1, keepdims=True)
    >>> result = kc.compare(y, {"sharper": sharper, "honest": p}, draws=199)
    >>> result.verdict
    'honest is the best calibrated: its CKCE is below that of every other model.'
    >>> result.difference("log score", "honest", "sharper").better
    'honest'
    """
    run = Run(
        confidence_level=confidence_level,
        alpha=alpha,
        draws=draws,
        rng=rng,
        early_stopping=early_stopping,
        progress=progress,
    )
    run.refuse_for_models()
    bound = None if within is None else checked_bound(within)
    refuse_statistics(skce, ckce)
    said = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    models = checked_models(y, predictions, lens, classes, normalize=normalize, said=said)
    return compared(models, run, skce=skce, ckce=ckce, within=bound)


def compared(
    models: Models, run: Run, *, skce: SKCE | None = None, ckce: CKCE | None = None, within: float | None = None
) -> Comparison | ScoreComparison:
    """Compare models that were checked already, one by one and against each other.

    Each is evaluated as what it is; beside quantile forecasts the errors of all are those of the same levels, and with
    ties scores take their place.
    """
    started = perf_counter()
    whole, models = models, asked_alike(models)
    if with_ties(models):
        return compared_by_scores(whole, models, run, within)
    batches = [case.predictions for case in models.values()]
    n = len(batches[0])
    _refuse_few(n)
    known: list[Medians] = [{} for _ in batches]  # found once, for the kernels that are shared and for each test
    skce, ckce = shared_skce(skce, batches, known), shared_ckce(ckce, batches, known)
    errors = _errors(models, run, skce, known)
    pairs = pairs_or_blocks(batches, skce)
    law = shared_law(models) if _one_outcome(models) else None
    rows = next(iter(models.values())).rows
    along = None if rows is None else Along(rows)
    prepared = {
        name: errors[name].prepared_for(pairs) or pairs.prepare(case.predictions) for name, case in models.items()
    }
    joint = all_pairs(models, prepared)  # before every model asks for its own
    found, drawn = _models(models, whole, errors, ckce, run, law)
    found.sort(key=sort_key)
    ordered = {model.name: models[model.name] for model in found}
    estimates = {model.name: model.ckce.estimate for model in found}
    differences = by_draws(
        "CKCE",
        estimates,
        {name: drawn[name][0] for name in ordered},
        {name: drawn[name][1] for name in ordered},
        None if along is None else (along, {name: drawn[name][2] for name in ordered}),
    )
    own = skce_differences(ordered, prepared, law, along, joint)
    differences += _near_0([replace(d, alpha=run.alpha) for d in own], found)
    if within is not None:
        spreads = skce_spreads(ordered, prepared) if along is None else dependent_spreads(ordered, pairs, run)
        found = [replace(m, equivalence=equivalence(spreads[m.name], within, pairs, n, run.alpha)) for m in found]
    mixed = () if whole is models else (_LEVELS,)
    own_notes = notes_of({model.name: model.evaluation for model in found})
    notes = (*mixed, *_blocks_in_words(pairs), *_few_draws(ordered), *own_notes)
    if along is not None:
        notes = (*along.notes, *notes)
    if _one_outcome(ordered):
        for measure, scores in score_rows(ordered).items():
            differences += by_rows(measure, scores, score_surprises(measure, ordered), along)
    else:
        own = own_scores(ordered, along)
        differences += own
        notes = (_OWN_OUTCOMES if own else _OWN_NUMBERS, *notes)
    differences = [replace(d, alpha=run.alpha) for d in differences]
    seconds = perf_counter() - started
    return Comparison(
        tuple(found), tuple(differences), pairs, ckce, n, seconds, notes, None if along is None else along.law
    )


def _errors(models: Models, run: Run, skce: SKCE, known: Sequence[Medians]) -> dict[str, KernelError]:
    """Kernel error of every model by the SKCE that they share; each is tested at its own lengthscales."""
    kernel = DefaultFamily().kernel  # of classes; that of numbers is standardised by the family itself
    return {
        name: KernelError(case, run.engine, skce, resolve(kernel, case.predictions, medians))
        for (name, case), medians in zip(models.items(), known, strict=True)
    }


def _models(
    models: Models, whole: Models, errors: Mapping[str, KernelError], ckce: CKCE, run: Run, law: LabelLaw | None
) -> tuple[list[ComparedModel], dict[str, Drawn]]:
    """Everything about each model, and the values of its CKCE over drawn rows."""
    steps = Steps(run.progress, 2 * len(models), run.draws)
    found, drawn = [], {}
    source = source_of(next(iter(models.values())), run)
    for name, case in models.items():
        error = errors[name] if whole[name].predictions is case.predictions else None
        own = evaluated(whole[name], replace(run, progress=steps.next()), error)
        step = replace(run, progress=steps.next())
        pvalue = None if own.test is None else own.test.pvalue
        interval, plug_in, drawn[name] = conditional(case, ckce, step, pvalue, law, source)
        found.append(ComparedModel(name, own, interval, plug_in))
    steps.finish()
    return found, drawn


def _blocks_in_words(pairs: SKCE) -> tuple[str, ...]:
    """Say that differences are not those of the figures beside them."""
    if pairs.estimator != "block":
        return ()
    return (
        f"all pairs of rows take too long: differences of the SKCE, and what it is within, are means over blocks of "
        f"{pairs.block_size:,} rows, unbiased for the same",
    )


def _few_draws(models: Models) -> tuple[str, ...]:
    """Say that scores of few draws are those of the draws."""
    batches = [(name, case.predictions) for name, case in models.items()]
    sizes = {name: batch.size for name, batch in batches if isinstance(batch, Samples)}
    if not sizes or (len(sizes) == len(models) and len(set(sizes.values())) == 1):
        return ()
    return (
        f"CRPS, SKCE and CKCE of draws ({', '.join(f'{name}: {size}' for name, size in sizes.items())} a row) are "
        "those of the draws, larger than those of the law behind them: fewer draws look worse",
    )


def _one_outcome(models: Models) -> bool:
    """Tell whether all models are asked about the same outcomes."""
    first, *others = models.values()
    return all(np.array_equal(first.targets, other.targets) for other in others)


def _near_0(differences: list[PairedDifference], models: list[ComparedModel]) -> list[PairedDifference]:
    """Say of ties whose models the exact test does not reject that both are near 0."""
    tested = [(m.name, m.evaluation.test, m.evaluation.alpha) for m in models]
    calibrated = {name for name, test, alpha in tested if test is not None and test.pvalue > alpha}
    return [
        replace(d, notes=(*d.notes, _NEAR_0)) if d.better is None and {d.first, d.second} <= calibrated else d
        for d in differences
    ]


def _refuse_few(n: int) -> None:
    if n < _FEWEST:
        raise InputError(f"compare needs at least {_FEWEST} rows, got {n}: no difference could be told from chance")
