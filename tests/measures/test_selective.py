"""Selective risk: values of others, curves, what is shown unasked, abstentions, several answers a question."""

import json

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.inference import Draws
from kernelcal.measures import SelectiveAccuracy, measure, risk_coverage, serving


def answers(n=300, power=1.0, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(0.3, 1.0, n).round(2)
    return rng.random(n) < p**power, p


def test_the_area_is_the_mean_of_risks():
    """Geifman, El-Yaniv (2017); torch-uncertainty 0.13.0 documents .0833 by trapezoids from coverage 1/3 to 1."""
    area = kc.measures.RiskCoverageArea()([1, 1, 0], [0.8, 0.7, 0.6])
    assert area == pytest.approx(1 / 9)
    assert (3 * area - (0 + 1 / 3) / 2) / 2 == pytest.approx(0.0833, abs=5e-5)
    p = np.array([0.99, 0.91, 0.83, 0.77, 0.68, 0.61, 0.57, 0.52])
    y = np.array([1, 1, 0, 1, 0, 1, 1, 0])
    by_hand = (0 + 0 + 1 / 3 + 1 / 4 + 2 / 5 + 2 / 6 + 2 / 7 + 3 / 8) / 8
    assert kc.measures.RiskCoverageArea()(y, p) == pytest.approx(by_hand)


def test_rows_of_one_confidence_count_as_in_a_random_order():
    y, p = np.array([1, 0, 0, 1, 1, 0]), np.array([0.9, 0.9, 0.9, 0.5, 0.5, 0.4])
    rng, found = np.random.default_rng(0), []
    for _ in range(4000):
        order = rng.permutation(6)
        order = order[np.argsort(-p[order], kind="stable")]
        found.append(np.mean(np.cumsum(1 - y[order]) / np.arange(1, 7)))
    error = np.std(found) / np.sqrt(len(found))
    assert kc.measures.RiskCoverageArea()(y, p) == pytest.approx(np.mean(found), abs=4 * error)


def test_the_surest_are_kept_and_those_on_the_border_in_part():
    y, p = np.array([1, 1, 0, 0]), np.array([0.9, 0.5, 0.5, 0.1])
    assert SelectiveAccuracy(0.5)(y, p) == pytest.approx((1 + 0.5 * 1 + 0.5 * 0) / 2)
    assert SelectiveAccuracy(0.25)(y, p) == 1
    assert SelectiveAccuracy(1.0)(y, p) == kc.measures.Accuracy()(y, p)
    for wrong in (0.0, 1.2, np.nan):
        with pytest.raises(InputError, match="coverage is the share of answers that is kept"):
            SelectiveAccuracy(wrong)


def test_they_are_shown_unasked_of_answers_alone():
    y, p = answers()
    assert "aurc" not in serving(kc.Bernoulli(p))
    assert "aurc" in serving(kc.TopLabel().view(kc.Categorical(np.stack([p, 1 - p], axis=1))).predictions)
    assert [one.name for one in measure(y, p, "selective", draws=39).values] == [
        "accuracy",
        "accuracy of the surest 80 %",
        "AURC",
        "excess AURC",
    ]
    with pytest.raises(InputError, match="accuracy is for a confidence that an answer is right"):
        measure(np.zeros(4), kc.Normal(np.zeros(4), 1.0), "accuracy")


def test_over_confidence_lowers_accuracy_below_what_is_expected():
    found = measure(*answers(400, 2.0), "selective", draws=199)
    for one in found.values[:2]:
        assert one.value < one.expected
        assert one.pvalue <= 0.02
    assert found["AURC"].value > found["AURC"].expected


def naive_risks(y, p):
    order = np.argsort(-p, kind="stable")
    return np.cumsum(1 - y[order]) / np.arange(1, len(y) + 1)


def test_the_curve_is_errors_over_what_is_kept():
    rng = np.random.default_rng(4)
    p = rng.permutation(np.linspace(0.2, 0.95, 60))
    y = (rng.random(60) < p).astype(int)
    found = risk_coverage(y, p, draws=99, abstained=15)
    np.testing.assert_allclose(found.risk, naive_risks(y, p))
    np.testing.assert_allclose(found.coverage, np.arange(1, 61) / 75)
    np.testing.assert_allclose(found.confidence, np.sort(p)[::-1])
    expected = np.cumsum(1 - np.sort(p)[::-1]) / np.arange(1, 61)
    np.testing.assert_allclose(found.expected[10:], expected[10:], atol=0.06)
    assert np.all((found.low <= found.expected)[10:] & (found.expected <= found.high)[10:])
    assert "15 of 75 questions were not answered" in found.summary()
    assert f"{(y.sum() / 75):.4f}" in found.summary()


def test_the_curve_s_band_and_p_value_are_those_of_its_redraws():
    """P: share of curves, redrawn ones and its own, whose mean square of z scores is at least as large."""
    y, p = answers(40, 1.6)
    p = p - np.arange(40) * 1e-6
    drawn = Draws(3, "draws of measures").targets(kc.Bernoulli(p), 0, 79)
    curves = np.array([naive_risks(y.astype(int), p), *(naive_risks(one, p) for one in drawn)])
    z = np.array([(column - column.mean()) / (column.std() or 1) for column in curves.T])
    found, far = risk_coverage(y, p, draws=79, rng=3, confidence_level=0.9), (z**2).mean(axis=0)
    assert 0.02 < found.pvalue == np.mean(far >= far[0] - 1e-9) < 0.9
    np.testing.assert_allclose(found.expected, curves[1:].mean(axis=0))
    np.testing.assert_allclose([found.low, found.high], np.quantile(curves[1:], [0.05, 0.95], axis=0))


def test_the_curve_s_p_value_keeps_its_level_and_sees_errors():
    calibrated = [risk_coverage(*answers(60, seed=k), draws=39, rng=k).pvalue for k in range(120)]
    assert np.mean(np.array(calibrated) <= 0.25) == pytest.approx(0.25, abs=0.13)
    assert risk_coverage(*answers(400, 2.0), draws=199).pvalue <= 0.01


def test_abstentions_are_rows_or_a_number():
    y, p = answers(100)
    silent = np.arange(100) % 5 == 0
    with_holes = np.where(silent, np.nan, p)
    found = risk_coverage(y, with_holes, abstained=silent, draws=39)
    assert (found.n, found.abstained) == (80, 20)
    same = risk_coverage(y[~silent], p[~silent], abstained=20, draws=39)
    np.testing.assert_allclose(found.risk, same.risk)
    for wrong in (-1, 0.5, True, np.zeros(100), [True]):
        with pytest.raises(InputError, match="abstained must be"):
            risk_coverage(y, p, abstained=wrong)
    with pytest.raises(InputError, match="pass lens="):
        risk_coverage([0, 1, 2], np.full((3, 3), 1 / 3))


def test_rows_without_an_answer_are_not_wrong():
    n, p, k = np.array([0, 3, 4, 0]), np.array([0.99, 0.5, 0.6, 0.1]), np.array([0, 2, 3, 0])
    found, alone = (
        measure(k[rows], kc.Binomial(n[rows], p[rows]), "selective", draws=19) for rows in ([0, 1, 2, 3], [1, 2])
    )
    assert [one.value for one in found.values] == pytest.approx([one.value for one in alone.values])
    assert found["accuracy"].value == pytest.approx((2 / 3 + 3 / 4) / 2)
    assert risk_coverage(k, kc.Binomial(n, p), draws=19).risk[-1] == pytest.approx(1 - found["accuracy"].value)
    silent = measure([0, 0], kc.Binomial([0, 0], [0.5, 0.4]), "selective", draws=19)
    assert np.isnan([one.value for one in silent.values]).all()


def test_sure_answers_without_weight_change_nothing():
    y, p = answers(40)
    weights, more = np.r_[np.ones(40), 0.0, 0.0], (np.r_[y, 0, 1], np.r_[p, 0.99, 0.98])
    for name in ("aurc", "excess-aurc", "accuracy"):
        alone, beside = (
            measure(y, p, name, draws=19).values[0],
            measure(*more, name, weights=weights, draws=19).values[0],
        )
        assert beside.value == pytest.approx(alone.value)
        assert np.isfinite(beside.interval).all()
    curve = risk_coverage(*more, weights=weights, draws=19)
    assert curve.risk[-1] == pytest.approx(1 - y.mean())
    assert np.isfinite(curve.risk).all()
    assert 0 < curve.pvalue <= 1


def test_several_answers_a_question_are_shares():
    rng = np.random.default_rng(1)
    n, p = np.resize([4, 8], 200), rng.uniform(0.2, 0.9, 200)
    k = rng.binomial(n, p**1.5)
    found = measure(k, kc.Binomial(n, p), "selective", draws=99)
    assert found["accuracy"].value == pytest.approx(np.mean(k / n))
    assert found["accuracy"].expected == pytest.approx(p.mean(), abs=0.02)
    assert found["accuracy"].pvalue <= 0.02
    assert risk_coverage(k, kc.Binomial(n, p), draws=39).risk[-1] == pytest.approx(1 - np.mean(k / n))


@pytest.fixture
def evaluation(tmp_path):
    y, p = answers(120)
    lines = []
    for row in range(120):
        task = ("law", "sums")[row % 2]
        if row % 6 == 0:
            lines.append({"task": task, "answer": None, "confidence": None, "correct": None, "refused": True})
        else:
            lines.append({"task": task, "answer": "A", "confidence": p[row], "correct": bool(y[row]), "refused": False})
    path = tmp_path / "evaluation.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


@pytest.mark.slow
def test_files_count_their_abstentions(evaluation, capsys):
    assert main(["measure", str(evaluation), "--draws", "39"]) == 2
    assert "missing" in capsys.readouterr().err
    for said in ("refused", "answer=", "refused=true"):
        assert main(["measure", str(evaluation), "--draws", "39", "--abstained", said]) == 0
        printed = capsys.readouterr().out
        assert f"20 of 120 rows abstained ({said})" in printed
        assert "20 of 120 rows have no answer" in " ".join(printed.split())
        assert "accuracy of the surest 80 %" in printed
    assert main(["evaluate", str(evaluation), "--draws", "39", "--abstained", "refused", "--where", "task=law"]) == 0
    assert "60 of 120 rows where task=law; 20 of 60 rows abstained" in capsys.readouterr().out
    for said, message in (
        ("task", "say --abstained task=VALUE"),
        ("answer=Z", "no row has answer=Z"),
        ("no", "no column"),
    ):
        assert main(["measure", str(evaluation), "--abstained", said]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.slow
def test_the_command_draws_the_curve(evaluation, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    place = tmp_path / "curve.png"
    said = ["measure", str(evaluation), "--draws", "39", "--abstained", "refused", "--curve", str(place)]
    assert main([*said, "--measures", "selective", "--groups", "task"]) == 0
    printed = capsys.readouterr().out
    assert "Risk and coverage of 100 answers, 20 abstained" in printed
    assert "accuracy, task law" in printed
    assert place.stat().st_size > 10_000
    assert main([*said, "--json"]) == 0
    values = json.loads(capsys.readouterr().out.split("wrote")[0])
    assert values["risk_coverage"]["abstained"] == 20


def test_columns_of_k_and_n_are_found(tmp_path, capsys):
    rng = np.random.default_rng(0)
    p = rng.uniform(0.1, 0.9, 80).round(2)
    k = rng.binomial(10, p)
    path = tmp_path / "sampled.csv"
    path.write_text("question,k,n,confidence\n" + "\n".join(f"{i},{k[i]},10,{p[i]}" for i in range(80)))
    assert main(["evaluate", str(path), "--draws", "99"]) == 0
    printed = capsys.readouterr().out
    assert "Binomial from n and p confidence; found by name: target, family, parameters" in printed
    found = kc.calibration_test(k, kc.Binomial(10, p), draws=99)
    assert f"{found.pvalue:.2g}" in printed
    path.write_text("k,n,confidence\n" + "\n".join(f"{11},{10},{p[i]}" for i in range(80)))
    assert main(["evaluate", str(path)]) == 2


def test_models_are_compared_on_what_all_answered(tmp_path, capsys):
    rng = np.random.default_rng(3)
    silent = {name: set(rng.choice(60, 9, replace=False).tolist()) for name in ("a", "b")}
    for name, without in silent.items():
        lines = []
        for row in rng.permutation(60).tolist():
            own = {"answer": None, "confidence": None, "correct": None}
            if row not in without:
                p = round(float(rng.uniform(0.4, 0.95)), 2)
                own = {"answer": "A", "confidence": p, "correct": bool(rng.random() < p)}
            lines.append(json.dumps({"question": row, **own}))
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines))
    files = [str(tmp_path / f"{name}.jsonl") for name in silent]
    said = ["compare", *files, "--abstained", "answer=", "--draws", "99"]
    assert main(said) == 2
    assert "--row-id NAME" in capsys.readouterr().err
    assert main([*said, "--row-id", "question"]) == 0
    both = 60 - len(silent["a"] | silent["b"])
    printed = capsys.readouterr().out
    assert f"compared on {both} rows that every model answered" in printed
