"""The checks of what turns a statistic into a p-value or an interval: a null law, and an interval method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.inference import (
    IntervalMethod,
    NullLaw,
    Request,
    Spread,
    TestResult,
    calibration_test,
    confidence_interval,
)
from kernelcal.kernels import Laplacian
from kernelcal.predictions import Bernoulli, Categorical, Predictions
from kernelcal.statistics import SKCE
from kernelcal.testing.contract import (
    claim,
    close,
    contract,
    read_only,
    refused,
    settings_are_fixed,
    tells_what_to_do,
    untouched,
    within_binomial_bounds,
)

__all__ = ["check_interval_method", "check_null_law"]


Simulator = Callable[[np.random.Generator], tuple[Any, Predictions]]
_DRAWS, _DRAWS_OF_AN_INTERVAL = 39, 99
_LEVEL, _ROWS, _KERNEL = 0.9, 60, Laplacian(0.5)


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

    The p-value lies above 0 and not above 1, and so do those of the members, one of which fired where it rejects; the
    same seed gives the same p-value; what is given stays as it is; case weights and other statistics are served or
    refused.
    Calibrated models are rejected at the levels 0.05 and 0.2 as often as that, not more, and wrong ones are rejected.

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
        calibrated = calibrated_classes
    if wrong is None:
        wrong = oversure_classes
    _check_one_test(law, asked, calibrated)
    _check_other_uses(law, asked, calibrated)
    _check_frequencies(
        law, asked, calibrated, wrong, (0.05 if law.asymptotic else 0.0) if slack is None else slack, power, tries
    )


def calibrated_classes(rng: np.random.Generator, n: int = 40) -> tuple[np.ndarray, Predictions]:
    """Targets and predictions of a calibrated model of 3 classes."""
    predictions = Categorical(rng.dirichlet([1.0, 1.0, 1.0], n))
    return predictions.sample(rng)[0], predictions


def oversure_classes(rng: np.random.Generator, n: int = 40) -> tuple[np.ndarray, Predictions]:
    """Targets and predictions of a model that is far too sure."""
    predictions: Any
    y, predictions = calibrated_classes(rng, n)
    sharp = np.asarray(predictions.probabilities) ** 6 + 1e-9
    return y, Categorical(sharp / sharp.sum(axis=1, keepdims=True))


def _tested(law: NullLaw, statistic: Any, y: Any, predictions: Any, **options: Any) -> TestResult:
    return calibration_test(y, predictions, statistic=statistic, null=law, **{"draws": _DRAWS, "rng": 0, **options})


def _check_one_test(law: NullLaw, statistic: Any, calibrated: Simulator) -> None:
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
    with contract(law, "every statistic has a member, and one of them fired where it rejects"):
        names = [member.name for member in result.members]
        claim(names and len(set(names)) == len(names), f"the members are {names}")
        expected = names if result.rejected else ("",)
        claim(result.fired in expected, f"fired is {result.fired!r}, the members are {names}")
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


def _check_other_uses(law: NullLaw, statistic: Any, calibrated: Simulator) -> None:
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


def check_interval_method(
    method: IntervalMethod, *, statistic: Any = None, coverage: float = 0.8, narrow: float = 30.0, tries: int = 60
) -> None:
    """Check that a method keeps the contract of `kernelcal.inference.IntervalMethod`.

    The ends of an interval are in order, wider for a higher level, and the upper end of a one-sided interval belongs
    to the p-value of ``above``; the same seed gives the same interval; what is given stays as it is, case weights are
    taken or refused. Intervals of level 0.9 cover the error of a miscalibrated model, which is known here, and are
    not wider than they need be by any factor.

    Parameters
    ----------
    method : IntervalMethod
        The method.
    statistic : SKCE, optional
        Of what it makes intervals, with ``kernelcal.Laplacian(0.5)`` as kernel; default the unbiased one.
    coverage : float
        Least share of intervals of level 0.9 that cover.
    narrow : float
        Width of the intervals at most, on average, as a multiple of 4 standard deviations of the estimate.
    tries : int
        Number of simulated data sets.

    Raises
    ------
    AssertionError
        With the sentence of the contract that is broken, and the numbers.

    Notes
    -----
    The error of the simulated model is computed from its definition. Seeds are fixed; the bound on the coverage is one
    that a method which is right misses with probability 1e-6.

    Examples
    --------
    >>> from kernelcal.inference import INTERVAL_METHODS
    >>> from kernelcal.testing import check_interval_method
    >>> check_interval_method(INTERVAL_METHODS["root"], tries=20)
    """
    with contract(_Labelled(method), "a method is a kernelcal.inference.IntervalMethod with a label in words"):
        claim(isinstance(method, IntervalMethod), f"it is a {type(method).__name__}")
        claim(isinstance(method.label, str) and len(method.label) > 4, f"label is {method.label!r}")
        claim(isinstance(method.tested, bool), f"tested is {method.tested!r}")
    case = _Case(method, SKCE(prediction_kernel=_KERNEL) if statistic is None else statistic)
    y, predictions, _ = simulated_error(np.random.default_rng(0))
    y.setflags(write=False)
    with untouched(targets=y, predictions=predictions), contract(case.subject, "spread(request) returns a Spread"):
        spread = case.spread(y, predictions)
        claim(np.isfinite(spread.estimate), f"the estimate is {spread.estimate!r}")
    _check_ends(case, spread)
    _check_again(case, y, predictions, spread)
    _check_coverage(case, coverage, narrow, tries)


class _Labelled:
    def __init__(self, method: Any) -> None:
        self.words = f"the method {getattr(method, 'label', method)!r}"

    def __repr__(self) -> str:
        return self.words


class _Case:
    """A method and how it is asked: through `confidence_interval`, as people do."""

    def __init__(self, method: IntervalMethod, statistic: Any) -> None:
        self.method, self.statistic, self.subject = method, statistic, _Labelled(method)

    def spread(self, y: Any, predictions: Any, **options: Any) -> Spread:
        """What the method returns, with what the request holds."""
        found: list[Spread] = []

        def keep(request: Request) -> Spread:
            spread = self.method.spread(request)
            claim(isinstance(spread, Spread), f"it returned {type(spread).__name__}")
            found.append(spread)
            return spread

        asked = {"draws": _DRAWS_OF_AN_INTERVAL, "rng": 0, "pvalue": 0.001, **options}
        listening = replace(self.method, spread=keep)
        self.interval = confidence_interval(y, predictions, statistic=self.statistic, method=listening, **asked)
        return found[-1]


def simulated_error(rng: np.random.Generator, n: int = _ROWS) -> tuple[np.ndarray, Predictions, float]:
    """Targets and predictions of a model that says too little, and its squared error under the kernel."""
    said, truth = np.array([0.2, 0.5, 0.7]), np.array([0.45, 0.65, 0.95])
    which = rng.integers(0, 3, n)
    y = (rng.random(n) < truth[which]).astype(np.int64)
    gap = 2 * np.outer(truth - said, truth - said)  # of both classes
    kernel = np.exp(-np.abs(said[:, None] - said[None]) / _KERNEL.scale)
    return y, Bernoulli(said[which]), float((gap * kernel).mean())


def _check_ends(case: _Case, spread: Spread) -> None:
    subject, levels = case.subject, (0.5, 0.8, 0.9, 0.99)
    ends = []
    with contract(subject, "ends(level) is a pair of finite numbers in order"):
        for level in levels:
            low, high = spread.ends(level)
            claim(np.isfinite([low, high]).all() and low <= high, f"at level {level} it is {low:.6g}, {high:.6g}")
            ends.append((low, high))
    with contract(subject, "the interval of a higher level holds that of a lower one"):
        for (low, high), (lower, higher), level in zip(ends, ends[1:], levels[1:], strict=False):
            claim(
                lower <= low and high <= higher,
                f"at level {level} it is {lower:.6g} to {higher:.6g}, below {low:.6g} to {high:.6g}",
            )
        claim(ends[-1][1] > ends[0][1], f"the upper end is {ends[0][1]:.6g} at every level")
    with contract(
        subject, "upper(level) is a finite number that rises with the level, and lies at the upper end or below"
    ):
        upper = [float(spread.upper(level)) for level in levels]
        claim(np.isfinite(upper).all() and np.all(np.diff(upper) >= 0), f"it is {upper} at the levels {levels}")
        beyond = upper[2] - ends[2][1]
        claim(
            beyond <= 1e-9 * abs(ends[2][1]),
            f"at level 0.9 it is {upper[2]:.6g}, the upper end of two sides {ends[2][1]:.6g}",
        )
    with contract(subject, "above(value) is a p-value above 0, of the hypothesis that the error is at least the value"):
        values = np.sort([1e-4, max(upper[0], 0.0), max(upper[2], 0.0), 4 * abs(upper[3]) + 1.0])
        pvalues = [float(spread.above(value)) for value in values]
        claim(min(pvalues) > 0 and max(pvalues) <= 1 + 1e-9, f"it goes from {min(pvalues):.6g} to {max(pvalues):.6g}")
        claim(np.all(np.diff(pvalues) <= 1e-12), f"it rises with the value: {pvalues} at {values}")
        for level, value in ((0.5, upper[0]), (0.9, upper[2])):
            if value <= 0:  # no error is below 0
                continue
            found = float(spread.above(value))
            close(found, 1 - level, rtol=0, atol=2.5 / _DRAWS_OF_AN_INTERVAL, what=f"above(upper({level}))")


def _check_again(case: _Case, y: Any, predictions: Any, spread: Spread) -> None:
    with contract(case.subject, "the same seed gives the same interval"):
        again = case.spread(y, predictions)
        close(np.array(again.ends(0.9)), np.array(spread.ends(0.9)), rtol=1e-12, what="an end")
    with contract(case.subject, "a result has the ends, not below 0, and the label"):
        interval = case.interval
        claim(0 <= interval.lower <= interval.upper, f"it goes from {interval.lower:.6g} to {interval.upper:.6g}")
        claim(interval.method == case.method.label, f"its method is {interval.method!r}")
    with contract(case.subject, "case weights are taken, or refused with the remedy"):
        try:
            weighted = case.spread(y, predictions, weights=np.linspace(0.2, 1.8, len(y)))
        except InputError as error:
            tells_what_to_do(str(error))
        else:
            ends = weighted.ends(0.9)
            claim(ends[0] <= ends[1] and ends != spread.ends(0.9), f"with weights the interval is {ends}")


def _check_coverage(case: _Case, coverage: float, narrow: float, tries: int) -> None:
    hits, widths, estimates = 0, [], []
    with contract(case.subject, "intervals cover the error of a model, which is known here, as often as they say"):
        for k in range(tries):
            y, predictions, truth = simulated_error(np.random.default_rng([4, k]))
            spread = case.spread(y, predictions, rng=k)
            low, high = spread.ends(_LEVEL)
            hits += low <= truth <= high
            widths.append(high - low)
            estimates.append(spread.estimate)
        within_binomial_bounds(hits, tries, least=coverage, what=f"the interval of level {_LEVEL} covered")
        expected, error = float(np.mean(estimates)), float(np.std(estimates)) / np.sqrt(tries)
        away = abs(expected - truth)
        claim(away < 6 * error + 1e-12, f"estimates are {expected:.5g} on average, the error is {truth:.5g}")
    with contract(case.subject, "intervals are not wider than they need be by any factor"):
        width, needed = float(np.mean(widths)), 4 * float(np.std(estimates))
        claim(
            width < narrow * needed, f"they are {width:.4g} wide on average, {width / needed:.3g} times what is needed"
        )
