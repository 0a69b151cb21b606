"""What evaluate says about densities known through their score functions."""

import importlib
import json

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.evaluation import ScoreEvaluation
from kernelcal.predictions import Score, UnnormalizedDensity
from kernelcal.statistics import highest_density_coverage, kccsd

RNG = np.random.default_rng(0)
N = 120
CENTRES = RNG.normal(size=N)
Y = CENTRES + RNG.normal(size=N)
DRAWS = CENTRES[:, None] + RNG.normal(size=(N, 39))


def score(y, a):
    return a - y


def log_density(y, a):
    return -((y - a) ** 2) / 2 + 7.0


def sampler(rng, a):
    return a + rng.normal(size=len(a))


MODELS = {
    "score": Score(score, CENTRES),
    "score, draws": Score(score, CENTRES, draws=DRAWS),
    "score, sampler": Score(score, CENTRES, sampler=sampler),
    "density": UnnormalizedDensity(log_density, CENTRES, gradient=score),
    "density, draws": UnnormalizedDensity(log_density, CENTRES, gradient=score, draws=DRAWS),
    "density, sampler": UnnormalizedDensity(log_density, CENTRES, gradient=score, sampler=sampler),
}


@pytest.mark.quick_cases(5)
@pytest.mark.parametrize("name", MODELS)
def test_it_asks_what_can_be_asked(name):
    batch = MODELS[name]
    result = kc.evaluate(Y, batch, draws=199)
    assert isinstance(result, ScoreEvaluation)
    described = "draws" in name or "sampler" in name
    assert float(result.estimate) == float(kccsd(Y, batch))
    assert result.test.null.startswith("exact" if described else "wild bootstrap")
    assert result.pvalue == kc.calibration_test(Y, batch, draws=199).pvalue
    assert (result.coverage is not None) == (described and "density" in name)
    assert ("many rows" in " ".join(result.notes)) != described
    assert any("proportions of modes" in note for note in result.notes)
    questions = " ".join(result.unasked)
    assert "negative log-likelihood" in questions
    assert ("highest-density coverage" in questions) == (result.coverage is None)
    assert ("draw from the predictions" in questions) == ("draws" not in name)
    text = result.summary()
    assert "cannot be asked" in text
    assert ("p-value, exact" if described else "p-value, wild bootstrap") in text
    plain = json.loads(json.dumps(result.to_dict()))
    assert plain["kccsd"]["value"] == float(result.estimate)
    assert plain["unasked"] == list(result.unasked)
    assert "skce" not in plain


def test_coverage_is_that_of_the_law():
    """The region of a normal is an interval around its mean."""
    exact = highest_density_coverage(Y, kc.Normal(CENTRES, 1.0))
    for name in ("density, draws", "density, sampler"):
        found = kc.evaluate(Y, MODELS[name], draws=99).coverage
        np.testing.assert_allclose(found.shares, exact.shares, atol=0.09)
        assert found.verdict == ("agrees",) * 3
    narrow = UnnormalizedDensity(
        lambda y, a: -8 * (y - a) ** 2,
        CENTRES,
        gradient=lambda y, a: 16 * (a - y),
        draws=CENTRES[:, None] + 0.25 * RNG.normal(size=(N, 39)),
    )
    result = kc.evaluate(Y, narrow, draws=99)
    assert result.coverage.verdict[1] == "over-confident"
    assert result.verdict == "Calibration is rejected (p = 0.01, exact test)."


def test_the_wild_bootstrap_says_so_in_the_verdict():
    result = kc.evaluate(Y + 1, MODELS["score"], draws=199)
    assert result.verdict == "Calibration is rejected (p = 0.005, wild bootstrap)."


def test_many_rows_are_summed_in_blocks(monkeypatch):
    estimates = importlib.import_module("kernelcal.evaluation.estimates")  # kernelcal.evaluate is a function
    monkeypatch.setattr(estimates, "_SCORES_UP_TO", 100)
    monkeypatch.setattr(estimates, "_SCORES_IN_A_BLOCK", 10)
    result = kc.evaluate(Y, MODELS["score"])
    assert result.estimate.options["block_size"] == 10
    assert result.test.null.startswith("blocks") or "block" in result.test.null


def test_what_a_score_does_not_tell_has_a_cure():
    for call in (kc.skce, lambda y, p: p.quantile(0.5)):
        with pytest.raises(InputError, match=r"use kernelcal\.statistics\.kccsd, which needs the score only, or draw"):
            call(Y, MODELS["score, draws"])
    with pytest.raises(InputError, match="has no density, so it has no highest-density regions"):
        highest_density_coverage(Y, MODELS["score, draws"])
