"""What climatologies and skills refuse: each message says what was given, expected and to do."""

import numpy as np
import pytest

from kernelcal import Categorical, Samples
from kernelcal.errors import InputError
from kernelcal.measures import climatology, skill
from kernelcal.predictions import Categorical as Classes

N = 8
Y, P = np.arange(N) % 2, np.linspace(0.1, 0.9, N)


@pytest.mark.parametrize(
    ("y", "predictions", "options", "words"),
    [
        (Y, np.where(np.arange(N) == 3, np.nan, P), {}, "the prediction at row 3 is missing"),
        (Y, None, {}, "cannot read predictions from NoneType"),
        (None, P, {}, "targets must be an array"),
        (["a"] * N, P, {}, "the targets are text"),
        (Y[1:], P, {}, "there are 7 targets but 8 rows of predictions"),
        (Y + 1, P, {}, "the labels look one-based"),
        (P, Y, {}, "were the arguments swapped"),
        ([], [], {}, "there are no rows"),
        (Y, P, {"groups": np.arange(3)}, r"groups must hold one label for each of the 8 rows, got shape \(3,\)"),
        (Y, P, {"groups": [None] * N}, "groups: row 0 is missing: give such rows a label of their own"),
        (Y, P, {"apart": "x"}, r"apart must hold one label for each of the 8 rows, got shape \(\)"),
        (Y, P, {"apart": np.arange(3)}, "apart must hold one label"),
        (Y, P, {"groups": np.arange(N)}, "some rows have none in their group: leave the groups out"),
        (Y[:1], P[:1], {}, "some rows have none: give more rows"),
    ],
)
def test_a_climatology_checks_what_it_is_made_of(y, predictions, options, words):
    with pytest.raises(InputError, match=words):
        climatology(y, predictions, **options)


def test_a_climatology_of_vectors():
    with pytest.raises(InputError, match="a climatology needs one number a target"):
        climatology(np.zeros((3, 2)), Samples(np.zeros((3, 5, 2))))


def test_arrays_of_probabilities_have_the_climatology_of_their_class():
    table = np.full((N, 2), 0.5)
    found = climatology(Y, table)
    assert isinstance(found, Classes)
    assert np.array_equal(found.table(), climatology(Y, Categorical(table)).table())


@pytest.mark.parametrize("score", ["x", "slope", 3])
def test_a_score_that_is_none(score):
    with pytest.raises(InputError, match=r"score must be one of 'crps', 'twcrps', .* or such a measure with settings"):
        skill(Y, P, score=score)


def test_a_baseline_that_is_never_wrong():
    with pytest.raises(InputError, match="there is no skill; take another baseline"):
        skill(np.zeros(N), P)
