"""The exact test of vectors by pre-ranks: does the outcome look like one of the draws of its row?"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernelcal.cases import Case
from kernelcal.defaults import DRAWS, SIGNIFICANCE
from kernelcal.inference import TestResult
from kernelcal.inference.test import law_of, tested
from kernelcal.runs import Run
from kernelcal.statistics.vectors import DEFAULT_PRE_RANKS, PreRanks, ensemble_of

__all__ = ["vectors_test", "vectors_tested"]


def vectors_test(
    y: Any,
    predictions: Any,
    *,
    pre_ranks: tuple[str, ...] = DEFAULT_PRE_RANKS,
    tarp: bool = True,
    references: Any = None,
    weights: Any = None,
    alpha: float = SIGNIFICANCE,
    draws: int = DRAWS,
    rng: Any = 0,
    early_stopping: bool = True,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> TestResult:
    """Test whether outcome vectors look like draws of their predictions, by ranks that people know.

    Pre-ranks (mean, spread, dependence, variogram, band depth) and distances to reference points (TARP) give every
    outcome ranks among the draws of its row (`statistics.vectors.PreRanks`). They are compared with those that other
    draws in the place of the outcome would have: one p-value, ``p = (1 + #{b: T_b >= T}) / (B + 1)`` of the smallest
    rank, exact at every n and S, and one for every pre-rank.

    Parameters
    ----------
    y : array of shape (n, d)
        Targets.
    predictions : Samples, or predictions of vectors that can be drawn from
        Ensembles of equally likely draws. Of normal vectors, mixtures and others 100 draws are made; the test is as
        exact, and has the randomness of these draws.
    pre_ranks : sequence of str
        Names of `statistics.vectors.PRE_RANKS`; ``average rank``, ``energy`` and ``spanning tree`` are there too.
    tarp : bool
        Whether distances to reference points are asked for too.
    references : array of shape (n, d), optional
        Reference points, which must not depend on the outcomes; default: by the seed, in the box of all vectors.
    weights : array of shape (n,), optional
        Case weights, not negative.
    alpha : float
        Level at which directions and the member that fired are named; it changes no p-value.
    draws, rng, early_stopping
        As for `calibration_test`. A seed gives ensemble and reference points too.
    clusters, time, horizon, series
        Which rows depend on each other: sets of rows of which no two do are tested, and their number times the
        smallest p-value holds whatever the dependence.

    Returns
    -------
    TestResult
        With a member for every pre-rank, and directions in words where calibration is rejected.

    Raises
    ------
    InputError
        For predictions of one number, weighted draws, and predictions that cannot be drawn from.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.ranks import vectors_test
    >>> rng = np.random.default_rng(0)
    >>> together = np.array([[1.0, 0.8], [0.8, 1.0]])
    >>> y = rng.multivariate_normal([0, 0], together, 300)
    >>> vectors_test(y, kc.MultivariateNormal(np.zeros((300, 2)), together)).pvalue > 0.05
    True
    >>> result = vectors_test(y, kc.MultivariateNormal(np.zeros((300, 2)), np.eye(2)))
    >>> result.pvalue, result.fired
    (0.001, 'spread')
    """
    run = Run(alpha=alpha, draws=draws, rng=rng, early_stopping=early_stopping)
    rows = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    case = Case.of(y, predictions, weights=weights, **rows).of_numbers()
    own = run.named_seed
    asked = PreRanks(pre_ranks=pre_ranks, tarp=tarp, references=references, seed=0 if own is None else own)
    return vectors_tested(case, asked, run)


def vectors_tested(case: Case, asked: PreRanks, run: Run) -> TestResult:
    """Test what was checked already."""
    there = case.in_numpy
    drawn = ensemble_of(there.predictions, run.rng)
    made = drawn is not there.predictions
    there = replace(there, predictions=drawn)
    result = tested(there, asked, law_of(there, asked), run)
    note = f"{drawn.size} draws of every prediction were made and tested: other draws give another p-value"
    return replace(result, notes=(*result.notes, note)) if made else result
