"""The calibration mean embedding test: residual functions at test locations, in units of their known covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

from kernelcal.errors import InputError
from kernelcal.inference.laws.exact import exact_notes, exact_null
from kernelcal.inference.laws.law import NullLaw, Outcome, Problem, one_member
from kernelcal.inference.laws.location_forms import EmpiricalForm, KnownForm, LocationForm
from kernelcal.inference.laws.trust import few_surprises_notes
from kernelcal.predictions import Samples
from kernelcal.statistics import UCME, PreparedUCME, Statistic

__all__ = ["CME"]


_LABELS = {
    ("known", "exact"): "known covariance at the test locations, targets redrawn from the predictions",
    ("known", "chi2"): "known covariance at the test locations, chi-square",
    ("empirical", "exact"): "empirical covariance at the test locations, targets redrawn from the predictions",
    ("empirical", "chi2"): "empirical covariance at the test locations, chi-square",
    ("empirical", "hotelling"): "empirical covariance at the test locations, Hotelling's F",
}
_EMPIRICAL = (
    "the law of an empirical covariance rejects calibrated models far too often: measured at 5 % with 10 locations, "
    "chi2 .87 / .33 / .12 and hotelling .19 / .18 / .11 for 16 / 64 / 256 rows; covariance='known' keeps the level"
)

_FEW_SUMS = "sums over rows are few for a normal law; use null='cme', whose law is drawn"


@dataclass(frozen=True)
class CME(NullLaw):
    """Law of the mean embedding at the J test locations of a `UCME`, as one quadratic form.

    With ``z_j = sum_i k_P(q_j, P_i) [k_Y(z_j, y_i) - E k_Y(z_j, Z_i)]`` and V the covariance of z under calibration,
    which the predictions determine, the statistic is ``Q = z' V^+ z``: unlike the UCME it weighs the locations by what
    they can tell. It is compared with its values for redrawn targets, or with the chi-square law.

    Parameters
    ----------
    covariance : {"known", "empirical"}
        ``known``: V from the predictions. ``empirical``: ``Q = n m' S^+ m`` of Widmann et al. with the mean m and the
        covariance S (ddof 1) of the n observed vectors ``k_P(q_j, P_i) [...]``.
    reference : {"exact", "chi2", "hotelling"}
        ``exact``: targets redrawn from the predictions, predictions, locations and V held fixed; valid at every n.
        ``chi2``: the law of many rows, with as many degrees of freedom as V (S) has rank r. ``hotelling``:
        ``(n - r) Q / (r (n - 1))`` by the F law with r and n - r degrees of freedom; only with an empirical covariance,
        and for n > J.

    Raises
    ------
    InputError
        For another statistic than `UCME`, and for options that do not fit together.

    Notes
    -----
    Rejections of calibrated models at 5 %, J = 10, d = 1, n = 16 / 64 / 256 (``experiments/cme/run.py``): known
    covariance, exact 5 / 6 / 4 % and chi2 7 / 7 / 5 %; **the published test 87 / 33 / 12 %**, with Hotelling's F
    19 / 18 / 11 %: an empirical covariance of J numbers needs hundreds of rows.

    The pseudo-inverse is that of the correlation matrix of z. Eigenvalues below 1e-5 of the largest (1e-12 for the
    empirical covariance) count as zero: such combinations of locations are far from normal with few rows. A z that
    clearly leaves the range of V, which is impossible under calibration, adds to Q. Cost: O(n J^2) for V, and
    O(n J) a draw. Where V has no closed form it comes from seeded draws of the predictions, with a note: exact draws
    stay exact. `Samples` without weights are pooled with their outcomes as by ``null="swap"``.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), App. C.3; Chwialkowski et al. (2015), Proposition 2.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.inference.laws.mean_embedding import CME
    >>> from kernelcal.predictions import Normal
    >>> from kernelcal.statistics import UCME
    >>> rng = np.random.default_rng(2)
    >>> predictions = Normal(rng.random(100), 0.1)
    >>> y = predictions.sample(rng)[0]
    >>> kc.calibration_test(y, predictions, statistic=UCME(), null=CME()).pvalue > 0.05
    True
    >>> kc.calibration_test(y + 0.1, predictions, statistic=UCME(), null=CME(reference="chi2")).pvalue < 1e-6
    True
    """

    covariance: str = "known"
    reference: str = "exact"

    label: ClassVar[str] = "test locations"
    asymptotic: ClassVar[bool] = True
    weighted: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.covariance not in ("known", "empirical"):
            raise InputError(f"covariance must be 'known' or 'empirical', got {self.covariance!r}")
        if self.reference not in ("exact", "chi2", "hotelling"):
            raise InputError(f"reference must be 'exact', 'chi2' or 'hotelling', got {self.reference!r}")
        if (self.covariance, self.reference) not in _LABELS:
            raise InputError("reference='hotelling' is the law of an empirical covariance: use 'exact' or 'chi2'")
        # what the result says depends on the settings
        object.__setattr__(self, "label", _LABELS[self.covariance, self.reference])
        object.__setattr__(self, "asymptotic", self.reference != "exact")

    def refuse(self, statistic: Statistic) -> None:
        """Refuse other statistics than the UCME."""
        if not isinstance(statistic, UCME):
            raise InputError(
                f"null='cme' is the law of kernelcal.UCME(), not of {type(statistic).__name__}: pass "
                "statistic='ucme', or use null='exact', which serves every statistic"
            )

    def test(self, problem: Problem) -> Outcome:
        """Compare Q with its law."""
        problem = _prepared(problem)
        assert isinstance(problem.prepared, PreparedUCME)  # for the type checker: what a UCME prepares
        form: LocationForm = (KnownForm if self.covariance == "known" else EmpiricalForm)(problem.prepared)
        if self.reference == "exact":
            return _drawn(form, problem)
        targets = problem.case.targets
        value, rank = float(form.values(targets[None])[0, 0]), form.rank(targets)
        outcome = (_hotelling if self.reference == "hotelling" else _chi_square)(form, value, rank)
        few = few_surprises_notes(problem, _FEW_SUMS)
        return replace(outcome, notes=outcome.notes + few)


def _prepared(problem: Problem) -> Problem:
    """Pool ensembles with their outcomes, which are exchangeable with the draws."""
    case, batch = problem.case, problem.case.predictions
    if not isinstance(batch, Samples) or not batch.exchangeable:
        return problem
    pooled = batch.pooled(case.targets)
    prepared = problem.statistic.prepare(pooled, case.weights)
    return replace(problem, case=replace(case, predictions=pooled), prepared=prepared)


def _drawn(form: LocationForm, problem: Problem) -> Outcome:
    """Rank Q among its values for redrawn targets."""
    drawn = exact_null(form, problem.case, problem.run, problem.source)
    return drawn.outcome(form.names, form.notes + exact_notes(drawn, problem.case.predictions, problem.run.alpha))


def _chi_square(form: LocationForm, value: float, rank: int) -> Outcome:
    from scipy.special import chdtrc  # imported when needed: the import of kernelcal stays light

    notes = form.notes + ((_EMPIRICAL,) if isinstance(form, EmpiricalForm) else ())
    if rank == 0:
        notes += ("the null has no variance: every prediction is certain",)
        return one_member(form, value, 1.0 if value == 0 else 0.0, math.nan, notes=notes)
    notes += (f"chi-square with {rank} degrees of freedom, from {form.locations} test locations",)
    return one_member(form, value, float(chdtrc(rank, value)), (value - rank) / math.sqrt(2 * rank), notes=notes)


def _hotelling(form: LocationForm, value: float, rank: int) -> Outcome:
    from scipy.special import fdtrc

    n = form.n
    if n <= form.locations:
        raise InputError(
            f"Hotelling's F needs more rows than test locations, got {n} rows and {form.locations} locations: use "
            "fewer locations, or CME(), whose covariance is known"
        )
    pvalue = float(fdtrc(rank, n - rank, value * (n - rank) / (rank * (n - 1)))) if rank else 1.0
    deviation = (value - rank) / math.sqrt(2 * rank) if rank else math.nan
    return one_member(form, value, pvalue, deviation, notes=(_EMPIRICAL,))
