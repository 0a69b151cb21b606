"""Short version of experiments/level: every kind of setting keeps its level, and a test that does not is noticed."""

import csv
import importlib
import sys
from itertools import pairwise
from math import comb
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import kernelcal as kc

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "experiments" / "level"
PARTS = sorted(path.stem for path in FOLDER.glob("*.py"))

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


@pytest.fixture(scope="module")
def scripts():
    """The experiment's modules, imported from their folder; afterwards nothing of them is left."""
    before = {name: sys.modules.pop(name) for name in PARTS if name in sys.modules}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in PARTS})
    for name in PARTS:
        sys.modules.pop(name, None)
    sys.modules.update(before)


@pytest.fixture
def setting(scripts):
    """A setting of p-values that are powers of uniform numbers: above 1 they are too small."""

    def made(power, name="broken", **options):
        return scripts.frame.Setting(
            "made", name, 10, lambda rng, n: (rng.random(),), lambda u: u**power, repetitions=500, **options
        )

    return made


def test_settings_are_many_and_of_every_kind(scripts):
    settings = scripts.frame.collected()
    assert sum(one.claim == scripts.frame.EXACT for one in settings) >= 200
    assert {1_000, 2} <= {one.n for one in settings}
    text = "\n".join(map(str, settings))
    words = (
        "rare", "0.999", "ruled out", "exactly 0 or 1", "heavy tails", "half of them 0", "Holm", "ranked together",
        "top label", "skce-block", "ece", "mce", "ckce", "jkce", "mmce", "ucme", "kccsd", "own function",
        "StudentT, 1.5", "1e-4 to 1e4", "zero-inflated", "50 draws", "MultivariateNormal", "Dirichlet, 3 shares",
        "score, draws", "one seed for data and test", "fresh seeds", "no early stopping", "groups of 3 columns",
        "witness", "one pass", "PIT values", "CIFAR-100", "compare", "evaluate", "FluSight", "saddlepoint", "bound",
        "block", "bootstrap", "wild", "gamma", "pearson", "spectrum", "test locations", "consistency",
    )  # fmt: skip
    for word in words:
        assert word in text, word


def test_two_settings_of_one_name_are_refused(scripts, monkeypatch):
    monkeypatch.setattr(scripts.classes, "SETTINGS", [*scripts.classes.SETTINGS, scripts.classes.SETTINGS[0]])
    with pytest.raises(ValueError, match="two settings of one name: default, two classes: uniform, n = 2"):
        scripts.frame.collected()
    with pytest.raises(ValueError, match="claim must be 'exact', 'many rows' or 'nothing', got 'all'"):
        scripts.frame.Setting("kind", "name", 10, None, None, claim="all")


def test_bound_is_the_largest_share_that_chance_explains(scripts, setting):
    pvalues = np.concatenate([np.full(9, 0.05), np.full(31, 0.5)])
    rates = scripts.frame.Rates(setting(1), pvalues, 0, 0)
    law = [comb(40, k) * 0.05**k * 0.95 ** (40 - k) for k in range(41)]
    least = next(k for k in range(41) if sum(law[k + 1 :]) <= 0.0005)
    assert rates.bound(1) == least / 40
    assert rates.counts == (0, 9, 9)
    assert rates.chance(1) == pytest.approx(sum(law[9:]))
    assert rates.above == (0.05,)


def test_bound_knows_that_draws_may_be_shared(scripts, setting):
    """Rates of data sets whose statistics are ranked among the same draws, which a binomial law does not bound."""
    rng, counts = np.random.default_rng(3), []
    for _ in range(2_000):
        draws = np.sort(rng.random(999))  # uniform statistics: 50 of 1000 ranks reject
        counts.append(rng.binomial(4_000, draws[49]))
    kind = scripts.frame.Rates(setting(1, shared=True), np.ones(4_000), 0, 0)
    apart = scripts.frame.Rates(setting(1), np.ones(4_000), 0, 0)
    assert np.mean(np.array(counts) > apart.bound(1) * 4_000) > 0.02
    assert np.mean(np.array(counts) > kind.bound(1) * 4_000) < 0.003
    np.testing.assert_allclose(np.quantile(counts, [0.05, 0.5, 0.95]), kind.law(1).ppf([0.05, 0.5, 0.95]), rtol=0.03)


@pytest.mark.parametrize(
    ("power", "verdict"), [(0.3, "below"), (1.0, "kept"), (1.3, "above chance"), (1.6, "broken"), (2.0, "broken")]
)
def test_p_values_that_are_too_small_are_noticed(scripts, setting, power, verdict):
    found = scripts.run.rates_of(setting(power, "name"), 0, 500, None)
    assert found.verdict(600) == verdict


@pytest.mark.slow
def test_a_slight_excess_of_all_settings_shows_in_their_kind(scripts, setting):
    some = [scripts.run.rates_of(setting(1.12, f"part {k}"), 0, 400, None) for k in range(20)]
    (kind,) = scripts.frame.by_kind(some)
    assert sum(rates.verdict(600) == "broken" for rates in some) == 0
    assert kind.verdict(600) == "broken"
    assert (len(kind.pvalues), kind.setting.name) == (8_000, "all 20 settings")


def test_warnings_and_refusals_are_set_apart(scripts):
    def test(p):
        if p > 0.9:
            raise kc.InputError("too large")
        return SimpleNamespace(pvalue=p, notes=("this law is that of many rows, and there are 10",) if p < 0.5 else ())

    def rates(claim):
        one = scripts.frame.Setting("kind", "name", 10, lambda rng, n: (rng.random(),), test, claim)
        return scripts.run.rates_of(one, 0, 200, None)

    exact, many = rates("exact"), rates("many rows")
    assert exact.refused == many.refused > 10
    assert exact.warned == many.warned > 80
    assert len(exact.pvalues) == 200 - exact.refused
    assert len(many.pvalues) == len(exact.pvalues) - exact.warned
    assert many.pvalues.min() >= 0.5


@pytest.mark.slow
def test_a_model_that_is_not_calibrated_is_noticed(scripts):
    def data(rng, n):
        p = rng.random(n)
        return (rng.random(n) < p).astype(int), kc.Bernoulli(np.clip(p - 0.12, 0.01, 1))

    one = scripts.frame.Setting("default", "too low", 60, data, kc.calibration_test)
    assert scripts.run.rates_of(one, 0, 30, None).verdict(600) == "broken"


def test_parts_are_those_of_the_whole(scripts):
    one = next(one for one in scripts.frame.collected() if one.kind == "laws without draws, every n")
    whole = [scripts.frame.repeated(one, k) for k in range(6)]
    assert [*scripts.run.part(str(one), 0, 2), *scripts.run.part(str(one), 2, 6)] == whole
    assert len({p for p, _ in whole}) > 1 or whole[0][0] == 1


def test_run_tells_what_is_broken_and_writes_its_tables(scripts, setting, monkeypatch, capsys):
    written = {}
    good, wrong = setting(1.0, "good"), setting(2.0, "wrong")
    monkeypatch.setattr(scripts.run, "write", lambda name, rows: written.update({name: list(rows)}))
    monkeypatch.setattr(sys, "argv", ["run.py", "--processes", "1"])
    monkeypatch.setattr(scripts.run, "collected", lambda: [good])
    assert scripts.run.main() == 0
    monkeypatch.setattr(scripts.run, "collected", lambda: [good, wrong])
    assert scripts.run.main() == 1
    assert capsys.readouterr().out.splitlines()[-3:] == [
        "2 settings, 2 of them or kinds above a bound, 2 broken",
        "broken       0.114 0.256 0.358  made: wrong, n = 10 (500 data sets)",
        "broken       0.060 0.141 0.213  made: all 2 settings, n = 10 (1000 data sets)",
    ]
    header, *lines = written["level.csv"]
    cells = [dict(zip(header, line, strict=True)) for line in lines]
    assert [(cell["setting"], cell["verdict"]) for cell in cells] == [("good", "kept"), ("wrong", "broken")]
    assert float(cells[1]["level 0.05"]) > float(cells[1]["bound 0.05"]) == 0.084
    header, line = written["level_kinds.csv"]
    assert line[:4] == ["made", "exact", "2", "10"]
    assert float(line[4]) == pytest.approx(np.mean([float(cell["level 0.05"]) for cell in cells]), abs=1e-3)
    assert line[6:] == [cells[1]["level 0.05"], "0.084"]
    monkeypatch.setattr(sys, "argv", ["run.py", "--processes", "1", "--only", "good", "--share", "0.1"])
    written.clear()
    assert scripts.run.main() == 0
    assert written == {}


def test_the_broad_table_is_that_of_the_whole_one(scripts):
    lines = [scripts.rates.BROAD, *scripts.rates.broad(scripts.rates.read("level.csv"))]
    with (ROOT / "docs" / "tables" / "level_broad.csv").open(newline="") as stream:
        assert list(csv.reader(stream)) == lines
    name, settings, rate, *_ = lines[1]
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert name == "default"
    assert f"in {settings} settings" in readme
    assert f"rejects {100 * float(rate):.1f} % of calibrated data sets" in readme


def smallest(settings):
    """The setting of fewest rows of every kind and claim."""
    ordered = sorted(settings, key=lambda one: (one.kind, one.claim, one.n))
    return [a for before, a in pairwise([None, *ordered]) if before is None or before.kind != a.kind]


@pytest.mark.slow
def test_every_kind_keeps_its_level_in_short(scripts):
    """Ten data sets of the smallest setting of each kind; together they are many."""
    found = [scripts.run.rates_of(one, 0, 10, None) for one in smallest(scripts.frame.collected())]
    exact = [rates for rates in found if rates.setting.claim == scripts.frame.EXACT]
    assert len(exact) >= 20
    assert all(rates.refused == 0 for rates in found)
    assert scripts.frame.pooled(exact).above == ()
    for rates in exact:
        assert rates.verdict(len(exact)) in ("kept", "below"), rates.setting


def test_power_makes_labels_of_the_models(scripts):
    rng = np.random.default_rng(0)
    for model, power in ((scripts.power.OVER, 1.3), (scripts.power.UNDER, 0.75)):
        _, p = scripts.power.data(np.random.default_rng(1), model)
        _, plain = scripts.power.data(np.random.default_rng(1), "M1")
        np.testing.assert_allclose(p, plain**power / (plain**power).sum(axis=1, keepdims=True))
    assert (scripts.power.data(rng, "M2")[0] == 0).mean() > 0.4
    drawn = scripts.frame.labels(rng, np.tile([0.2, 0.0, 0.5, 0.3], (20_000, 1)))
    np.testing.assert_allclose(np.bincount(drawn, minlength=4) / 20_000, [0.2, 0, 0.5, 0.3], atol=0.015)
