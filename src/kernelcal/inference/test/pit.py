"""The exact test of uniform PIT values: are the predicted quantiles calibrated?"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.defaults import DRAWS, SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.inference.draws import Draws
from kernelcal.inference.laws import DrawnValues, Exact, NullLaw, exact_notes, exact_null
from kernelcal.inference.result import Member, TestResult
from kernelcal.inference.test.family import impossible_note, impossible_rows
from kernelcal.predictions import Predictions, Quantiles, Samples, inside
from kernelcal.randomness import generator_of
from kernelcal.runs import Run
from kernelcal.statistics import Estimate, Prepared, Statistic, pit_of
from kernelcal.statistics.outcomes import PreparedUniformity, normal_quantiles

__all__ = ["UniformPIT", "pit_test", "pit_tested"]


_SCOPE = (
    "this tests quantile calibration only, a consequence of calibration: predictions can pass and still be wrong where "
    "they are high, low, wide or narrow (kernelcal.calibration_test asks for all of it)",
    "rows are assumed independent given the predictions",
)


def pit_test(y: Any, predictions: Any, *, draws: int = DRAWS, rng: Any = 0, early_stopping: bool = True) -> TestResult:
    """Test whether the PIT values are uniform, which calibration implies.

    Under calibration the randomised values of `pit` are independent and uniform on (0, 1), whatever the predictions,
    and exactly so at every n, for counts and equally likely draws too. Four statistics,
    Anderson-Darling, Kuiper, bias and dispersion of the normal quantiles, are compared with those of uniform draws, and
    their smallest rank is ranked in turn (min-p): ``p = (1 + #{b: T_b >= T}) / (B + 1)``.

    Parameters
    ----------
    y : array of shape (n,)
        Targets.
    predictions : RealPredictions or what `as_predictions` takes
        Predictions of one number.
    draws : int
        Number B of draws; the smallest p-value is 1 / (B + 1).
    rng : int, numpy.random.Generator or None
        Seed (SPEC 7). The values are those of ``pit(y, predictions, rng)``; the draws come from a stream of their own.
    early_stopping : bool
        Stop at 99, 199, 399, ... draws once p > 0.2. The test stays exact.

    Returns
    -------
    TestResult
        With the direction in plain words: predictions shifted up or down, too narrow, too wide.

    Raises
    ------
    InputError
        For vector targets, families without a distribution function, draws with unequal weights, and `Quantiles`, of
        which `calibration_test` tests what the levels claim.

    Notes
    -----
    Assumes that rows are independent given the predictions, and that the model was not fitted on these rows. Cost: a
    sort of n numbers a draw.

    References
    ----------
    Dawid (1984); Diebold, Gunther, Tay (1998); exactness as in Dwass (1957).

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
    run = Run(draws=draws, rng=rng, early_stopping=early_stopping)
    return pit_tested(Case.of(y, predictions), run)


@dataclass(frozen=True)
class UniformPIT(Statistic):
    """Are the PIT values uniform? `pit_test` by the name ``"pit"``.

    Its law under calibration is that of uniform numbers, whatever the predictions: no targets are redrawn, and it has
    no other null law and no case weights.
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
    if isinstance(case.predictions, Quantiles):
        raise InputError(
            "quantile forecasts say nothing of what lies between their levels, so their PIT values have no law of "
            "their own: kernelcal.calibration_test(y, predictions) tests what the levels claim, and "
            "kernelcal.statistics.claimed_levels tells each of them"
        )
    if isinstance(case.predictions, Samples) and not case.predictions.exchangeable:
        raise InputError(
            "PIT values of draws with unequal weights are only nearly uniform, so this test would not keep its level: "
            "draw an unweighted sample by the weights first"
        )
    generator = generator_of(run.rng)
    values = pit_of(case, generator)
    prepared = PreparedUniformity(len(case))
    source = _UniformDraws(generator)  # keyed by what follows in the generator: a stream apart from that of the values
    drawn = exact_null(prepared, replace(case, targets=values), run, source)
    return _result(prepared, drawn, values, case)


class _UniformDraws(Draws):
    """Draws of PIT values: uniform whatever the predictions."""

    def targets(
        self, predictions: Predictions, start: int, stop: int, rows: range | np.ndarray | None = None
    ) -> np.ndarray:
        return inside(self._of_rows(start, stop, rows, len(predictions)))


def _result(prepared: PreparedUniformity, drawn: DrawnValues, values: np.ndarray, case: Case) -> TestResult:
    y, batch = case.targets, case.predictions
    outcome = drawn.outcome(prepared.names, exact_notes(drawn, batch))
    p, rows = outcome.pvalue, impossible_rows(batch, y)
    impossible = (impossible_note(batch, y, rows, counted=False),) if len(rows) else ()
    words = _directions(values, outcome.members, outcome.fired) if p <= SIGNIFICANCE else ()
    return TestResult(
        statistic=min(member.pvalue for member in outcome.members),
        pvalue=p,
        null="exact, uniform PIT values",
        draws=outcome.draws,
        stopped_early=outcome.stopped_early,
        monte_carlo_error=math.sqrt(p * (1 - p) / (outcome.draws + 1)),
        members=outcome.members,
        fired=outcome.fired,
        directions=words,
        impossible_rows=tuple(int(row) for row in rows[:10]),
        n=len(batch),
        engine=prepared.engine,
        question="quantile calibration: are the PIT values uniform?",
        notes=(*impossible, *_far_out(values), *batch.notes, *outcome.notes, *_SCOPE),
        null_draws=outcome.null_draws,
    )


def _directions(values: np.ndarray, members: tuple[Member, ...], fired: str) -> tuple[str, ...]:
    """Sentences for bias and dispersion where they speak against calibration, the fired one first."""
    pvalues = {member.name: member.pvalue for member in members}
    found = [name for name in ("bias", "dispersion") if pvalues.get(name, 1.0) <= SIGNIFICANCE]
    quantiles = normal_quantiles(values)
    sentences = {
        "bias": _shift(float(quantiles.mean())),
        "dispersion": _width(float(quantiles.std(ddof=len(quantiles) > 1))),
    }
    ordered = sorted(found, key=lambda name: (name != fired, pvalues[name]))
    if ordered:
        return tuple(sentences[name] for name in ordered)
    return ("no clear shift or wrong width: the shape of the predicted distributions is wrong",)


def _shift(mean: float) -> str:
    word, direction = ("higher", "down") if mean > 0 else ("lower", "up")
    return f"predictions shifted {direction} (outcomes are {word} than predicted, mean normal quantile {mean:+.2g})"


def _width(spread: float) -> str:
    word = "narrow" if spread > 1 else "wide"
    return f"predictions too {word} (normal quantiles spread {spread:.2f} times as wide as predicted)"


def _far_out(values: np.ndarray) -> tuple[str, ...]:
    """Values of 0 and 1, which no uniform draw takes: their outcomes lie beyond what the numbers can tell apart."""
    rows = np.flatnonzero((values <= 0) | (values >= 1))
    if len(rows) == 0:
        return ()
    more = f" (and {len(rows) - 1:,} more rows)" if len(rows) > 1 else ""
    return (
        f"row {rows[0]}: the outcome lies so far out that its PIT value is {values[rows[0]]:g} up to rounding{more}; "
        "it counts as the most extreme value that a uniform draw can take",
    )
