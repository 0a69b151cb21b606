"""More of the contract of families for numbers, beside check_family: broadcasting, tails, densities."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import Laplace, Quantiles
from kernelcal.predictions.libraries import stacked

_spec = importlib.util.spec_from_file_location("family_subjects", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)
N, LEVELS, NAMES, SCALARS, NEW, DENSITIES, COUNTS, WITH_LOG_PROB, batch, drawn = (
    subjects.N,
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


@pytest.mark.parametrize(
    "name", ["normal", "laplace", "log-normal", "full", "diagonal", "isotropic", "mixture", "mixture of vectors"]
)
def test_log_prob_stays_in_the_library(name, backend):
    predictions = batch(name).map_arrays(backend)
    y = backend(drawn(batch(name), 1)[0])
    assert type(predictions.log_prob(y)) is type(y)


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
