"""The calibration test."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.cases import Case, refuse_numbers
from kernelcal.defaults import DRAWS, SIGNIFICANCE
from kernelcal.inference.draws import Draws
from kernelcal.inference.given import GivenResult
from kernelcal.inference.laws import (
    CME,
    Block,
    Dependent,
    Exact,
    NullLaw,
    Outcome,
    Problem,
    Swap,
    Wild,
    refuse_dependent,
)
from kernelcal.inference.result import Member, TestResult
from kernelcal.inference.test.family import DefaultFamily, PreparedFamily, directions, impossible_note, impossible_rows
from kernelcal.inference.test.given import GivenFamily, PreparedGiven, drawn_given, refuse_given
from kernelcal.inference.test.given_places import GivenWords
from kernelcal.inference.test.named import asked_test
from kernelcal.inference.test.pit import UniformPIT, pit_tested
from kernelcal.inference.test.quantile_family import CLAIMS_ALONE, law_of_cells
from kernelcal.lenses import ClassWise, Lens
from kernelcal.predictions import Mixture, Predictions, Quantiles, Samples, ScorePredictions
from kernelcal.runs import Run
from kernelcal.statistics import KCCSD, Prepared, Statistic, Through
from kernelcal.statistics.pairwise import PairMean

__all__ = [
    "answered",
    "asked",
    "calibration_test",
    "default_law",
    "default_statistic",
    "draws_in",
    "holm",
    "jointly",
    "law_of",
    "tested",
]


Test = Callable[[Case, Statistic], TestResult]

_INTERPOLATED = (
    "outcomes were redrawn from the law that is linear between the quantiles, which was not forecast: the test is "
    "one of that law, and rejects true quantiles where the law is curved"
)


def holm(test: Test, case: Case, lens: ClassWise, statistic: Statistic) -> TestResult:
    """Test every class and correct the p-values by Holm; the smallest corrected one answers for all classes."""
    results = [test(case.through(one), statistic) for one in lens.lenses(case.predictions)]
    names = [f"class {case.predictions.class_name(k)}" for k in range(len(results))]
    adjusted = holm_adjusted(np.array([result.pvalue for result in results]))
    members = tuple(_member(*columns) for columns in zip(names, adjusted, results, strict=True))
    first = min(range(len(members)), key=lambda k: (members[k].pvalue, -np.nan_to_num(members[k].deviation)))
    alpha = results[first].alpha
    found = [(p, n, r.directions) for p, n, r in zip(adjusted, names, results, strict=True) if p <= alpha]
    return replace(
        results[first],
        statistic=float(min(result.pvalue for result in results)),
        pvalue=float(adjusted[first]),
        members=members,
        fired=names[first] if found else "",
        directions=tuple(
            f"{name}: {'; '.join(words) or 'rejected'}" for _, name, words in sorted(found, key=lambda f: f[0])
        ),
        impossible_rows=tuple(sorted({row for result in results for row in result.impossible_rows}))[:10],
        draws=max(result.draws for result in results),
        stopped_early=all(result.stopped_early for result in results),
        monte_carlo_error=float(len(results) * results[first].monte_carlo_error),
        question=f"each of {len(results)} classes against the rest, p-values corrected by Holm",
        notes=_notes(results, first),
        null_draws={},  # those of one class would stand for all
    )


def holm_adjusted(pvalues: np.ndarray) -> np.ndarray:
    """Corrected p-values of Holm (1979): ``max_{j <= i} (m - j + 1) p_(j)``, at most 1."""
    order = np.argsort(pvalues, kind="stable")
    steps = (len(pvalues) - np.arange(len(pvalues))) * pvalues[order]
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def _member(name: str, pvalue: float, result: TestResult) -> Member:
    decided = next((m for m in result.members if m.name == result.fired), min(result.members, key=_extremeness))
    return Member(name, float(result.statistic), float(pvalue), decided.deviation)


def _extremeness(member: Member) -> tuple[float, float]:
    """Ordered as evidence: the smallest p-value first, of equal ones the largest deviation."""
    return member.pvalue, -float(np.nan_to_num(member.deviation))


def _notes(results: list[TestResult], first: int) -> tuple[str, ...]:
    """What the named class says, and whether there were draws enough."""
    draws, notes = max(result.draws for result in results), results[first].notes
    alpha = results[first].alpha
    if draws and len(results) / (draws + 1) > alpha:
        enough = math.ceil(2 * len(results) / alpha) - 1
        few = (
            f"{draws} draws for {len(results)} classes cannot give a corrected p-value below "
            f"{len(results) / (draws + 1):.2g}: use draws={enough:,}, or ClassWise(joint='full')"
        )
        return (*notes, few)
    return notes


def jointly(test: Test, case: Case, lens: ClassWise, statistic: Statistic) -> TestResult:
    """Rank the classes together, their labels redrawn from the whole predictions: the stronger null, and said so."""
    result = test(case, Through(statistic, lens.lenses(case.predictions)))
    return replace(
        result,
        question=f"each of {case.predictions.n_classes} classes against the rest, ranked together",
        notes=(
            *result.notes,
            "the null is the full one: labels redrawn from the whole predictions, all classes at once",
        ),
    )


_FEW_ROWS = 50


def calibration_test(
    y: Any,
    predictions: Any,
    *,
    statistic: Any = "default",
    null: Any = None,
    lens: Lens | ClassWise | None = None,
    weights: Any = None,
    alpha: float = SIGNIFICANCE,
    draws: int = DRAWS,
    rng: Any = 0,
    early_stopping: bool = True,
    classes: Any = None,
    normalize: bool = False,
    progress: Callable[[int, int], None] | None = None,
    given: Any = None,
    clusters: Any = None,
    time: Any = None,
    horizon: int | None = None,
    series: Any = None,
) -> TestResult:
    """Test whether predictions are calibrated: are targets distributed as predicted, given the predictions?

    Given the predictions, a calibrated model's targets are independent draws from them. The test redraws the targets,
    keeps the predictions, and ranks the observed statistic among those of the draws:
    ``p = (1 + #{b: T_b >= T}) / (B + 1)``. This is exact at every n and for every statistic.

    Parameters
    ----------
    y : array of shape (n,), or (n, d) for vectors
        Targets: class numbers 0 to m - 1, booleans, or labels named by `classes`; or numbers.
    predictions : Predictions or what `as_predictions` takes
        Predicted probabilities, or a family for numbers such as `Normal`, `Quantiles` and `Samples`.
    statistic : str, Statistic or callable
        One of the names in `inference.STATISTICS`; `inference.register_statistic` adds one.
        ``default``: `DefaultFamily`, signals with a direction beside kernels at several lengthscales,
        combined by the smallest rank. ``skce``: `SKCE` at the median lengthscale. ``ece``: `ECE` of the top label in
        15 equal-width bins, ``mce``: its largest bin. ``ckce``, ``jkce``: `CKCE` and `statistics.JKCE`. ``mmce``:
        `MMCE`. ``ucme``: `UCME` at ten test locations. ``kccsd``: `KCCSD`, for densities with a score function; it is
        the default of `Score` and `UnnormalizedDensity`. ``skce-block``: `SKCE` of blocks of two rows, in linear time.
        ``pit``: the PIT values, as `pit_test`. ``pre-ranks``: draws of vectors, as `ranks.vectors_test`. A function
        ``f(y, predictions) -> number`` whose large values speak against calibration is called once a draw.
    null : str or NullLaw, optional
        Law of the statistic under calibration. ``exact`` (default) serves every statistic. ``swap``, the default of
        `Samples`, is as exact: the outcome changes places with the draws of its row. For the unbiased SKCE and KCCSD:
        ``saddlepoint``, the known law without draws, for p-values down to 1e-12 (SKCE only); ``bootstrap``, ``wild``,
        ``gamma``, ``pearson`` and ``spectrum``, estimated from the data. ``wild`` also serves the incomplete estimator,
        and is the default of densities that cannot be drawn from. For the block estimators: ``block``, normal. For
        every SKCE: ``bound``, distribution free. For `UCME`: ``cme``, the known covariance at the test locations. For
        any statistic: ``consistency``, for comparison with published figures. All but ``exact``, ``swap``, ``cme`` and
        ``bound`` are asymptotic; the documentation has a table of them.
    lens : Lens or ClassWise, optional
        A simpler question: `TopLabel`, `OneClass`, `TopK`, `Groups`, ...; with `ClassWise` every class is tested
        and the p-values are corrected (Holm), or the classes are ranked together.
    weights : array of shape (n,), optional
        Case weights, not negative; they are held fixed like the predictions. For ``exact``, ``swap``, ``cme`` and
        ``saddlepoint``.
    alpha : float
        Level at which calibration is rejected: directions and the member that fired are named only where p is at most
        so much, and the corrected p-values of classes are compared with it. It changes no p-value.
    draws : int
        Number B of draws, for the laws that draw; the smallest p-value is then 1 / (B + 1).
    rng : int, numpy.random.Generator or None
        Seed (SPEC 7). The default is a fixed seed: the same data give the same p-value. All classes of a `ClassWise`
        share one seed, which is drawn once from a generator.
    early_stopping : bool
        Stop at 99, 199, 399, ... draws once p > 0.2. The test stays exact.
    classes, normalize
        As for `as_predictions`.
    progress : callable, optional
        Called as ``progress(done, total)`` after every batch of draws.
    given : array of shape (n,) or (n, d), mapping of names to columns, or data frame, optional
        Columns X that are known before the outcomes: the question is then whether targets are distributed as
        predicted given predictions and columns (`inference.GivenFamily`). Numbers, text, booleans, dates; missing
        values are a level of their own. ``.given`` of the result says where the errors are. For the default statistic.
    clusters : array of shape (n,), optional
        Labels of what rows share, such as patients or races: rows of one cluster may depend on each other. Targets are
        then redrawn with as much dependence (`inference.Dependent`): the test is no longer exact, and holds for many
        clusters. Several classes, vectors and draws are not redrawn: sets of rows of which no two are of one cluster
        are tested, and their number times the smallest p-value holds whatever happens inside clusters.
    time : array of shape (n,), optional
        When, at regular steps; default: rows are in the order of time.
    horizon : int, optional
        Steps ahead that forecasts look: those less than so many steps apart overlap, and their errors depend on each
        other. 1 says that they do not: the test is as for independent rows, and valid for one-step forecasts.
    series : array of shape (n,), optional
        Labels of the series, where there are several; rows of different series are independent.

    Returns
    -------
    TestResult
        With the p-value and, where calibration is rejected, the member that fired and the direction in plain words.

    Raises
    ------
    InputError
        With the row and the remedy.

    Notes
    -----
    Assumes that rows are independent given the predictions, and that the model was not fitted or recalibrated on
    these rows. Repeated measurements of one subject and tokens of one text are `clusters`, forecasts of more than one
    step `horizon`. Source: the Monte-Carlo test of Dwass (1957) and Barnard (1963).

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> rng = np.random.default_rng(2)
    >>> p = rng.dirichlet([1, 1, 1], 300)
    >>> y = kc.Categorical(p).sample(rng)[0]
    >>> kc.calibration_test(y, p).pvalue > 0.05
    True
    >>> sharper = p**2 / (p**2).sum(axis=1, keepdims=True)
    >>> result = kc.calibration_test(y, sharper)
    >>> result.pvalue, result.directions[0]
    (0.001, 'over-confident (slope 0.5)')
    """
    run = Run(alpha=alpha, draws=draws, rng=rng, early_stopping=early_stopping, progress=progress)
    chosen, law = asked_test(statistic, null, weighted=weights is not None)
    every = lens if isinstance(lens, ClassWise) else None
    one = None if every is not None else lens
    rows = {"clusters": clusters, "time": time, "horizon": horizon, "series": series}
    case = Case.of(y, predictions, weights=weights, lens=one, classes=classes, normalize=normalize, given=given, **rows)
    return asked(case, chosen, law, every, run)


def asked(
    case: Case, statistic: Statistic | None, law: NullLaw | None, every: ClassWise | None, run: Run
) -> TestResult:
    """Test what was checked already, of every class where that is asked; None stands for what the predictions have."""
    if case.given is not None:
        refuse_given(case, statistic, law, several=every is not None)
    if case.rows is not None:
        refuse_dependent(case, law)
    if every is not None:
        refuse_numbers(case.predictions)
    if isinstance(statistic, UniformPIT):
        return pit_tested(case, run)
    statistic = default_statistic(case.predictions) if statistic is None else statistic
    law = law_of(case, statistic) if law is None else law
    if every is None:
        return tested(case, statistic, law, run)
    shared = run.shared()
    answer = holm if every.joint == "holm" else jointly
    return answer(lambda part, statistic: tested(part, statistic, law, shared), case, every, statistic)


def tested(case: Case, statistic: Statistic, law: NullLaw, run: Run) -> TestResult:
    """Test one question about what was checked already; columns that are given join the default family."""
    if case.given is not None and isinstance(statistic, DefaultFamily):
        statistic = GivenFamily(given=case.given, family=statistic)
    law.refuse(statistic)
    law.refuse_weights(case)
    there = case.in_numpy
    statistic, notes = statistic.seeing(there.targets, there.predictions)
    stays = law.resident and statistic.resident
    prepared = statistic.prepare((case.placed if stays else there).predictions, case.weights)
    prepared.notes += notes
    return answered(there, statistic, prepared, law, run)


def answered(case: Case, statistic: Statistic, prepared: Prepared, law: NullLaw, run: Run) -> TestResult:
    """Test what was prepared, of a case in NumPy and a law that serves the statistic."""
    problem = Problem(case, statistic, prepared, run, Draws(run.rng, "draws of a test"))
    return _result(law, law.test(problem), problem)


def default_statistic(batch: Predictions) -> Statistic:
    """Return the default family, or what there is for densities without means, standard deviations and expectations."""
    return KCCSD() if isinstance(batch, ScorePredictions) else DefaultFamily()


def _draws_as_law(law: NullLaw, batch: Predictions) -> tuple[str, ...]:
    """A few draws are not the law that they come from: say what a test of them as the law means."""
    draws = draws_in(batch)
    swapped = isinstance(batch, Samples) and batch.exchangeable and isinstance(law, Swap | CME)
    if not draws or swapped:
        return ()
    return (
        f"this law takes the {draws} draws of a row as the whole predicted distribution, and rejects calibrated "
        "models whose draws are few: null='swap' holds for any number of draws",
    )


def _between_levels(prepared: Prepared, case: Case) -> tuple[str, ...]:
    """Say what was tested of quantile forecasts: the claims, and with ties only those; or more than was forecast."""
    if not isinstance(case.predictions, Quantiles):
        return ()
    if not prepared.by_cells:
        return (_INTERPOLATED,)
    return (CLAIMS_ALONE,) if case.predictions.cells.has_ties(case.targets) else ()


def _null(law: NullLaw, outcome: Outcome, prepared: Prepared, case: Case) -> str:
    """Name of the law: of quantile forecasts cells are redrawn."""
    return outcome.null or (law_of_cells(case) if prepared.by_cells and isinstance(law, Exact) else law.label)


def draws_in(batch: Predictions) -> int:
    """Fewest draws of a row that stand for a distribution, in the batch or a component of it; 0 if there are none."""
    if isinstance(batch, Mixture):
        return min(filter(None, map(draws_in, batch.components)), default=0)
    return batch.size if isinstance(batch, Samples) else 0


def _few_rows(law: NullLaw, batch: Predictions) -> tuple[str, ...]:
    if not law.asymptotic:
        return ()
    n = len(batch)
    if n >= _FEW_ROWS:
        return ()
    way = "null='exact'" if batch.drawable else "null='exact', which needs a sampler of the predictions,"
    return (f"this law is that of many rows, and there are {n}: {way} holds for few",)


def law_of(case: Case, statistic: Statistic) -> NullLaw:
    """Return the default law, of rows that depend on each other where they do."""
    law = default_law(case.predictions, statistic)
    return law if case.rows is None else Dependent(case.rows, law)


def default_law(batch: Predictions, statistic: Statistic) -> NullLaw:
    """Return the exact law that the predictions have, or one estimated from the residuals where there is none."""
    if isinstance(batch, Samples) or batch.exchangeable:
        return Swap()  # which says what to do with weighted draws
    if batch.drawable:
        return Exact()
    return Block() if isinstance(statistic, PairMean) and statistic.estimator == "block" else Wild()


def _result(law: NullLaw, outcome: Outcome, problem: Problem) -> TestResult:
    prepared, batch, members = problem.prepared, problem.case.predictions, outcome.members
    targets, family = problem.case.targets, isinstance(prepared, PreparedFamily)
    rows = impossible_rows(batch, targets)
    of_rows = law.base if isinstance(law, Dependent) else law
    notes = tuple(dict.fromkeys(prepared.notes + batch.notes + outcome.notes + _few_rows(of_rows, batch)))
    notes += _draws_as_law(of_rows, batch) + _between_levels(prepared, problem.case)
    if len(rows):
        notes = (impossible_note(problem.case, rows, family), *notes)
    words: tuple[str, ...] = ()
    run, rejected = problem.run, outcome.pvalue <= problem.run.alpha
    shown = _given(prepared, law, outcome, problem) if isinstance(prepared, PreparedGiven) else None
    if isinstance(prepared, PreparedFamily) and rejected:
        words = directions(prepared.signals, targets, members, outcome.fired, run.alpha, problem.case.rows)
    if isinstance(prepared, PreparedGiven) and shown is not None and rejected:
        words = _beside_given(words, shown, prepared, outcome, run.alpha)
    elif rejected and not isinstance(prepared, PreparedFamily):
        named = sorted((m for m in members if m.pvalue <= run.alpha), key=lambda m: (m.name != outcome.fired, m.pvalue))
        words = prepared.sentences(targets, tuple(member.name for member in named))
    p, draws = outcome.pvalue, outcome.draws
    return TestResult(
        statistic=min(m.pvalue for m in members if m.ranked) if len(members) > 1 else members[0].value,
        pvalue=p,
        null=_null(law, outcome, prepared, problem.case),
        draws=draws,
        stopped_early=outcome.stopped_early,
        monte_carlo_error=math.sqrt(p * (1 - p) / (draws + 1)) if draws else 0.0,
        members=members,
        fired=outcome.fired if rejected else "",
        directions=words,
        impossible_rows=tuple(problem.case.row_numbers[rows[:10]].tolist()),
        n=len(targets),
        engine=prepared.engine,
        question=batch.question,
        notes=notes,
        null_draws=outcome.null_draws,
        alpha=run.alpha,
        seed=run.named_seed if draws else None,
        draws_asked=run.draws if draws else 0,
        early_stopping=run.early_stopping and draws > 0,
        given=shown,
    )


def _given(prepared: PreparedGiven, law: NullLaw, outcome: Outcome, problem: Problem) -> GivenResult:
    """What the columns show."""
    seen, places, observed, drawn = drawn_given(prepared, law, outcome, problem)
    return GivenWords(places, observed, drawn, seen, problem.run.alpha, outcome.flips).result()


_IN_X = "errors depend on the columns that are given, and no single column or pair of columns shows where"


def _beside_given(
    words: tuple[str, ...], shown: GivenResult, prepared: PreparedGiven, outcome: Outcome, alpha: float
) -> tuple[str, ...]:
    """Directions, and what the columns show; first what decided, and no direction that does not deviate by itself."""
    if outcome.fired not in prepared.names[prepared.first :]:
        return (*words, *shown.sentences)
    directed = {member.name for member in outcome.members if member.pvalue <= alpha}
    others = words if directed & {*prepared.signals.directed, prepared.names[0]} else ()
    others = tuple(word for word in others if word != prepared.signals.aimless)
    first = shown.sentences or tuple(found.sentence for found in shown.rejected if found.clear)[:1] or (_IN_X,)
    return (*first, *others)
