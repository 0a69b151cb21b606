"""The contract of a null law: from a statistic of fixed predictions to its p-value under calibration."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference.draws import Draws
from kernelcal.inference.result import Member
from kernelcal.predictions import ClassPredictions, Predictions
from kernelcal.runs import Run
from kernelcal.statistics import Prepared, Statistic
from kernelcal.statistics.pairwise import PairMean, PreparedPairMean

__all__ = ["NullLaw", "Outcome", "Problem", "finite", "one_member", "prepared_pairs"]


_SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, eq=False)
class Problem:
    """What a null law works on.

    Attributes
    ----------
    case : Case
        Observed targets, the predictions in NumPy, and case weights, if any, with mean 1.
    statistic, prepared
        The statistic, and the same with what depends on the predictions done.
    run : Run
        How many draws, whether fewer suffice, and whom to tell.
    source : Draws
        Where the draws come from.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.cases import Case
    >>> from kernelcal.inference import Draws, Exact, Problem
    >>> from kernelcal.runs import Run
    >>> case, statistic = Case.of([1] * 20, [0.5] * 20), kc.ECE()
    >>> problem = Problem(case, statistic, statistic.prepare(case.predictions), Run(draws=99), Draws(0, "example"))
    >>> Exact().test(problem).pvalue
    0.01
    """

    case: Case
    statistic: Statistic
    prepared: Prepared
    run: Run
    source: Draws


@dataclass(frozen=True)
class Outcome:
    """What a null law found.

    Attributes
    ----------
    pvalue : float
        P-value of the statistic, or of the family, never 0.
    members : tuple of Member
        One a statistic.
    fired : str
        Member that speaks most against calibration.
    draws : int
        Draws that were made, 0 where the law needs none.
    stopped_early : bool
        Whether fewer draws than allowed were made.
    notes : tuple of str
        What the reader must know about this law here.
    null_draws : mapping of str to numpy.ndarray
        Values of every statistic under calibration, where the law draws and they are few.
    null : str
        What was done, where the law's label does not say it; else empty.
    flips : numpy.ndarray of shape (draws, sums), or None
        Of clusters that differ by more than a common shift, sums whose signs were flipped: p-values of such sums are
        not below those among these.

    Examples
    --------
    >>> from kernelcal.inference import Member, Outcome
    >>> Outcome(0.01, (Member("slope", 1.2, 0.01, 3.1),), "slope").fired
    'slope'
    """

    pvalue: float
    members: tuple[Member, ...]
    fired: str
    draws: int = 0
    stopped_early: bool = False
    notes: tuple[str, ...] = ()
    null_draws: Mapping[str, np.ndarray] = field(default_factory=dict, compare=False)
    null: str = ""
    flips: np.ndarray | None = field(default=None, compare=False)


class NullLaw(ABC):
    """A law of a statistic under calibration. Laws are small frozen dataclasses: their fields are their settings.

    Attributes
    ----------
    label : str
        What the result says about the law.
    asymptotic : bool
        Whether the law is that of many rows; results from few rows then say so.
    resident : bool
        Whether the law asks for values alone, so that a statistic may make them on any device.
    name : str
        What people call it, as ``null=``; for messages.
    estimators : tuple of str
        Estimators of a mean over pairs of rows whose law it is; empty where it serves every statistic.
    weighted : bool
        Whether it takes case weights; a law that does not say so is not asked with any.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import NULL_LAWS, NullLaw, Wild
    >>> isinstance(Wild(), NullLaw), "wild" in NULL_LAWS
    (True, True)
    """

    label: ClassVar[str]
    asymptotic: ClassVar[bool] = True
    resident: ClassVar[bool] = False
    name: ClassVar[str] = ""
    estimators: ClassVar[tuple[str, ...]] = ()
    weighted: ClassVar[bool] = False

    def refuse_weights(self, case: Case) -> None:
        """Refuse case weights where it takes none, before anything is prepared."""
        if case.weights is not None and not self.weighted:
            name = self.name or type(self).__name__
            raise InputError(f"null={name!r} takes no case weights: {_weighted_way(case.predictions)}")

    def refuse(self, statistic: Statistic) -> None:
        """Refuse a statistic that it is not the law of, with the remedy; called before data are looked at."""
        if self.estimators:
            _refuse_other(statistic, self.name, self.estimators)

    @abstractmethod
    def test(self, problem: Problem) -> Outcome:
        """Return the p-value of the observed statistic."""


def prepared_pairs(problem: Problem) -> PreparedPairMean:
    """Return what was prepared of a mean over pairs of rows; laws of these have refused other statistics."""
    assert isinstance(problem.prepared, PreparedPairMean)  # for the type checker: `NullLaw.refuse` was asked
    return problem.prepared


def _refuse_other(statistic: Statistic, null: str, estimators: tuple[str, ...]) -> None:
    if not isinstance(statistic, PairMean):
        raise InputError(
            f"null={null!r} is the law of {_wanted('SKCE', estimators)}, or of KCCSD, not of "
            f"{type(statistic).__name__}: pass that as the statistic, or use null='exact', which serves every statistic"
        )
    if statistic.estimator not in estimators:
        wanted = _wanted(type(statistic).__name__, estimators)
        raise InputError(f"null={null!r} needs statistic={wanted}, got estimator={statistic.estimator!r}")


def _weighted_way(predictions: Predictions) -> str:
    if not predictions.drawable:
        return "pass draws= or sampler= to the predictions, for an exact test, which takes them"
    return "use null='exact'" + (" or null='saddlepoint'" if isinstance(predictions, ClassPredictions) else "")


def _wanted(name: str, estimators: tuple[str, ...]) -> str:
    name = "kernelcal.SKCE" if name == "SKCE" else f"kernelcal.statistics.{name}"
    return " or ".join(f"{name}(estimator={estimator!r}{_size(estimator)})" for estimator in estimators)


def _size(estimator: str) -> str:
    return {"block": ", block_size=2", "incomplete": ", superdiagonals=8"}.get(estimator, "")


def finite(prepared: Prepared, value: float) -> float:
    """Return the value of a statistic, or refuse one that is not a number: nothing is rejected or accepted by it."""
    if math.isfinite(value):
        return value
    raise InputError(
        f"{prepared.names[0]} is {value:g} and cannot be compared with its law: kernel values are NaN, or sums over "
        "pairs too large; look at the lengthscales and for rows with parameters, score functions or targets of extreme "
        "size"
    )


def one_member(
    prepared: Prepared, value: float, pvalue: float, deviation: float, draws: int = 0, notes: tuple[str, ...] = ()
) -> Outcome:
    """Outcome of a single statistic; a p-value below the smallest number is given as that number, never as 0.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import one_member
    >>> one_member(kc.SKCE().prepare(kc.Bernoulli([0.2, 0.7, 0.6])), 0.3, 0.0, 5.0).pvalue > 0
    True
    """
    name, value = prepared.names[0], finite(prepared, value)
    pvalue = min(max(finite(prepared, pvalue), _SMALLEST), 1.0)
    return Outcome(pvalue, (Member(name, value, pvalue, deviation),), name, draws, notes=notes)
