"""The law of statistics of rows that depend on each other: targets redrawn alike, thinned rows, flipped clusters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

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
    shared_correlation,
)
from kernelcal.errors import InputError
from kernelcal.inference.draws import Draws
from kernelcal.inference.laws.exact import exact_notes, exact_null
from kernelcal.inference.laws.law import NullLaw, Outcome, Problem
from kernelcal.inference.laws.ranking import merged_pvalue, ranks
from kernelcal.kernels import Standardised
from kernelcal.predictions import Bernoulli, ClassPredictions, Predictions, Quantiles, Samples
from kernelcal.randomness import generator_of
from kernelcal.statistics import Merge, Prepared, Together

__all__ = ["ClusterSums", "Dependent", "effective_clusters", "flipped_pvalue", "refuse_dependent"]


_FEWEST = 3  # rows that do not overlap
_FEW_STRETCHES = 10  # stretches of h steps, below which estimated correlations are rough
_REFUSED, _UNGATED, _SHOWN = 5, 10, 20  # effective clusters
_MOST = 0.98  # correlation in a cluster
_GATE = 0.1  # p-value of the sums of clusters below which they are not those of one shared part
_EACH = 20  # draws a thinned series, so that the smallest p-value times h reaches 5 %


@dataclass(frozen=True, eq=False)
class Dependent(NullLaw):
    """Law of any statistic of rows that depend on each other, by targets that are redrawn with as much dependence.

    Outcomes are taken as ``y_i = F_i^{-1}(Phi(g_i))`` of latent normal numbers: of overlapping forecasts a path that is
    uncorrelated from h steps on, of clusters numbers that share a part. The correlations are estimated from the
    residuals, whose mean is known to be 0; with none the test is the exact one. For many rows it holds the level of
    statistics whose variance the pairs of rows make; it is not exact.

    **Overlapping forecasts** are tested a second time in a way that rests on no model: each of the h series of every
    h-th row by itself, whose forecasts do not overlap, and h times the smallest p-value. It is told beside the other,
    and is the p-value where targets cannot be redrawn (several classes, vectors).

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
        if rows.clusters is not None and _not_redrawn(case):
            sets = len(rows.thinned)
            return f"at most one row a cluster, {sets} times the smallest p-value of as many sets ({base})"
        if rows.clusters is not None:
            return f"targets redrawn from the predictions, dependent inside {rows.groups:,} clusters"
        if rows.horizon == 1:
            return f"{base}, valid for one-step forecasts"
        if _not_redrawn(case):
            return f"every {_ordinal(rows.horizon)} row by itself, {rows.horizon} times the smallest p-value ({base})"
        steps = "1 step" if rows.horizon == 2 else f"{rows.horizon - 1} steps"
        return f"targets redrawn from the predictions, dependent up to {steps}"

    def test(self, problem: Problem) -> Outcome:
        """Rank the observed values among those of targets that depend on each other as the observed ones do."""
        if self.rows.clusters is not None:
            outcome = self._of_clusters(problem)
        else:
            outcome = self.base.test(problem) if self.rows.horizon == 1 else self._of_stretches(problem)
        return replace(outcome, null=self._described(problem.case))

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
            f"p-value of every {_ordinal(rows.horizon)} row)"
        )
        reason = _not_redrawn(case)
        if reason:
            return replace(
                least, pvalue=pvalue, notes=(*_few_stretches(rows), f"{reason}: the p-value is that {beside}")
            )
        shown = case.in_cells if problem.prepared.by_cells else case
        scores = Scores.of(shown.predictions)
        coupling = Stretches(rows, lagged_correlations(scores, scores(shown.targets), rows))
        outcome = self._outcome(problem, problem.prepared, coupling)[0]
        return replace(outcome, notes=(*outcome.notes, *_few_stretches(rows), beside))

    def _outcome(self, problem: Problem, prepared: Prepared, coupling: Coupling) -> tuple[Outcome, np.ndarray]:
        """What draws that depend on each other say, and all values."""
        source = Draws(problem.run.shared().rng, "draws of dependent rows", coupling)
        drawn = exact_null(prepared, problem.case, problem.run, source)
        notes = exact_notes(drawn, problem.case.predictions, problem.run.alpha)
        return drawn.outcome(prepared.names, notes), drawn.values

    def _thinned(self, problem: Problem) -> tuple[float, Outcome]:
        """H times the smallest p-value of the h series without overlap, at most 1, and what that series says."""
        subsets, run = self.rows.thinned, problem.run.shared()
        run = replace(run, draws=max(run.draws, _EACH * len(subsets) - 1), progress=None)
        found: list[Outcome] = []
        for rows in subsets:
            part, source = problem.case[rows], Draws(run.rng, "draws of thinned rows")
            prepared = problem.statistic.prepare(part.predictions, part.weights)
            found.append(self.base.test(replace(problem, case=part, prepared=prepared, run=run, source=source)))
        least = min(found, key=lambda outcome: outcome.pvalue)
        return min(1.0, len(subsets) * least.pvalue), least

    def _one_a_cluster(self, problem: Problem, reason: str) -> Outcome:
        """What holds whatever the dependence inside clusters: sets of rows of which no two are of one cluster."""
        subsets, n = self.rows.thinned, len(self.rows)
        if min(map(len, subsets)) < _FEWEST:
            raise InputError(
                f"clusters: {reason}, and {self.rows.groups:,} clusters leave sets of {min(map(len, subsets))} rows of "
                f"different clusters, of which at least {_FEWEST} are needed: "
                f"{_simpler(problem.case.predictions)}more clusters are needed, not more rows"
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
        reason = _not_redrawn(case)
        if reason:
            return self._one_a_cluster(problem, reason)
        shown = case.in_cells if problem.prepared.by_cells else case
        scores = Scores.of(shown.predictions)
        rho = shared_correlation(scores, scores(shown.targets), rows)
        effective = effective_clusters(rows, rho, _variances(case))
        if effective < _REFUSED:
            raise InputError(
                f"clusters: {rows.groups:,} clusters count like {effective:.1f} of equal size, and no test of fewer "
                f"than {_REFUSED} holds its level: more clusters are needed, not more rows"
            )
        sums, own = ClusterSums(scores, case, rows), problem.prepared.names
        raised = min(rho * (1 + rows.groups**-0.5), _MOST)
        sums.by_cells = problem.prepared.by_cells
        merge = problem.prepared.merge or Merge.of_each(len(own))  # sums of clusters have no part in the p-value
        outcome, values = self._outcome(problem, Together((problem.prepared, sums), merge), SharedPart(rows, raised))
        spread = values[:, len(own) :]
        unlike = merged_pvalue(spread, ranks(spread))
        flipped = flipped_pvalue(sums.of(shown.targets[None])[0], run.draws, run.shared().rng)
        gated = effective >= _UNGATED and unlike <= _GATE
        return replace(
            outcome,
            pvalue=max(outcome.pvalue, flipped) if gated else outcome.pvalue,
            members=tuple(member for member in outcome.members if member.name in own),
            notes=(*outcome.notes, *_of_effective(effective, rho), *_of_flips(effective, unlike, flipped)),
            null_draws={name: drawn for name, drawn in outcome.null_draws.items() if name in own},
        )


def refuse_dependent(case: Case, law: NullLaw | None, *, of_places: bool = False) -> None:
    """Refuse what is for independent rows alone, of a case whose rows depend on each other."""
    if law is not None or of_places:
        what = "statistic='pit'" if of_places else "null="
        raise InputError(
            f"{what} is for independent rows, and clusters=, time=, horizon= or series= say that they depend on each "
            "other: leave it out, and targets are redrawn with as much dependence"
        )
    if case.given is not None:
        raise InputError(
            "given= and rows that depend on each other cannot be had together: keep one row a cluster, or every "
            "h-th row, and pass given= alone"
        )


def _ordinal(h: int) -> str:
    return {2: "second", 3: "third"}.get(h, f"{h}th")


def _not_redrawn(case: Case) -> str:
    """Say why targets that depend on each other cannot be drawn; empty where they can."""
    batch = case.predictions
    if isinstance(batch, ClassPredictions) and not isinstance(batch, Bernoulli):
        return "outcomes of several classes have no order in which they could depend"
    if batch.event_shape:
        return "vectors depend in more ways than one"
    if isinstance(batch, Samples):
        return "outcomes that change places with draws are not redrawn"
    if batch.uniforms > 1 or not batch.drawable:
        return f"{type(batch).__name__} is not drawn from one number a row"
    return ""


def _simpler(batch: Predictions) -> str:
    """What else can be asked of rows in clusters."""
    if isinstance(batch, ClassPredictions):
        return "ask one question, lens=kernelcal.TopLabel() or OneClass(label); else "
    if batch.event_shape:
        return "take one coordinate, kernelcal.statistics.coordinate(predictions, k); else "
    return ""


def _few_stretches(rows: Dependence) -> tuple[str, ...]:
    stretches = len(rows) / rows.horizon
    if stretches >= _FEW_STRETCHES:
        return ()
    return (
        f"few independent stretches: {len(rows):,} rows of forecasts {rows.horizon} steps ahead are about "
        f"{stretches:.0f}, and this p-value is rough",
    )


def _of_effective(effective: float, rho: float) -> tuple[str, ...]:
    common = f"rows of one cluster have the latent correlation {rho:.2f}: they count like {effective:.0f} clusters"
    few = f"with fewer than {_UNGATED} clusters the p-value holds where these differ by a common shift alone"
    return (common, few) if effective < _UNGATED else (common,)


def _of_flips(effective: float, unlike: float, flipped: float) -> tuple[str, ...]:
    if effective < _UNGATED:
        return ()
    if unlike <= _GATE:
        return (
            f"clusters differ by more than a common shift (p = {unlike:.2g}): the p-value is not below that of flipped "
            f"signs of clusters, {flipped:.3g}",
        )
    if effective < _SHOWN:
        return ()
    return (f"by flipped signs of clusters, whatever the dependence inside them: p = {flipped:.3g}",)


def _variances(case: Case) -> np.ndarray:
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


class ClusterSums(Prepared):
    """Sums over clusters of residuals, alone and times location and width: ``V_j = sum_g S_gj^2`` of each."""

    engine = "sums over clusters"

    def __init__(self, scores: Scores, case: Case, rows: Dependence) -> None:
        assert rows.clusters is not None
        self.scores, self.case, self.clusters, self.groups = scores, case, rows.clusters, rows.groups
        self.by = _explaining(case.predictions)
        self.of_width = not isinstance(case.predictions, ClassPredictions)
        number = self.by.shape[1] * (1 + self.of_width)
        self.names = tuple(f"sums of clusters {k + 1}" for k in range(number))
        self.bytes_per_draw = 32 * len(case)

    def of(self, targets: np.ndarray) -> np.ndarray:
        """Sums over clusters of targets (B, n): shape (B, G, J)."""
        e = self.scores(targets)
        if self.case.weights is not None:
            e = e * self.case.weights
        columns = [e[:, :, None] * self.by] + ([(e**2 - 1)[:, :, None] * self.by] if self.of_width else [])
        rows = np.concatenate(columns, axis=2)
        sums = np.zeros((len(targets), self.groups, rows.shape[2]))
        for b in range(len(targets)):
            np.add.at(sums[b], self.clusters, rows[b])
        return sums

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Sums of squares over clusters, shape (B, J)."""
        return np.asarray((self.of(targets) ** 2).sum(axis=1))


def _explaining(predictions: Any) -> np.ndarray:
    """One, and location and log width of every prediction on their own scale, centred; constant columns left out."""
    if isinstance(predictions, Bernoulli):
        p = np.clip(to_numpy(predictions.p).astype(np.float64), 1e-6, 1 - 1e-6)
        columns = _robust(np.log(p / (1 - p))[:, None])
    elif isinstance(predictions, Quantiles):
        q = to_numpy(predictions.values).astype(np.float64)
        columns = _robust(np.column_stack([q[:, q.shape[1] // 2], q[:, -1] - q[:, 0]]))
    else:
        columns = to_numpy(Standardised().resolved(predictions).coordinates(predictions)).astype(np.float64)
    columns = columns - columns.mean(axis=0)
    return np.column_stack([np.ones(len(columns)), columns[:, columns.any(axis=0)]])


def _robust(columns: np.ndarray) -> np.ndarray:
    """Columns less their medians in units of the quartiles' distance, held within 6 of them."""
    low, middle, high = np.quantile(columns, [0.25, 0.5, 0.75], axis=0)
    spread = np.where(high > low, (high - low) / 1.349, columns.std(axis=0))
    return np.asarray(np.clip((columns - middle) / np.where(spread > 0, spread, 1.0), -6, 6))


def flipped_pvalue(sums: np.ndarray, draws: int, rng: object) -> float:
    """P-value of ``|sum_g e_g S_gj| / sqrt(sum_g S_gj^2)``, the smallest rank over j, with random signs e_g.

    Parameters
    ----------
    sums : numpy.ndarray of shape (G, J)
        Sums over clusters.
    draws : int
        Sets of signs.
    rng
        Seed.

    Notes
    -----
    Valid for many clusters whose sums are symmetric about 0. A set of signs and its opposite are the same: with G
    clusters no p-value is below ``2^(1 - G)``.
    """
    spread = np.sqrt((sums**2).sum(axis=0))
    scaled = sums / np.where(spread > 0, spread, 1.0)
    signs = generator_of(rng, "signs of clusters").integers(0, 2, size=(draws, len(sums))) * 2.0 - 1.0
    values = np.abs(np.concatenate([np.ones((1, len(sums))), signs]) @ scaled)
    return merged_pvalue(values, ranks(values))
