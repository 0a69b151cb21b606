"""The check of a null law: from a statistic to a p-value that keeps its level."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference import NullLaw, TestResult, calibration_test
from kernelcal.predictions import Categorical, Predictions
from kernelcal.statistics import SKCE
from kernelcal.testing.contract import (
    claim,
    contract,
    read_only,
    refused,
    settings_are_fixed,
    tells_what_to_do,
    untouched,
    within_binomial_bounds,
)

__all__ = ["check_null_law", "simulated", "tempered_classes"]

Simulator = Callable[[np.random.Generator], tuple[Any, Predictions]]
_DRAWS = 39


def check_null_law(
    law: NullLaw,
    *,
    statistic: Any = None,
    calibrated: Simulator | None = None,
    wrong: Simulator | None = None,
    slack: float | None = None,
    power: float = 0.5,
    tries: int = 200,
) -> None:
    """Check that a null law keeps the contract of `kernelcal.inference.NullLaw`.

    The p-value lies above 0 and not above 1, and so do those of the members, one of which fired; the same seed gives the
    same p-value; what is given stays as it is; case weights and other statistics are served or refused. Calibrated
    models are rejected at the levels 0.05 and 0.2 as often as that, not more, and wrong ones are rejected.

    Parameters
    ----------
    law : NullLaw
        An instance.
    statistic : Statistic or callable, optional
        A statistic that it serves; default the unbiased SKCE.
    calibrated, wrong : callable, optional
        ``f(rng)`` makes targets and predictions of a model that is calibrated, or is not; default 40 rows of 3 classes,
        and the same far too sure.
    slack : float, optional
        How much more often than the level calibrated models may be rejected: by default 0 for a law that holds for any
        number of rows, 0.05 for one of many rows (``asymptotic``).
    power : float
        Share of wrong models that must be rejected at the level 0.2, at least; 0 for a bound.
    tries : int
        Number of simulated data sets.

    Raises
    ------
    AssertionError
        With the sentence of the contract that is broken, and the numbers.

    Notes
    -----
    Frequencies are compared by binomial bounds that a law which is right misses with probability 1e-6; seeds are fixed.
    Cost: twice `tries` tests of 39 draws, about a second.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.inference import Exact
    >>> from kernelcal.testing import check_null_law
    >>> check_null_law(Exact(), tries=50)
    """
    with contract(law, "a null law derives from kernelcal.inference.NullLaw"):
        claim(isinstance(law, NullLaw), f"it is a {type(law).__name__}")
    settings_are_fixed(law, key=False)
    with contract(law, "label says in words what the law is; asymptotic and resident are True or False"):
        claim(isinstance(law.label, str) and len(law.label) > 4, f"label is {getattr(law, 'label', None)!r}")
        claim(isinstance(law.asymptotic, bool) and isinstance(law.resident, bool), "asymptotic or resident is neither")
    asked = SKCE() if statistic is None else statistic
    if calibrated is None:
        calibrated = simulated
    if wrong is None:
        wrong = tempered_classes
    _check_one(law, asked, calibrated)
    _check_outside(law, asked, calibrated)
    _check_frequencies(
        law, asked, calibrated, wrong, (0.05 if law.asymptotic else 0.0) if slack is None else slack, power, tries
    )


def simulated(rng: np.random.Generator, n: int = 40) -> tuple[np.ndarray, Predictions]:
    """Targets and predictions of a calibrated model of 3 classes."""
    predictions = Categorical(rng.dirichlet([1.0, 1.0, 1.0], n))
    return predictions.sample(rng)[0], predictions


def tempered_classes(rng: np.random.Generator, n: int = 40) -> tuple[np.ndarray, Predictions]:
    """Targets and predictions of a model that is far too sure."""
    y, predictions = simulated(rng, n)
    sharp = np.asarray(predictions.probabilities) ** 6 + 1e-9
    return y, Categorical(sharp / sharp.sum(axis=1, keepdims=True))


def _tested(law: NullLaw, statistic: Any, y: Any, predictions: Any, **options: Any) -> TestResult:
    return calibration_test(y, predictions, statistic=statistic, null=law, **{"draws": _DRAWS, "rng": 0, **options})


def _check_one(law: NullLaw, statistic: Any, calibrated: Simulator) -> None:
    y, predictions = calibrated(np.random.default_rng(0))
    y, predictions = np.array(y), read_only(predictions)
    y.setflags(write=False)
    told: list[tuple[int, int]] = []
    with untouched(targets=y, predictions=predictions), contract(law, "it tests the statistic"):
        result = _tested(law, statistic, y, predictions, progress=lambda done, total: told.append((done, total)))
    with contract(law, "p-values are numbers above 0 and not above 1"):
        claim(0 < result.pvalue <= 1, f"the p-value is {result.pvalue!r}")
        for member in result.members:
            claim(0 < member.pvalue <= 1, f"the p-value of {member.name!r} is {member.pvalue!r}")
            claim(isinstance(member.value, float), f"the value of {member.name!r} is {member.value!r}")
    with contract(law, "every statistic has a member, and one of them fired"):
        names = [member.name for member in result.members]
        claim(names and len(set(names)) == len(names), f"the members are {names}")
        claim(result.fired in names, f"fired is {result.fired!r}, the members are {names}")
    with contract(law, "draws is how many were made, and what drew tells its progress"):
        claim(isinstance(result.draws, int) and result.draws >= 0, f"it is {result.draws!r}")
        if result.draws:
            claim(
                result.pvalue >= 1 / (result.draws + 1) - 1e-12 or law.asymptotic,
                f"p is {result.pvalue} of {result.draws} draws",
            )
            claim(all(done <= total for done, total in told), f"progress was told {told}")
    with contract(law, "notes are sentences"):
        claim(all(isinstance(note, str) and note for note in result.notes), f"they are {result.notes!r}")
    with contract(law, "the same seed gives the same p-value, and a law without draws heeds no seed"):
        claim(_tested(law, statistic, y, predictions).pvalue == result.pvalue, "it differs when asked again")
        other = _tested(law, statistic, y, predictions, rng=1).pvalue
        claim(result.draws or other == result.pvalue, f"it says 0 draws, and p is {result.pvalue} and {other}")


def _check_outside(law: NullLaw, statistic: Any, calibrated: Simulator) -> None:
    y, predictions = calibrated(np.random.default_rng(1))
    with contract(law, "case weights are served, or refused with the remedy"):
        _served_or_refused(
            lambda: _tested(law, statistic, y, predictions, weights=np.linspace(0.5, 1.5, len(predictions)))
        )
    with contract(law, "another statistic is served, or refused with the remedy"):
        _served_or_refused(lambda: _tested(law, _largest_target, y, predictions))
    with contract(law, "a statistic that is NaN is refused"):
        try:
            _tested(law, _largest_target, y, predictions)
        except InputError:
            return
        refused(lambda: _tested(law, _nan, y, predictions), "a statistic that is NaN")


def _largest_target(y: np.ndarray, predictions: Predictions) -> float:
    return float(np.max(y))


def _nan(y: np.ndarray, predictions: Predictions) -> float:
    return float("nan")


def _served_or_refused(call: Callable[[], TestResult]) -> None:
    try:
        result = call()
    except InputError as error:
        tells_what_to_do(str(error))
    else:
        claim(0 < result.pvalue <= 1, f"the p-value is {result.pvalue!r}")


def _check_frequencies(
    law: NullLaw, statistic: Any, calibrated: Simulator, wrong: Simulator, slack: float, power: float, tries: int
) -> None:
    pvalues = np.array(
        [_tested(law, statistic, *calibrated(np.random.default_rng([5, k])), rng=k).pvalue for k in range(tries)]
    )
    with contract(law, "calibrated models are rejected no more often than the level says"):
        for level in (0.05, 0.2):
            hits = int((pvalues <= level + 1e-12).sum())
            within_binomial_bounds(hits, tries, most=level + slack, what=f"p was at most {level}")
    if power:
        tries = max(20, tries // 4)
        with contract(law, "wrong models are rejected"):
            found = [_tested(law, statistic, *wrong(np.random.default_rng([6, k])), rng=k).pvalue for k in range(tries)]
            hits = int((np.array(found) <= 0.2).sum())
            within_binomial_bounds(hits, tries, least=power, what="p was at most 0.2")
