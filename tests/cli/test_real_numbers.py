"""COVID-19 forecasts of scoringutils and influenza forecasts of FluSight, from the files to a verdict."""

import warnings

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main

UNITS = ["location", "target_end_date", "target_type", "model", "horizon"]


@pytest.fixture
def scoringutils(data_folder):
    """Read one of the examples; rows without a forecast are left out, as data/README.md says."""
    rdata = pytest.importorskip("rdata")

    def read(name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the file's text encoding is not declared
            frame = next(iter(rdata.read_rda(data_folder / "scoringutils" / f"example_{name}.rda").values()))
        assert frame["predicted"].isna().sum() == (432 if name in ("nominal", "ordinal") else 144)
        return frame[frame["predicted"].notna()]

    return read


def wide(frame, columns):
    """One row a forecast: values side by side in the order of their levels, and the outcome."""
    table = frame.pivot(index=UNITS, columns=columns, values="predicted")
    y = frame.groupby(UNITS)["observed"].first().loc[table.index]
    return table, y


@pytest.mark.slow
def test_quantile_forecasts(scoringutils):
    table, y = wide(scoringutils("quantile"), "quantile_level")
    assert table.shape == (887, 23)
    batch = kc.Quantiles(table.to_numpy(float), table.columns.to_numpy(float))
    result = kc.evaluate(y.to_numpy(float), batch)
    assert result.pvalue == 0.001
    score = result.interval_score
    assert 0.86 < score.share[np.isclose(score.nominal, 0.9)][0] < 0.91
    assert result.levels.broken.any()


@pytest.mark.slow
def test_integer_samples(scoringutils):
    table, y = wide(scoringutils("sample_discrete"), "sample_id")
    assert table.shape == (887, 40)
    result = kc.evaluate(y.to_numpy(float), kc.Samples(table.to_numpy(float)))
    assert result.test.null == "exact, the outcome swapped with the draws"
    assert result.pvalue == 0.001
    assert result.pit_pvalue <= 0.01


@pytest.mark.slow
def test_binary_forecasts(scoringutils):
    frame = scoringutils("binary")
    result = kc.evaluate(frame["observed"].astype(str).astype(float).to_numpy(), frame["predicted"].to_numpy(float))
    assert result.n == 887
    assert 0 < result.pvalue <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", ["nominal", "ordinal"])
def test_class_forecasts(scoringutils, name):
    table, y = wide(scoringutils(name), "predicted_label")
    assert table.shape == (983, 3) or table.shape[1] == 3
    labels = [str(label) for label in table.columns]
    result = kc.evaluate(y.astype(str).to_numpy(), table.to_numpy(float), classes=labels)
    assert result.n_classes == 3
    order = kc.Laplacian(1.0) if name == "ordinal" else kc.Dirac()
    assert np.isfinite(
        float(kc.skce(y.astype(str).to_numpy(), table.to_numpy(float), classes=labels, target_kernel=order))
    )


def test_flusight_on_the_command_line(data_folder, capsys):
    folder = data_folder / "flusight"
    files = [folder / "2024-01-06-FluSight-baseline.csv", folder / "target-hospital-admissions_2024-04-27.csv"]
    assert main(["evaluate", str(files[0]), "--truth", str(files[1]), "--draws", "199"]) == 0
    out = capsys.readouterr().out
    assert "60 rows" in out
    assert "rows with equal neighbouring quantiles" in out
    assert "Calibration of quantile forecasts" in out
    assert "e+1" not in out.split("verdict")[1].split("engines")[0]  # no astronomic number of standard deviations
