"""The default test of quantile forecasts: level, power, exactness with ties, words, and what is refused."""

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.inference import pit_test
from kernelcal.inference.laws.ranking import merged_pvalue, ranks
from kernelcal.inference.test import PreparedQuantileKernels
from kernelcal.kernels import Spectral
from kernelcal.statistics import Merge, pit_intervals

FEW, MANY = np.array([0.05, 0.95]), np.arange(1, 10) / 10


def normal(seed, levels, n=300, spread=1.0, shift=0.0):
    rng = np.random.default_rng(seed)
    mean = rng.normal(size=n)
    y = mean + shift + spread * rng.normal(size=n)
    return y, kc.Quantiles(mean[:, None] + stats.norm.ppf(levels), levels)


def rejections(make, repetitions, **options):
    """How many of so many data sets are rejected at 5 %."""
    pvalues = [kc.calibration_test(*make(seed), draws=99, **options).pvalue for seed in range(repetitions)]
    return int((np.array(pvalues) <= 0.05).sum())


@pytest.mark.slow
@pytest.mark.parametrize(
    "levels",
    [
        [0.05],
        pytest.param(FEW, marks=pytest.mark.slow),
        pytest.param([0.025, 0.5, 0.975], marks=pytest.mark.slow),
        pytest.param([0.1, 0.5, 0.9], marks=pytest.mark.slow),
        MANY,
        [0, 0.2, 0.7, 1.0],
    ],
)
def test_true_quantiles_keep_the_level(levels):
    levels = np.array(levels)

    def make(seed):
        rng = np.random.default_rng(seed)
        low = rng.normal(size=100)
        return low + rng.beta(0.7, 2, 100), kc.Quantiles(low[:, None] + stats.beta(0.7, 2).ppf(levels), levels)

    assert rejections(make, 60) <= stats.binom.ppf(0.9995, 60, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "levels"),
    [
        (stats.poisson(3), [0.1, 0.25, 0.5, 0.75, 0.9]),
        pytest.param(stats.poisson(10), np.arange(1, 24) / 24, marks=pytest.mark.slow),
        (stats.binom(1, 0.2), FEW),
    ],
)
def test_true_quantiles_of_counts_keep_the_level(law, levels):
    q = law.ppf(levels).astype(float)

    def make(seed):
        y = law.rvs(100, random_state=np.random.default_rng(seed)).astype(float)
        return y, kc.Quantiles(np.tile(q, (100, 1)), levels)

    assert rejections(make, 60) <= stats.binom.ppf(0.9995, 60, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("h", [pytest.param(0.5, marks=pytest.mark.slow), 2.0])
def test_rounded_outcomes_keep_the_level_with_their_resolution(h):
    def make(seed):
        y, batch = normal(seed, MANY, 100)
        return h * np.round(y / h), kc.Quantiles(batch.values, MANY, resolution=h)

    assert rejections(make, 60) <= stats.binom.ppf(0.9995, 60, 0.05)


def test_a_forecast_of_few_levels_is_no_longer_called_too_wide():
    rng = np.random.default_rng(5)
    mean = rng.normal(size=1000)
    y = mean + rng.normal(size=1000)
    levels = np.array([0.05, 0.5, 0.95])
    found = kc.evaluate(y, kc.Quantiles(mean[:, None] + stats.norm.ppf(levels), levels), draws=199)
    assert found.pvalue > 0.05
    assert found.test.directions == ()


@pytest.mark.parametrize(
    ("spread", "shift", "words"),
    [
        (1.3, 0.0, "outcomes lie outside the intervals more often than claimed: intervals too narrow"),
        (0.7, 0.0, "outcomes lie inside the intervals more often than claimed: intervals too wide"),
        (1.0, 0.4, "outcomes lie above the quantiles more often than claimed"),
        (1.0, -0.4, "outcomes lie below the quantiles more often than claimed"),
    ],
)
def test_errors_are_found_and_named(spread, shift, words):
    for seed in range(3):
        found = kc.calibration_test(*normal(seed, MANY, 300, spread, shift), draws=199)
        assert found.pvalue == 0.005
        assert words in found.directions


def test_an_error_that_depends_on_the_width_is_named():
    rng = np.random.default_rng(1)
    scale = np.exp(rng.normal(0, 0.5, 400))
    y = scale * (0.4 * np.sign(np.log(scale)) + rng.normal(size=400))
    found = kc.calibration_test(y, kc.Quantiles(scale[:, None] * stats.norm.ppf(MANY), MANY), draws=199)
    assert found.pvalue == 0.005
    assert any(w.endswith("in rows with wide intervals than in rows with narrow ones") for w in found.directions)


def test_wrong_counts_are_found():
    q = np.tile(stats.poisson.ppf(np.arange(1, 24) / 24, 3.0), (400, 1))
    y = np.random.default_rng(0).poisson(4.2, 400)
    found = kc.calibration_test(y, kc.Quantiles(q, np.arange(1, 24) / 24), draws=199)
    assert found.pvalue == 0.005
    assert found.null == "exact, conservative with ties, cells redrawn from the claimed shares"
    assert any("only what P(Y < q) <= level <= P(Y <= q) claims was tested" in note for note in found.notes)


def test_an_outcome_at_the_end_of_the_range_is_ordinary():
    batch = kc.Quantiles(np.tile([0.0, 2.0, 6.0, 10.0], (5, 1)), [0, 0.5, 0.8, 1])
    low, high = pit_intervals([0.0, 2.0, 6.0, 10.0, 1.0], batch)
    np.testing.assert_array_equal([low, high], [[0, 0, 0.5, 0.8, 0], [0.5, 0.5, 0.8, 1, 0.5]])
    rng = np.random.default_rng(3)
    y, ends = rng.uniform(0, 10, 60), kc.Quantiles(np.tile([0.0, 5.0, 10.0], (60, 1)), [0, 0.5, 1])
    y[7] = 2.0
    inside = kc.calibration_test(y, ends).pvalue
    for value in (0.0, np.nextafter(0, -1)):
        y[7] = value
        assert kc.calibration_test(y, ends).pvalue == inside
    y[7] = -0.1
    assert kc.calibration_test(y, ends, draws=199).pvalue == 0.005


def test_tails_rule_nothing_out():
    y, batch = normal(0, [0.1, 0.5, 0.9], 50)
    linear = kc.Quantiles(batch.values, [0.1, 0.5, 0.9], tails="linear")
    text = kc.evaluate(y + 30, linear, draws=99).summary()
    assert "ruled out" not in text
    assert "standard deviations" not in text


def test_weights_and_constant_rows():
    y, batch = normal(2, MANY, 200)
    weights = np.random.default_rng(0).uniform(0.5, 2, 200)
    assert kc.calibration_test(y, batch, weights=weights, draws=99).pvalue > 0.05
    constant = kc.Quantiles(np.tile(stats.norm.ppf(MANY), (200, 1)), MANY)
    z = np.random.default_rng(1).normal(size=200)
    assert kc.calibration_test(z, constant, draws=99).pvalue > 0.05
    points = kc.Quantiles(np.full((50, 2), 3.0), FEW)
    assert kc.calibration_test(np.full(50, 3.0), points, draws=99).pvalue > 0.05
    assert kc.calibration_test(np.full(50, 4.0), points, draws=99).pvalue <= 0.05


# ---- the kernels


def test_kernel_members_are_sums_over_landmarks():
    y, batch = normal(3, MANY, 40)
    prepared = kc.DefaultFamily().prepare(batch).kernels
    assert isinstance(prepared, PreparedQuantileKernels)
    values, scores = np.asarray(batch.values), prepared.scores
    distances = np.sqrt(((values[:, None] - values) ** 2).mean(axis=2))
    scale = float(np.median(distances[np.triu_indices(40, 1)]))
    f = scores.table[:, scores.codes(y)] - scores.mean.T
    for k, factor in enumerate((0.25, 1.0)):
        alike = np.exp(-distances / (scale * factor))
        total = 0.0
        for j in range(40):
            for own in f:
                total += max(alike[:, j] @ own, 0) ** 2 / (alike[:, j] @ alike[:, j])  # unit variances
        assert prepared.names[k] == f"kernel at {scale * factor:.3g}"
        mean, variance = prepared.moments[k]
        shape = mean**2 / variance
        expected = 3 * np.sqrt(shape) * (np.cbrt(total / mean) - (1 - 1 / (9 * shape)))
        assert prepared.values(y[None])[0, k] == pytest.approx(expected, rel=1e-9)


def test_moments_of_kernel_members_are_those_of_draws():
    batch = normal(3, MANY, 200)[1]
    prepared = kc.DefaultFamily().prepare(batch).kernels
    drawn = batch.cells.draw(np.random.default_rng(0).random((4000, 200)))
    forms = prepared.scores.forms(drawn, prepared.columns) / prepared.spreads[:, None]
    sums = (np.maximum(forms, 0) ** 2).sum(axis=0).reshape(4000, 2, -1).sum(axis=2)
    means, variances = np.array(prepared.moments).T
    np.testing.assert_allclose(sums.mean(axis=0), means, rtol=0.05)
    np.testing.assert_allclose(sums.var(axis=0), variances, rtol=0.15)


# ---- ranks on one scale


def test_a_smaller_observed_value_never_lowers_the_pvalue():
    """With values on one scale the merged p-value is monotone, so that a test of larger values bounds it."""
    rng = np.random.default_rng(4)
    merge = Merge(((0, 1), (2,), (3,)), standardised=True)
    for _ in range(200):
        values = rng.normal(size=(40, 4)).round(1)  # with ties
        smaller = values.copy()
        smaller[0] -= rng.exponential(0.5, 4) * (rng.random(4) < 0.5)
        p = merged_pvalue(values, ranks(values), merge)
        assert merged_pvalue(smaller, ranks(smaller), merge) >= p


# ---- what is asked of quantile forecasts by name


def test_skce_by_levels_is_a_mean_over_pairs():
    y, batch = normal(5, MANY, 30)
    q = np.asarray(batch.values)
    s = (y[:, None] < q) - MANY
    distances = np.sqrt(((q[:, None] - q) ** 2).mean(axis=2))
    scale = np.median(distances[np.triu_indices(30, 1)])
    h = np.exp(-distances / scale) * (s @ s.T) / len(MANY)
    assert float(kc.skce(y, batch)) == pytest.approx((h.sum() - np.trace(h)) / (30 * 29), rel=1e-9)


def test_the_root_of_the_skce_is_the_gap():
    n = 2000
    rng = np.random.default_rng(0)
    batch = kc.Quantiles(np.tile([-1.0, 1.0], (n, 1)), [0.3, 0.8])
    y = rng.choice([-2.0, 0.0, 2.0], n, p=[0.5, 0.2, 0.3])  # below: .5 for .3, .7 for .8
    found = float(kc.skce(y, batch))
    assert np.sqrt(found) == pytest.approx(np.sqrt((0.2**2 + 0.1**2) / 2), abs=0.02)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("statistic", ["skce", "ckce", "jkce"])
def test_kernel_statistics_redraw_cells(statistic):
    y, batch = normal(6, FEW, 100)
    found = kc.calibration_test(y, batch, statistic=statistic, draws=99)
    assert found.null == "exact, cells redrawn from the claimed shares"
    assert rejections(lambda seed: normal(seed, FEW, 60), 60, statistic=statistic) <= stats.binom.ppf(0.9995, 60, 0.05)


def test_kernel_statistics_refuse_ties_with_the_cure():
    batch = kc.Quantiles(np.tile([0.0, 1.0], (20, 1)), FEW)
    with pytest.raises(
        InputError, match=r"the outcome of row 3 equals a quantile.*kernelcal.evaluate test these claims"
    ):
        kc.skce(np.where(np.arange(20) == 3, 1.0, 0.5), batch)
    equal = kc.Quantiles(np.tile([0.0, 0.0], (20, 1)), FEW)
    with pytest.raises(InputError, match=r"row 0 has equal quantiles \(20 of 20 rows do\)"):
        kc.calibration_test(np.full(20, 0.5), equal, statistic="skce")


@pytest.mark.parametrize("levels", [(0.05, 0.95), (0.25, 0.5, 0.75), (0.0, 0.5, 1.0)])
def test_the_pit_test_asks_whether_levels_hold(levels):
    """Over all rows alike: what is wrong in wide rows only is another question."""
    y, batch = normal(11, levels, 300) if 0.0 not in levels else uniform(11, 300)
    result = pit_test(y, batch, draws=199)
    assert result.pvalue > 0.05
    assert result.null == "exact, cells redrawn from the claimed shares"
    assert result.question == "quantile calibration: do the levels hold?"
    assert not any(" in " in member.name for member in result.members)
    assert kc.calibration_test(y, batch, statistic="pit", draws=199).pvalue == result.pvalue
    low = pit_test(y + 1.0, batch, draws=199)
    assert low.pvalue == 0.005
    assert low.directions


def uniform(seed, n):
    y = np.random.default_rng(seed).uniform(0, 10, n)
    return y, kc.Quantiles(np.tile([0.0, 5.0, 10.0], (n, 1)), [0.0, 0.5, 1.0])


def test_the_pit_test_of_counts_is_conservative():
    """Poisson(3) at five of its own quantiles: an interpolated law was rejected in all of 40 sets."""
    from scipy.stats import poisson

    levels = np.array([0.1, 0.25, 0.5, 0.75, 0.9])
    batch = kc.Quantiles(np.tile(poisson.ppf(levels, 3), (300, 1)), levels)
    sets = [np.random.default_rng(seed).poisson(3, 300).astype(float) for seed in range(20)]
    assert sum(pit_test(y, batch, draws=99).pvalue <= 0.05 for y in sets) <= 1
    assert pit_test(sets[0], batch, draws=99).null.startswith("exact, conservative with ties")


def test_a_target_kernel_that_is_given_tests_the_interpolation_and_says_so():
    y, batch = normal(7, MANY, 60)
    for statistic in (kc.SKCE(target_kernel=Spectral()), kc.DefaultFamily(target_kernel=Spectral())):
        notes = kc.calibration_test(y, batch, statistic=statistic, draws=99).notes
        assert any("the law that is linear between the quantiles" in note for note in notes)
    assert any("which was not forecast" in note for note in kc.skce(y, batch, target_kernel=Spectral()).notes)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda y, q: kc.calibration_test(y, q, statistic="ucme"), "UCME compares outcomes with test targets"),
        (lambda y, q: kc.calibration_test(y, q, statistic=lambda a, b: 1.0), "none can be drawn for a function"),
        (
            lambda y, q: kc.skce(y, kc.Normal(y, 1.0), target_kernel=kc.kernels.QuantileLevels()),
            "got Normal: leave it out",
        ),
        (lambda y, q: kc.kernels.QuantileLevels().evaluate(None), "is no function of two numbers"),
    ],
)
def test_what_needs_more_than_levels_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call(*normal(8, MANY, 30))
