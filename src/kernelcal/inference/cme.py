"""The calibration mean embedding test: residual functions at test locations, in units of their known covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference.exact import exact_notes, exact_null
from kernelcal.inference.law import NullLaw, Outcome, Problem, one_member
from kernelcal.inference.location_covariance import known_covariance
from kernelcal.inference.whitening import Whitening
from kernelcal.predictions import Samples
from kernelcal.statistics import Prepared
from kernelcal.statistics.ucme import UCME, PreparedUCME

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
    "chi2 .87 / .36 / .12 and hotelling .22 / .22 / .10 for 16 / 64 / 256 rows; covariance='known' keeps the level"
)


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
        covariance S (ddof 1) of the n observed vectors.
    reference : {"exact", "chi2", "hotelling"}
        ``exact``: targets redrawn from the predictions, predictions, locations and V held fixed; valid at every n.
        ``chi2``: many rows, as many degrees of freedom as V (S) has rank. ``hotelling``: ``(n - J) Q / (J (n - 1))`` by
        the F law with J and n - J degrees of freedom; only with the empirical covariance, and for n > J.

    Raises
    ------
    InputError
        For another statistic than `UCME`, and for options that do not fit together.

    Notes
    -----
    Rejections of calibrated models at 5 %, J = 10, d = 1, n = 16 / 64 / 256 (``experiments/cme/run.py``): known
    covariance exact and chi2 near 5 % (chi2 7 % at n = 16), **the published test 87 / 36 / 12 %**, with Hotelling's
    F 22 / 22 / 10 %: an empirical covariance of J numbers needs hundreds of rows.

    The pseudo-inverse is that of the correlation matrix of z; eigenvalues below 1e-12 of the largest count as zero. A z
    that clearly leaves the range of V, which is impossible under calibration, adds to Q. Cost: O(n J^2) for V, and
    O(n J) a draw. Where V has no closed form it comes from seeded draws of the predictions, with a note: exact draws
    stay exact. `Samples` without weights are pooled with their outcomes as by ``null="swap"``.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), App. C.3; Chwialkowski et al. (2015), Proposition 2.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.inference.cme import CME
    >>> from kernelcal.predictions import Normal
    >>> from kernelcal.statistics.ucme import UCME
    >>> rng = np.random.default_rng(0)
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

    def test(self, problem: Problem) -> Outcome:
        """Compare Q with its law."""
        problem = _prepared(problem)
        assert isinstance(problem.prepared, PreparedUCME)  # for the type checker: _prepared refuses the rest
        form: _Form = (_Known if self.covariance == "known" else _Empirical)(problem.prepared)
        if self.covariance == "empirical" and problem.weights is not None:
            raise InputError("the empirical covariance takes no case weights: use CME(), whose covariance is known")
        if self.reference == "exact":
            return _drawn(form, problem)
        value = float(form.values(problem.targets[None])[0, 0])
        if self.reference == "hotelling":
            return _hotelling(form, value)
        return _chi_square(form, value, form.rank(problem.targets))


class _Form(Prepared):
    """Q of fixed predictions for many sets of targets."""

    def __init__(self, prepared: PreparedUCME) -> None:
        self.prepared, self.names, self.engine = prepared, ("CME",), prepared.engine
        self.bytes_per_draw = prepared.bytes_per_draw
        self.n, self.locations = prepared.alike.shape

    def rank(self, targets: np.ndarray) -> int:
        """Rank of the covariance for observed targets."""
        raise NotImplementedError


class _Known(_Form):
    """z' V^+ z with V from the predictions."""

    def __init__(self, prepared: PreparedUCME) -> None:
        super().__init__(prepared)
        covariance = known_covariance(prepared.functions, prepared.alike)
        self.whitening = Whitening.of(covariance.matrix, covariance.squares)
        self.notes = covariance.notes + _rank_note(self.whitening.rank, self.locations)

    def values(self, targets: np.ndarray) -> np.ndarray:
        return self.whitening.squares(self.prepared.sums(targets))[:, None]

    def rank(self, targets: np.ndarray) -> int:
        return self.whitening.rank


class _Empirical(_Form):
    """n m' S^+ m with the mean and the covariance of the observed vectors."""

    def __init__(self, prepared: PreparedUCME) -> None:
        super().__init__(prepared)
        if self.n < 2:
            raise InputError(f"an empirical covariance needs at least 2 rows, got {self.n}: use covariance='known'")

    def values(self, targets: np.ndarray) -> np.ndarray:
        return np.array([[self._value(self.prepared.rows(y))] for y in targets])

    def rank(self, targets: np.ndarray) -> int:
        return self._whitening(self.prepared.rows(targets)).rank

    def _value(self, rows: np.ndarray) -> float:
        return self.n * float(self._whitening(rows).squares(rows.mean(axis=0)[None], leaving=False)[0])

    @staticmethod
    def _whitening(rows: np.ndarray) -> Whitening:
        matrix = np.atleast_2d(np.cov(rows, rowvar=False))
        return Whitening.of(matrix, (rows**2).mean(axis=0))


def _prepared(problem: Problem) -> Problem:
    """Refuse other statistics; pool ensembles with their outcomes, which are exchangeable with the draws."""
    if not isinstance(problem.statistic, UCME) or not isinstance(problem.prepared, PreparedUCME):
        raise InputError(
            f"null='cme' is the law of kernelcal.UCME(), not of {type(problem.statistic).__name__}: pass "
            "statistic='ucme', or use null='exact', which serves every statistic"
        )
    batch = problem.predictions
    if not isinstance(batch, Samples) or batch.weights is not None:
        return problem
    pooled = batch.pooled(problem.targets)
    return replace(problem, predictions=pooled, prepared=problem.statistic.prepare(pooled, problem.weights))


def _drawn(form: _Form, problem: Problem) -> Outcome:
    """Rank Q among its values for redrawn targets."""
    drawn = exact_null(
        form,
        problem.targets,
        problem.predictions,
        problem.draws,
        problem.source,
        early_stopping=problem.early_stopping,
        progress=problem.progress,
    )
    return drawn.outcome(form.names, form.notes + exact_notes(drawn, problem.predictions))


def _chi_square(form: _Form, value: float, rank: int) -> Outcome:
    from scipy.special import chdtrc  # imported when needed: the import of kernelcal stays light

    notes = form.notes + ((_EMPIRICAL,) if isinstance(form, _Empirical) else ())
    if rank == 0:
        notes += ("the null has no variance: every prediction is certain",)
        return one_member(form, value, 1.0 if value == 0 else 0.0, math.nan, notes=notes)
    return one_member(form, value, float(chdtrc(rank, value)), (value - rank) / math.sqrt(2 * rank), notes=notes)


def _hotelling(form: _Form, value: float) -> Outcome:
    from scipy.special import fdtrc

    n, number = form.n, form.locations
    if n <= number:
        raise InputError(
            f"Hotelling's F needs more rows than test locations, got {n} rows and {number} locations: use fewer "
            "locations, or CME(), whose covariance is known"
        )
    pvalue = float(fdtrc(number, n - number, value * (n - number) / (number * (n - 1))))
    return one_member(form, value, pvalue, (value - number) / math.sqrt(2 * number), notes=(_EMPIRICAL,))


def _rank_note(rank: int, locations: int) -> tuple[str, ...]:
    if rank in (0, locations):
        return ()
    return (f"the {locations} test locations tell {rank} things apart: their covariance has rank {rank}",)
