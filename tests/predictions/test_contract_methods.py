"""What every family says in its own file, against a second computation; and what is made of it, up to a page."""

import importlib.util
import math
import re
import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, special, stats

import kernelcal as kc
from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import Beta, Binomial, Dirichlet, Gamma, LogNormal, Mixture, Normal, StudentT
from kernelcal.predictions.base import families
from kernelcal.predictions.real import crps_by_quadrature, crps_by_sum
from kernelcal.recalibration import TemperatureScaling, tempered
from kernelcal.statistics import mean_squared_error

_spec = importlib.util.spec_from_file_location("family_subjects", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)
N, DRAWS, NAMES, SCALARS = subjects.N, subjects.DRAWS, subjects.NAMES, subjects.SCALARS
NARROWER, SHIFTED = subjects.NARROWER, subjects.SHIFTED
batch, build, drawn = subjects.batch, subjects.build, subjects.drawn

PARAMETRIC = tuple(name for name in NAMES if batch(name).given_by)
NUMBERS = tuple(name for name in SCALARS if name != "heavy tails")
HEAVY = ("student t", "heavy tails")
SCORED = ("normal", "laplace", *HEAVY, "log-normal", "smooth gamma", "smooth beta", "full", "mixture")
CLOSED = tuple(name for name in PARAMETRIC if name in NUMBERS)
LEVELLED = tuple(name for name in PARAMETRIC if batch(name).density_level(drawn(batch(name), 1)[0]) is not None)


def test_every_family_with_parameters_is_a_subject():
    held = {type(batch(name)) for name in NAMES}
    assert [family.__name__ for family in families() if family.given_by and family not in held] == []


@pytest.mark.parametrize("name", PARAMETRIC)
def test_a_family_is_made_of_its_parameters_in_their_order(name, backend):
    predictions = batch(name)
    again = type(predictions)(*(getattr(predictions, parameter) for parameter in predictions.given_by))
    moved = type(predictions)(*(backend(getattr(predictions, parameter)) for parameter in predictions.given_by))
    for copy in (again, moved):
        np.testing.assert_allclose(to_numpy(copy.centre), predictions.centre, rtol=1e-14)
        np.testing.assert_allclose(to_numpy(copy.width), predictions.width, rtol=1e-14)


@pytest.mark.parametrize("name", PARAMETRIC)
def test_wrong_parameters_are_refused_with_row_and_what_was_expected(name):
    predictions = batch(name)
    given = [np.array(getattr(predictions, parameter), dtype=float) for parameter in predictions.given_by]
    for k in range(len(given)):
        for value, words in ((np.nan, r"missing \(NaN\)"), (np.inf, "expected a finite number")):
            given[k][2], before = value, given[k][2]
            with pytest.raises(InputError, match=f"in row 2.*{words}"):
                type(predictions)(*given)
            given[k][2] = before
    if len(given) > 1:
        with pytest.raises(InputError, match="must have equal length"):
            type(predictions)(given[0][:2], *given[1:])
        with pytest.raises(InputError, match=rf"one of them as an array of .*, such as {predictions.given_by[0]}"):
            type(predictions)(*[1.0] * len(given))
        numbers = type(predictions)(float(given[0][0]), *given[1:])
        np.testing.assert_array_equal(getattr(numbers, predictions.given_by[0]), np.full(N, given[0][0]))


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.quick_cases(2)
def test_crps_is_the_integral_of_the_distribution_function(name):
    predictions = batch(name)
    for y in (*drawn(predictions, 2), predictions.quantile(0.999) + 3 * predictions.width):
        y = np.round(y) if predictions.counts else y
        found = predictions.crps(y)
        for row in range(N):
            one = predictions[row : row + 1]

            def distance(x, one=one, outcome=y[row]):
                return float((one.cdf(np.array([x]))[0] - (outcome <= x)) ** 2)

            ends = np.concatenate([one.quantile(np.array([[1e-9], [1 - 1e-9]]))[:, 0], y[row : row + 1]])
            breaks = np.unique([*np.sort(one.breaks()[:, 0]), y[row]])
            if predictions.counts:
                k = np.arange(0, ends.max() + 60)
                expected = sum(distance(x) for x in k)
            else:
                low, high = breaks.min(), breaks.max()
                inner = breaks[(breaks > low) & (breaks < high)]
                points = [low, *inner, high]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", integrate.IntegrationWarning)
                    parts = [integrate.quad(distance, a, b)[0] for a, b in pairwise(points) if b > a]
                expected = sum(parts)
            assert found[row] == pytest.approx(expected, rel=2e-6, abs=1e-9)


@pytest.mark.parametrize("name", CLOSED)
def test_crps_is_the_mean_distance_to_draws(name):
    predictions = batch(name)
    y, draws = drawn(predictions, 1)[0], drawn(predictions, 40_000, seed=4)
    terms = np.abs(draws - y) - 0.5 * np.abs(draws - np.roll(draws, 1, axis=0))
    error = terms.std(axis=0) / 200
    assert np.all(np.abs(terms.mean(axis=0) - predictions.crps(y)) < 6 * error + 1e-12)


def test_the_default_crps_is_that_of_the_closed_forms():
    for name in ("student t", "gamma", "log-normal", "beta"):
        predictions = batch(name)
        y = drawn(predictions, 1)[0]
        np.testing.assert_allclose(crps_by_quadrature(predictions, y), predictions.crps(y), rtol=1e-6)
    predictions = batch("binomial")
    np.testing.assert_allclose(crps_by_sum(predictions, np.arange(4.0)), predictions.crps(np.arange(4.0)), rtol=1e-12)


def test_laws_without_a_mean_have_no_crps_and_all_else():
    predictions = batch("heavy tails")
    words = r"row 0 of StudentT has no mean, which {} needs \(2 such rows\): use the negative log-likelihood"
    with pytest.raises(InputError, match=words.format("the CRPS")):
        predictions.crps(np.zeros(N))
    with pytest.raises(InputError, match=words.format("the mean squared error")):
        mean_squared_error(np.zeros(N), predictions)
    with pytest.raises(InputError, match=words.format("the linear kernel")):
        kc.skce(np.zeros(N), predictions, target_kernel=kc.Linear())
    assert np.isfinite(predictions[2:].crps(np.zeros(2))).all()
    np.testing.assert_array_equal(np.isnan(predictions.mean), [True, True, False, False])
    np.testing.assert_array_equal(predictions.std, np.full(N, np.inf))
    z = predictions.standardised(drawn(predictions))
    assert np.abs(z.mean()) < 5 / np.sqrt(z.size)
    assert np.abs(z.var() - 1) < 5 * np.sqrt(2 / z.size)
    mixture = Mixture(None, [predictions, Normal(np.zeros(N), 1.0)])
    assert np.isfinite(mixture.width).all()
    assert np.abs(mixture.standardised(drawn(mixture)).var() - 1) < 0.1


@pytest.mark.parametrize("name", [name for name in SCALARS if name not in ("samples", "weighted samples")])
@pytest.mark.parametrize("level", [0.5, 0.9])
def test_central_intervals_hold_their_probability(name, level):
    predictions = batch(name)
    found = predictions.central_interval(level)
    inside = ((found.low <= drawn(predictions)) & (drawn(predictions) <= found.high)).mean(axis=0)
    assert np.all(np.abs(inside - found.probability) < 5 * 0.5 / np.sqrt(DRAWS))
    assert np.all(found.probability >= level - 1e-12)


def smooth(name):
    shapes = np.array([1.5, 2.0, 4.0, 30.0])
    if name == "smooth gamma":
        return Gamma(shapes, [0.5, 1.0, 2.0, 9.0])
    return Beta(shapes, [2.5, 1.2, 3.0, 20.0]) if name == "smooth beta" else batch(name)


@pytest.mark.parametrize("name", SCORED)
def test_scores_are_gradients_of_log_densities(name):
    predictions = smooth(name)
    y = drawn(predictions, 20)
    step = 1e-5 * predictions.width * np.ones(y.shape[1:])
    found = predictions.score(y)
    for k in range(predictions.dimension):
        unit = step * (np.arange(predictions.dimension) == k) if predictions.event_shape else step
        difference = predictions.log_prob(y + unit) - predictions.log_prob(y - unit)
        size = 2 * (step[:, k] if predictions.event_shape else step)
        gradient = found[..., k] if predictions.event_shape else found
        smooth_here = np.abs(y - predictions.loc) > 10 * step if name == "laplace" else np.True_
        near = np.abs(difference / size - gradient) <= 2e-4 * (1 / size * 2e-5 + np.abs(gradient) + 1)
        assert np.all(near | ~smooth_here)


@pytest.mark.parametrize("name", ["smooth gamma", "smooth beta", "log-normal", "student t", "heavy tails", "normal"])
def test_scores_average_to_zero(name):
    predictions = smooth(name)
    predictions = predictions[2:] if name.startswith("smooth") else predictions  # a shape up to 2: no variance
    scores = predictions.score(drawn(predictions, 40_000))
    assert np.all(np.abs(scores.mean(axis=0)) < 6 * scores.std(axis=0) / 200)


@pytest.mark.parametrize("name", ["binomial", "dirichlet", "poisson", "samples"])
def test_families_without_a_score_say_so(name):
    with pytest.raises(InputError, match="no smooth density"):
        batch(name).score(drawn(batch(name), 1))


def test_scores_that_do_not_average_to_zero_are_refused():
    with pytest.raises(InputError, match=r"row 1 has a concentration of 1, up to 1, .*does not fall to 0"):
        Gamma([2.0, 1.0], 1.0).score(np.ones(2))
    with pytest.raises(InputError, match=r"row 0 has a = 0.5 and b = 2, one of them at most 1, .*does not fall to 0"):
        Beta([0.5, 2.0], 2.0).score(np.full(2, 0.5))
    assert np.isinf(Gamma([2.0], 1.0).score(np.array([-1.0])))
    assert np.isinf(Beta([2.0], 2.0).score(np.array([1.5])))
    assert np.isinf(LogNormal([2.0], 2.0).score(np.array([0.0])))


def reference(name, y):
    """Logarithm of the density of the measure with respect to which powers are taken, by Lebesgue's or counts."""
    if name in ("gamma", "log-normal"):
        return -np.log(y)
    if name == "beta":
        return -np.log(y) - np.log1p(-y)
    if name == "dirichlet":
        return -np.log(y).sum(axis=-1)
    if name == "binomial":
        n = batch(name).n
        return special.gammaln(n + 1) - special.gammaln(y + 1) - special.gammaln(n - y + 1)
    return 0.0


def _has_temperatures(name):
    try:
        return batch(name).tempered(1.0) is not None
    except InputError:
        return False


TEMPERED = tuple(name for name in NAMES if _has_temperatures(name) and "mixture" not in name)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 1.6])
@pytest.mark.parametrize("name", TEMPERED)
def test_tempered_densities_are_powers(name, temperature):
    predictions = batch(name)
    hot, y = predictions.tempered(temperature), drawn(predictions, 30)
    assert type(hot) is type(predictions)
    ways = reference(name, y)
    gap = (hot.log_prob(y) - ways) - (predictions.log_prob(y) - ways) / temperature
    np.testing.assert_allclose(gap, np.broadcast_to(gap[0], gap.shape), rtol=1e-8, atol=1e-8)
    type(hot)(*(getattr(hot, parameter) for parameter in hot.given_by)) if hot.given_by else None  # valid parameters
    if name in ("gamma", "beta", "dirichlet", "normal"):
        np.testing.assert_allclose(hot.mean, predictions.mean, rtol=1e-12)


@pytest.mark.parametrize("name", TEMPERED)
def test_temperatures_follow_one_another(name):
    """Powers with respect to one measure: 1.3 after 0.8 is 1.04, and 1 changes nothing."""
    predictions, y = batch(name), drawn(batch(name), 5)
    y = y if not hasattr(predictions, "n_classes") else y[0]
    twice, once = predictions.tempered(0.8).tempered(1.3), predictions.tempered(1.04)
    np.testing.assert_allclose(twice.log_prob(y), once.log_prob(y), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(predictions.tempered(1.0).log_prob(y), predictions.log_prob(y), rtol=1e-12, atol=1e-12)


def test_powers_that_are_no_distribution_are_refused():
    heavy = batch("heavy tails")
    assert heavy.largest_temperature == pytest.approx(1.7)
    with pytest.raises(InputError, match=r"df = 0.7 to the power 1/1.7 has no finite integral: .*smallest df \+ 1"):
        heavy.tempered(1.7)
    fitted = TemperatureScaling().fit(drawn(heavy, 1)[0], heavy)
    assert 0 < fitted.temperature_ < 1.7
    with pytest.raises(InputError, match=r"bounds begin at 5, and from 1.7 on the power of a density of StudentT"):
        TemperatureScaling(bounds=(5.0, 9.0)).fit(drawn(heavy, 1)[0], heavy)
    for name in ("poisson", "negative binomial", "samples", "quantiles"):
        with pytest.raises(
            InputError, match=r"has no temperature: .*StudentT of kernelcal have it; .* method tempered"
        ):
            batch(name).tempered(2.0)


@pytest.mark.parametrize("name", [name for name in TEMPERED if batch(name).given_by and name != "heavy tails"])
def test_temperatures_are_found_again(name):
    predictions = build(np.random.default_rng(7), 1500)[name]
    cold = predictions.tempered(0.5)
    y = predictions.sample(3)[0]
    scaling = TemperatureScaling().fit(y, cold)
    assert scaling.temperature_ == pytest.approx(2.0, rel=0.2)
    assert scaling.converged_
    best = -np.mean(cold.tempered(scaling.temperature_).log_prob(y))
    for other in (0.9, 1.1):
        assert -np.mean(tempered(cold, scaling.temperature_ * other).log_prob(y)) > best


@pytest.mark.parametrize("name", [name for name in SCALARS if "quantiles" not in name and "point" not in name])
def test_values_of_the_distribution_function_are_uniform(name):
    predictions = batch(name)
    low, high = (np.stack(part) for part in zip(*map(predictions.pit_interval, drawn(predictions, 500)), strict=True))
    assert np.all(low <= high)
    u = low + np.random.default_rng(8).random(low.shape) * (high - low)
    if "samples" not in name and "draws" not in name and name != "linear tails":
        assert stats.kstest(u.ravel(), "uniform").pvalue > 1e-4


@pytest.mark.parametrize("name", [*LEVELLED, "full"])
def test_density_levels_are_shares_of_denser_draws(name):
    predictions = batch(name)
    draws = drawn(predictions, 20_000, seed=9)
    for y in drawn(predictions, 4):
        level = predictions.density_level(y)
        share = (predictions.log_prob(draws) > predictions.log_prob(y)).mean(axis=0)
        assert np.all(np.abs(share - level) < 5 * np.sqrt(level * (1 - level) / 20_000) + 1e-3)


@pytest.mark.parametrize(
    "predictions",
    [
        Beta([0.5, 3.0, 0.5, 1.0, 2.0, 1.0, 0.9], [0.7, 2.0, 2.0, 3.0, 1.0, 0.5, 40.0]),
        Gamma([0.5, 1.0, 1.0 + 1e-9, 3.0, 400.0], 2.0),
    ],
)
def test_density_levels_of_every_shape(predictions):
    draws = drawn(predictions, 20_000, seed=9)
    for y in drawn(predictions, 6, seed=10):
        level = predictions.density_level(y)
        share = (predictions.log_prob(draws) > predictions.log_prob(y)).mean(axis=0)
        assert np.all(np.abs(share - level) < 5 * np.sqrt(level * (1 - level) / 20_000) + 1e-3)
    assert Beta([1.0, 2.0], [1.0, 2.0]).density_level(np.array([0.5, 0.5])) is None


@pytest.mark.parametrize(
    ("predictions", "y", "expected"),
    [
        (Gamma([0.5, 1.0, 2.0], 1.0), [0.0, 0.0, 0.0], [False, False, True]),
        (Gamma([0.5, 1.0, 2.0], 1.0), [-1.0, 1.0, 1.0], [True, False, False]),
        (LogNormal([0.0, 0.0], 1.0), [0.0, -2.0], [True, True]),
        (Beta([0.5, 2.0, 1.0], [2.0, 2.0, 0.5]), [0.0, 0.0, 1.0], [False, True, False]),
        (Beta([0.5, 2.0], [2.0, 2.0]), [1.1, -0.1], [True, True]),
        (Binomial([2, 2, 0, 3], [0.0, 1.0, 0.4, 0.5]), [1.0, 1.0, 1.0, 3.0], [True, True, True, False]),
        (StudentT(1.0, [0.0], 1.0), [1e300], [False]),
        (Dirichlet([[0.5, 2.0, 2.0]] * 3), [[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.3, 0.3, 0.3]], [False, True, True]),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_is_impossible(predictions, y, expected):
    assert predictions.impossible(np.array(y)).tolist() == expected
    logs = predictions.log_prob(np.array(y))
    assert np.all((logs == -np.inf) | ~np.array(expected))
    assert not np.isnan(logs).any()


def published():
    """Values of R and scipy by hand: P(Y <= y), and log densities far in the tails."""
    return [
        (StudentT(1.0, [0.0], 1.0), -1e6, 1 / (math.pi * 1e6), -math.log(math.pi * (1 + 1e12))),
        (StudentT(3.0, [0.0], 1.0), -1e5, 2 * math.sqrt(3) / (math.pi * 1e15), None),
        (Gamma([2.0], 1.0), 1e-9, 5e-19, math.log(1e-9) - 1e-9),
        (LogNormal([0.0], 1.0), math.exp(-10), 7.61985e-24, -50 + 10 - 0.5 * math.log(2 * math.pi)),
        (Beta([3.0], 1.0), 1e-6, 1e-18, math.log(3e-12)),
        (Binomial([100.0], 0.5), 0.0, 0.5**100, 100 * math.log(0.5)),
    ]


@pytest.mark.parametrize(("predictions", "y", "cdf", "log"), published())
def test_tails_keep_their_digits(predictions, y, cdf, log):
    assert predictions.cdf([y])[0] == pytest.approx(cdf, rel=1e-5)
    if log is not None:
        assert predictions.log_prob([y])[0] == pytest.approx(log, rel=1e-12)
    if not predictions.counts:
        assert predictions.quantile(cdf)[0] == pytest.approx(y, rel=1e-5)


# everywhere: tests, evaluation, comparison, explanation, page

EVERYWHERE = tuple(name for name in PARAMETRIC if name not in ("normal", "laplace", "poisson", "negative binomial"))


def many(name, n=300):
    return build(np.random.default_rng(11), n)[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", EVERYWHERE)
def test_the_exact_test_keeps_its_level(name):
    rejected = 0
    for seed in range(60):
        predictions = build(np.random.default_rng(100 + seed), 4)[name]
        predictions = predictions[np.tile(np.arange(4), 5)]
        y = predictions.sample(seed)[0]
        rejected += kc.calibration_test(y, predictions, draws=19, rng=seed, early_stopping=False).pvalue <= 0.1
    assert stats.binom.cdf(rejected, 60, 0.1) > 1e-4
    assert stats.binom.sf(rejected - 1, 60, 0.1) > 1e-4


@pytest.mark.parametrize("name", EVERYWHERE)
@pytest.mark.quick_cases(1)
def test_evaluation_is_right_about_the_direction(name):
    predictions = many(name)
    y = predictions.sample(12)[0]
    good = kc.evaluate(y, predictions, draws=99)
    assert good.pvalue > 0.01
    assert good.pit_pvalue > 0.001
    assert (good.crps is None) == (name == "heavy tails")
    narrow = NARROWER.get(name, lambda p: p.tempered(0.25))(predictions)
    if isinstance(narrow, Binomial):  # hits of trials that are alike spread more than binomial ones
        rng = np.random.default_rng(13)
        y = rng.binomial(20, rng.beta(narrow.p * 4, (1 - narrow.p) * 4)).astype(float)
    bad = kc.evaluate(y, narrow, draws=199)
    assert bad.pvalue <= 0.02
    assert "too narrow" in " ".join([bad.verdict, *(word for test in bad.pit for word in test.directions)])
    assert kc.pit_test(y[:, 0] if y.ndim > 1 else y, narrow.marginal(0) if y.ndim > 1 else narrow).pvalue < 0.05


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("name", SHIFTED)
def test_evaluation_sees_a_shift(name):
    predictions = many(name)
    y = predictions.sample(14)[0]
    shifted = SHIFTED[name](predictions)
    bad = kc.evaluate(y, shifted, draws=199)
    assert bad.pvalue <= 0.02
    assert "shifted down" in " ".join([bad.verdict, *(word for test in bad.pit for word in test.directions)])


@pytest.mark.parametrize("name", EVERYWHERE)
@pytest.mark.quick_cases(2)
def test_models_are_compared_and_explained(name):
    predictions = many(name, 120)
    y = predictions.sample(15)[0]
    wrong = NARROWER.get(name, lambda p: p.tempered(0.25))(predictions)
    found = kc.compare(y, {"right": predictions, "wrong": wrong}, draws=99)
    assert {model.name: model.evaluation.family for model in found.models} == dict.fromkeys(
        ("right", "wrong"), type(predictions).__name__
    )
    measures = {difference.measure for difference in found.differences}
    assert ("CRPS" in measures) == (name != "heavy tails")
    assert not np.isnan([difference.difference for difference in found.differences]).any()  # but infinite: ruled out
    explained = kc.explain(y, wrong, groups={"half": np.arange(120) % 2}, draws=99)
    assert " ± " in explained.rows[0].predicted
    assert np.isfinite(explained.contributions).all()


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name if name in ("dirichlet", "uniform", "heavy tails") else pytest.param(name, marks=pytest.mark.slow)
        for name in EVERYWHERE
    ],
)
def test_a_page_is_written(name):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    predictions = many(name, 60)
    found = kc.report(predictions.sample(16)[0], predictions, draws=99)
    assert [model.family for model in found.models] == [type(predictions).__name__]
    pvalue = found.models[0].evaluation.pvalue  # of calibrated predictions: one family in twenty is below 0.05
    assert pvalue > 0.001
    assert ("No evidence against the stated uncertainty" in str(found)) == (pvalue > 0.05)
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", found.to_html(), flags=re.DOTALL).lower().split()
