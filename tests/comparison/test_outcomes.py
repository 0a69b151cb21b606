"""Models that are asked about outcomes of their own: whether the answer of each was right."""

import numpy as np
import pytest

import kernelcal as kc


def test_an_outcome_a_model():
    rng = np.random.default_rng(0)
    c = {name: rng.uniform(0.5, 1, 80) for name in "ab"}
    y = {name: (rng.uniform(size=80) < c[name]).astype(int) for name in "ab"}
    found = kc.compare(y, c, draws=99)
    for model in found.models:
        alone = kc.evaluate(y[model.name], c[model.name], draws=99)
        assert model.evaluation.log_score == pytest.approx(alone.log_score, rel=1e-12)
        assert model.evaluation.pvalue == alone.pvalue
    same = kc.compare(dict.fromkeys("ab", y["a"]), c, draws=99)
    assert same.verdict == kc.compare(y["a"], c, draws=99).verdict
    with pytest.raises(kc.InputError, match="model 'b' has no outcomes, though those of a were given"):
        kc.compare({"a": y["a"]}, c, draws=99)
