"""What measures refuse: names, settings, answers that were not given; and no warning for one row."""

import warnings

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.measures import SelectiveAccuracy, clinical_table, measure, risk_coverage

N = 8
Y, P = np.arange(N) % 2, np.linspace(0.1, 0.9, N)


def test_a_field_with_settings():
    with pytest.raises(InputError, match=r"'clinical' is a field, the name of intercept, slope, .* coverage\(level"):
        measure(Y, P, "clinical(1)")


@pytest.mark.parametrize("coverage", ["x", None, True, [0.5], np.nan, 80])
def test_a_coverage_that_is_no_share(coverage):
    with pytest.raises(InputError, match=r"coverage is the share of answers that is kept, such as 0\.8, got"):
        SelectiveAccuracy(coverage)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"abstained": "a"}, "abstained must be a whole number of questions from 0, or true and false of every row"),
        ({"abstained": np.nan}, "abstained must be a whole number"),
        ({"abstained": np.inf}, "abstained must be a whole number"),
        ({"abstained": np.zeros(N)}, "of numbers pass abstained == 1"),
        ({"abstained": np.ones(N, dtype=bool)}, "all 8 questions were abstained from: of no answer there is no risk"),
        ({"abstained": Y == 1, "weights": np.ones(3)}, "weights must be 8 numbers"),
    ],
)
def test_answers_that_were_not_given(options, words):
    with pytest.raises(InputError, match=words):
        risk_coverage(Y, P, draws=19, **options)


@pytest.mark.parametrize("predictions", [P[1:], kc.Bernoulli(P[1:]), 0.5])
def test_answers_of_another_number(predictions):
    with pytest.raises(InputError, match="there are 8 targets and answers of another number"):
        risk_coverage(Y, predictions, abstained=Y == 1)


def test_one_row_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = clinical_table([1], [0.4], draws=19)
    assert found is not None
