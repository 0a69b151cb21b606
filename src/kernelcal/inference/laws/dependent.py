"""The law of statistics of rows that depend on each other: targets redrawn alike, thinned rows, flipped clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.dependence import (
    Coupling,
    Dependence,
    Scores,
    SharedPart,
    Stretches,
    lagged_correlations,
    less_error,
    shared_correlation,
    suspicious_series,
)
from kernelcal.errors import InputError
from kernelcal.inference.cluster_sums import ClusterSums, explaining, flipped_values
from kernelcal.inference.draws import Draws
from kernelcal.inference.laws.exact import exact_notes, exact_null
from kernelcal.inference.laws.law import NullLaw, Outcome, Problem
from kernelcal.inference.laws.ranking import merged_pvalue, ranks
from kernelcal.predictions import (
    Bernoulli,
    ClassPredictions,
    Predictions,
    Samples,
    ScorePredictions,
)
from kernelcal.statistics import Merge, Prepared, Together

__all__ = [
    "Dependent",
    "Gate",
    "coupled",
    "effective_clusters",
    "not_redrawn",
    "ordinal",
    "refuse_dependent",
    "refuse_few_clusters",
    "residual_variances",
    "simpler",
    "thinned_in_words",
]


_FEWEST = 3  # rows that do not overlap
_SHOWN = 20  # effective clusters
_MOST = 0.98  # correlation in a cluster
_EACH = 20  # draws a thinned series, so that the smallest p-value times h reaches 5 %


class Gate:
    """How many clusters a test needs, and when their sums are not those of one shared part."""

    refused: ClassVar[int] = 5  # effective clusters, below which there is no test
    ungated: ClassVar[int] = 10  # below which it is not looked at whether they differ by a common shift
    level: ClassVar[float] = 0.1  # p-value of the sums of clusters up to which they do not

    @classmethod
    def serves(cls, effective: float) -> bool:
        """Whether there is a test."""
        return effective >= cls.refused

    @classmethod
    def looks(cls, effective: float) -> bool:
        """Whether sums of clusters are looked at."""
        return effective >= cls.ungated


@dataclass(frozen=True, eq=False)
class Dependent(NullLaw):
    """Law of any statistic of rows that depend on each other, by targets that are redrawn with as much dependence.

    Outcomes are taken as ``y_i = F_i^{-1}(Phi(g_i))`` of latent normal numbers: of overlapping forecasts a path that is
    uncorrelated from h steps on, of clusters numbers that share a part. The correlations are estimated from the
    residuals, whose mean is known to be 0; with none the test is the exact one. For many rows it holds the level of
    statistics whose variance the pairs of rows make; it is not exact.

    **Overlapping forecasts** are tested a second time in a way that rests on no model: each of the h series of every
    h-th row by itself, whose forecasts do not overlap, and h times the smallest p-value. It is told beside the other,
    and is the p-value where targets cannot be redrawn (several classes, vectors), and where fewer than ten stretches of
    h steps do not tell how they depend.

    **Clusters** of outcomes that cannot be redrawn (several classes, vectors, draws) are tested so, too: by subsets of
    rows of which no two are of one cluster, and their number times the smallest p-value.

    **Clusters** of others: the correlation is raised by one part in the root of their number, its error: with few
    clusters a low estimate goes with outcomes that look too narrow. Where the sums of residuals over clusters vary more
    than a shared part explains (p at most 0.1), the p-value is the larger one of this and that of flipped signs of
    these sums.

    Parameters
    ----------
    rows : Dependence
        Which rows depend on each other.
    base : NullLaw
        Law of independent rows, by which thinned rows are tested.

    References
    ----------
    Canay, Romano, Shaikh (2017), Randomization tests under an approximate symmetry assumption: signs of clusters.
    """

    rows: Dependence
    base: NullLaw
    asymptotic: ClassVar[bool] = False
    resident: ClassVar[bool] = True
    weighted: ClassVar[bool] = True
    name: ClassVar[str] = "dependent"

    label: ClassVar[str] = "targets redrawn from the predictions, dependent on each other"

    def _described(self, case: Case) -> str:
        """How rows depend, and what was done in place of redrawing."""
        rows, base = self.rows, self.base.label.removeprefix("exact, ")
        if rows.clusters is None and rows.horizon == 1:
            return f"{base}, {rows.in_words}"
        if not_redrawn(case):
            return f"{thinned_in_words(rows)} ({base})"
        return f"targets redrawn from the predictions, {rows.in_words}"

    def test(self, problem: Problem) -> Outcome:
        """Rank the observed values among those of targets that depend on each other as the observed ones do."""
        if self.rows.clusters is not None:
            outcome = self._of_clusters(problem)
        else:
            outcome = self.base.test(problem) if self.rows.horizon == 1 else self._of_stretches(problem)
        alike = suspicious_series(problem.case.predictions, problem.case.targets, self.rows)
        return replace(outcome, null=self._described(problem.case), notes=(*outcome.notes, *alike))

    def _of_stretches(self, problem: Problem) -> Outcome:
        case, rows = problem.case, self.rows
        apart = min(len(subset) for subset in rows.thinned)
        if apart < _FEWEST:
            raise InputError(
                f"horizon: {len(rows):,} rows of forecasts {rows.horizon} steps ahead leave {apart} without overlap, "
                f"and at least {_FEWEST} are needed: a shorter horizon, or more rows"
            )
        pvalue, least = self._thinned(problem)
        beside = (
            f"whatever the dependence inside {rows.horizon} steps: p = {pvalue:.3g} ({rows.horizon} times the smallest "
            f"p-value of every {ordinal(rows.horizon)} row)"
        )
        reason = not_redrawn(case)
        if reason:
            return replace(least, pvalue=pvalue, notes=(f"{reason}: the p-value is that {beside}",))
        shown = case.in_cells if problem.prepared.by_cells else case
        coupling, _ = coupled(Scores.of(shown.predictions), shown.targets, rows)
        outcome = self._outcome(problem, problem.prepared, coupling)[0]
        return replace(outcome, notes=(*outcome.notes, beside))

    def _outcome(self, problem: Problem, prepared: Prepared, coupling: Coupling) -> tuple[Outcome, np.ndarray]:
        """What draws that depend on each other say, and all values."""
        source = Draws(problem.run.shared().rng, "draws of dependent rows", coupling)
        drawn = exact_null(prepared, problem.case, problem.run, source)
        notes = exact_notes(drawn, problem.case.predictions, problem.run.alpha)
        return drawn.outcome(prepared.names, notes), drawn.values

    def source(self, problem: Problem) -> Draws:
        """The same draws again."""
        if not self.rows.overlap:
            return problem.source
        shown = problem.case.in_cells if problem.prepared.by_cells else problem.case
        coupling, _ = coupled(Scores.of(shown.predictions), shown.targets, self.rows)
        return Draws(problem.run.shared().rng, "draws of dependent rows", coupling)

    def _thinned(self, problem: Problem) -> tuple[float, Outcome]:
        """H times the smallest p-value of the h series without overlap, at most 1, and what that series says."""
        subsets, run = self.rows.thinned, problem.run.shared()
        run = replace(run, draws=max(run.draws, _EACH * len(subsets) - 1), progress=None)
        found: list[Outcome] = []
        for rows in subsets:
            part, source = problem.case[rows], Draws(run.rng, "draws of thinned rows")
            own = problem.statistic.among(rows)
            prepared = own.prepare(part.predictions, part.weights)
            few = replace(problem, case=part, statistic=own, prepared=prepared, run=run, source=source)
            found.append(self.base.test(few))
        least, times = min(found, key=lambda outcome: outcome.pvalue), len(subsets)
        members = tuple(replace(one, pvalue=min(1.0, times * one.pvalue)) for one in least.members)
        return min(1.0, times * least.pvalue), replace(least, members=members)

    def _one_a_cluster(self, problem: Problem, reason: str) -> Outcome:
        """What holds whatever the dependence inside clusters: sets of rows of which no two are of one cluster."""
        subsets, n = self.rows.thinned, len(self.rows)
        if min(map(len, subsets)) < _FEWEST:
            raise InputError(
                f"clusters: {reason}, and {self.rows.groups:,} clusters leave sets of {min(map(len, subsets))} rows of "
                f"different clusters, of which at least {_FEWEST} are needed: "
                f"{simpler(problem.case.predictions)}more clusters are needed, not more rows"
            )
        pvalue, least = self._thinned(problem)
        left_out = n - sum(map(len, subsets))
        beyond = f"; {left_out:,} of {n:,} rows, of larger clusters, are left out" if left_out else ""
        note = (
            f"{reason}: the p-value is that whatever the dependence inside clusters: p = {pvalue:.3g} ({len(subsets)} "
            f"times the smallest p-value of {len(subsets)} sets of rows, no two of one cluster{beyond})"
        )
        return replace(least, pvalue=pvalue, notes=(note,))

    def _of_clusters(self, problem: Problem) -> Outcome:
        case, rows, run = problem.case, self.rows, problem.run
        assert rows.clusters is not None  # for the type checker: it was asked for clusters
        reason = not_redrawn(case)
        if reason:
            return self._one_a_cluster(problem, reason)
        shown = case.in_cells if problem.prepared.by_cells else case
        scores = Scores.of(shown.predictions)
        coupling, rho = coupled(scores, shown.targets, rows)
        effective = effective_clusters(rows, rho, residual_variances(case))
        refuse_few_clusters(rows, effective)
        sums, own = ClusterSums(scores, case, rows), problem.prepared.names
        sums.by_cells = problem.prepared.by_cells
        merge = problem.prepared.merge or Merge.of_each(len(own))  # sums of clusters have no part in the p-value
        outcome, values = self._outcome(problem, Together((problem.prepared, sums), merge), coupling)
        spread = values[:, len(own) :]
        unlike = merged_pvalue(spread, ranks(spread))
        flips = flipped_values(sums.of(shown.targets[None])[0], run.draws, run.shared().rng)
        more = problem.prepared.flipped(shown.targets, sums.clusters, flips.signs)
        every = flips.values if more is None else np.hstack([flips.values, more])
        flipped = merged_pvalue(every, ranks(every))
        gated = Gate.looks(effective) and unlike <= Gate.level
        return replace(
            outcome,
            pvalue=max(outcome.pvalue, flipped) if gated else outcome.pvalue,
            members=tuple(
                replace(one, pvalue=max(one.pvalue, flipped)) if gated else one
                for one in outcome.members
                if one.name in own
            ),
            notes=(*outcome.notes, *_of_effective(effective, rho), *_of_flips(effective, unlike, flipped)),
            null_draws={name: drawn for name, drawn in outcome.null_draws.items() if name in own},
            flips=more[1:] if gated and more is not None else None,
        )


def coupled(
    scores: Scores, targets: np.ndarray, rows: Dependence, whole: Dependence | None = None
) -> tuple[Coupling, float]:
    """How rows are drawn, by correlations that outcomes show; of clusters the correlation too, before it is raised.

    With `whole` the rows are some of it, and the coupling is one of all its rows.
    """
    values = scores(targets)
    if rows.clusters is None:
        left = less_error(values, explaining(scores.predictions), rows)
        return Stretches(whole or rows, lagged_correlations(scores, left, rows)), 0.0
    rho = shared_correlation(scores, values, rows)
    return SharedPart(whole or rows, min(rho * (1 + rows.groups**-0.5), _MOST)), rho


def refuse_few_clusters(rows: Dependence, effective: float) -> None:
    """Refuse clusters that count like too few."""
    if effective < Gate.refused:
        raise InputError(
            f"clusters: {rows.groups:,} clusters count like {effective:.1f} of equal size, and no test of fewer "
            f"than {Gate.refused} holds its level: more clusters are needed, not more rows"
        )


def refuse_dependent(case: Case, law: NullLaw | None) -> None:
    """Refuse what is for independent rows alone, of a case whose rows depend on each other."""
    if law is not None:
        raise InputError(
            "null= is for independent rows, and clusters=, time=, horizon= or series= say that they depend on each "
            "other: leave it out, and targets are redrawn with as much dependence"
        )
    assert case.rows is not None  # for the type checker: it was asked for rows that depend
    reason = not_redrawn(case) if case.given is not None and case.rows.overlap else ""
    if reason:
        raise InputError(
            f"given= needs outcomes that are redrawn with as much dependence, and {reason}: "
            f"{simpler(case.predictions)}keep one row a cluster, or every h-th row, and pass given= alone"
        )


def thinned_in_words(rows: Dependence) -> str:
    """What a test of rows of which no two depend on each other is, and how its p-values become one."""
    times = len(rows.thinned)
    if rows.clusters is not None:
        return f"at most one row a cluster, {times} times the smallest p-value of as many sets"
    return f"every {ordinal(rows.horizon)} row by itself, {rows.horizon} times the smallest p-value"


def ordinal(h: int) -> str:
    """Words for every h-th."""
    return {2: "second", 3: "third"}.get(h, f"{h}th")


def not_redrawn(case: Case) -> str:
    """Say why targets that depend on each other cannot be drawn; empty where they can."""
    batch = case.predictions
    if isinstance(batch, ClassPredictions) and not isinstance(batch, Bernoulli):
        return "outcomes of several classes have no order in which they could depend"
    if batch.event_shape:
        return "vectors depend in more ways than one"
    if isinstance(batch, Samples):
        return "outcomes that change places with draws are not redrawn"
    if isinstance(batch, ScorePredictions) and batch.drawable:
        return "a sampler does not say which of its outcomes are large"
    if batch.uniforms > 1 or not batch.drawable:
        return f"{type(batch).__name__} is not drawn from one number a row"
    return "" if case.rows is None else case.rows.few_stretches


def simpler(batch: Predictions) -> str:
    """What else can be asked of rows in clusters."""
    if isinstance(batch, ClassPredictions):
        return "ask one question, lens=kernelcal.TopLabel() or OneClass(label); else "
    if batch.event_shape:
        return "take one coordinate, kernelcal.statistics.coordinate(predictions, k); else "
    return ""


def _of_effective(effective: float, rho: float) -> tuple[str, ...]:
    common = f"rows of one cluster have the latent correlation {rho:.2f}: they count like {effective:.0f} clusters"
    few = f"with fewer than {Gate.ungated} clusters the p-value holds where these differ by a common shift alone"
    return (common, few) if effective < Gate.ungated else (common,)


def _of_flips(effective: float, unlike: float, flipped: float) -> tuple[str, ...]:
    if effective < Gate.ungated:
        return ()
    if unlike <= Gate.level:
        return (
            f"clusters differ by more than a common shift (p = {unlike:.2g}): the p-value is not below that of flipped "
            f"signs of clusters, {flipped:.3g}",
        )
    if effective < _SHOWN:
        return ()
    return (f"by flipped signs of clusters, whatever the dependence inside them: p = {flipped:.3g}",)


def residual_variances(case: Case) -> np.ndarray:
    """Variance of a residual of every row; of numbers those of standardised outcomes, 1."""
    batch = case.predictions
    p = to_numpy(batch.p).astype(np.float64) if isinstance(batch, Bernoulli) else None
    v = np.ones(len(case)) if p is None else p * (1 - p)
    return v if case.weights is None else v * case.weights**2


def effective_clusters(rows: Dependence, rho: float, variances: np.ndarray) -> float:
    """How many clusters of equal size they count like.

    ``(sum_g v_g)^2 / sum_g v_g^2`` with the variance ``v_g = sum_i v_i + rho sum_{i != j} sqrt(v_i v_j)`` of a sum of
    residuals over cluster g.
    """
    assert rows.clusters is not None
    own = np.bincount(rows.clusters, variances)
    v = own + rho * (np.bincount(rows.clusters, np.sqrt(variances)) ** 2 - own)
    return float(v.sum() ** 2 / (v**2).sum()) if v.any() else float(rows.groups)
