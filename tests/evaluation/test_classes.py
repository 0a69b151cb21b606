import json
import math

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.statistics import accuracy, brier_score, log_score


def data(m=4, n=300, seed=0, exponent=1.0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(m), n)
    y = kc.Categorical(p).sample(rng)[0]
    q = p**exponent
    return y, q / q.sum(1, keepdims=True)


def test_every_figure_is_that_of_its_function():
    y, p = data(exponent=2)
    result = kc.evaluate(y, p)
    assert (result.n, result.n_classes) == (300, 4)
    assert result.accuracy == accuracy(y, p)
    assert result.log_score == log_score(y, p)
    assert result.brier_score == brier_score(y, p)
    assert [e.name for e in result.eces] == ["ECE, top label"]
    assert float(result.eces[0]) == float(kc.ece(y, p))
    assert float(result.skce) == float(kc.skce(y, p))
    assert result.root == math.sqrt(float(result.skce))
    assert result.test == kc.calibration_test(y, p)
    assert result.pvalue == 0.001


def test_one_probability_gets_both_binned_errors_by_name():
    y, p = data(2)
    result = kc.evaluate(y, p[:, 1])
    assert [e.name for e in result.eces] == ["ECE, positive class", "ECE, top label"]
    assert float(result.eces[0]) == float(kc.ece(y, p[:, 1], question="positive class"))


def test_verdict_names_p_and_direction():
    y, p = data(exponent=2)
    assert kc.evaluate(y, p).verdict.startswith("Calibration is rejected (p = 0.001, exact test): over-confident")
    y, p = data()
    assert kc.evaluate(y, p).verdict.startswith("No evidence against calibration (p = ")
    y, p = data(n=20, seed=1)
    assert "with so few rows only gross miscalibration would show" in kc.evaluate(y, p).verdict


def test_negative_estimates_keep_their_sign_and_have_no_root():
    y, p = next((y, p) for y, p in (data(n=40, seed=s) for s in range(50)) if float(kc.skce(y, p)) < 0)
    result = kc.evaluate(y, p)
    assert float(result.skce) < 0
    assert result.root == 0.0
    assert f"{float(result.skce):.3e}" in result.summary()


def test_table_dictionary_and_html():
    y, p = data()
    result = kc.evaluate(y, p)
    text = result.summary()
    assert text == repr(result)
    for line in (
        "rows, classes",
        "accuracy",
        "log score",
        "Brier score",
        "ECE, top label, 15 equal-width bins",
        "SKCE, unbiased",
        "p-value, exact",
        "verdict",
        "engines",
        "seconds",
    ):
        assert line in text
    assert max(map(len, text.splitlines())) <= 88
    assert "<table>" in result._repr_html_()
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["pvalue"] == result.pvalue
    assert plain["ece"][0]["bins"] == "15 equal-width bins"
    assert plain["skce"]["value"] == float(result.skce)


def test_infinite_log_score_is_null_in_json_with_its_row():
    result = kc.evaluate([1, 0, 1], [0.0, 0.2, 0.9])
    assert math.isinf(result.log_score)
    plain = result.to_dict()
    assert plain["log_score"] is None
    assert "row 0" in plain["notes"][0]
    json.dumps(plain, allow_nan=False)


def test_class_names_reach_the_verdict():
    y, p = data(3, n=400)
    y[:80] = 2
    names = np.array(["no", "maybe", "yes"])
    result = kc.evaluate(names[y], p, classes=names)
    assert "class yes is under-predicted" in result.verdict


def test_very_many_rows_use_blocks_and_say_so(monkeypatch):
    import sys

    monkeypatch.setattr(sys.modules["kernelcal.evaluation.estimates"], "_SECONDS", 3e-11 * 34 * 300 * 100.5)
    y, p = data()
    result = kc.evaluate(y, p)
    assert result.skce.estimator == "block"
    assert "blocks of 100 rows" in result.summary()
    assert float(result.skce) == float(kc.skce(y, p, estimator="block", block_size=100))


@pytest.mark.slow
def test_one_walk_over_all_pairs_gives_the_estimate_and_its_interval(monkeypatch):
    import sys

    y, p = data(n=5100)
    alone = float(kc.skce(y, p))
    monkeypatch.setattr(sys.modules["kernelcal.pairs.tile_sums"].FeatureTiles, "of", None)  # of the value alone
    found = kc.evaluate(y, p, draws=99)
    assert float(found.estimate) == pytest.approx(alone, rel=1e-9)
    assert found.interval.estimate == pytest.approx(alone, rel=1e-9)


@pytest.mark.parametrize("n", [2, 3])
def test_smallest_inputs(n):
    result = kc.evaluate([0, 1, 1][:n], [0.3, 0.6, 0.9][:n])
    assert 0 < result.pvalue <= 1


@pytest.mark.slow
def test_what_looks_like_a_mistake_is_said():
    rng = np.random.default_rng(0)
    p = rng.beta(0.3, 0.3, 300)
    y = kc.Bernoulli(p).sample(rng)[0]
    assert "is this the probability of the other class" in kc.evaluate(y, 1 - p).notes[0]
    assert "if these are predicted labels" in kc.evaluate(y, (p > 0.5).astype(float)).notes[0]
    assert "is it the predicted, not the true label" in kc.evaluate((p >= 0.5).astype(int), p).notes[0]
    assert kc.evaluate(y, p).notes[:1] == kc.calibration_test(y, p).notes[:1]


def test_all_draws_on_request():
    y, p = data()
    assert kc.evaluate(y, p).test.draws < 999
    assert kc.evaluate(y, p, early_stopping=False).test.draws == 999


def test_a_negative_estimate_has_no_root_in_the_table():
    y, p = next((y, p) for y, p in (data(n=40, seed=s) for s in range(50)) if float(kc.skce(y, p)) < 0)
    assert "negative: no root" in kc.evaluate(y, p).summary()


def test_very_few_rows_have_no_interval():
    p = np.full((9, 2), 0.5)
    assert kc.evaluate(np.arange(9) % 2, p, draws=19).interval is None
    assert kc.evaluate(np.arange(10) % 2, np.full((10, 2), 0.5), draws=19).interval is not None


def test_names_of_columns_of_a_frame_in_memory():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"y": [0, 1, 1] * 10, "p": [0.2, 0.7, 0.6] * 10})
    assert kc.evaluate(frame, "p", target="y", draws=99).log_score == kc.evaluate(frame.y, frame.p, draws=99).log_score
    with pytest.raises(InputError, match="there is no column 'q'"):
        kc.evaluate(frame, "q", target="y")


@pytest.mark.parametrize("memory", ["1kB", 0, -1, True])
def test_memory_is_a_number_of_bytes(tmp_path, memory):
    with pytest.raises(InputError, match="memory is a number of bytes, such as"):
        kc.evaluate(tmp_path, memory=memory)
