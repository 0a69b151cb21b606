"""The check of measures fails what breaks its contract, with the sentence."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.measures import Measure, PreparedMeasure
from kernelcal.testing import check_measure


class Prepared(PreparedMeasure):
    def __init__(self, measure, batch, weights):
        super().__init__(measure)
        self.p, self.w = np.asarray(batch.p), np.ones(len(batch)) if weights is None else weights

    def measured(self, targets):
        return (targets - self.p) @ self.w / self.w.sum()

    def influences(self, targets):
        each = targets - self.p
        return each - self.w @ each / self.w.sum()


@dataclass(frozen=True)
class Bias(Measure):
    kind: ClassVar[type] = Prepared
    name: ClassVar[str] = "bias"
    ideal: ClassVar[float | None] = 0.0
    signed: ClassVar[bool] = True

    def prepare(self, predictions, weights=None):
        return self.kind(self, predictions, weights)


def low(batch):
    return kc.Bernoulli(batch.p / 2)


def refused(measure, said, **options):
    with pytest.raises(AssertionError, match=said):
        check_measure(measure, wrong=low, **options)


def of(prepared, **words):
    """The measure with something broken."""
    return dataclass(frozen=True)(type("Broken", (Bias,), {"kind": prepared, **words}))()


def test_what_is_right_passes():
    check_measure(Bias(), wrong=low, formula=lambda y, b, w: np.average(y - b.p, weights=w))


def test_another_formula():
    refused(Bias(), "value is that of the formula, with case weights", formula=lambda y, b, w: np.mean(y - b.p))


def test_influences_that_are_no_derivative():
    class Twice(Prepared):
        def influences(self, targets):
            return 2 * super().influences(targets)

    class Raw(Prepared):
        def influences(self, targets):
            return targets - self.p + 0.1

    refused(of(Twice), r"derivative of the value by case weights of mean 1\. Here the influence of row")
    refused(of(Raw), r"their weighted mean is")


def test_noise_that_is_no_norm():
    class Wrong(Prepared):
        factor = 2.0

        def measured(self, targets):
            return np.abs(super().measured(targets))

        def influences(self, targets):
            return None

        def noise(self, targets, factors):
            return self.factor * np.abs((targets - self.p) * factors @ self.w / self.w.sum())

    class Squared(Wrong):
        def measured(self, targets):
            return Prepared.measured(self, targets) ** 2

        def noise(self, targets, factors):
            return ((targets - self.p) * factors @ self.w / self.w.sum()) ** 2

    class Nothing(Wrong):
        noise = PreparedMeasure.noise

    refused(of(Wrong, signed=False), "with 1 it is the value")
    refused(of(Squared, signed=False), "more than the sum of both")
    refused(of(Nothing, signed=False), "influences and noise both returned None")


def test_intervals_that_are_too_narrow():
    class Narrow(Prepared):
        def influences(self, targets):
            each = super().influences(targets)
            return each / 10

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernelcal.testing.measure._check_interval_parts", lambda *_: None)
        patch.setattr("kernelcal.measures.intervals._SURPRISES", 0.0)
        refused(of(Narrow), "intervals of 95 % hold 0")


def test_words():
    refused(of(Prepared, name=""), "it has a name")
    refused(of(Prepared, scale="cube"), "scale is 'cube'")
    refused(of(Prepared, signed=1), "signed is 1")


def test_what_is_served_although_it_should_be_refused():
    refused(Bias(), "takes\\(\\) says that a batch of Bernoulli is served", refuses=[kc.Bernoulli([0.2, 0.4])])
