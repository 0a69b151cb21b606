"""Null draws that results keep, and the pictures of results: what is drawn is what was computed."""

import json

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference import exact_null, pit_test
from kernelcal.runs import Run
from kernelcal.statistics import quantile_calibration, rank_histogram


@pytest.fixture(autouse=True)
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 80)
    return kc.Categorical(p).sample(rng)[0], p**2 / (p**2).sum(axis=1, keepdims=True)


def test_draws_are_kept_and_give_the_pvalue(classes):
    y, p = classes
    result = kc.calibration_test(y, p, statistic="skce", draws=99)
    prepared = kc.SKCE().prepare(kc.Categorical(p))
    expected = exact_null(prepared, Case(y, kc.Categorical(p)), Run(draws=99)).values
    drawn = result.null_draws["SKCE"]
    assert drawn.tolist() == expected[1:, 0].tolist()
    assert result.pvalue == (1 + (drawn >= result.statistic).sum()) / 100
    assert result.members[0].deviation == pytest.approx((result.statistic - drawn.mean()) / drawn.std())


def test_draws_are_not_in_what_is_written(classes):
    result = kc.calibration_test(*classes, draws=39)
    assert set(result.null_draws) == {member.name for member in result.members}
    assert "null_draws" not in json.dumps(result.to_dict())
    assert result == kc.calibration_test(*classes, draws=39)
    hash(result)


def test_too_many_draws_are_not_kept(classes, monkeypatch):
    monkeypatch.setattr("kernelcal.inference.laws.exact._KEPT", 99)
    result = kc.calibration_test(*classes, statistic="skce", draws=99)
    assert result.null_draws == {}
    assert result.plot().get_ylim() == (0.5, -0.5)  # a line instead of a histogram


def test_one_statistic_is_a_histogram_of_its_draws(classes):
    result = kc.calibration_test(*classes, statistic="skce", draws=99)
    ax = result.plot()
    assert sum(bar.get_height() for bar in ax.patches) == result.draws
    assert ax.lines[0].get_xdata()[0] == result.statistic
    assert ax.get_legend_handles_labels()[1] == [
        f"{result.draws} values under calibration",
        f"observed value, p = {result.pvalue:.3g}",
    ]


def test_a_family_is_a_line_a_member(classes):
    result = kc.calibration_test(*classes, draws=99)
    ax = result.plot()
    assert [label.get_text() for label in ax.get_yticklabels()] == [m.name for m in result.members]
    points = np.concatenate([line.get_xydata() for line in ax.lines if line.get_marker() in "oD"])
    found = dict(zip(points[:, 1], points[:, 0], strict=True))
    assert [found[k] for k in range(len(result.members))] == pytest.approx([m.deviation for m in result.members])
    drawn = result.null_draws[result.members[0].name]
    bar = ax.patches[0]
    standardised = (drawn - drawn.mean()) / drawn.std()
    assert bar.get_x() == pytest.approx(standardised.min())
    assert bar.get_x() + bar.get_width() == pytest.approx(np.quantile(standardised, 0.95))
    one = result.plot(member=result.members[1].name)
    assert one.get_xlabel() == result.members[1].name


def test_laws_without_draws_and_classes_show_deviations(classes):
    y, p = classes
    for result in (
        kc.calibration_test(y, p, statistic="skce", null="saddlepoint"),
        kc.calibration_test(y, p, lens=kc.ClassWise(), draws=39),
    ):
        assert result.null_draws == {}
        assert result.plot().get_title(loc="left").startswith("Calibration test, 80 rows, p = ")
        with pytest.raises(InputError, match=r"the draws of .* were not kept: the law .* makes none"):
            result.plot(member=result.members[0].name)
    with pytest.raises(InputError, match="the test has no member 'x'; its members are"):
        result.plot(member="x")


def test_a_null_without_variance_is_drawn():
    result = kc.calibration_test([0, 1], [[1.0, 0.0], [0.0, 1.0]], statistic="skce", draws=39)
    assert sum(bar.get_height() for bar in result.plot().patches) == 39


def test_pit_tests_and_ensembles_keep_theirs():
    rng = np.random.default_rng(1)
    y, draws = rng.normal(size=40), rng.normal(size=(40, 5))
    assert len(pit_test(y, kc.Samples(draws), draws=39).null_draws) == 4
    result = kc.calibration_test(y, kc.Samples(draws), draws=39)
    assert {len(d) for d in result.null_draws.values()} == {result.draws}
    result.plot()


def test_histograms_and_curves_draw_what_they_hold():
    rng = np.random.default_rng(2)
    y, draws = rng.normal(size=40), rng.normal(size=(40, 5))
    found = rank_histogram(y, kc.Samples(draws))
    stairs = found.plot().patches
    assert stairs[0].get_data().values.tolist() == found.counts.tolist()
    assert stairs[3].get_data().values.tolist() == found.band.high.tolist()
    assert stairs[3].get_data().baseline.tolist() == found.band.low.tolist()
    curve = quantile_calibration(y, kc.Samples(draws))
    assert curve.plot().lines[0].get_ydata().tolist() == curve.shares.tolist()
    weighted = quantile_calibration(y, kc.Samples(draws), weights=np.ones(40))
    assert weighted.plot().get_title(loc="left").endswith("with weights (no band)")
