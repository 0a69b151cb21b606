"""Everything about one model of numbers: scalars, counts and vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.evaluation.base import Evaluation, plain_number
from kernelcal.inference import TestResult
from kernelcal.inference.test import pit_tested
from kernelcal.predictions import DiagonalNormal, IsotropicNormal, Normal
from kernelcal.runs import Run
from kernelcal.statistics import CentralCoverage, Estimate, central_coverage_of, crps_of, negative_log_likelihood_of
from kernelcal.statistics.scores import components_of

__all__ = ["NumberEvaluation", "components_of_case", "number_evaluation"]


_NATS = 5.0  # log-likelihood ratio, which a right model reaches with probability exp(-5) at most (Markov)
_FEW = 20  # residuals
_NEAR = 1.3  # factor within which a mean square is as good as right; with few residuals three standard errors

_LEVELS = np.array([0.5, 0.9, 0.95])  # of central intervals
_UNWEIGHTED = "there is no PIT test, since it takes no case weights"


@dataclass(frozen=True, repr=False, kw_only=True)
class NumberEvaluation(Evaluation):
    """What `evaluate` found about predictions of numbers.

    Attributes
    ----------
    family : str
        Family of the predictions.
    dimension : int
        Numbers in one target.
    negative_log_likelihood : float or None
        Mean of -log density (of -log probability for counts); None for families without one.
    crps : float or None
        Continuous ranked probability score, for vectors the mean over components; None where it is not known.
    coverage : tuple of CentralCoverage
        Shares inside central intervals of 50, 90 and 95 %, one for every component.
    pit : tuple of TestResult
        Exact test of uniform PIT values, one for every component; none with case weights.

    Examples
    --------
    >>> import kernelcal as kc
    >>> result = kc.evaluate([0.3, 2.0, -0.5] * 5, kc.Normal([0.0] * 15, 1.0), draws=99)
    >>> result.family, round(result.crps, 3)
    ('Normal', 0.685)
    """

    title: ClassVar[str] = "Calibration of predictions of numbers"
    family: str
    dimension: int
    negative_log_likelihood: float | None
    crps: float | None
    coverage: tuple[CentralCoverage, ...]
    pit: tuple[TestResult, ...]

    @property
    def skce(self) -> Estimate:
        """The estimate: the squared kernel calibration error."""
        return self.estimate

    @property
    def pit_pvalue(self) -> float | None:
        """P-value of the PIT test; for vectors the smallest of the components, times their number (Bonferroni)."""
        return min(1.0, len(self.pit) * min(test.pvalue for test in self.pit)) if self.pit else None

    def scores(self) -> dict[str, Any]:
        """Return scores as plain values for JSON."""
        return {
            "family": self.family,
            "dimension": self.dimension,
            "negative_log_likelihood": plain_number(self.negative_log_likelihood),
            "crps": plain_number(self.crps),
            "coverage": [part.to_dict() for part in self.coverage],
            "pit": [test.to_dict() for test in self.pit],
            "pit_pvalue": self.pit_pvalue,
        }

    def headline(self) -> list[tuple[str, str]]:
        """Return the proper scores, and the coverage of 90 % intervals of one number."""
        scores = (("log score", self.negative_log_likelihood, ".4f"), ("CRPS", self.crps, ".4g"))
        rows = [(name, "" if value is None else format(value, form)) for name, value, form in scores]
        if len(self.coverage) == 1:
            rows.append(("in 90 %", f"{self.coverage[0].shares[list(self.coverage[0].levels).index(0.9)]:.1%}"))
        return rows

    def score_rows(self) -> list[tuple[str, str]]:
        """Return names and values of the scores for the table."""
        vector = self.dimension > 1
        family = self.family + (f", {self.dimension} numbers" if vector else "")
        rows = [("rows", f"{self.n:,}"), ("predictions", family)]
        if self.negative_log_likelihood is not None:
            rows.append(("negative log-likelihood", f"{self.negative_log_likelihood:.4f} nats"))
        if self.crps is not None:
            rows.append(("CRPS, mean of components" if vector else "CRPS", f"{self.crps:.4g}"))
        return [*rows, *_coverage_rows(self.coverage), *self._pit_row()]

    def _pit_row(self) -> list[tuple[str, str]]:
        if self.pit_pvalue is None:
            return []
        clear = [test for test in self.pit if len(self.pit) * test.pvalue <= self.alpha]
        words = "; ".join(dict.fromkeys(word for test in clear for word in test.directions))
        name = "PIT test" if len(self.pit) == 1 else f"PIT test, {len(self.pit)} components (Bonferroni)"
        return [(name, f"p = {self.pit_pvalue:.4g}" + (f", {words}" if words else ""))]


def _coverage_rows(parts: tuple[CentralCoverage, ...]) -> list[tuple[str, str]]:
    """One row a level: the share of one component, or the range over several."""
    if not parts:
        return []
    rows = []
    for k, level in enumerate(parts[0].levels):
        shares = [float(part.shares[k]) for part in parts]
        expected = float(np.mean([part.expected[k] for part in parts]))
        off = f", expected {expected:.1%}" if abs(expected - level) > 5e-4 else ""
        rows.append((f"coverage of {level:.0%} intervals", _share(shares, parts[0], k) + off))
    return rows


def _share(shares: list[float], part: CentralCoverage, k: int) -> str:
    if len(shares) > 1:
        return f"{min(shares):.1%} to {max(shares):.1%} over the components"
    between = "" if np.isnan(part.low[k]) else f" ({part.low[k]:.1%} to {part.high[k]:.1%})"
    return f"{shares[0]:.1%}{between}"


def number_evaluation(
    case: Case,
    run: Run,
    notes: tuple[str, ...],
    **common: Any,
) -> NumberEvaluation:
    """Add scores, coverage and the PIT test to what all evaluations have in common."""
    batch, weighted = case.predictions, case.weights is not None
    parts = components_of_case(case)
    coverage = tuple(central_coverage_of(part, _LEVELS, run) for part in parts)
    more = tuple(note for part in coverage for note in part.notes) + ((_UNWEIGHTED,) if weighted else ())
    return NumberEvaluation(
        family=type(batch).__name__,
        dimension=batch.dimension,
        negative_log_likelihood=_where_defined(negative_log_likelihood_of, case),
        crps=_where_defined(crps_of, case),
        coverage=coverage,
        pit=_pit_tests(parts, run) if not weighted and common["test"] is not None else (),
        notes=tuple(dict.fromkeys(number_suspicions(case) + notes + more)),
        **common,
    )


def components_of_case(case: Case) -> list[Case]:
    """Every component of a target as a case of its own; none where the marginals are not known."""
    y, vector = case.targets, bool(case.predictions.event_shape)
    parts = enumerate(components_of(case.predictions))
    return [replace(case, targets=y[:, k] if vector else y, predictions=p) for k, p in parts]


def _pit_tests(parts: list[Case], run: Run) -> tuple[TestResult, ...]:
    """One test a component, with so many draws that Bonferroni leaves room below 2.5 %."""
    enough = run.with_at_least(40 * len(parts) - 1)
    return tuple(pit_tested(part, enough) for part in parts)


def _where_defined(score: Callable[[Case], float], case: Case) -> float | None:
    """Score, or None for a family that does not have it."""
    try:
        return float(score(case))
    except InputError:
        return None


def number_suspicions(case: Case) -> tuple[str, ...]:
    """Sentences about mistakes with numbers: a variance as standard deviation, means as targets."""
    y, predictions = case.targets, case.predictions
    mean, std = (to_numpy(x).astype(np.float64) for x in (predictions.mean, predictions.std))
    if np.array_equal(y, mean):
        return ("the target equals the predicted mean in every row: is it the predicted, not the observed value?",)
    if isinstance(predictions, Normal | DiagonalNormal | IsotropicNormal):
        return _variances(y - mean, std)
    return ()


def _variances(residual: np.ndarray, std: np.ndarray) -> tuple[str, ...]:
    """Compare the likelihood of the spreads as given, as variances, and as standard deviations that were squared.

    Another reading must fit, and explain row by row what no common factor of the spreads as given explains: residuals
    that are all too large by one factor are those of an over-confident model, and nothing was squared. Where the
    spreads hardly vary, the readings differ by a factor only, and nothing is said. Few rows cannot tell; it is said.
    """
    given, root, square = _Spreads(residual, std), _Spreads(residual, np.sqrt(std)), _Spreads(residual, std**2)
    multiples = max(given.scaled, _Spreads(residual, np.ones_like(std)).scaled)
    few = "" if residual.size >= _FEW else ". So few rows cannot tell it from a wrong width"
    margin = _NATS if not few else 0.0
    found = f"the squared standardised residuals average {given.mean_square:.3g}, where 1 is expected"
    if root.explains(given, multiples, margin):
        return (
            f"{found}, and {root.mean_square:.3g} if the standard deviations are taken as variances: were variances "
            f"passed as std? Pass std=numpy.sqrt(variance) (command line: --variance NAME){few}",
        )
    if square.explains(given, multiples, margin):
        return (
            f"{found}, and {square.mean_square:.3g} if the variances are taken as standard deviations: were standard "
            f"deviations passed as variances? (command line: --std NAME){few}",
        )
    return ()


class _Spreads:
    """What the spreads may mean: the mean square of the residuals in their units, and two log-likelihoods.

    That of the spreads themselves, and that of these times the best common factor, ``sqrt(mean z^2)``.
    """

    def __init__(self, residual: np.ndarray, std: np.ndarray) -> None:
        squares = (residual / std) ** 2
        self.mean_square = float(np.mean(squares))
        self.near = max(math.log(_NEAR), 3 * math.sqrt(2 / squares.size))
        logs = float(np.sum(np.log(np.broadcast_to(std, squares.shape))))
        self.log_likelihood = -logs - float(np.sum(squares)) / 2
        with np.errstate(divide="ignore"):
            self.scaled = -logs - squares.size * (float(np.log(self.mean_square)) + 1) / 2

    def explains(self, given: _Spreads, multiples: float, margin: float) -> bool:
        """Tell whether this reading fits, and much better than any multiple of the given one, and of equal spreads.

        If the given one is right, or is so but for a factor, that happens with probability exp(-5) at most (Markov).
        """
        near = math.exp(-self.near) <= self.mean_square <= math.exp(self.near)
        better = self.log_likelihood > given.log_likelihood + _NATS
        return near and better and self.log_likelihood > multiples + margin
