"""The exact test of uniform PIT values: are the predicted quantiles calibrated?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import DRAWS, SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.inference.draws import Drawable, Draws
from kernelcal.inference.laws import Dependent, Exact, NullLaw, Outcome, Problem, Swap, exact_notes, exact_null
from kernelcal.inference.result import TestResult
from kernelcal.inference.test.family import directions, impossible_note, impossible_rows
from kernelcal.inference.test.pit_words import pit_directions
from kernelcal.inference.test.quantile_family import law_of_cells
from kernelcal.predictions import Quantiles, Samples
from kernelcal.randomness import generator_of
from kernelcal.runs import Run
from kernelcal.statistics import Estimate, Prepared, QuantileSignals, Statistic
from kernelcal.statistics.outcomes import PreparedUniformity, RandomisedPIT, ends_of
from kernelcal.statistics.signals import PreparedQuantileSignals

__all__ = ["UniformPIT", "pit_test", "pit_tested"]


_CENTRED = 200  # draws: the centre is known to a fourteenth of a standard deviation

_SCOPE = (
    "this tests quantile calibration only, a consequence of calibration: predictions can pass and still be wrong where "
    "they are high, low, wide or narrow (kernelcal.calibration_test asks for all of it)",
    "rows are assumed independent given the predictions",
)


def pit_test(
    y: Any,
    predictions: Any,
    *,
    alpha: float = SIGNIFICANCE,
    draws: int = DRAWS,
    rng: Any = 0,
    early_stopping: bool = True,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> TestResult:
    """Test whether the PIT values are uniform, which calibration implies.

    Under calibration the values of `pit` are independent and uniform on (0, 1), whatever the predictions, and exactly
    so at every n, for counts and equally likely draws too. Four statistics,
    Anderson-Darling, Kuiper, bias and dispersion of the normal quantiles, are compared with those of redrawn values,
    and their smallest rank is ranked in turn (min-p): ``p = (1 + #{b: T_b >= T}) / (B + 1)``.

    Where distribution functions have jumps (counts, draws, point masses) the statistics are averaged over the places
    inside them, so that no random number decides: the empirical distribution function rises evenly over every jump, and
    normal quantiles and their squares are means over it. They are compared with those of redrawn targets (of draws:
    another of the S + 1 values is the outcome), which is exact however many rows are tied. Redrawn data that are as
    extreme as the observed ones count against rejection: of a handful of rare counts few data are possible, and it is
    conservative.

    Of `Quantiles` it is asked whether the levels hold over all rows, by the members of `QuantileSignals` that look at
    all rows alike: nothing between the levels was forecast. That is exact, and conservative where outcomes equal
    quantiles.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of one number.
    alpha : float
        Level at which directions and the member that fired are named; it changes no p-value.
    draws : int
        Number B of draws; the smallest p-value is 1 / (B + 1).
    rng : int, numpy.random.Generator or None
        Seed (SPEC 7) of the draws.
    early_stopping : bool
        Stop at 99, 199, 399, ... draws once p > 0.2. The test stays exact.
    clusters, time, horizon, series
        Which rows depend on each other, as for `calibration_test`: values are then those of targets redrawn with as
        much dependence. For forecasts of one step values of continuous laws are independent: the test stays exact.

    Returns
    -------
    TestResult
        With the direction in plain words: predictions shifted up or down, too narrow, too wide.

    Raises
    ------
    InputError
        For vector targets, families without a distribution function, and draws with unequal weights.

    Notes
    -----
    Assumes that rows are independent given the predictions, and that the model was not fitted on these rows. Cost: a
    sort of n numbers a draw, or of 2 n ends of jumps.

    References
    ----------
    Dawid (1984); Diebold, Gunther, Tay (1998); without random numbers as in Czado, Gneiting, Held (2009); exactness as
    in Dwass (1957).

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.inference import pit_test
    >>> y = np.random.default_rng(1).normal(size=200)
    >>> pit_test(y, kc.Normal(np.zeros(200), 1.0)).pvalue > 0.05
    True
    >>> pit_test(y, kc.Normal(np.zeros(200), 0.7)).directions
    ('predictions too narrow (normal quantiles spread 1.32 times as wide as predicted)',)
    """
    run = Run(alpha=alpha, draws=draws, rng=rng, early_stopping=early_stopping)
    return pit_tested(Case.of(y, predictions, clusters=clusters, time=time, horizon=horizon, series=series), run)


@dataclass(frozen=True)
class UniformPIT(Statistic):
    """Are the PIT values uniform? `pit_test` by the name ``"pit"``.

    Its law under calibration is that of uniform numbers, or of redrawn targets where distribution functions have jumps;
    it has no other null law and no case weights.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import UniformPIT
    >>> kc.calibration_test([3.0] * 30, kc.Normal([0.0] * 30, 1.0), statistic=UniformPIT(), draws=99).pvalue
    0.01
    """

    def estimated(self, case: Case) -> Estimate:
        """Refused: it is several statistics, and what they have in common is a p-value."""
        raise InputError(
            "the PIT values have no single estimate: kernelcal.statistics.pit gives them, and kernelcal.pit_test their "
            "test; kernelcal.statistics.quantile_calibration says how far off they are"
        )

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> Prepared:
        """Refused: no targets are redrawn."""
        raise InputError(
            "PIT values are compared with uniform numbers, not with redrawn targets: use kernelcal.pit_test, or "
            "kernelcal.calibration_test(y, predictions, statistic='pit')"
        )

    def refuse(self, law: NullLaw | None, *, weighted: bool) -> None:
        """Refuse other laws than the exact one, and case weights."""
        if weighted or not isinstance(law, Exact | None):
            given = "weights" if weighted else f"null={law!r}"
            raise InputError(
                f"statistic='pit' ranks all rows alike under its own exact law: leave out {given} (command line: "
                "--weights, --null)"
            )


def pit_tested(case: Case, run: Run) -> TestResult:
    """Test what was checked already; all rows count alike."""
    case = case.of_one_number("the test of the probability integral transform").in_numpy
    overlap = case.rows is not None and case.rows.overlap
    if isinstance(case.predictions, Quantiles):
        return _dependent(case, run, _Levels()) if overlap else _levels_tested(case, run)
    if isinstance(case.predictions, Samples) and not case.predictions.exchangeable:
        raise InputError(
            "PIT values of draws with unequal weights are only nearly uniform, so this test would not keep its level: "
            "draw an unweighted sample by the weights first"
        )
    if overlap:
        return _dependent(case, run, _Uniformity())
    found = RandomisedPIT.of(case, run.rng)
    seen = found.values if found.continuous else found.jumps
    prepared = PreparedUniformity(len(case), _spread(found, run))
    drawn = exact_null(prepared, replace(case, targets=seen), run, _RedrawnValues(run.rng, found))
    outcome = drawn.outcome(prepared.names, exact_notes(drawn, case.predictions, run.alpha))
    words = pit_directions(seen, case, outcome.members, outcome.fired, run.alpha) if outcome.pvalue <= run.alpha else ()
    null = "exact, uniform PIT values" if found.continuous else "exact, targets redrawn, means over their jumps"
    null = null if found.continuous else _one_step(null, case)
    question = "quantile calibration: are the PIT values uniform?"
    far_out = _far_out(seen, case)
    return _result(outcome, words, case, run, null=null, question=question, engine=prepared.engine, notes=far_out)


def _one_step(null: str, case: Case) -> str:
    """Values that are no independent uniform numbers are not those of exact draws where forecasts use the past."""
    return null if case.rows is None else f"{null.removeprefix('exact, ')}, {case.rows.in_words}"


@dataclass(frozen=True)
class _Uniformity(Statistic):
    """Whether PIT values are uniform, as a statistic of targets: for laws that redraw these."""

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> Prepared:
        """Look at the predictions alone; all rows count alike."""
        return _OfTargets(predictions)


class _OfTargets(Prepared):
    """Statistics of the PIT values of targets, or of the ends of their jumps."""

    def __init__(self, predictions: Any) -> None:
        self.predictions, n = predictions, len(predictions)
        spread = 0.0
        if not predictions.continuous and predictions.drawable and predictions.uniforms == 1:
            generator, uncentred = generator_of(0, "centre of PIT values"), PreparedUniformity(n)
            drawn = predictions.draw(generator.random((_CENTRED, n)))
            spread = float(uncentred.signed(self._seen(drawn))[1].mean())
        self.uniformity = PreparedUniformity(n, spread)
        self.names, self.engine = self.uniformity.names, self.uniformity.engine
        self.bytes_per_draw = self.uniformity.bytes_per_draw + 16 * n

    def _seen(self, targets: np.ndarray) -> np.ndarray:
        if self.predictions.continuous:
            return np.asarray(self.predictions.cdf(targets), dtype=np.float64)
        return np.stack(ends_of(self.predictions, targets), axis=-1)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of targets of shape (B, n)."""
        return self.uniformity.values(self._seen(targets))


@dataclass(frozen=True)
class _Levels(Statistic):
    """What each level of quantile forecasts claims over all rows."""

    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> Prepared:
        """Look at the predictions alone; all rows count alike."""
        prepared = QuantileSignals().prepare(predictions)
        prepared.merge = prepared.overall
        return prepared


def _dependent(case: Case, run: Run, statistic: Statistic) -> TestResult:
    """Test rows that depend on each other by the law of every other statistic."""
    assert case.rows is not None  # for the type checker: it was asked for rows that depend
    batch, source = case.predictions, Draws(run.rng, "draws of the PIT test")
    prepared = statistic.prepare(batch)
    law = Dependent(case.rows, Swap() if isinstance(batch, Samples) else Exact())
    outcome = law.test(Problem(case, statistic, prepared, run, source))
    outcome = replace(outcome, members=tuple(member for member in outcome.members if member.ranked))
    words: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    question = "quantile calibration: do the levels hold?"
    if isinstance(prepared, PreparedQuantileSignals):
        if outcome.pvalue <= run.alpha:
            words = directions(prepared, case.targets, outcome.members, outcome.fired, run.alpha, case.rows)
    else:
        found = RandomisedPIT.of(case, run.rng)
        seen = found.values if found.continuous else found.jumps
        question, notes = "quantile calibration: are the PIT values uniform?", _far_out(seen, case)
        if outcome.pvalue <= run.alpha:
            words = pit_directions(seen, case, outcome.members, outcome.fired, run.alpha)
    return _result(outcome, words, case, run, null=outcome.null, question=question, engine=prepared.engine, notes=notes)


def _spread(found: RandomisedPIT, run: Run) -> float:
    """Dispersion that jumps lead to, from draws that depend on no outcome: the test is exact."""
    if found.continuous:
        return 0.0
    uncentred, generator = PreparedUniformity(len(found)), generator_of(run.rng, "centre of PIT values")
    parts = [uncentred.signed(drawn)[1] for drawn in found.drawn_ends(generator, _CENTRED)]
    return float(np.concatenate(parts).mean())


class _RedrawnValues(Draws):
    """Draws of PIT values in place of targets: numbers, or of families with jumps their ends."""

    def __init__(self, rng: Any, values: RandomisedPIT) -> None:
        super().__init__(rng, "draws of the PIT test")
        self._values = values if values.continuous else _Ends(values)

    def targets(self, predictions: Drawable, start: int, stop: int) -> np.ndarray:
        return super().targets(self._values, start, stop)


@dataclass(frozen=True, eq=False)
class _Ends:
    """What is drawn where there are jumps."""

    found: RandomisedPIT

    def __len__(self) -> int:
        return len(self.found)

    @property
    def uniforms(self) -> int:
        """As many as a value takes."""
        return self.found.uniforms

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Ends of the jumps of redrawn targets."""
        return self.found.ends(uniforms)


def _levels_tested(case: Case, run: Run) -> TestResult:
    """Quantile forecasts: what each level claims over all rows; nothing between the levels was forecast."""
    y, batch = case.targets, case.predictions
    prepared = QuantileSignals().prepare(batch)
    prepared.merge = prepared.overall
    drawn = exact_null(prepared, case, run, Draws(run.rng, "draws of the PIT test"))
    outcome = drawn.outcome(prepared.names, exact_notes(drawn, batch, run.alpha))
    ranked = replace(outcome, members=tuple(member for member in outcome.members if member.ranked))
    words = directions(prepared, y, ranked.members, ranked.fired, run.alpha) if outcome.pvalue <= run.alpha else ()
    ties, exact = batch.cells.has_ties(y), law_of_cells(case)
    null, question = _one_step(exact, case) if ties else exact, "quantile calibration: do the levels hold?"
    return _result(ranked, words, case, run, null=null, question=question, engine=prepared.engine)


def _result(
    outcome: Outcome,
    words: tuple[str, ...],
    case: Case,
    run: Run,
    *,
    null: str,
    question: str,
    engine: str,
    notes: tuple[str, ...] = (),
) -> TestResult:
    y, batch, p = case.targets, case.predictions, outcome.pvalue
    rows = impossible_rows(batch, y)
    impossible = (impossible_note(case, rows, counted=False),) if len(rows) else ()
    return TestResult(
        statistic=min(member.pvalue for member in outcome.members),
        pvalue=p,
        null=null,
        draws=outcome.draws,
        stopped_early=outcome.stopped_early,
        monte_carlo_error=math.sqrt(p * (1 - p) / (outcome.draws + 1)),
        members=outcome.members,
        fired=outcome.fired if p <= run.alpha else "",
        directions=words,
        impossible_rows=tuple(case.row_numbers[rows[:10]].tolist()),
        n=len(batch),
        engine=engine,
        question=question,
        notes=(*impossible, *notes, *batch.notes, *outcome.notes, *(_SCOPE if case.rows is None else _SCOPE[:1])),
        null_draws=outcome.null_draws,
        alpha=run.alpha,
        seed=run.named_seed,
        draws_asked=run.draws,
        early_stopping=run.early_stopping,
    )


def _far_out(seen: np.ndarray, case: Case) -> tuple[str, ...]:
    """Values of 0 and 1, which no uniform draw takes: their outcomes lie beyond what the numbers can tell apart."""
    low, high = (seen, seen) if seen.ndim == 1 else seen.T
    rows = np.flatnonzero((high <= 0) | (low >= 1))
    if len(rows) == 0:
        return ()
    more = f" (and {len(rows) - 1:,} more rows)" if len(rows) > 1 else ""
    return (
        f"row {case.row_numbers[rows[0]]}: the outcome lies so far out that its PIT value is {low[rows[0]]:g} up to "
        f"rounding{more}; it counts as the most extreme value that a uniform draw can take",
    )
