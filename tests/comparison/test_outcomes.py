"""Models that are asked about outcomes of their own: whether the answer of each was right."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.inference.intervals import OwnSurprises, mean_difference


@pytest.mark.slow
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


@pytest.mark.slow
def test_scores_are_compared_row_by_row_each_with_its_own_outcome():
    rng = np.random.default_rng(1)
    c = {"a": rng.uniform(0.5, 1, 200), "b": rng.uniform(0.5, 1, 200)}
    y = {name: (rng.uniform(size=200) < p).astype(int) for name, p in c.items()}
    c["b"] = np.clip(1.3 * c["b"] - 0.05, 0, 0.99)  # says too much
    found = kc.compare(y, c, draws=99)
    for measure, score in (
        ("log score", lambda p, y: -np.log(np.where(y == 1, p, 1 - p))),
        ("Brier", lambda p, y: (p - y) ** 2),
    ):
        rows = score(c["a"], y["a"]) - score(c["b"], y["b"])
        difference = found.difference(measure, "a", "b")
        assert difference.difference == pytest.approx(rows.mean(), rel=1e-9)
        assert difference.standard_error >= rows.std(ddof=1) / np.sqrt(200) * (1 - 1e-9)
        assert difference.standard_error == pytest.approx(rows.std(ddof=1) / np.sqrt(200), rel=0.1)
    assert found.best_score == "a"
    assert "outcome of its own" in " ".join(found.notes)
    lens = kc.compare(y["a"], {"a": c["a"], "b": 1 - c["a"]}, lens=kc.TopLabel(), draws=99)
    assert lens.difference("Brier", "a", "b").measure == "Brier"


@pytest.mark.slow
def test_rows_of_one_subject_are_allowed_for():
    rng = np.random.default_rng(2)
    c = {name: np.repeat(rng.uniform(0.5, 1, 40), 5) for name in "ab"}
    y = {name: np.repeat((rng.uniform(size=40) < p[::5]).astype(int), 5) for name, p in c.items()}
    alone = kc.compare(y, c, draws=99).difference("log score", "a", "b")
    told = kc.compare(y, c, draws=99, clusters=np.repeat(np.arange(40), 5)).difference("log score", "a", "b")
    assert told.difference == alone.difference
    assert told.standard_error > 1.8 * alone.standard_error


def test_numbers_of_their_own_have_no_common_unit():
    rng = np.random.default_rng(3)
    y = {name: rng.normal(size=60) for name in "ab"}
    found = kc.compare(y, {name: kc.Normal(np.zeros(60), np.ones(60)) for name in "ab"}, draws=99)
    assert {d.measure for d in found.differences} == {"SKCE", "CKCE"}
    assert "a number of its own" in " ".join(found.notes)


def _log(p):
    return -np.log(np.maximum(p, 1e-12))


def test_surprises_of_pairs_of_outcomes_are_those_of_a_sum_over_all():
    rng = np.random.default_rng(4)
    p, q = rng.dirichlet(np.ones(3), 30), rng.dirichlet(np.ones(3), 30)
    rows = rng.normal(size=30)
    found = OwnSurprises([kc.Categorical(p), kc.Categorical(q)], _log).errors(rows, 0, 1)
    weight = total = 0.0
    for a, b in zip(p, q, strict=True):
        for j in range(3):
            for k in range(3):
                if (j, k) != (a.argmax(), b.argmax()):
                    weight += a[j] * b[k]
                    total += a[j] * b[k] * (_log(a[j]) - _log(b[k]) - rows.mean()) ** 2
    own = ((rows - rows.mean()) ** 2).sum()
    for k in (2.0, 5.5):
        assert found(k) == pytest.approx(np.sqrt((own + k * total / weight) / ((30 + k) * (29 + k))), rel=1e-12)


@pytest.mark.parametrize(("n", "low"), [(40, 0.95), (150, 0.98), (200, 0.5)])
def test_the_level_is_kept_where_few_answers_are_wrong(n, low):
    """Two models of the same quality, both right: the difference is 0 on average."""
    rng = np.random.default_rng(5)
    sets, rejected = 600, 0
    for _ in range(sets):
        c = rng.uniform(low, 0.995, (2, n))
        right = rng.uniform(size=(2, n)) < c
        scores = -np.log(np.where(right, c, 1 - c))
        surprises = OwnSurprises([kc.Bernoulli(one) for one in c], _log)
        found = mean_difference(scores[0], scores[1], lambda rows, s=surprises: s.errors(rows, 0, 1))
        rejected += found.pvalue <= 0.05
    assert rejected <= 0.05 * sets + 3 * np.sqrt(0.05 * 0.95 * sets)
