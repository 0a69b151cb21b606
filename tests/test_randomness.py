"""Generators from what callers pass as rng."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.randomness import generator_of

P = kc.Normal(np.zeros(20), 1.0)


def test_seeds_and_generators_serve():
    first = np.random.default_rng(3).random(4)
    for rng in (3, np.int64(3), np.random.SeedSequence(3), np.random.default_rng(3)):
        np.testing.assert_array_equal(generator_of(rng).random(4), first)
    given = np.random.default_rng(3)
    assert generator_of(given) is given


@pytest.mark.parametrize("rng", ["seed", -1, 1.5, [None]])
@pytest.mark.parametrize(
    "call",
    [
        lambda rng: P.sample(rng),
        lambda rng: kc.calibration_test(np.zeros(20), P, rng=rng),
        lambda rng: kc.evaluate(np.zeros(20), P, rng=rng),
    ],
)
def test_anything_else_is_refused(call, rng):
    with pytest.raises(InputError, match="rng must be a seed such as 0"):
        call(rng)
