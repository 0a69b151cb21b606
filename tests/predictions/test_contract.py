"""One contract over every family for numbers: indexing, broadcasting, libraries, draws and distribution functions."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import Laplace, Quantiles
from kernelcal.predictions.stacking import stacked

_spec = importlib.util.spec_from_file_location("family_subjects", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)
N, DRAWS, LEVELS, NAMES, SCALARS, NEW, DENSITIES, COUNTS, WITH_LOG_PROB, batch, drawn = (
    subjects.N,
    subjects.DRAWS,
    subjects.LEVELS,
    subjects.NAMES,
    subjects.SCALARS,
    subjects.NEW,
    subjects.DENSITIES,
    subjects.COUNTS,
    subjects.WITH_LOG_PROB,
    subjects.batch,
    subjects.drawn,
)


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
