"""Short version of experiments/uai2023: statements of Glaser, Widmann, Lindsten, Gretton (2023), Sec. 6."""

import importlib
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "uai2023"
PARTS = ("common", "models", "rates", "variants", "langevin", "picture")

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


@pytest.fixture(scope="module")
def scripts(data_folder):
    """The experiment's modules, imported from their folder; afterwards nothing of them is left."""
    before = {name: sys.modules.pop(name) for name in PARTS if name in sys.modules}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        found = SimpleNamespace(**{name: importlib.import_module(name) for name in PARTS})
        found.common.SHARED = data_folder  # published values as there, and no networks
        yield found
    for name in PARTS:
        sys.modules.pop(name, None)
    sys.modules.update(before)


# The models


@pytest.mark.parametrize("name", ["MGM d=5", "LGM", "HGM", "QGM", "MGM d=5, c = e1"])
def test_models_are_calibrated_without_delta(name, scripts):
    y, predictions = scripts.models.seeded(name, 0.0, 20_000, 0)
    z = predictions.standardised(y)
    assert np.abs(z.mean(axis=0)).max() < 4 / np.sqrt(20_000)
    assert np.abs((z**2).mean(axis=0) - 1).max() < 4 * np.sqrt(2 / 20_000)


def test_what_delta_does(scripts):
    seeded, n = scripts.models.seeded, 20_000
    y, predictions = seeded("MGM d=5", 0.3, n, 0)
    assert (y - predictions.mean).mean(axis=0) == pytest.approx(np.full(5, -0.3), abs=0.04)
    y, predictions = seeded("MGM d=5, c = e1", 0.3, n, 0)
    assert (y - predictions.mean).mean(axis=0) == pytest.approx([-0.3, 0, 0, 0, 0], abs=0.04)
    y, predictions = seeded("LGM", 0.2, n, 0)
    assert (y - predictions.mean).mean() == pytest.approx(-0.2, abs=0.04)
    assert predictions.mean.var() == pytest.approx(55, rel=0.05)
    y, predictions = seeded("HGM", 1.0, n, 0)
    assert (y - predictions.mean).std() == pytest.approx(1, abs=0.03)
    assert 10 < (predictions.std**2).max() <= 11
    assert (predictions.std**2).min() >= 1
    y, predictions = seeded("QGM", 1.0, n, 0)
    quadratic = (y - predictions.mean) - 0.1 * (predictions.mean - 1) ** 2  # what delta = 1 leaves out
    assert quadratic.mean() == pytest.approx(0, abs=0.04)
    assert (predictions.mean.min(), predictions.mean.max()) == pytest.approx((-1, 3), abs=0.01)


def test_data_sets_have_seeds_of_their_own(scripts):
    one, same, other = (scripts.models.seeded("LGM", 0.0, 5, k)[0] for k in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


# Figure 1


@pytest.mark.slow
def test_rates_at_200_rows_are_the_published_ones(scripts):
    deltas = {"MGM d=5": (0.0, 0.1), "HGM": (1.0,), "QGM": (1.0,)}
    rows = scripts.rates.compared(scripts.rates.simulate(30, (200,), deltas), 30)
    assert len(rows) == 4 * 6
    wrong = [row for row in rows if row[7] is False or row[8] is False]
    assert not wrong
    rate = {(model, delta, test, kernel): rate for model, delta, _, test, kernel, rate, *_ in rows}
    assert rate["HGM", 1.0, "skce", "exp_w2"] >= rate["HGM", 1.0, "kccsd", "exp_w2"] - 0.1 > 0.6
    assert rate["QGM", 1.0, "kccsd", "exp_gfd"] < 0.7 * rate["HGM", 1.0, "kccsd", "exp_gfd"]
    assert sum(row[6] != "" for row in rows) == len(rows)  # each has a published rate


def test_kernels_are_those_of_the_paper(scripts):
    """By hand: exp(-D^2 / (2 median^2)) with the distances of unit normals under a standard normal base measure."""
    y, predictions = scripts.models.seeded("LGM", 0.0, 40, 0)
    found, target_kernel = scripts.common.kernels(y, predictions, ("exp_gfd", "exp_w2"))
    apart = np.abs(predictions.mean[:, None] - predictions.mean[None])  # scores of unit normals differ by the means
    for name in found:
        metric = scripts.common.metric(name, None)
        embedded = metric.coordinates(predictions)
        between = np.sqrt(((embedded[:, None] - embedded[None]) ** 2).sum(axis=-1))
        assert between == pytest.approx(apart, abs=1e-9)
    distances = np.abs(y[:, None] - y[None])[np.triu_indices(40, 1)]
    assert target_kernel.lengthscale == pytest.approx(np.median(distances), rel=1e-12)


def test_rates_that_differ_do_not_agree(scripts):
    assert scripts.common.rates_agree(60, 100, 0.64, 100)
    assert not scripts.common.rates_agree(30, 100, 0.64, 100)
    assert scripts.common.at_level(8, 100)
    assert not scripts.common.at_level(20, 100)


def test_the_check_fails_where_rates_are_wrong_and_says_where_it_could_not(scripts, capsys, monkeypatch, tmp_path):
    """Shown failing: twice as many rejections, calibrated models rejected; and one data set, which proves nothing."""
    monkeypatch.setattr(scripts.common, "TABLES", tmp_path)
    found = [5, 5, 5, 5, 4, 4], [64, 64, 64, 65, 62, 62]
    cells = [("MGM d=5", 0.0, 200), ("MGM d=5", 0.1, 200)]

    def run(counts, repetitions=100):
        monkeypatch.setattr(scripts.rates, "simulate", lambda k: dict(zip(cells, counts, strict=True)))
        status = scripts.rates.main(SimpleNamespace(repetitions=repetitions))
        return status, capsys.readouterr().out

    assert run(found) == (
        0,
        "12 of 12 rates of the authors' code agree with ours\n6 of 6 calibrated models at the level\n",
    )
    assert run((found[0], [30, *found[1][1:]]))[0] == 1  # one rate is half of theirs
    status, said = run(([25, *found[0][1:]], found[1]))  # a calibrated model is rejected in a quarter of the data sets
    assert status == 1
    assert "5 of 6 calibrated models at the level" in said
    status, said = run(([0] * 6, [0] * 6), repetitions=1)
    assert status == 0
    assert "0 of 0 rates" in said
    assert "12 were not checked: so few data sets cannot disagree" in said


def test_what_figure_1_leaves_out(scripts, monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(scripts.common, "TABLES", tmp_path)
    settings = {
        "one mean of five is off": [("MGM d=5, c = e1", 0.3, 100)],
        "inverse multiquadric of targets": [("HGM", 1.0, 60)],
        "drawn points": [("MGM d=5", 0.0, 40)],
    }
    simulate = scripts.variants.simulate
    monkeypatch.setattr(scripts.variants, "simulate", lambda k: simulate(k, settings))
    assert scripts.variants.main(SimpleNamespace(repetitions=3)) == 0
    lines = (tmp_path / "uai2023_variants.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 + 1 + 3
    y, predictions = scripts.models.seeded("HGM", 0.0, 30, 0)
    multiquadric = scripts.variants.statistics("inverse multiquadric of targets", y, predictions, 0)
    assert isinstance(multiquadric["KCCSD", "exp gfd"].target_kernel, scripts.variants.kc.InverseMultiquadric)


def test_tables_mark_what_does_not_agree(scripts):
    rows = [
        ["LGM", 0.0, 100, "kccsd", "exp_w2", 0.3, "", "", False],
        ["LGM", 0.0, 200, "kccsd", "exp_w2", 0.04, 0.05, True, True],
        ["HGM", 1.0, 100, "skce", "exp_mmd", 0.3, "", "", ""],
        ["HGM", 1.0, 200, "skce", "exp_mmd", 0.5, 1.0, False, ""],
    ]
    header, lines = scripts.rates.pivoted(rows)
    assert header == ["model", "delta", "test", "kernel", "n = 100", "n = 200"]
    assert lines == [
        ["LGM", 0.0, "KCCSD", "exp w2", "0.30 †", "0.04 / 0.05"],
        ["HGM", 1.0, "SKCE", "exp mmd", "0.30", "0.50 / 1.00 \\*"],
    ]


# Figure 2


@pytest.mark.slow
def test_two_untuned_draws_reject_calibrated_models_and_kccsd_does_not(scripts):
    p = np.array([scripts.langevin.pvalues("LGM", 10, k) for k in range(20)])
    skce, swap, kccsd = (p <= 0.05).sum(axis=0)
    assert skce >= 18
    assert swap >= 18
    assert kccsd <= 4


@pytest.mark.slow
def test_two_true_draws_do_not(scripts):
    p = np.array([scripts.langevin.pvalues("QGM", None, k, n=100) for k in range(30)])
    assert ((p <= 0.05).sum(axis=0) <= 6).all()


def test_skce_of_draws_is_that_of_the_formula(scripts):
    y, predictions = scripts.models.seeded("LGM", 0.0, 6, 0)
    drawn = scripts.langevin.draws_of(predictions, 10, 0)
    ours, target_kernel = scripts.common.kernels(y, predictions, ("exp_w2",))
    statistic = scripts.langevin.DrawnSKCE(prediction_kernel=ours["exp_w2"], target_kernel=target_kernel, draws=drawn)
    apart = np.abs(predictions.mean[:, None] - predictions.mean[None])
    median = np.median(apart[np.triu_indices(6, 1)])

    def mean(a, b):
        return np.exp(-((np.ravel(a)[:, None] - np.ravel(b)) ** 2) / (2 * target_kernel.lengthscale**2)).mean()

    z, total = drawn.draws, 0.0
    for i in range(6):
        for j in range(6):
            h = mean(y[i], y[j]) - mean(z[i], y[j]) - mean(y[i], z[j]) + mean(z[i], z[j])
            total += (i != j) * np.exp(-(apart[i, j] ** 2) / (2 * median**2)) * h
    assert float(statistic(y, predictions)) == pytest.approx(total / 30, rel=1e-9)


@pytest.mark.slow
def test_tables_are_written(scripts, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(scripts.common, "TABLES", tmp_path)
    simulate = scripts.rates.simulate
    monkeypatch.setattr(scripts.rates, "simulate", lambda k: simulate(k, (20,), {"LGM": (0.0, 0.2)}))
    drawn = scripts.langevin.simulate
    monkeypatch.setattr(scripts.langevin, "simulate", lambda k: drawn(k, ("LGM",), {"10 steps": 10}, 20))
    options = SimpleNamespace(repetitions=3)
    scripts.rates.main(options)
    scripts.langevin.main(options)
    lines = {p.stem: len(p.read_text().splitlines()) for p in tmp_path.glob("*.csv")}
    assert lines == {"uai2023_level": 7, "uai2023_power": 7, "uai2023_langevin": 2}
    assert "calibrated models at the level" in capsys.readouterr().out


@pytest.mark.slow
def test_the_picture_shows_the_committed_tables(scripts, monkeypatch, tmp_path):
    pytest.importorskip("matplotlib")
    picture = scripts.picture
    tables = tmp_path / "tables"
    shutil.copytree(scripts.common.TABLES, tables)
    (tmp_path / "images").mkdir()
    monkeypatch.setattr(picture.common, "TABLES", tables)
    picture.main(None)
    assert (tmp_path / "images" / "uai2023.png").stat().st_size > 10_000
    row = next(row for row in picture.rows_of("power") if row["model"] == "HGM" and row["test"] == "SKCE")
    assert next(iter(picture.rates(row)))[0] == 25
