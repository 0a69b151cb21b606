"""The main job: everything about one model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter
from typing import Any

from kernelcal.cases import Case
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, SIGNIFICANCE
from kernelcal.dependence import suspicions
from kernelcal.errors import InputError
from kernelcal.evaluation.base import Evaluation
from kernelcal.evaluation.estimates import KernelError
from kernelcal.explanation import by_group, checked_groups, refuse_ungrouped
from kernelcal.inference import DefaultFamily, TestResult
from kernelcal.inference.intervals import interval_of
from kernelcal.inference.laws import refuse_dependent
from kernelcal.inference.test import GivenFamily, answered, default_law, joined, law_of, refuse_given, tested
from kernelcal.kernels import Stationary
from kernelcal.lenses import Lens
from kernelcal.pairs import Engine
from kernelcal.predictions import ClassPredictions, Quantiles, RealPredictions, Samples, ScorePredictions
from kernelcal.runs import Run
from kernelcal.statistics import KCCSD

__all__ = ["evaluate", "evaluated"]


_UNTESTED = (
    "there is no test: draws with unequal weights are not exchangeable with the outcome. Draw an unweighted sample by "
    "the weights, and pass that"
)


def evaluate(
    y: Any,
    predictions: Any,
    *,
    groups: Any = None,
    lens: Lens | None = None,
    weights: Any = None,
    classes: Any = None,
    normalize: bool = False,
    confidence_level: float = CONFIDENCE_LEVEL,
    alpha: float = SIGNIFICANCE,
    draws: int = DRAWS,
    rng: Any = 0,
    early_stopping: bool = True,
    engine: Engine | None = None,
    progress: Callable[[int, int], None] | None = None,
    given: Any = None,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> Evaluation:
    """Is this model calibrated, how far off, in which direction, and with what certainty?

    Parameters
    ----------
    y : array of shape (n,), or (n, d) for vectors
        Targets: class numbers 0 to m - 1, booleans, or labels named by `classes`; or numbers.
        Or a path, a glob, a table in memory (pandas, polars, Arrow, DuckDB, xarray, ArviZ), or a data frame or array of
        Dask, with the names of the prediction columns in the place of `predictions` and options such as
        ``target="label"``: see `kernelcal.stream.evaluate_path` and `kernelcal.stream.evaluate_table`.
    predictions : Predictions or what `as_predictions` takes
        Predicted probabilities (wrap logits, log-probabilities and percentages to say what they are), or a family for
        numbers such as `Normal`, `Quantiles` and `Samples`, or densities known through their score functions
        (`predictions.Score`, `predictions.UnnormalizedDensity`): the report then says which questions cannot be asked.
    groups : array of shape (n,), mapping of str to such arrays, or data frame, optional
        Groups of rows by one or several columns, as for `explain`: each is tested and measured by itself. Of a path the
        names of its columns, such as ``groups="site"``.
    lens : Lens, optional
        A simpler question, such as `TopLabel`; everything is then about it.
    weights : array of shape (n,), optional
        Case weights, not negative, for every figure and for the test; the PIT test takes none and is then left out.
    classes, normalize
        As for `as_predictions`.
    confidence_level : float
        Nominal coverage of the intervals.
    alpha : float
        Level at which the tests reject: verdict and directions. It is no part of the intervals.
    draws, rng, early_stopping, progress
        As for `calibration_test`. Test, interval and PIT test share one seed, which is drawn once from a generator.
    engine : Engine, optional
        How pairs are summed by estimate, test and interval: `ExactPairs`, `Nystrom` or `RandomFourier`. Default: chosen
        by rows and classes, as `kernelcal.evaluation.plan` tells.
    given : array of shape (n,) or (n, d), mapping of names to columns, or data frame, optional
        Columns that are known before the outcomes: the test then asks whether predictions are right given them too, and
        ``.test.given`` tells where they are not, as for `calibration_test`. The other figures stay what they are.
    clusters, time, horizon, series
        Which rows depend on each other, as for `calibration_test`: every p-value is then one of targets that are
        redrawn with as much dependence, or of rows without overlap. What would hold of independent rows alone is left
        out, with a note.

    Returns
    -------
    Evaluation
        Prints as a short table.

    Raises
    ------
    InputError
        With the row and the remedy.

    Notes
    -----
    The SKCE uses the Laplacian kernel at the median Euclidean distance and all pairs; for very many rows it uses
    blocks, which is unbiased for the same quantity, and says so. The p-value belongs to the default family of
    `calibration_test`, whose assumptions apply.

    Of `Quantiles` everything but the CRPS looks at the given levels alone (`QuantileEvaluation`). Where outcomes equal
    quantiles, levels claim bounds, so that there is no SKCE: the estimate is then the square of the least gap between
    claimed and observed levels that agrees with the claims.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> p = np.random.default_rng(0).uniform(size=200)
    >>> y = kc.Bernoulli(p).sample(rng=1)[0]
    >>> kc.evaluate(y, p).verdict
    'No evidence against calibration (p = ..., exact test).'
    """
    run = Run(
        confidence_level=confidence_level,
        alpha=alpha,
        draws=draws,
        rng=rng,
        early_stopping=early_stopping,
        progress=progress,
        engine=engine,
    )
    known = {"given": given, "clusters": clusters, "time": time, "horizon": horizon, "series": series}
    case = Case.of(y, predictions, weights=weights, lens=lens, classes=classes, normalize=normalize, **known)
    return evaluated(case, run, groups=groups)


def evaluated(case: Case, run: Run, error: KernelError | None = None, groups: Any = None) -> Evaluation:
    """Evaluate what was checked already; `error` is its kernel error, where several models share kernels.

    Groups are read here, since their rows must be those of the case.
    """
    started = perf_counter()
    grouping = None if groups is None else checked_groups(groups, len(case))
    if grouping is not None:
        refuse_ungrouped(case)
    n = len(case)
    if n < 2:
        raise InputError("evaluate needs at least 2 rows, got 1: calibration is a property of many predictions")
    if case.given is not None:
        refuse_given(case, None, None, several=False)
    if case.rows is not None:
        refuse_dependent(case, None)
    run, placed, case = run.shared(), case.placed, case.in_numpy
    seen: tuple[str, ...] = ()
    run.tell(0)  # the estimate comes before the draws, and is long for many rows
    error = error or KernelError(placed, run.engine)
    estimate, test, interval = error.estimate(), _test(placed, error, run), None
    of = error.interval_estimator
    if of is not None and test is not None:
        enough = run.with_at_least(DRAWS)  # percentiles of few draws would be rough
        prepared = error.prepared_for(of) if placed is case else None
        try:
            interval = interval_of(case, of, enough, pvalue=test.pvalue, prepared=prepared)
        except InputError as why:
            if case.rows is None:
                raise
            seen = (f"there is no interval of the kernel error: {why}",)  # of too few clusters or stretches
    notes = ((_UNTESTED,) if test is None else test.notes) + estimate.notes
    if case.rows is None:  # who says how rows depend is not asked
        seen = suspicions(case.predictions, case.targets, case.weights)
    found = _maker(case.predictions)(
        case,
        run,
        tuple(dict.fromkeys((*notes, *seen))),
        n=n,
        estimate=estimate,
        interval=interval,
        test=test,
        question=case.predictions.question,
        alpha=run.alpha,
        seconds=0.0,
        by_group=by_group(case, grouping, replace(run, progress=None)) if grouping is not None else None,
    )
    return replace(found, seconds=perf_counter() - started)


def _test(case: Case, error: KernelError, run: Run) -> TestResult | None:
    """Exact test of the default family; None for draws that are not exchangeable with the outcome.

    Where the kernel of the family is known from the error, what both need of the predictions is there already.
    """
    batch = case.predictions
    if isinstance(batch, Samples) and not batch.exchangeable:
        return None
    if isinstance(error.estimator, KCCSD):
        return tested(case, error.estimator, law_of(case, error.estimator), run)
    if error.own is None or not batch.drawable or isinstance(batch, RealPredictions) or case.rows is not None:
        family = DefaultFamily(engine=run.engine)
        return tested(case, family, law_of(case, family), run)
    kernel, notes = error.own
    assert isinstance(kernel, Stationary)  # for the type checker: leaves keep their type
    family = DefaultFamily(engine=run.engine, kernel=kernel)
    prepared, law = family.beside(error.prepared, notes), default_law(batch, family)
    if case.given is None:
        return answered(case.in_numpy, family, prepared, law, run)
    more = joined(prepared, case.in_numpy.predictions, case.given, case.weights)
    return answered(case.in_numpy, GivenFamily(given=case.given, family=family), more, law, run)


def _maker(batch: Any) -> Callable[..., Evaluation]:
    """Function that adds what one kind of predictions has of its own: imported when there are some."""
    if isinstance(batch, ClassPredictions):
        from kernelcal.evaluation.classes import class_evaluation

        return class_evaluation
    if isinstance(batch, Quantiles):
        from kernelcal.evaluation.quantiles import quantile_evaluation

        return quantile_evaluation
    if isinstance(batch, ScorePredictions):
        from kernelcal.evaluation.densities import score_evaluation

        return score_evaluation
    from kernelcal.evaluation.numbers import number_evaluation

    return number_evaluation
