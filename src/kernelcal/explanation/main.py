"""Where is the model wrong?"""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.defaults import DRAWS, SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.explanation.group_test import Null, by_group
from kernelcal.explanation.groups import Grouping, checked_groups
from kernelcal.explanation.regions import regions_of
from kernelcal.explanation.result import Explanation
from kernelcal.explanation.shares import RowShares, class_shares, top_rows
from kernelcal.explanation.sizes import has_ties
from kernelcal.explanation.tested import tested
from kernelcal.inference import DefaultFamily, GivenResult
from kernelcal.inference.laws import refuse_dependent
from kernelcal.inference.test import (
    impossible_note,
    impossible_rows,
    law_of,
    refuse_given,
    tested as calibration_tested,
)
from kernelcal.kernels import Dirac, Kernel
from kernelcal.lenses import Lens
from kernelcal.predictions import Bernoulli, ClassPredictions, ScorePredictions
from kernelcal.runs import Progress, Run
from kernelcal.statistics import SKCE, claimed_levels_of
from kernelcal.statistics.pairwise import PreparedPairMean

__all__ = ["explain", "explained"]


_GROUPS_ALONE = (
    "outcomes equal quantiles, or quantiles each other, so that residuals have bounds and no values: no places and no "
    "rows are named, and groups are tested by what their levels claim"
)


def _refuse_unexplained(case: Case) -> None:
    """Refuse predictions without known residuals, and single rows."""
    batch = case.predictions
    if isinstance(batch, ScorePredictions):
        raise InputError(
            f"{type(batch).__name__} says how densities slope, not what is likely, so its residuals have no sizes to "
            "explain: use kernelcal.evaluate, or pass draws of the model, kernelcal.Samples(draws)"
        )
    if len(batch) < 2:
        raise InputError("explain needs at least 2 rows, got 1: calibration is a property of many predictions")


def _refuse_kernels(*given: Any) -> None:
    """Refuse kernels of an error that has no value."""
    if any(option is not None for option in given):
        raise InputError(
            "outcomes equal quantiles, or quantiles each other, so that there is no SKCE whose kernels could be "
            "chosen: leave out statistic and witness_kernel; groups are tested by what their levels claim"
        )


def _refuse_options(statistic: Any, witness_kernel: Any) -> None:
    """Refuse statistics that are no sum over all pairs, and what is no kernel."""
    if statistic is not None and not isinstance(statistic, SKCE):
        raise InputError(f"statistic must be an SKCE such as kernelcal.SKCE(), got {statistic!r:.80}")
    if statistic is not None and statistic.estimator != "unbiased":
        raise InputError(
            f"explain splits the mean over all pairs of rows: statistic must have estimator='unbiased', got "
            f"{statistic.estimator!r}; of very many rows pass a sample"
        )
    if witness_kernel is not None and not isinstance(witness_kernel, Kernel):
        raise InputError(f"witness_kernel must be a kernel such as kernelcal.Laplacian(0.1), got {witness_kernel!r}")


def _explanation_notes(notes: tuple[str, ...], pairs: PreparedPairMean, case: Case) -> tuple[str, ...]:
    """Add which targets were ruled out, and why there is no table of classes, to the notes of the estimate."""
    batch = case.predictions
    rows = impossible_rows(batch, case.targets)
    if len(rows):
        notes = (impossible_note(case, rows, counted=True), *notes)
    several = isinstance(batch, ClassPredictions) and not isinstance(batch, Bernoulli)
    if several and not isinstance(pairs.target_kernel, Dirac):
        notes += (f"the error is not split by class: {pairs.target_kernel} joins classes; Dirac() does not",)
    return notes


def explain(
    y: Any,
    predictions: Any,
    *,
    groups: Any = None,
    lens: Lens | None = None,
    weights: Any = None,
    classes: Any = None,
    normalize: bool = False,
    statistic: SKCE | None = None,
    witness_kernel: Kernel | None = None,
    draws: int = DRAWS,
    rng: Any = 0,
    alpha: float = SIGNIFICANCE,
    progress: Progress | None = None,
    given: Any = None,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> Explanation:
    """Where is the model wrong: at which predictions, in which classes, which groups of rows, which rows?

    Parameters
    ----------
    y : array of shape (n,), or (n, d) for vectors
        Targets: class numbers 0 to m - 1, booleans, or labels named by `classes`; or numbers.
    predictions : Predictions or what `as_predictions` takes
        Predicted probabilities, or a family for numbers.
    groups : array of shape (n,), mapping of str to such arrays, or data frame, optional
        Groups of rows by one or several columns: text, whole numbers or booleans, not chosen by looking at `y`. Numbers
        that are measured (fractions, or more than 30 different ones) are cut at their quartiles, and a note says where.
    lens : Lens, optional
        A simpler question, such as `TopLabel`; everything is then about it.
    weights : array of shape (n,), optional
        Case weights, not negative.
    classes, normalize
        As for `as_predictions`.
    statistic : SKCE, optional
        Kernels of the error that is split; the estimator must be the unbiased one. Groups are then tested by it beside
        their signals.
    witness_kernel : Kernel, optional
        Kernel between predictions by which residuals are smoothed. Default: that of `statistic` if it is given, else
        `Laplacian` at a quarter of the median distance, since the median itself smooths over half of the predictions.
    draws, rng
        Number B of draws of targets, and their seed, as for `calibration_test`. All draws are made.
    alpha : float
        Level of all that is named: the witness of a calibrated model leaves its band with at most this probability,
        which is then drawn at ``1 - alpha``, and groups are rejected at it.
    progress : callable, optional
        Called as ``progress(done, total)`` after every batch of draws.
    given : array of shape (n,) or (n, d), mapping of names to columns, or data frame, optional
        Columns that are known before the outcomes, of any type: ``.given`` of the result tells in which ranges,
        categories, trends and intersections of them predictions are wrong, as for `calibration_test`, all draws made.
    clusters, time, horizon, series
        Which rows depend on each other, as for `calibration_test`.

    Returns
    -------
    Explanation
        Prints as short tables.

    Raises
    ------
    InputError
        With the row and the remedy.

    Notes
    -----
    *Witness.* ``f_k(q) = (1/n) sum_j K(q, P_j) (1[y_j = k] - p_jk)``, with standard deviation ``sd_k(q)``,
    ``sd_k(q)^2 = (1/n^2) sum_j K(q, P_j)^2 p_jk (1 - p_jk)``, known from the predictions. The band is ``c sd_k(q)`` to
    both sides of 0, c being the k-th largest of the B suprema of ``|f| / sd`` over all places and classes for redrawn
    targets, ``k = floor(alpha (B + 1))``. The witness of a calibrated model stays inside everywhere
    with probability at least 1 - alpha, at every n. Places: 101 between the smallest and the largest
    probability where there is one; else the predictions themselves, of more than 200 a sample. The smoothed gap
    ``sum K r / sum K`` leaves its band at the same places. Of numbers the residuals are ``z = (y - mean) / std`` and
    ``z^2 - 1``; of `Quantiles` the scores of the cells between their levels. What is significant is the smoothed
    residual: the edge of a region is as sharp as the kernel is narrow.

    *Contributions* ``c_i = sum_{j != i} h_ij / (n (n - 1))`` sum to the unbiased SKCE; those of classes and of the
    groups of one column do too.

    *Groups.* Each is tested by the whole default family on its own rows, with the lengthscales of all rows, and all
    under one batch of draws. Merged ranks of the groups are corrected together (Westfall-Young, min-p, step-down): of
    groups that are calibrated any is rejected with probability at most alpha, whatever the others are and however they
    overlap. Whether the groups of a column differ from each other is one more test, which is approximate.

    *Ties.* Where outcomes equal quantiles, or quantiles each other, residuals have bounds and no values. Then only
    groups (and columns that are given) are explained, by what the levels claim; p-values are conservative, and the gap
    of a group is the least that agrees with the claims.

    Targets are redrawn from the predictions; of `Samples` the outcome is swapped with the draws. Assumes that rows are
    independent given predictions and groups. Cost: ``n^2 m`` for the contributions, ``B P n m`` for the witness at P
    places, and a test of the default family for every group; no n x n array is held above 2,048 rows.

    References
    ----------
    Gretton et al. (2012) for the witness function; Westfall and Young (1993); Dwass (1957).

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=1000)
    >>> y = rng.random(1000) < np.where(p > 0.7, p - 0.25, p)
    >>> found = kc.explain(y, p, groups=np.where(p > 0.7, "sure", "unsure"))
    >>> found.findings[0]
    'between 0.67 and 1 events are rarer than predicted (gap -0.22)'
    >>> [group.name for group in found.rejected]
    ['sure']
    >>> bool(np.isclose(found.contributions.sum(), float(found.estimate)))
    True
    """
    run = Run(alpha=alpha, draws=draws, rng=rng, progress=progress)
    _ = run.deciding.outside  # refuses too few draws
    _refuse_options(statistic, witness_kernel)
    known = {"given": given, "clusters": clusters, "time": time, "horizon": horizon, "series": series}
    case = Case.of(y, predictions, weights=weights, lens=lens, classes=classes, normalize=normalize, **known)
    return explained(case, run, groups=groups, statistic=statistic, witness_kernel=witness_kernel)


def explained(
    case: Case, run: Run, *, groups: Any = None, statistic: SKCE | None = None, witness_kernel: Kernel | None = None
) -> Explanation:
    """Explain what was checked already; groups are read here, since their rows must be those of the case."""
    started, asked = perf_counter(), run.shared()
    run = asked.deciding
    if case.given is not None:
        refuse_given(case, None, None, several=False)
    _refuse_unexplained(case)
    if case.rows is not None:
        refuse_dependent(case, None)
    case = case.map_arrays(lambda x: to_numpy(x).astype(np.float64))
    grouping = checked_groups(groups, len(case))
    if has_ties(case):
        _refuse_kernels(statistic, witness_kernel)
        return _of_ties(case, asked, grouping, started)
    error = SKCE() if statistic is None else statistic
    estimate = error.estimated(case)
    fixed = replace(error, prediction_kernel=estimate.options["prediction_kernel"])
    pairs = fixed.prepare(case.predictions, case.weights)
    shares = RowShares.of(pairs, case)
    contributions = shares.values
    fixed = replace(fixed, target_kernel=pairs.target_kernel)
    given = statistic is not None
    found = tested(
        Null.of(case, run), grouping, contributions, fixed, asked, given=given, witness_kernel=witness_kernel
    )
    batch = case.predictions
    return Explanation(
        n=len(case),
        estimate=estimate,
        witness=found.witness,
        regions=() if found.witness is None else regions_of(found.witness, case),
        contributions=contributions,
        rows=top_rows(shares, case),
        classes=class_shares(pairs, case, shares.apart) if isinstance(batch, ClassPredictions) else (),
        by_group=found.groups,
        alpha=run.alpha,
        question=batch.question,
        seconds=perf_counter() - started,
        notes=tuple(dict.fromkeys(_explanation_notes(estimate.notes, pairs, case) + found.notes)),
        given=None if case.given is None else _given(case, run),
    )


def _of_ties(case: Case, run: Run, grouping: Grouping, started: float) -> Explanation:
    """Explain quantile forecasts with ties by what can be said without values of residuals."""
    if not grouping.groups and case.given is None:
        raise InputError(
            "outcomes equal quantiles, or quantiles each other, so that levels claim bounds and no residual of a "
            "row has a value to explain: pass groups= of rows, which are tested by what their levels claim; "
            "kernelcal.evaluate tests the claims of all rows and tells each level"
        )
    return Explanation(
        n=len(case),
        estimate=replace(claimed_levels_of(case, run).estimate, notes=()),
        witness=None,
        regions=(),
        contributions=None,
        rows=(),
        classes=(),
        by_group=by_group(case, grouping, run) if grouping.groups else None,
        alpha=run.alpha,
        question=None,
        seconds=perf_counter() - started,
        notes=tuple(dict.fromkeys((_GROUPS_ALONE, *case.predictions.notes))),
        given=None if case.given is None else _given(case, run),
    )


def _given(case: Case, run: Run) -> GivenResult | None:
    """What the columns show, by the default test with all its draws."""
    family = DefaultFamily()
    every = replace(run, early_stopping=False, progress=None)
    return calibration_tested(case, family, law_of(case, family), every).given
