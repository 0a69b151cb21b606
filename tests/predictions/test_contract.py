"""One contract over every family for numbers: indexing, broadcasting, libraries, draws and distribution functions."""

import math
import re
import warnings
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, special, stats

import kernelcal as kc
from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import (
    Beta,
    Binomial,
    DiagonalNormal,
    Dirichlet,
    Gamma,
    IsotropicNormal,
    Laplace,
    LogNormal,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
    Samples,
    StudentT,
)
from kernelcal.predictions.base import families
from kernelcal.predictions.integration import crps_by_quadrature, crps_by_sum
from kernelcal.predictions.stacking import stacked
from kernelcal.recalibration import TemperatureScaling, tempered

N, DRAWS = 4, 4000
LEVELS = np.array([0.1, 0.25, 0.5, 0.75, 0.9])


def covariances(rng, n, d):
    root = rng.normal(size=(n, d, d))
    return root @ np.swapaxes(root, 1, 2) + 0.2 * np.eye(d)


def flat_quantiles():
    return Quantiles([[0, 0, 0, 1, 2], [1, 2, 2, 2, 3], [-1, 0, 1, 1, 1], [3, 3, 3, 3, 3]], LEVELS)


def build(rng, n=N):
    normal = Normal(rng.normal(size=n), rng.uniform(0.5, 2, n))
    laplace = Laplace(rng.normal(size=n), rng.uniform(0.5, 2, n))
    poisson = Poisson(rng.uniform(0.2, 9, n))
    samples = Samples(rng.normal(size=(n, 7)).round(1))
    diagonal = DiagonalNormal(rng.normal(size=(n, 3)), rng.uniform(0.5, 2, (n, 3)))
    full = MultivariateNormal(rng.normal(size=(n, 3)), covariances(rng, n, 3))
    values = np.sort(rng.normal(size=(n, 5)), axis=1)
    weights = rng.dirichlet([1, 1, 1], n)
    weights[0] = [0.4, 0.0, 0.6]
    return {
        "normal": normal,
        "laplace": laplace,
        "poisson": poisson,
        "negative binomial": NegativeBinomial(rng.uniform(0.2, 9, n), rng.uniform(0.4, 5, n)),
        "student t": StudentT(rng.uniform(5, 30, n), rng.normal(size=n), rng.uniform(0.5, 2, n)),
        "heavy tails": StudentT(np.resize([0.7, 1.0, 1.5, 2.0], n), rng.normal(size=n), rng.uniform(0.5, 2, n)),
        "gamma": Gamma(rng.uniform(0.6, 5, n), rng.uniform(0.4, 3, n)),
        "log-normal": LogNormal(rng.normal(size=n), rng.uniform(0.2, 0.7, n)),
        "beta": Beta(rng.uniform(0.6, 5, n), rng.uniform(0.6, 5, n)),
        "binomial": Binomial(rng.integers(1, 12, n), rng.uniform(0.1, 0.9, n)),
        "dirichlet": Dirichlet(rng.uniform(0.6, 4, (n, 3))),
        "full": full,
        "one covariance": MultivariateNormal(rng.normal(size=(n, 2)), covariances(rng, 1, 2)[0]),
        "diagonal": diagonal,
        "isotropic": IsotropicNormal(rng.normal(size=(n, 3)), rng.uniform(0.5, 2, n)),
        "vectors of one": DiagonalNormal(rng.normal(size=(n, 1)), rng.uniform(0.5, 2, (n, 1))),
        "samples": samples,
        "weighted samples": Samples(rng.normal(size=(n, 6)), rng.integers(0, 3, (n, 6)) + np.eye(n, 6)),
        "vector samples": Samples(rng.normal(size=(n, 5, 2)), rng.random((n, 5))),
        "quantiles": Quantiles(values, LEVELS),
        "linear tails": Quantiles(values, LEVELS, tails="linear"),
        "point masses": flat_quantiles(),
        "mixture": Mixture(weights, [normal, laplace, Normal(rng.normal(size=n) + 4, 0.3)]),
        "mixture of counts": Mixture(weights, [poisson, Poisson(rng.uniform(20, 30, n)), Poisson(np.zeros(n))]),
        "mixture of vectors": Mixture(None, [diagonal, full]),
        "mixture with draws": Mixture([0.5, 0.5], [normal, samples]),
        "mixture of mixtures": Mixture([0.2, 0.8], [Mixture(weights, [normal, laplace, normal]), laplace]),
    }


NAMES = tuple(build(np.random.default_rng(0)))
SCALARS = tuple(name for name, p in build(np.random.default_rng(0)).items() if p.event_shape == ())
NEW = ("student t", "heavy tails", "gamma", "log-normal", "beta")
DENSITIES = ("normal", "laplace", "quantiles", "linear tails", "mixture", "mixture of mixtures", *NEW)
COUNTS = ("poisson", "negative binomial", "binomial", "mixture of counts")
IN_LIBRARY = (
    "log-normal",
    "normal",
    "laplace",
    "full",
    "one covariance",
    "diagonal",
    "isotropic",
    "mixture",
    "mixture of vectors",
)
VECTORS = ("dirichlet", "full", "one covariance", "diagonal", "isotropic", "vectors of one", "mixture of vectors")
WITH_LOG_PROB = (*DENSITIES, *COUNTS, *VECTORS)


def batch(name):
    return build(np.random.default_rng(0))[name]


def drawn(predictions, size=DRAWS, seed=1):
    return predictions.sample(np.random.default_rng(seed), size)


def frequencies(predictions):
    rng = np.random.default_rng(2)
    return rng.normal(size=(6, predictions.dimension)) if predictions.event_shape else rng.normal(size=6)


def answers(predictions, y):
    """Everything a batch says, arrays with the sample on the axis given."""
    found = {"mean": (to_numpy(predictions.mean), 0), "std": (to_numpy(predictions.std), 0)}
    found["characteristic"] = (predictions.characteristic(frequencies(predictions)), 0)
    found["impossible"] = (predictions.impossible(y), 1)
    found["standardised"] = (predictions.standardised(y), 1)
    for name in ("log_prob", "cdf", "cdf_below"):
        try:
            found[name] = (to_numpy(getattr(predictions, name)(y)), 1)
        except InputError:
            continue
    if predictions.event_shape == ():
        found["quantile"] = (predictions.quantile(LEVELS[:, None]), 1)
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("index", [slice(1, 3), slice(None, None, 2), [2, 0, 0], [True, False, False, True], [-1]])
def test_rows_are_taken_from_everything(name, index):
    predictions, rows = batch(name), np.arange(N)[index]
    y = drawn(predictions, 3)
    part = predictions[index]
    assert type(part) is type(predictions)
    assert (len(part), part.event_shape, part.counts) == (len(rows), predictions.event_shape, predictions.counts)
    whole, taken = answers(predictions, y), answers(part, y[:, rows])
    assert set(taken) == set(whole)
    for what, (values, axis) in whole.items():
        np.testing.assert_allclose(taken[what][0], np.take(values, rows, axis=axis), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_one_row_alone_is_no_batch(name):
    with pytest.raises(InputError, match=r"use p\[3:4\]"):
        batch(name)[3]


@pytest.mark.parametrize("name", NAMES)
def test_every_array_with_the_sample_axis_is_mapped_and_nothing_else(name):
    predictions = batch(name)
    seen = []
    copy = predictions.map_arrays(lambda x: seen.append(x) or x)
    assert all(x.shape[0] == N for x in seen)
    held = [x for owner in owners(predictions) for x in vars(owner).values() if isinstance(x, np.ndarray)]
    levels = [x for x in held if x.shape == LEVELS.shape and np.array_equal(x, LEVELS)]
    assert len(seen) == len(held) - len(levels)
    np.testing.assert_array_equal(copy.mean, predictions.mean)


def owners(predictions):
    yield predictions
    for component in getattr(predictions, "components", ()):
        yield from owners(component)


@pytest.mark.parametrize("name", NAMES)
def test_leading_axes_can_be_added(name):
    predictions = batch(name)
    rows = predictions.map_arrays(lambda x: x[:, None, ...])
    columns = predictions.map_arrays(lambda x: x[None, ...])
    for what in ("mean", "std"):
        values = getattr(predictions, what)
        np.testing.assert_allclose(getattr(rows, what), values[:, None], rtol=1e-13)
        np.testing.assert_allclose(getattr(columns, what), values[None], rtol=1e-13)
    assert rows.event_shape == columns.event_shape == predictions.event_shape
    assert rows.dimension == predictions.dimension


@pytest.mark.parametrize(
    "name", ["normal", "laplace", "full", "diagonal", "isotropic", "mixture of vectors", "mixture", "dirichlet", *NEW]
)
def test_log_prob_of_all_pairs(name):
    predictions = batch(name)
    y = drawn(predictions, 1)[0]
    pairs = predictions.map_arrays(lambda x: x[:, None, ...]).log_prob(y[None])
    assert pairs.shape == (N, N)
    for i in range(N):
        np.testing.assert_allclose(pairs[i], predictions[[i] * N].log_prob(y), rtol=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_many_sets_of_targets_are_answered_set_by_set(name):
    predictions = batch(name)
    y = drawn(predictions, 60)
    many, few = answers(predictions, y), answers(predictions, y[17:18])
    for what, (values, axis) in many.items():
        if axis == 1 and what != "quantile":
            np.testing.assert_array_equal(values[17], few[what][0][0])
            assert values.shape[:2] == (60, N)


@pytest.mark.parametrize("name", NAMES)
def test_every_library_says_the_same(name, backend):
    host = batch(name)
    predictions = host.map_arrays(backend)
    y = drawn(host, 3)
    for what in ("mean", "std"):
        values = getattr(predictions, what)
        assert type(values) is type(backend(np.zeros(2)))
        np.testing.assert_allclose(to_numpy(values), getattr(host, what), rtol=1e-12)
    np.testing.assert_allclose(drawn(predictions, 3), y, rtol=1e-12)
    expected = answers(host, y)
    for what, (values, _) in answers(predictions, y).items():
        np.testing.assert_allclose(values, expected[what][0], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    "name", ["normal", "laplace", "log-normal", "full", "diagonal", "isotropic", "mixture", "mixture of vectors"]
)
def test_log_prob_stays_in_the_library(name, backend):
    predictions = batch(name).map_arrays(backend)
    y = backend(drawn(batch(name), 1)[0])
    assert type(predictions.log_prob(y)) is type(y)


@pytest.mark.parametrize("name", NAMES)
def test_samples_are_seeded_and_have_the_shape_of_targets(name):
    predictions = batch(name)
    values = predictions.sample(3, 5)
    assert values.shape == (5, N, *predictions.event_shape)
    np.testing.assert_array_equal(values, predictions.sample(np.random.default_rng(3), 5))
    np.testing.assert_array_equal(values[:, 1:3], predictions[1:3].draw(uniforms(predictions, 5)[:, 1:3]))
    if predictions.counts:
        np.testing.assert_array_equal(values, np.round(values))


def uniforms(predictions, size):
    shape = (size, N) if predictions.uniforms == 1 else (size, N, predictions.uniforms)
    return np.random.default_rng(3).random(shape)


@pytest.mark.parametrize("name", NAMES)
def test_draws_have_mean_spread_and_characteristic_function(name):
    predictions = batch(name)
    values = drawn(predictions)
    if name != "heavy tails":
        error = 5 * predictions.std / np.sqrt(DRAWS) + 1e-12
        assert np.all(np.abs(values.mean(axis=0) - predictions.mean) <= error)
        fourth = ((values - predictions.mean) ** 4).mean(axis=0)
        spread = values.var(axis=0) - predictions.std**2
        assert np.all(np.abs(spread) <= 5 * np.sqrt(fourth / DRAWS) + 1e-12)
    w = frequencies(predictions)
    phases = values @ w.T if predictions.event_shape else values[..., None] * w
    difference = np.exp(1j * phases).mean(axis=0) - predictions.characteristic(w)
    assert np.abs(difference).max() < 5 / np.sqrt(DRAWS)


@pytest.mark.parametrize("name", NAMES)
def test_characteristic_functions_start_at_one_and_turn_with_the_mean(name):
    predictions = batch(name)
    w = 1e-6 * frequencies(predictions)
    moved = predictions.mean @ w.T if predictions.event_shape else predictions.mean[:, None] * w
    rounding = 1e-12 if name in ("beta", "dirichlet", "log-normal") else 1e-14  # integrals
    np.testing.assert_allclose(predictions.characteristic(0 * w), 1.0, atol=rounding)
    if name != "heavy tails":
        np.testing.assert_allclose(predictions.characteristic(w), 1 + 1j * moved, atol=1e-9)


@pytest.mark.parametrize("name", SCALARS)
def test_draws_follow_the_distribution_function(name):
    predictions = batch(name)
    values = np.sort(drawn(predictions), axis=0)
    bound = np.sqrt(np.log(2 / 1e-8) / (2 * DRAWS))  # Dvoretzky-Kiefer-Wolfowitz with probability 1e-8
    for row in range(N):
        at_or_below = np.searchsorted(values[:, row], values[:, row], side="right") / DRAWS
        below = np.searchsorted(values[:, row], values[:, row], side="left") / DRAWS
        assert np.abs(at_or_below - predictions.cdf(values)[:, row]).max() < bound
        assert np.abs(below - predictions.cdf_below(values)[:, row]).max() < bound


@pytest.mark.parametrize("name", SCALARS)
def test_quantiles_invert_the_distribution_function(name):
    predictions = batch(name)
    u = np.random.default_rng(5).random((300, N))
    u[:5] = LEVELS[:, None]
    q = predictions.quantile(u)
    assert np.all(predictions.cdf(q) >= u - 1e-12)
    assert np.all(predictions.cdf_below(q) <= u + 1e-12)
    y = drawn(predictions, 50)
    again = predictions.quantile(predictions.cdf(y) * (1 - 1e-12))
    scale = np.abs(y) + predictions.width
    assert np.all(again <= y + 1e-9 * scale)
    assert np.all(np.diff(predictions.quantile(np.linspace(0.001, 0.999, 200)[:, None]), axis=0) >= 0)


@pytest.mark.parametrize("name", SCALARS)
@pytest.mark.filterwarnings("error")
def test_levels_at_and_beyond_the_ends(name):
    predictions = batch(name)
    for wrong in (-0.1, 1.1, np.nan, [[0.5], [1.1]]):
        with pytest.raises(InputError, match=r"probabilities in \[0, 1\]"):
            predictions.quantile(wrong)
    for wrong in ("half", np.full(N + 1, 0.5), np.full((N, 3), 0.5)):
        with pytest.raises(InputError, match="one probability"):
            predictions.quantile(wrong)
    ends = predictions.quantile(np.array([[0.0], [1.0]]))
    y = drawn(predictions, 200)
    assert np.all(ends[0] <= y)
    assert np.all(y <= ends[1])
    assert predictions.quantile(0.5).shape == (N,)


@pytest.mark.parametrize("name", SCALARS)
def test_distribution_functions_go_from_zero_to_one(name):
    predictions = batch(name)
    far = (1e280 if name in ("student t", "heavy tails") else 1e3) * (
        1 + np.abs(predictions.centre) + predictions.width
    )
    np.testing.assert_allclose(predictions.cdf(-far), 0.0, atol=1e-100 if name == "heavy tails" else 1e-30)
    np.testing.assert_allclose(predictions.cdf(far), 1.0, rtol=1e-15)
    y = np.sort(drawn(predictions, 100), axis=0)
    assert np.all(np.diff(predictions.cdf(y), axis=0) >= 0)
    assert np.all(predictions.cdf_below(y) <= predictions.cdf(y))


@pytest.mark.parametrize("name", DENSITIES)
def test_densities_integrate_to_the_distribution_function(name):
    predictions = batch(name)
    nodes, weights = np.polynomial.legendre.leggauss(40)
    knots = np.sort(drawn(predictions, 60), axis=0)
    knots = np.sort(np.concatenate([knots, *kinks(predictions)]), axis=0)
    half, middle = np.diff(knots, axis=0) / 2, (knots[1:] + knots[:-1]) / 2
    density = np.exp(predictions.log_prob(middle + half * nodes[:, None, None]))
    integral = half * np.tensordot(weights, density, axes=1)
    np.testing.assert_allclose(integral, np.diff(predictions.cdf(knots), axis=0), rtol=1e-9, atol=1e-14)


def kinks(predictions):
    """Places where a density is not smooth."""
    for owner in owners(predictions):
        if isinstance(owner, Laplace):
            yield owner.loc[None]
        if isinstance(owner, Quantiles):
            yield owner.values.T


@pytest.mark.parametrize("name", COUNTS)
def test_probabilities_of_counts_sum_to_the_distribution_function(name):
    predictions, k = batch(name), np.arange(200.0)[:, None] * np.ones(N)
    p = np.exp(predictions.log_prob(k))
    np.testing.assert_allclose(np.cumsum(p, axis=0), predictions.cdf(k), rtol=1e-12)
    np.testing.assert_allclose(predictions.cdf(k + 0.5), predictions.cdf(k), rtol=0)
    np.testing.assert_allclose(predictions.cdf_below(k + 0.5), predictions.cdf(k), rtol=0)
    np.testing.assert_allclose(predictions.cdf(k) - predictions.cdf_below(k), p, atol=1e-14)
    assert np.all(predictions.log_prob(k + 0.5) == -np.inf)
    assert np.all(predictions.log_prob(-k - 1) == -np.inf)


@pytest.mark.parametrize("name", NAMES)
def test_what_was_drawn_is_not_impossible(name):
    predictions = batch(name)
    y = drawn(predictions, 500)
    found = predictions.impossible(y)
    assert found.shape == (500, N)
    assert not found.any()


@pytest.mark.parametrize("name", NAMES)
def test_single_rows_stack_to_the_batch(name):
    predictions = batch(name)
    again = stacked([predictions[i : i + 1] for i in range(N)])
    y = drawn(predictions, 3)
    for what, (values, _) in answers(predictions, y).items():
        np.testing.assert_allclose(answers(again, y)[what][0], values, rtol=1e-12, atol=1e-14)
    assert kc.as_predictions(predictions) is predictions


@pytest.mark.parametrize("name", sorted(set(NAMES) - set(WITH_LOG_PROB)))
def test_what_has_no_density_says_so(name):
    predictions = batch(name)
    with pytest.raises(InputError, match=r"has no density|no density: levels|neither a density nor"):
        predictions.log_prob(drawn(predictions, 1))


@pytest.mark.parametrize("name", ["full", "diagonal", "isotropic", "vector samples", "dirichlet"])
def test_vectors_have_no_distribution_function(name):
    predictions = batch(name)
    with pytest.raises(InputError, match="has no distribution function"):
        predictions.cdf(drawn(predictions, 1))


# what a family says in its own file, against a second computation

PARAMETRIC = tuple(name for name in NAMES if batch(name).given_by)
NUMBERS = tuple(name for name in SCALARS if name != "heavy tails")
HEAVY = ("student t", "heavy tails")
SCORED = ("normal", "laplace", *HEAVY, "log-normal", "smooth gamma", "smooth beta", "full", "mixture")
CLOSED = ("normal", "laplace", "student t", "gamma", "log-normal", "beta")


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
        for value, words in ((np.nan, r"missing \(NaN\)"), (np.inf, "expected a finite number"), (-1e9, "expected")):
            wrong = [x.copy() for x in given]
            wrong[k][2] = value
            if value == -1e9 and predictions.given_by[k] in ("mean", "loc", "mu") and not predictions.counts:
                continue
            with pytest.raises(InputError, match=f"in row 2.*{words}"):
                type(predictions)(*wrong)
    if len(given) > 1:
        with pytest.raises(InputError, match="must have equal length"):
            type(predictions)(given[0][:2], *given[1:])
        with pytest.raises(InputError, match=rf"one of them as an array of .*, such as {predictions.given_by[0]}"):
            type(predictions)(*[1.0] * len(given))
        numbers = type(predictions)(float(given[0][0]), *given[1:])
        np.testing.assert_array_equal(getattr(numbers, predictions.given_by[0]), np.full(N, given[0][0]))


@pytest.mark.parametrize("name", NUMBERS)
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


@pytest.mark.parametrize("name", [*CLOSED, "binomial", "poisson"])
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
    with pytest.raises(
        InputError, match=r"row 0 has df = 0.7 and no mean, .*infinite \(2 such rows\): use the negative"
    ):
        predictions.crps(np.zeros(N))
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
    predictions = predictions[1:] if name.startswith("smooth") else predictions  # else the score has no variance
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


TEMPERED = (*CLOSED, "binomial", "dirichlet", "full", "diagonal")


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


def test_powers_that_are_no_distribution_are_refused():
    heavy = batch("heavy tails")
    assert heavy.largest_temperature == pytest.approx(1.7)
    with pytest.raises(InputError, match=r"df = 0.7 to the power 1/1.7 has no finite integral: .*smallest df \+ 1"):
        heavy.tempered(1.7)
    fitted = TemperatureScaling().fit(drawn(heavy, 1)[0], heavy)
    assert 0 < fitted.temperature_ < 1.7
    for name in ("poisson", "negative binomial", "samples", "quantiles"):
        with pytest.raises(
            InputError, match=r"has no temperature: .*StudentT of kernelcal have it; .* method tempered"
        ):
            batch(name).tempered(2.0)


@pytest.mark.parametrize("name", ["student t", "gamma", "log-normal", "beta", "binomial", "dirichlet", "laplace"])
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


@pytest.mark.parametrize("name", [*CLOSED, "heavy tails", "full"])
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

EVERYWHERE = ("student t", "heavy tails", "gamma", "log-normal", "beta", "binomial", "dirichlet")


def many(name, n=300):
    return build(np.random.default_rng(11), n)[name]


def too_narrow(predictions):
    """The same predictions narrower: at the temperature 1/4, or of a smaller scale."""
    if isinstance(predictions, StudentT):
        return StudentT(predictions.df, predictions.loc, predictions.scale / 2)
    if isinstance(predictions, Binomial):
        return Binomial(predictions.n * 0 + 20, np.clip(predictions.p, 0.2, 0.8))
    return predictions.tempered(0.25)


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
def test_evaluation_is_right_about_the_direction(name):
    predictions = many(name)
    y = predictions.sample(12)[0]
    good = kc.evaluate(y, predictions, draws=99)
    assert good.pvalue > 0.01
    assert good.pit_pvalue > 0.001
    assert (good.crps is None) == (name == "heavy tails")
    narrow = too_narrow(predictions)
    if isinstance(narrow, Binomial):  # hits of trials that are alike spread more than binomial ones
        rng = np.random.default_rng(13)
        y = rng.binomial(20, rng.beta(narrow.p * 4, (1 - narrow.p) * 4)).astype(float)
    bad = kc.evaluate(y, narrow, draws=199)
    assert bad.pvalue <= 0.02
    assert "too narrow" in " ".join([bad.verdict, *(word for test in bad.pit for word in test.directions)])
    assert kc.pit_test(y[:, 0] if y.ndim > 1 else y, narrow.marginal(0) if y.ndim > 1 else narrow).pvalue < 0.05


@pytest.mark.parametrize("name", ["student t", "heavy tails", "gamma", "log-normal", "beta", "binomial"])
def test_evaluation_sees_a_shift(name):
    predictions = many(name)
    y = predictions.sample(14)[0]
    shifted = {
        "gamma": lambda p: Gamma(p.concentration, 2 * p.rate),
        "log-normal": lambda p: LogNormal(p.mu - 0.7, p.sigma),
        "beta": lambda p: Beta(p.a / 2, p.b * 2),
        "binomial": lambda p: Binomial(p.n, 0.5 * p.p),
    }.get(name, lambda p: StudentT(p.df, p.loc - 1, p.scale))(predictions)
    bad = kc.evaluate(y, shifted, draws=199)
    assert bad.pvalue <= 0.02
    assert "shifted down" in " ".join([bad.verdict, *(word for test in bad.pit for word in test.directions)])


@pytest.mark.parametrize("name", EVERYWHERE)
def test_models_are_compared_and_explained(name):
    predictions = many(name, 120)
    y = predictions.sample(15)[0]
    wrong = too_narrow(predictions)
    found = kc.compare(y, {"right": predictions, "wrong": wrong}, draws=99)
    assert {model.name: model.evaluation.family for model in found.models} == dict.fromkeys(
        ("right", "wrong"), type(predictions).__name__
    )
    measures = {difference.measure for difference in found.differences}
    assert ("CRPS" in measures) == (name != "heavy tails")
    assert np.isfinite([difference.difference for difference in found.differences]).all()
    explained = kc.explain(y, wrong, groups={"half": np.arange(120) % 2}, draws=99)
    assert " ± " in explained.rows[0].predicted
    assert np.isfinite(explained.contributions).all()


@pytest.mark.parametrize("name", EVERYWHERE)
def test_a_page_is_written(name):
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    predictions = many(name, 60)
    found = kc.report(predictions.sample(16)[0], predictions, draws=99)
    assert [model.family for model in found.models] == [type(predictions).__name__]
    assert "No evidence against the stated uncertainty" in str(found)
    assert "nan" not in re.sub(r"<svg.*?</svg>", "", found.to_html(), flags=re.DOTALL).lower().split()
