"""Means under calibration beside concordance and Brier scores: exact ones where they are known, naive loops, levels."""

import numpy as np
import pytest
from scipy import stats

from kernelcal.predictions import Gamma, Weibull
from kernelcal.survival import Survival, SurvivalCurves, brier_at, concordance, evaluate
from kernelcal.survival.calibrated import Calibrated, kept_redraws, redrawn_times
from kernelcal.survival.figures import brier_scores, concordances


def naive_concordance(time, event, risk):
    pairs = agreeing = 0.0
    for i in np.flatnonzero(event):
        for j in range(len(time)):
            if time[j] > time[i] or (time[j] == time[i] and not event[j]):
                pairs += 1
                agreeing += 1.0 if risk[i] > risk[j] else 0.5 if risk[i] == risk[j] else 0.0
    return agreeing / pairs if pairs else np.nan


def test_concordances_of_several_sets_count_pairs_with_all_ties():
    rng = np.random.default_rng(3)
    time, event = rng.integers(1, 8, (6, 25)).astype(float), rng.random((6, 25)) < 0.5
    event[5] = False
    risk = rng.integers(0, 5, 25).astype(float)
    expected = [naive_concordance(t, e, risk) for t, e in zip(time, event, strict=True)]
    np.testing.assert_allclose(concordances(time, event, risk), expected)
    assert concordance(time[5], event[5], risk) is None
    assert np.isnan(concordances(time, event, np.zeros(25))[5])
    np.testing.assert_allclose(concordances(time, event, np.zeros(25))[:5], 0.5)


def test_brier_scores_of_several_horizons_are_those_of_each():
    rng = np.random.default_rng(4)
    time, event, survival = rng.exponential(size=30), rng.random(30) < 0.6, rng.random((2, 30))
    both = brier_scores((0.3, 0.9), survival, time, event)
    assert both.tolist() == [brier_at(t, s, time, event) for t, s in zip((0.3, 0.9), survival, strict=True)]


@pytest.mark.parametrize("curves", [False, True])
def test_redrawn_times_are_where_the_hazard_is_reached(curves):
    law = SurvivalCurves([1.0, 2.0], [[0.8, 0.4], [0.9, 0.3]]) if curves else Gamma(2.0, [1.0, 2.0])
    seen = Survival(law, [0.5, 0.7], [True, False])
    hazard = np.array([[0.1, 0.2], [0.5, 0.6]])
    times = redrawn_times(seen, hazard, np.ones((2, 2), dtype=bool), np.full(2, np.inf))
    np.testing.assert_allclose(seen.hazard_at(times), hazard)
    censored = redrawn_times(seen, hazard, np.zeros((2, 2), dtype=bool), np.array([0.25, 0.75]))
    np.testing.assert_allclose(censored, [[0.25, 0.75]] * 2)


def exponential(n=400, seed=0):
    rng = np.random.default_rng(seed)
    rate = np.where(np.arange(n) % 2, 1.0, 3.0)
    return Weibull(1 / rate, 1.0), rng.exponential(1 / rate), rate


def test_means_are_the_expected_ones_without_censoring():
    """Two rates 1 and 3: the higher comes first in 3 of 4 pairs; Brier scores are means of S (1 - S)."""
    law, time, rate = exponential()
    found = evaluate((time, np.ones(400, dtype=bool)), law, horizons=(0.3, 1.0), draws=199)
    n = 200
    mixed, same = n * n, n * (n - 1)  # pairs of two rates, and of one
    expected = (0.75 * mixed + 0.5 * same) / (mixed + same)
    about = found.concordance_calibrated
    assert about.draws == 199
    assert about.mean == pytest.approx(expected, abs=4 * 0.02 / np.sqrt(199))
    assert about.low < about.mean < about.high
    for one in found.horizons:
        s = np.exp(-rate * one.time)
        assert one.brier_calibrated.mean == pytest.approx(np.mean(s * (1 - s)), abs=0.003)
        share = s.mean()
        assert one.reference_calibrated.mean == pytest.approx(share * (1 - share), abs=0.003)


def test_wrong_risks_are_told_from_calibrated_ones():
    law, time, _ = exponential()
    steep = Weibull(np.asarray(law.scale) ** 4, 1.0)
    found = evaluate((time, np.ones(400, dtype=bool)), steep, horizons=(0.3,), draws=99)
    assert found.concordance < found.concordance_calibrated.low
    assert found.concordance_calibrated.pvalue == 2 / 100
    assert found.horizons[0].brier > found.horizons[0].brier_calibrated.high


@pytest.mark.slow
def test_p_values_of_figures_are_uniform_or_larger():
    """Of 120 calibrated sets with censoring times that are known, at most so many below a fifth as chance gives."""
    rng, p = np.random.default_rng(6), []
    for seed in range(120):
        scale = np.exp(rng.normal(scale=0.5, size=20))
        times, ends = stats.weibull_min.rvs(1.5, scale=scale, random_state=rng), rng.exponential(1.2, size=20)
        y = np.minimum(times, ends), times <= ends
        found = evaluate(y, Weibull(scale, 1.5), censoring_time=ends, horizons=(0.4,), draws=19, rng=seed)
        if found.concordance_calibrated is not None:
            p.append((found.concordance_calibrated.pvalue, found.horizons[0].brier_calibrated.pvalue))
    below = (np.array(p) <= 0.2).sum(axis=0)
    assert np.all(below <= stats.binom.isf(0.001, len(p), 0.2))
    assert np.all(below >= stats.binom.ppf(0.001, len(p), 0.2))


def test_the_place_among_redraws():
    drawn = np.arange(1.0, 20.0)
    found = Calibrated.of(19.0, drawn, 0.9, dependent=False)
    assert (found.mean, found.pvalue, found.draws) == (10.0, 2 * 2 / 20, 19)
    assert (found.low, found.high) == (pytest.approx(1.9), pytest.approx(18.1))
    assert Calibrated.of(10.0, drawn, 0.9, dependent=False).pvalue == 1
    alone = Calibrated.of(19.0, drawn, 0.9, dependent=True)
    assert alone.mean == 10.0
    assert alone.plain()["low"] is alone.plain()["pvalue"] is None
    none = Calibrated.of(19.0, np.full(3, np.nan), 0.9, dependent=False)
    assert none.plain() == {"mean": None, "low": None, "high": None, "pvalue": None, "draws": 0}
    assert np.isnan(Calibrated.of(np.nan, drawn, 0.9, dependent=False).pvalue)


def test_very_many_rows_have_fewer_redraws():
    assert [kept_redraws(n) for n in (100, 100_000, 10_000_000)] == [200, 20, 10]


def test_every_figure_of_the_table_has_its_mean_under_calibration():
    law, time, _ = exponential(60)
    y, groups = (np.minimum(time, 1.0), time < 1.0), np.arange(60) % 2
    found = evaluate(y, law, draws=39, groups={"side": groups})
    lines = {line.split("  ")[0]: line for line in str(found).splitlines()}
    for name in ("events seen / expected", "D-calibration", "concordance"):
        assert "if calibrated" in lines[name], name
    assert "at most 1" in lines["bets, any independent censoring"]
    words = " ".join(str(found).split())
    assert "no interval of concordance, D-calibration and Brier scores was proved" in words
    assert "mean of 39 redraws" in words
    assert "1 event seen for 1 expected in every group" in words
    plain = found.to_dict()
    assert plain["ratio_calibrated"] == 1
    assert plain["concordance_calibrated"]["draws"] == 39
    assert plain["horizons"][0]["brier_calibrated"]["mean"] == found.horizons[0].brier_calibrated.mean


def test_clusters_and_weights_have_means_as_far_as_they_hold():
    law, time, _ = exponential(60)
    y = np.minimum(time, 1.0), time < 1.0
    clustered = evaluate(y, law, clusters=np.arange(60) // 3, draws=39)
    assert np.isfinite(clustered.concordance_calibrated.mean)
    assert np.isnan(clustered.concordance_calibrated.low)
    assert clustered.d_calibration is None
    assert "none: its law with dependent rows is not known" in str(clustered)
    assert "whose spread clusters change" in " ".join(str(clustered).split())
    flipped = evaluate(y, law, null="flips", draws=39)
    assert np.isfinite(flipped.horizons[0].brier_calibrated.pvalue)
    weighted = evaluate(y, law, weights=np.linspace(0.5, 2, 60), draws=39)
    assert weighted.concordance is weighted.concordance_calibrated is None
    assert "none: its law with case weights is not known" in str(weighted)
    assert "none: pairs of weighted rows have no one weight" in str(weighted)
    assert "none: its law where signs are flipped is not known" in str(flipped)
    early = evaluate((np.full(60, 0.1), np.zeros(60, dtype=bool)), law, draws=39)
    assert "none: no row with an event was watched less long than another" in " ".join(str(early).split())
    assert np.isfinite(weighted.horizons[0].brier_calibrated.mean)
