"""Checks of statistics, null laws and interval methods find deliberate defects."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
from scipy.special import ndtr

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.inference import (
    INTERVAL_METHODS,
    Exact,
    IntervalMethod,
    Member,
    NullLaw,
    Outcome,
    Spread,
    block_spread,
    one_member,
)
from kernelcal.statistics import Prepared, Statistic
from kernelcal.testing import check_interval_method, check_null_law, check_statistic

# statistics


@dataclass(frozen=True)
class Gap(Statistic):
    """Right: |hits - expected hits| of the first choice."""

    defect: str = ""

    def prepare(self, predictions, weights=None):
        if weights is not None and self.defect != "ignores weights":
            raise InputError("Gap takes no case weights: leave weights out")
        if self.defect == "writes predictions":
            predictions.probabilities[0] = predictions.probabilities[1]
        if self.defect == "raw error":
            return PreparedGap(self.defect, predictions.p)
        return PreparedGap(self.defect, predictions.probabilities)


class PreparedGap(Prepared):
    names = ("gap",)
    engine = "sums over rows"

    def __init__(self, defect, p):
        self.defect = defect
        self.top, self.confidence = p.argmax(axis=1), p.max(axis=1)
        self.bytes_per_draw = 0 if defect == "bytes" else 16 * len(p)
        self.seen = 0
        if defect == "seed":
            self.shift = np.random.default_rng().random()
        if defect == "two names":
            self.names = ("gap", "gap")

    def values(self, labels):
        d = self.defect
        if d == "writes":
            labels[0] = 0
        found = np.abs(((labels == self.top) - self.confidence).sum(axis=1))[:, None]
        if d == "first row":
            found[0] *= 1.5
        if d == "state":
            self.seen += len(labels)
            found = found + 0.01 * self.seen
        if d == "noise":
            found = found * np.random.default_rng().uniform(0.9, 1.1, found.shape)
        if d == "batch mean":
            found = found - found.mean()
        if d == "order":
            found = found + (labels[:, :1] == 0)
        if d == "small":
            found = -found
        if d == "flat":
            return found[:, 0]
        if d == "whole":
            return found.astype(int)
        if d == "nan":
            found[2] = np.nan
        if d == "seed":
            found = found + self.shift
        if d == "two names":
            found = np.repeat(found, 2, axis=1)
        if d == "list":
            return found.tolist()
        if d == "twice":
            found = 2 * found
        return found


def gap(labels, predictions):
    p = predictions.probabilities
    return abs(sum((labels[i] == p[i].argmax()) - p[i].max() for i in range(len(p))))


def test_the_right_statistic_passes():
    check_statistic(Gap(), formula=gap, tries=40)


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        ("first row", "no row is special.*a value of equal targets"),
        ("state", r"no row is special.*\(a value asked again\)|no row is special"),
        ("noise", "no row is special"),
        ("batch mean", "no row is special"),
        ("order", "the order of the rows changes nothing"),
        ("small", "large values speak against calibration.*by -"),
        ("flat", r"it has shape \(7,\) for 7 sets and 1 names"),
        ("whole", "values are int64, expected floating numbers"),
        ("nan", "1 of 7 values are not finite"),
        ("list", "it returned list, expected a NumPy array"),
        ("twice", "values are those of the formula"),
        ("seed", "nothing random but seeds"),
        ("two names", "all different. Here it is"),
        ("bytes", "bytes_per_draw is 0"),
        ("writes", "takes sets of targets.*read-only"),
        ("writes predictions", "sees no targets.*read-only"),
        ("ignores weights", "uneven weights change no value"),
        ("raw error", "sees no targets.*AttributeError"),
    ],
)
def test_broken_statistics_are_found(defect, message):
    formula = None if defect in ("small", "order") else gap  # which would find them as well
    with pytest.raises(AssertionError, match=message) as caught:
        check_statistic(Gap(defect), formula=formula, tries=10)
    assert str(caught.value).startswith(f"Gap(defect={defect!r})")


def test_a_statistic_that_must_refuse_a_family_and_does_not_is_found():
    class Anything(Gap):
        def prepare(self, predictions, weights=None):
            return super().prepare(kc.Categorical(np.full((len(predictions), 2), 0.5)), weights)

    with pytest.raises(AssertionError, match="a batch of Normal was accepted"):
        check_statistic(
            Anything(), tries=2, refuses=[kc.Normal(np.zeros(20), 1.0)], wrong=lambda p: kc.Normal([0.0], 1.0)
        )


def test_what_sees_targets_loses_the_level():
    @dataclass(frozen=True)
    class Peeks(Gap):
        def prepare(self, predictions, weights=None):
            return Peeking("", predictions.probabilities)

    class Peeking(PreparedGap):
        observed = None

        def values(self, labels):
            if type(self).observed is None or len(labels) > 7:
                type(self).observed = labels[0].copy()
            return super().values(labels) + 5.0 * (labels == type(self).observed).all(axis=1)[:, None]

    with pytest.raises(
        AssertionError, match=r"(no row is special|the order of the rows|rejects calibrated models no more often)"
    ):
        check_statistic(Peeks())


# null laws


@dataclass(frozen=True)
class NormalFit(NullLaw):
    """A normal law fitted to draws, with a defect."""

    defect: str = ""
    label: ClassVar[str] = "normal law fitted to draws"

    def test(self, problem):
        d, prepared, draws = self.defect, problem.prepared, problem.run.draws
        source = problem.source.targets(problem.case.predictions, 0, draws)
        drawn, value = prepared.values(source)[:, 0], float(prepared.values(problem.case.targets[None])[0, 0])
        mean, std = float(drawn.mean()), float(drawn.std(ddof=1))
        if not np.isfinite(value) and d != "nan":
            raise InputError("the statistic is NaN, which has no p-value: return a number")
        z = (value - mean) / std if std > 0 else np.sign(value - mean) * np.inf if value != mean else 0.0
        if d == "biased draws":
            z += 1.0
        if d == "variance for std":
            z = z * 3
        p = float(ndtr(-z))
        if d == "wrong tail":
            p = 1 - p
        if d == "zero":
            p = 0.0
        if d == "above one":
            p = 2 * p + 0.5
        if d == "random":
            p = float(np.random.default_rng().random() * 0.9 + 0.05)
        if d == "says no draws":
            draws = 0
        if d == "useless":
            p = 1.0
        if d == "nan":
            p = p if np.isfinite(p) else 1.0
        if d == "raw error":
            raise ValueError("math domain error")
        member = Member(prepared.names[0], value, p, z)
        if d == "fired":
            return Outcome(0.01, (member,), "another", draws)
        if d == "no members":
            return Outcome(p, (), prepared.names[0], draws)
        if d in ("zero", "above one", "nan"):
            return Outcome(p, (member,), member.name, draws)
        return one_member(prepared, value, p, z, draws, notes=("",) if d == "empty note" else ())


def test_the_right_law_passes():
    check_null_law(NormalFit(), slack=0.1, tries=60)


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        ("biased draws", "rejected no more often than the level says.*p was at most"),
        ("variance for std", "rejected no more often than the level says"),
        ("wrong tail", "wrong models are rejected"),
        ("zero", r"Here the p-value is 0\.0"),
        ("above one", "(not above 1|math domain error)"),
        ("random", "the same seed gives the same p-value"),
        ("says no draws", "it says 0 draws"),
        ("useless", "wrong models are rejected"),
        ("fired", "fired is 'another'"),
        ("no members", "(It raised|the members are)"),
        ("nan", "a statistic that is NaN is refused"),
        ("raw error", "It raised ValueError: math domain error"),
        ("empty note", "notes are sentences"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.quick_cases(5)
def test_broken_laws_are_found(defect, message):
    with pytest.raises(AssertionError, match=message) as caught:
        check_null_law(NormalFit(defect))
    assert str(caught.value).startswith(f"NormalFit(defect={defect!r})")


def test_a_law_without_a_label_is_found():
    class Nameless(Exact):
        label: ClassVar[str] = ""

    with pytest.raises(AssertionError, match="label is ''"):
        check_null_law(Nameless())
    with pytest.raises(AssertionError, match="a null law derives from"):
        check_null_law("exact")


# interval methods


def jackknife(request, defect=""):
    if request.case.weights is not None and defect != "weights":
        raise InputError("the jackknife takes no case weights: use method='bootstrap'")
    prepared = request.prepared
    if defect == "weights":
        prepared = kc.SKCE(prediction_kernel=kc.Laplacian(0.5)).prepare(request.case.predictions)
    matrix = prepared.matrix(request.case.targets)
    n, sums = len(matrix), matrix.row_sums - matrix.diagonal
    total = sums.sum()
    without = (total - 2 * sums) / ((n - 1) * (n - 2))
    if defect == "one side":
        without = (total - sums) / ((n - 1) * (n - 2))
    values = n * total / (n * (n - 1)) - (n - 1) * without
    if defect == "twice":
        values = 2 * values
    if defect == "too narrow":
        values = values.mean() + (values - values.mean()) / 8
    if defect == "wide":
        values = values.mean() + (values - values.mean()) * 100
    if defect == "random":
        values = values + np.random.default_rng().normal(size=n)
    spread = block_spread(values)
    if defect == "turned":
        spread = replace(spread, ends=lambda level: block_spread(values).ends(level)[::-1])
    if defect == "levels":
        spread = replace(spread, ends=lambda level: block_spread(values).ends(1 - level))
    if defect == "constant":
        spread = replace(spread, ends=lambda level: block_spread(values).ends(0.9))
    if defect == "above":
        spread = replace(spread, above=lambda value: 1 - block_spread(values).above(value))
    if defect == "zero":
        spread = replace(spread, above=lambda value: 0.0)
    if defect == "two-sided upper":
        spread = replace(spread, upper=lambda level: block_spread(values).ends((1 + level) / 2)[1])
    if defect == "nan":
        spread = Spread(float("nan"), spread.ends, spread.upper, spread.above)
    if defect == "pair":
        return spread.ends
    return spread


def method(defect="", label="jackknife of the rows"):
    return IntervalMethod(lambda request: jackknife(request, defect), label)


def test_the_right_method_passes():
    check_interval_method(method())


@pytest.mark.parametrize(
    ("defect", "message"),
    [
        ("one side", "(cover the error|estimates are)"),
        ("twice", "estimates are .* on average, the error is"),
        ("too narrow", "the interval of level 0.9 covered in"),
        ("wide", "times what is needed"),
        ("random", "the same seed gives the same interval"),
        ("turned", "a pair of finite numbers in order"),
        ("levels", "the interval of a higher level holds that of a lower one"),
        ("constant", "the upper end is .* at every level"),
        ("above", "it rises with the value"),
        ("zero", "above.value. is a p-value above 0"),
        ("two-sided upper", "(the upper end of two sides|above.upper)"),
        ("nan", "the estimate is nan"),
        ("pair", "spread.request. returns a Spread. Here it returned function"),
        ("weights", "with weights the interval is"),
    ],
)
def test_broken_methods_are_found(defect, message):
    with pytest.raises(AssertionError, match=message) as caught:
        check_interval_method(method(defect))
    assert "the method 'jackknife of the rows': " in str(caught.value)


def test_a_method_without_a_label_is_found():
    with pytest.raises(AssertionError, match="label is ''"):
        check_interval_method(method(label=""))


def test_a_method_of_ones_own_is_taken_where_names_are():
    y, p = np.random.default_rng(0).integers(0, 2, 50), np.random.default_rng(1).random(50)
    interval = kc.confidence_interval(y, p, method=method(), draws=19)
    assert interval.method == "jackknife of the rows"
    assert kc.equivalence_test(y, p, within=0.9, method=method()).method == "jackknife of the rows"
    named = kc.confidence_interval(y, p, method=INTERVAL_METHODS["root"], draws=19)
    assert named == kc.confidence_interval(y, p, method="root", draws=19)
