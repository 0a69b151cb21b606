"""Short version of experiments/neurips2019: statements of Widmann, Lindsten, Zachariah (2019), sections 7 and J.3."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

pytest.importorskip("matplotlib")
FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "neurips2019"
FIGURES = ("figure1", "figure2", "figure35", "figure36", "figure37")
NAMES = ("common", *FIGURES, "supplement")

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


@pytest.fixture(scope="module")
def scripts(data_folder):
    """The experiment's modules, imported from their folder; afterwards nothing of them is left."""
    before = {name: sys.modules.pop(name) for name in NAMES if name in sys.modules}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        found = SimpleNamespace(**{name: importlib.import_module(name) for name in NAMES})
        found.common.SHARED = data_folder  # published values as there, and no networks
        yield found
    for name in NAMES:
        sys.modules.pop(name, None)
    sys.modules.update(before)


@pytest.fixture(scope="module")
def estimates(scripts):
    """Estimates on 60 data sets a model: model -> estimator -> values."""
    results = scripts.figure1.simulate(60, processes=1)
    return {model: dict(zip(scripts.figure1.ESTIMATORS, v.T, strict=True)) for model, v in results.items()}


@pytest.fixture(scope="module")
def pvalues(scripts):
    """P-values on 25 data sets a model: model -> test -> values."""
    tests = ("D_b", "D_uq", "D_ul", "A_uq", "A_ul", "exact")
    return {
        model: dict(
            zip(tests, np.array([scripts.figure2.pvalues((model, k), tests) for k in range(25)]).T, strict=True)
        )
        for model in scripts.common.MODELS
    }


def standard_error(values):
    return values.std(ddof=1) / len(values) ** 0.5


@pytest.mark.parametrize("name", ["ECE uniform", "ECE data-dependent"])
def test_ece_is_positive_for_the_calibrated_model(name, scripts, estimates):
    assert scripts.common.MODELS["M1"].expected_calibration_error == 0
    values = estimates["M1"][name]
    assert values.min() > 0.1
    assert values.mean() > 20 * standard_error(values)


def test_bias_of_the_ece_has_both_signs(scripts, estimates):
    true = scripts.common.MODELS["M3"].expected_calibration_error
    uniform, data_dependent = estimates["M3"]["ECE uniform"], estimates["M3"]["ECE data-dependent"]
    assert uniform.mean() > true + 20 * standard_error(uniform)
    assert data_dependent.mean() < true - 20 * standard_error(data_dependent)


@pytest.mark.parametrize("model", ["M2", "M3"])
def test_skce_of_uncalibrated_models_is_positive(model, estimates):
    for name in ("SKCE b", "SKCE uq", "SKCE ul"):
        assert estimates[model][name].mean() > 4 * standard_error(estimates[model][name])


def test_unbiased_estimators_have_mean_zero_for_the_calibrated_model(estimates):
    for name in ("SKCE uq", "SKCE ul"):
        values = estimates["M1"][name]
        assert abs(values.mean()) < 4 * standard_error(values)
        assert values.min() < 0  # unbiased for zero: some are negative


@pytest.mark.parametrize("model", ["M1", "M2", "M3"])
def test_both_unbiased_estimators_agree_and_the_biased_one_is_above(model, estimates):
    quadratic, linear = estimates[model]["SKCE uq"], estimates[model]["SKCE ul"]
    gap = linear - quadratic
    assert abs(gap.mean()) < 4 * standard_error(gap)
    assert linear.std() > quadratic.std()
    assert (estimates[model]["SKCE b"] > quadratic).all()
    assert (estimates[model]["SKCE b"] > 0).all()


@pytest.mark.slow
def test_bounds_never_reject_the_calibrated_model(pvalues):
    for name in ("D_b", "D_uq", "D_ul"):
        assert pvalues["M1"][name].min() > 0.5


@pytest.mark.slow
@pytest.mark.parametrize("model", ["M2", "M3"])
def test_quadratic_tests_reject_uncalibrated_models(model, pvalues):
    for name in ("A_uq", "exact"):
        assert (pvalues[model][name] <= 0.05).mean() >= 0.95
    assert (pvalues[model]["A_ul"] <= 0.05).mean() <= (pvalues[model]["exact"] <= 0.05).mean()


@pytest.mark.slow
def test_the_exact_test_keeps_its_level(pvalues):
    assert (pvalues["M1"]["exact"] <= 0.05).sum() <= 6  # 99.95 % point of Bin(25, 0.05)


@pytest.mark.parametrize("model", ["M1", "M2", "M3"])
def test_error_rate_counts_wrong_decisions(model, scripts):
    p = np.array([[0.01], [0.2], [0.05], [0.9]])
    assert scripts.figure2.error_rate(model, p, 0.05) == 0.5
    assert scripts.figure2.error_rate(model, p, 0.01) == (0.25 if model == "M1" else 0.75)


@pytest.mark.slow
def test_pictures_and_tables_are_written(scripts, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(scripts.common, "HERE", tmp_path)
    monkeypatch.setattr(scripts.figure2, "DRAWS", 19)
    monkeypatch.setattr(scripts.figure37, "SIZES", (10, 20))
    monkeypatch.setattr(scripts.figure37, "CLASSES", (2, 3))
    monkeypatch.setattr(scripts.figure37, "RUNS", 1)
    for name in ("figure1", "figure2", "figure37"):
        getattr(scripts, name).main(SimpleNamespace(repetitions=2, processes=1))
        assert (tmp_path / f"{name}.png").stat().st_size > 5000
    rows = [len((tmp_path / f"{name}.csv").read_text().splitlines()) for name in ("figure1", "figure2", "figure37")]
    assert rows == [1 + 3 * 5, 1 + 3 * 8, 1 + 2 * 2 * 5]
    assert "saddlepoint" in capsys.readouterr().out


def test_estimates_and_pvalues_of_a_network_by_hand(scripts, data_folder, tmp_path):
    """The eight networks of the paper, and its values, are compared in experiments/published."""
    with np.load(data_folder / "netcal_records" / "wideresnet-16-4-cifar-10.npz") as z:
        p, y = z["predictions"].astype(float), z["ground_truth"]
    p /= p.sum(axis=1, keepdims=True)
    np.savez(tmp_path / "wideresnet.npz", probabilities=p, labels=y)
    residuals = np.eye(10)[y] - p
    apart = np.array([np.abs(row - p).sum(axis=1) / 2 for row in p])
    h = np.exp(-apart / np.median(apart)) * (residuals @ residuals.T)
    pairs = np.array([h[i, i + 1] for i in range(0, len(y) - 1, 2)])
    cells = {}
    for row, residual in zip(p, residuals, strict=True):
        cells.setdefault(tuple(np.maximum(np.ceil(10 * row), 1)), []).append(residual)
    expected = {
        "ECE uniform": sum(np.abs(np.sum(cell, axis=0)).sum() / 2 for cell in cells.values()) / len(y),
        "SKCE b": h.mean(),
        "SKCE uq": h[~np.eye(len(y), dtype=bool)].mean(),
        "SKCE ul": pairs.mean(),
    }
    ours = scripts.figure35.estimates(tmp_path / "wideresnet.npz")
    assert {name: ours[name] for name in expected} == pytest.approx(expected, rel=1e-10)
    found = scripts.figure36.pvalues(tmp_path / "wideresnet.npz", ("D_b", "D_uq", "A_ul"))
    assert found["D_b"] == pytest.approx(np.exp(-(max(0, (len(y) * h.mean() / 2) ** 0.5 - 1) ** 2) / 2), rel=1e-10)
    assert found["D_uq"] == pytest.approx(np.exp(-312 * max(0, expected["SKCE uq"]) ** 2 / 8), rel=1e-10)
    assert found["A_ul"] == pytest.approx(norm.sf(pairs.mean() / (pairs.std(ddof=1) / len(pairs) ** 0.5)), rel=1e-10)


def test_published_values_of_all_networks_are_known(scripts):
    estimates, pvalues = scripts.figure35.published_estimates(), scripts.figure36.published_pvalues()
    assert len(estimates) == len(pvalues) == 8
    assert estimates["resnet18"]["SKCE uq"] == 0.0002625240589747678
    assert pvalues["resnet18"]["D_b"] == 0.9847969855715755


# Figures 3 to 34


@pytest.mark.slow
def test_figures_of_the_supplement_in_a_short_form(scripts, tmp_path, monkeypatch, capsys):
    """Two and ten classes, some data sets: every figure has its lines, and the claims are what the numbers say."""
    supplement = scripts.supplement
    monkeypatch.setattr(scripts.common, "HERE", tmp_path)
    results = supplement.simulate(4, 1, classes=(2, 10))
    monkeypatch.setattr(supplement, "simulate", lambda *_: results)
    linear = {(1000, 1.0, "uniform", 0.0): np.repeat([0.0, 0.003, 0.006], [60, 30, 10])}
    monkeypatch.setattr(supplement, "simulate_modes", lambda *_: linear)
    supplement.main(SimpleNamespace(repetitions=4, processes=1))
    lines = (tmp_path / "supplement.csv").read_text().splitlines()
    assert len(lines) == 1 + 2 * 10 * 8
    figures = {int(line.split(",")[0]) for line in lines[1:]}
    assert figures == set(range(3, 35))
    said = capsys.readouterr().out
    assert "SKCE ul has several modes, m = 1000, alpha 1, share 0: yes (3 modes)" in said
    assert (tmp_path / "supplement.png").exists()


def test_a_table_line_is_the_mean_and_the_bias_of_its_estimates(scripts):
    supplement = scripts.supplement
    values = np.arange(16.0).reshape(2, 8) / 10
    rows = supplement.table({(10, 0.1, "first", 0.5): values})
    true = 0.5 * 0.9  # pi (m - 1) / m: Ex. of J.2.1 for beta = e1
    assert rows[0][:4] == [6, "ECE uniform", "", 10]
    assert float(rows[0][8]) == pytest.approx(true, abs=1e-4)
    assert float(rows[0][9]) == pytest.approx(0.4 - true, abs=1e-4)
    assert float(rows[7][10]) == pytest.approx(1.1)
    assert rows[7][0] == 34


def test_modes_are_groups_with_nothing_between_them(scripts):
    modes, rng = scripts.supplement.modes, np.random.default_rng(0)
    step = np.exp(-1) / 125
    assert modes(rng.normal(0, step, 400)) == 1
    assert modes(np.concatenate([rng.normal(k * step, 0.02 * step, 100) for k in range(4)])) == 4
    assert modes(np.append(rng.normal(0, 0.02 * step, 400), 5 * step)) == 1  # one value is no mode
