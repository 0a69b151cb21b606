"""A plan tells the truth: the engines that it names are those that run."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.evaluation import plan
from kernelcal.pairs import PairMatrix
from kernelcal.predictions import Score


def _classes(n, m, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(m), n)
    return kc.Categorical(p).sample(rng)[0], p[:, 1] if m == 2 else p


def _numbers(n):
    rng = np.random.default_rng(1)
    predictions = kc.Normal(rng.normal(size=n), rng.uniform(0.5, 1.5, n))
    return predictions.sample(rng)[0], predictions


CASES = {
    "few classes": _classes(200, 3),
    "one probability": _classes(1500, 2),
    "repeated": (_classes(600, 2)[0], np.round(_classes(600, 2)[1], 1)),
    "many classes": _classes(4000, 12),
    "numbers": _numbers(700),
}


TOLD = kc.Nystrom(20)


@pytest.mark.parametrize(
    ("case", "engine"),
    [
        *(pytest.param(case, None, id=f"{case}-chosen") for case in CASES),
        *(
            pytest.param(case, TOLD, id=f"{case}-told", marks=pytest.mark.slow if case == "many classes" else ())
            for case in CASES
        ),
    ],
)
@pytest.mark.quick_cases(3)
def test_engines_of_the_plan_are_those_that_run(case, engine):
    y, predictions = CASES[case]
    found = plan(predictions, draws=19, engine=engine)
    result = kc.evaluate(y, predictions, draws=19, engine=engine)
    estimate, test, interval = found.steps
    assert estimate.engine == result.estimate.engine
    kernels = 3 if case in ("one probability", "repeated") else 2
    assert test.engine == f"{result.test.engine}, {kernels} kernels and signals"
    assert interval.engine == result.interval.method
    assert found.n == len(y)
    assert found.draws == 19


def _repeated(m):
    rng = np.random.default_rng(m)
    p = rng.dirichlet(np.ones(m), 15)[rng.integers(0, 15, 3000)]
    return kc.Categorical(p)


@pytest.mark.slow
@pytest.mark.parametrize(
    "predictions",
    [
        pytest.param(kc.Bernoulli(np.random.default_rng(0).random(3000)), id="one probability"),
        pytest.param(kc.Bernoulli(np.random.default_rng(0).random(3000, dtype=np.float32)), id="in single precision"),
        pytest.param(kc.Categorical(np.random.default_rng(0).dirichlet([1, 4], 3000)), id="two columns"),
        pytest.param(
            kc.predictions.as_predictions(kc.Logits(np.random.default_rng(0).normal(size=(3000, 2)))), id="two logits"
        ),
        *(pytest.param(_repeated(m), id=f"{m} classes repeated") for m in (2, 3, 10)),
    ],
)
def test_no_step_walks_over_pairs_where_the_plan_has_none(predictions, monkeypatch):
    """Neither the estimate nor its interval, whose sums of rows a scan or unique predictions give."""
    y = predictions.sample(0, 1)[0]
    estimate, test, interval = plan(predictions, draws=19).steps
    for step in (estimate, test):
        assert step.engine.startswith(("exact scan", "exact pairs of "))
    assert interval.seconds < 0.1

    def walked(matrix):
        raise AssertionError(f"{matrix.pairs:,} pairs")

    monkeypatch.setattr(PairMatrix, "_of_pairs", walked)
    result = kc.evaluate(y, predictions, draws=19, rng=1)
    assert 0 <= result.interval.lower <= result.interval.upper
    kc.explain(y, predictions, rng=1)


@pytest.mark.slow
def test_an_engine_can_be_told():
    y, p = (x[:1500] for x in CASES["many classes"])  # enough for landmarks, and few for all pairs
    assert kc.evaluate(y, p, draws=19).test.engine.startswith("Nystrom")
    told = kc.evaluate(y, p, draws=19, engine=kc.ExactPairs())
    assert told.test.engine == told.estimate.engine == "exact pairs"
    few = kc.evaluate(*CASES["few classes"], draws=19, engine=kc.RandomFourier(50))
    assert few.estimate.engine == few.test.engine == "random Fourier features, 50 frequencies"


def test_a_told_engine_takes_all_rows_where_blocks_would_be_chosen(monkeypatch):
    import importlib

    estimates = importlib.import_module("kernelcal.evaluation.estimates")
    monkeypatch.setattr(estimates, "_SECONDS", 1e-5)
    y, p = CASES["few classes"]
    assert plan(p).steps[0].engine.startswith("blocks of ")
    assert kc.evaluate(y, p, draws=19).estimate.estimator == "block"
    assert kc.evaluate(y, p, draws=19, engine=kc.ExactPairs()).estimate.estimator == "unbiased"


@pytest.mark.slow
def test_more_rows_draws_and_classes_take_longer():
    rows = [plan(_classes(n, 3)[1]).seconds for n in (100, 400, 1600)]
    assert rows == sorted(rows)
    assert rows[2] > 4 * rows[0]
    p = CASES["few classes"][1]
    assert plan(p, draws=1999).seconds > 1.5 * plan(p, draws=999).seconds
    assert plan(_classes(1500, 20)[1]).bytes > plan(_classes(1500, 3)[1]).bytes


def test_a_lens_is_planned():
    _, p = CASES["many classes"]
    assert plan(p, lens=kc.TopLabel()).steps[1].engine.startswith("exact scan")


def test_draws_have_an_estimate_test_and_interval_as_evaluate_does():
    rng = np.random.default_rng(0)
    samples = kc.Samples(rng.normal(size=(60, 10)))
    assert [s.name for s in plan(samples).steps] == ["estimate", "test", "interval"]


def test_a_plan_prints_and_is_plain():
    found = plan(CASES["one probability"][1])
    assert found.summary().splitlines()[0] == "Plan: 1,500 rows of Bernoulli, 2 columns, up to 999 draws"
    assert "exact scan, 3 kernels and signals" in repr(found)
    assert "<table>" in found._repr_html_()
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["steps"][0]["engine"] == "exact scan"
    assert plain["seconds"] == pytest.approx(found.seconds)
    assert found.sentence().startswith("plan for 1,500 rows: estimate: exact scan; test: exact scan, 3 kernels")
    assert found.sentence().endswith("less than a second")


@pytest.mark.parametrize("draws", [0, -3, 1.5])
def test_draws_are_a_positive_number(draws):
    with pytest.raises(InputError, match="draws must be a positive whole number, got"):
        plan([0.2, 0.7], draws=draws)


def test_what_cannot_be_planned_says_so():
    scores = Score(lambda y: -y, n=3)
    with pytest.raises(InputError, match="plan serves classes and numbers: densities known through their score"):
        plan(scores)


@pytest.fixture
def file(tmp_path):
    y, p = _classes(150, 3)
    path = tmp_path / "a.csv"
    np.savetxt(path, np.column_stack([y, p]), delimiter=",", header="label,p0,p1,p2", comments="", fmt="%.12g")
    return str(path)


def test_command_line_plan(file, capsys):
    assert main(["evaluate", file, "--plan"]) == 0
    out = capsys.readouterr().out
    assert "Plan: 150 rows of Categorical, 3 columns, up to 999 draws" in out
    assert "p-value" not in out
    assert main(["evaluate", file, "--plan", "--json", "--engine", "nystrom", "--features", "12"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"][0]["engine"] == "Nystrom features, 12 landmarks"
    assert main(["evaluate", file, "--plan", "--fail-below", "0.05"]) == 0


@pytest.mark.slow
def test_long_work_is_said_in_a_line(file, capsys, monkeypatch):
    import importlib

    command = importlib.import_module("kernelcal.cli.tables")
    monkeypatch.setattr(command, "_LONG", 0.0)
    assert main(["evaluate", file, "--draws", "19"]) == 0
    assert "plan for" not in capsys.readouterr().out  # so few probabilities are not even planned
    monkeypatch.setattr(command, "_LITTLE", 0)
    assert main(["evaluate", file, "--draws", "19"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("plan for 150 rows: estimate: exact pairs; test:")
    assert main(["evaluate", file, "--draws", "19", "--json"]) == 0
    assert isinstance(json.loads(capsys.readouterr().out), dict)


def test_command_line_engines(file, capsys):
    assert main(["evaluate", file, "--engine", "fourier", "--features", "40", "--draws", "19"]) == 0
    assert "random Fourier features, 40 frequencies" in " ".join(capsys.readouterr().out.split())
    assert main(["test", file, "--engine", "nystrom", "--statistic", "skce", "--draws", "19"]) == 0
    assert "Nystrom features, 150 landmarks" in capsys.readouterr().out
    assert main(["evaluate", file, "--features", "3"]) == 2
    assert "--features 3 needs an engine that has features" in capsys.readouterr().err
    assert main(["test", file, "--engine", "pairs", "--statistic", "ece"]) == 2
    assert "--engine chooses how pairs are summed, which --statistic ece does not" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["evaluate", file, "--engine", "nystrom", "--features", "0"])
    assert "expected a whole number from 1, got '0'" in capsys.readouterr().err


def test_one_probability_is_scanned_at_any_size():
    p = np.random.default_rng(0).uniform(size=400_000)
    assert plan(p).steps[1].engine == "exact scan, 3 kernels and signals"


_PEAK = """
import sys
import numpy as np
import kernelcal as kc

family = sys.argv[1]
n, m, draws = map(int, sys.argv[2:])
rng = np.random.default_rng(0)
if family == "classes":
    p = rng.uniform(size=n) if m == 1 else rng.exponential(size=(n, m))
    p = p if m == 1 else p / p.sum(axis=1, keepdims=True)
    y = rng.integers(0, max(m, 2), n)
else:
    from scipy.stats import norm

    mean, std = rng.normal(size=n), rng.uniform(0.5, 1.5, n)
    y, levels = rng.normal(mean, std), (np.arange(m) + 0.5) / m
    if family == "normal":
        p = kc.Normal(mean, std)
    elif family == "quantiles":
        p = kc.Quantiles(mean[:, None] + std[:, None] * norm.ppf(levels), levels)
    elif family == "samples":
        p = kc.Samples(rng.normal(mean[:, None], std[:, None], (n, m)))
    elif family == "counts":
        p, y = kc.Poisson(std), rng.poisson(std)
    else:
        p = kc.MultivariateNormal(rng.normal(size=(n, m)), np.broadcast_to(np.eye(m), (n, m, m)).copy())
        y = rng.normal(size=(n, m))


def status(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) * 1024


kc.evaluate(y[:50], p[:50], draws=19)  # what is imported and made once
promised = kc.plan(p, draws=draws).bytes
open("/proc/self/clear_refs", "w").write("5")  # the peak begins anew
before = status("VmRSS")
kc.evaluate(y, p, draws=draws, early_stopping=False)
print(promised / (status("VmHWM") - before))
"""


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="the peak of memory is measured on Linux")
@pytest.mark.parametrize(
    ("family", "n", "m", "draws"),
    [
        ("classes", 20_000, 2, 99),
        pytest.param("classes", 100_000, 2, 99, marks=pytest.mark.long),
        pytest.param("classes", 100_000, 10, 99, marks=pytest.mark.long),
        ("classes", 20_000, 10, 999),
        pytest.param("classes", 20_000, 100, 99, marks=pytest.mark.long),
        ("classes", 100_000, 1, 99),
        ("classes", 2_000, 1_000, 99),
        pytest.param("classes", 300, 4_000, 99, marks=pytest.mark.long),
        ("normal", 20_000, 1, 999),
        pytest.param("quantiles", 5_000, 9, 99, marks=pytest.mark.long),
        ("quantiles", 20_000, 9, 999),
        pytest.param("samples", 2_000, 50, 99, marks=pytest.mark.long),
        ("samples", 20_000, 20, 99),
        pytest.param("counts", 20_000, 1, 99, marks=pytest.mark.long),
        ("vectors", 5_000, 4, 99),
    ],
)
def test_the_memory_that_is_promised_is_what_is_taken(family, n, m, draws):
    command = [sys.executable, "-c", _PEAK, family, *map(str, (n, m, draws))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert 1 / 1.5 <= float(done.stdout) <= 1.5
