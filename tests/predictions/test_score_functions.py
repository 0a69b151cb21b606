"""Scores: of families against differences of their log densities, of functions in every library, and refusals."""

import re

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels import FisherDivergence
from kernelcal.predictions import (
    DiagonalNormal,
    IsotropicNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
    Samples,
    Score,
    UnnormalizedDensity,
    checked_pair,
)
from kernelcal.predictions.densities.functions import refuse_unusable_scores
from kernelcal.residuals import SteinResidual
from kernelcal.statistics import kccsd

N = 5
RNG = np.random.default_rng(0)
MEAN, STD = RNG.normal(size=N), RNG.uniform(0.5, 2, N)
MEANS, STDS = RNG.normal(size=(N, 3)), RNG.uniform(0.5, 2, (N, 3))
ROOTS = RNG.normal(size=(N, 3, 3))
COVARIANCES = ROOTS @ np.swapaxes(ROOTS, 1, 2) + 0.3 * np.eye(3)
NORMAL, LAPLACE = Normal(MEAN, STD), Laplace(MEAN[::-1].copy(), STD)
FULL, DIAGONAL = MultivariateNormal(MEANS, COVARIANCES), DiagonalNormal(MEANS, STDS)
WEIGHTS = np.array([[0.2, 0.8], [1.0, 0.0], [0.5, 0.5], [0.9, 0.1], [0.0, 1.0]])
FAMILIES = {
    "normal": NORMAL,
    "laplace": LAPLACE,
    "full": FULL,
    "diagonal": DIAGONAL,
    "isotropic": IsotropicNormal(MEANS, STD),
    "vectors of one": DiagonalNormal(MEANS[:, :1], STDS[:, :1]),
    "mixture": Mixture(WEIGHTS, [NORMAL, LAPLACE]),
    "mixture of vectors": Mixture(WEIGHTS, [FULL, DIAGONAL]),
    "mixture of mixtures": Mixture([0.3, 0.7], [Mixture(WEIGHTS, [NORMAL, LAPLACE]), NORMAL]),
}
QUARTIC = np.array([0.0, 1.0, -1.0, 0.5, 2.0])


def targets(predictions, size=4):
    return predictions.sample(1, size)


def differences(function, y, step=1e-6):
    """Central differences of a function of many sets of targets, coordinate by coordinate of one row's target."""
    gradient = np.empty_like(y)
    for k in range(y.shape[-1]):
        move = np.zeros(y.shape[-1])
        move[k] = step
        gradient[..., k] = (function(y + move) - function(y - move)) / (2 * step)
    return gradient


@pytest.mark.parametrize("name", FAMILIES)
def test_scores_are_gradients_of_log_densities(name):
    predictions = FAMILIES[name]
    y = targets(predictions)
    if predictions.event_shape:
        expected = differences(predictions.log_prob, y)
    else:
        expected = differences(lambda y: predictions.log_prob(y[..., 0]), y[..., None])[..., 0]
    scores = predictions.score(y)
    assert scores.shape == y.shape
    np.testing.assert_allclose(scores, expected, rtol=1e-6, atol=1e-7)


def test_scores_by_hand():
    assert Normal([1.0], [2.0]).score(np.array([4.0])) == pytest.approx([-0.75])
    assert Laplace([1.0], [2.0]).score(np.array([[4.0], [1.0], [-3.0]])).ravel() == pytest.approx([-0.5, 0.0, 0.5])
    expected = [np.linalg.solve(c, m - 1) for c, m in zip(COVARIANCES, MEANS, strict=True)]
    np.testing.assert_allclose(FULL.score(np.ones((N, 3))), expected, rtol=1e-12)
    two = Mixture([0.5, 0.5], [Normal([-1.0], 1.0), Normal([1.0], 1.0)])
    assert two.score(np.array([0.3])) == pytest.approx([np.tanh(0.3) - 0.3])  # the textbook formula


def test_mixtures_far_from_all_components_follow_the_nearest():
    two = Mixture([0.5, 0.5], [Normal([0.0], 1.0), Normal([1.0], 1.0)])
    assert two.score(np.array([60.0])) == pytest.approx([-59.0])
    assert two.score(np.array([1e8])) == pytest.approx([-1e8])


@pytest.mark.parametrize("name", FAMILIES)
def test_scores_of_all_pairs_and_of_rows(name):
    predictions = FAMILIES[name]
    y = targets(predictions, 1)[0]
    pairs = predictions.map_arrays(lambda x: x[:, None, ...]).score(y[None])
    for i in range(N):
        np.testing.assert_allclose(pairs[i], predictions[[i] * N].score(y), rtol=1e-12)
    np.testing.assert_allclose(predictions[1:3].score(y[1:3]), predictions.score(y)[1:3], rtol=1e-12)


@pytest.mark.parametrize("name", FAMILIES)
def test_scores_stay_in_the_library(name, backend):
    host = FAMILIES[name]
    y = targets(host)
    scores = host.map_arrays(backend).score(backend(y))
    assert type(scores) is type(backend(y))
    np.testing.assert_allclose(to_numpy(scores), host.score(y), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    ("predictions", "message"),
    [
        (Samples(np.zeros((N, 3))), "Samples has no smooth density, and so no score.*statistic='skce'"),
        (Poisson(STD), "Poisson has no smooth density"),
        (NegativeBinomial(STD, STD), r"kernelcal\.predictions\.Score\(function\) takes any"),
        (
            Quantiles(np.tile([0.0, 1.0, 2.0], (N, 1)), [0.2, 0.5, 0.8]),
            "Quantiles has no smooth .*its density jumps",
        ),
        (Mixture([0.5, 0.5], [NORMAL, Samples(np.zeros((N, 3)))]), "Samples has no smooth density"),
    ],
)
def test_what_has_no_score_says_so(predictions, message):
    with pytest.raises(InputError, match=message):
        predictions.score(np.zeros(N))


# functions


def quartic(y, a):
    return -4 * (y - a) ** 3


def test_score_calls_its_function_with_the_parameters_of_the_rows():
    predictions = Score(quartic, parameters=QUARTIC)
    y = RNG.normal(size=(4, N))
    assert (len(predictions), predictions.event_shape, predictions.dimension) == (N, (), 1)
    np.testing.assert_array_equal(predictions.score(y), quartic(y, QUARTIC))
    np.testing.assert_array_equal(predictions[[3, 0]].score(y[0, [3, 0]]), quartic(y[0, [3, 0]], QUARTIC[[3, 0]]))
    assert len(predictions[1:3]) == predictions[1:3].n == 2
    pairs = predictions.map_arrays(lambda x: x[:, None]).score(y[:1])
    np.testing.assert_array_equal(pairs, quartic(y[:1], QUARTIC[:, None]))


def test_score_of_vectors_with_several_parameters():
    function = lambda y, mean, std: (mean - y) / std[:, None] ** 2  # noqa: E731
    predictions = Score(function, (MEANS, STD), event_shape=3)
    y = RNG.normal(size=(2, N, 3))
    np.testing.assert_allclose(predictions.score(y), IsotropicNormal(MEANS, STD).score(y), rtol=1e-13)
    np.testing.assert_allclose(predictions[::2].score(y[:, ::2]), predictions.score(y)[:, ::2], rtol=1e-13)


def test_score_by_row_numbers():
    """Whole numbers stay whole numbers, whatever the batch is moved to."""
    predictions = Score(lambda y, rows: QUARTIC[rows] - y, parameters=np.arange(N))
    y = RNG.normal(size=N)
    np.testing.assert_array_equal(predictions[[4, 1]].score(y[[4, 1]]), QUARTIC[[4, 1]] - y[[4, 1]])
    moved = predictions.map_arrays(lambda x: x.astype(np.float64))
    np.testing.assert_array_equal(moved.score(y), QUARTIC - y)


def test_score_without_parameters_knows_all_rows_only():
    predictions = Score(lambda y: QUARTIC - y, n=N)
    np.testing.assert_array_equal(predictions.score(np.ones((2, N))), np.tile(QUARTIC - 1, (2, 1)))
    assert len(predictions[:]) == N
    with pytest.raises(InputError, match=r"the function sees all rows at once.*parameters=numpy\.arange\(n\)"):
        predictions[:2]
    with pytest.raises(InputError, match=r"targets must have shape \(\.\.\., 5\).*got \(3,\)"):
        predictions.score(np.ones(3))


def test_unknown_means_are_nan_and_unknown_spreads_are_refused():
    predictions = Score(quartic, QUARTIC)
    assert np.isnan(predictions.mean).all()
    assert predictions.mean.shape == (N,)
    with pytest.raises(InputError, match=r"Score does not tell means and standard deviations: pass draws= or sampler="):
        predictions.std  # noqa: B018
    assert not predictions.drawable
    assert not predictions.described
    with pytest.raises(InputError, match=r"pass sampler=function\(rng, \*parameters\).*null='wild'"):
        predictions.sample(0)
    with pytest.raises(InputError, match="Score has no density"):
        predictions.log_prob(QUARTIC)
    with pytest.raises(InputError, match="null='swap' needs draws"):
        predictions.pooled(QUARTIC)


def test_draws_describe_and_take_part_in_swaps():
    draws = RNG.normal(size=(N, 40)) + QUARTIC[:, None]
    predictions = Score(quartic, QUARTIC, draws=draws)
    np.testing.assert_allclose(predictions.mean, draws.mean(axis=1))
    np.testing.assert_allclose(predictions[1:3].std, draws[1:3].std(axis=1))
    assert predictions.exchangeable
    with pytest.raises(InputError, match="use null='swap', which uses the draws"):
        predictions.sample(0)
    pooled = predictions.pooled(QUARTIC + 9)
    np.testing.assert_array_equal(pooled.draws.draws[:, -1], QUARTIC + 9)
    np.testing.assert_array_equal(pooled.score(QUARTIC + 1), np.full(N, -4.0))
    assert pooled.drawable
    assert np.isin(pooled.sample(0, 50), pooled.draws.draws).all()


def test_samplers_are_seeded_by_the_draw_alone():
    sampler = lambda rng, mean: mean + rng.normal(size=mean.shape)  # noqa: E731
    predictions = Score(lambda y, mean: mean - y, MEANS, event_shape=3, sampler=sampler)
    values = predictions.sample(0, 400)
    assert values.shape == (400, N, 3)
    np.testing.assert_array_equal(values[:7], predictions.sample(0, 7))
    assert np.abs(values.mean(axis=0) - MEANS).max() < 5 / 20
    assert len(np.unique(values[:, 0, 0])) == 400
    assert np.abs(predictions.std - 1).max() < 5 / np.sqrt(2 * 64)
    np.testing.assert_array_equal(predictions[2:].mean, predictions.mean[2:])
    assert any("64 draws of the sampler" in note for note in predictions.notes)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Score(3.0, QUARTIC), "Score needs a function of targets, got float"),
        (lambda: Score(quartic, QUARTIC, sampler=3.0), "sampler needs a function of targets, got float"),
        (lambda: Score(quartic), r"the number of rows is not known: pass parameters=\(\.\.\.\)"),
        (lambda: Score(quartic, 3.0), "parameter 0 is a single number.*belongs into the function"),
        (lambda: Score(quartic, (QUARTIC, QUARTIC[:2])), "parameter 0 says 5 rows and parameter 1 2"),
        (lambda: Score(quartic, QUARTIC, n=4), "n says 4 rows and parameter 0 5"),
        (lambda: Score(quartic, n=-1), "n must be the number of rows, a whole number, got -1"),
        (lambda: Score(quartic, QUARTIC, event_shape=(2, 2)), r"event_shape must be \(\).*got \(2, 2\)"),
        (lambda: Score(quartic, QUARTIC, event_shape=0), "event_shape must be"),
        (
            lambda: Score(quartic, QUARTIC, draws=np.zeros((N, 4, 2))),
            r"draws must have shape \(n, S\).*got \(5, 4, 2\)",
        ),
        (lambda: Score(quartic, QUARTIC, coordinates=np.zeros((4, 2))), "coordinates 4: one row a prediction"),
        (lambda: Score(quartic, QUARTIC, coordinates=np.full((N, 2), np.nan)), "the coordinates in row 0, column 0"),
        (lambda: Score(quartic, QUARTIC, library="cupy"), "library must be one of 'numpy', 'torch', 'jax', got 'cupy'"),
        (
            lambda: Score(lambda y, a: y[:, None], QUARTIC).score(QUARTIC),
            r"the scores of Score must have shape \(5,\), that of the targets \(log densities belong.*got \(5, 1\)",
        ),
        (lambda: Score(lambda y, a: [[1.0], [1.0, 2.0]], QUARTIC).score(QUARTIC), "got rows of unequal length"),
        (
            lambda: Score(quartic, QUARTIC).score(np.zeros((N, 2))),
            r"targets must have shape \(\.\.\., 5\).*got \(5, 2\)",
        ),
        (
            lambda: Score(quartic, QUARTIC, event_shape=2).score(QUARTIC),
            r"targets must have shape \(\.\.\., 5, 2\).*got \(5,\)",
        ),
        (
            lambda: Score(quartic, QUARTIC, sampler=lambda rng, a: a[:2]).sample(0),
            r"what the sampler returns must have shape \(5,\), one target a row, got \(2,\)",
        ),
        (
            lambda: Score(quartic, QUARTIC, sampler=lambda rng, a: a / (a - 1)).sample(0),
            "the sampler returned a target that is not finite in row 1",
        ),
        (
            lambda: kc.as_predictions([Score(lambda y: -y, n=1), Score(lambda y: -2 * y, n=1)]),
            "element 1 cannot be stacked with element 0",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_functions_that_do_not_fit_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_scores_that_are_no_numbers_name_their_row():
    scores = np.zeros((4, 2))
    refuse_unusable_scores(scores, scores, "Score")
    scores[2, 1] = np.inf
    message = "the score of Score in row 2 is infinite at the target [0. 0.] (1 such row): the target lies outside"
    with pytest.raises(InputError, match=re.escape(message)):
        refuse_unusable_scores(scores, np.zeros((4, 2)), "Score")
    scores[1:3, 0] = np.nan
    with pytest.raises(
        InputError, match=r"in row 1 is NaN at the target \[0\. 0\.\] \(2 such rows\): mend the function"
    ):
        refuse_unusable_scores(scores, np.zeros((4, 2)), "Score")


# log densities


def log_quartic(y, a):
    return -((y - a) ** 4)


def test_finite_differences():
    predictions = UnnormalizedDensity(log_quartic, QUARTIC, finite_differences=True)
    y = RNG.normal(size=(3, N))
    np.testing.assert_allclose(predictions.score(y), quartic(y, QUARTIC), rtol=1e-7, atol=1e-8)
    np.testing.assert_array_equal(predictions.unnormalized_log_prob(y), log_quartic(y, QUARTIC))
    np.testing.assert_array_equal(predictions.unnormalized_log_prob(QUARTIC), np.zeros(N))
    vectors = UnnormalizedDensity(
        lambda y, m, c: FULL.log_prob(y), (MEANS, COVARIANCES), event_shape=3, finite_differences=1
    )
    y = targets(FULL)
    np.testing.assert_allclose(vectors.score(y), FULL.score(y), rtol=1e-7, atol=1e-7)


def test_finite_differences_in_other_units():
    """A density of width 1e-9 is told by the unit, and refused without."""
    narrow = lambda y, a: -0.5 * ((y - a) / 1e-9) ** 2 + 3 * np.cos(y / 1e-9)  # noqa: E731
    y = QUARTIC * 1e-9
    told = UnnormalizedDensity(narrow, np.zeros(N), finite_differences=1e-9)
    np.testing.assert_allclose(told.score(y), (-QUARTIC - 3 * np.sin(QUARTIC)) * 1e9, rtol=1e-6, atol=1)
    with pytest.raises(InputError, match=r"two step sizes give .* in row 1 \(4 such rows\).*finite_differences=0\.01"):
        UnnormalizedDensity(narrow, np.zeros(N), finite_differences=True).score(y)


def test_finite_differences_refuse_noise_and_kinks():
    noise = np.random.default_rng(3)
    rough = UnnormalizedDensity(
        lambda y, a: -(y**2) + 1e-6 * noise.normal(size=y.shape), QUARTIC, finite_differences=True
    )
    with pytest.raises(InputError, match="finite differences with two step sizes"):
        rough.score(QUARTIC)
    kink = UnnormalizedDensity(lambda y, a: -np.abs(y - a) * (y > a), QUARTIC, finite_differences=True)
    with pytest.raises(InputError, match=r"in row 2 \(1 such row\)"):
        kink.score(QUARTIC + np.array([1.0, -1.0, 1e-5, 2.0, 2.0]))
    plane = UnnormalizedDensity(lambda y, a: -(np.abs(y[:, 1]) ** 1.5), QUARTIC, event_shape=2, finite_differences=True)
    with pytest.raises(InputError, match="in row 0, column 1"):
        plane.score(np.full((N, 2), 5e-6))


def test_gradient_by_hand_and_targets_outside_the_support():
    def log_density(y, a):
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(y > 0, np.log(np.maximum(y, 0)) - y / a, -np.inf)

    scale = np.array([1.0, 2.0, 0.5, 1.0, 3.0])
    predictions = UnnormalizedDensity(log_density, scale, gradient=lambda y, a: 1 / y - 1 / a)
    y = np.array([1.0, -1.0, 2.0, 1.0, 1.0])
    np.testing.assert_array_equal(predictions.impossible(y), y < 0)
    assert predictions.impossible(np.stack([y, -y])).shape == (2, N)
    np.testing.assert_array_equal(np.isinf(predictions.score(y)), y < 0)
    np.testing.assert_allclose(predictions.score(np.abs(y)), 1 / np.abs(y) - 1 / scale)
    approximate = UnnormalizedDensity(log_density, scale, finite_differences=True)
    np.testing.assert_array_equal(np.isinf(approximate.score(y)), y < 0)
    np.testing.assert_allclose(approximate.score(np.abs(y)), 1 / np.abs(y) - 1 / scale, rtol=1e-8, atol=1e-8)


def test_log_densities_that_are_nan_make_nan_scores():
    predictions = UnnormalizedDensity(
        lambda y, a: np.where(y > 1, np.nan, -y), QUARTIC, gradient=lambda y, a: -1 + 0 * y
    )
    np.testing.assert_array_equal(np.isnan(predictions.score(np.arange(N) * 1.0)), np.arange(N) > 1)


@pytest.mark.parametrize("library", ["torch", "jax"])
@pytest.mark.parametrize("vectors", [False, True], ids=["numbers", "vectors"])
def test_automatic_differentiation(library, vectors):
    array = moved(library)
    if vectors:
        expected, mean, scale, shape = DIAGONAL, array(MEANS), array(STDS), (3,)
        log_density = lambda y, m, s: -0.5 * (((y - m) / s) ** 2).sum(-1)  # noqa: E731
    else:
        expected, mean, scale, shape = NORMAL, array(MEAN), array(STD), ()
        log_density = lambda y, m, s: -0.5 * ((y - m) / s) ** 2  # noqa: E731
    predictions = UnnormalizedDensity(log_density, (mean, scale), event_shape=shape)
    y = targets(expected)
    scores = predictions.score(y)
    assert type(scores) is type(mean)
    np.testing.assert_allclose(to_numpy(scores), expected.score(y), rtol=1e-12, atol=1e-13)
    host = predictions.map_arrays(to_numpy)
    assert isinstance(host.score(y), np.ndarray)
    np.testing.assert_allclose(host[1:3].score(y[:, 1:3]), expected.score(y)[:, 1:3], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(to_numpy(predictions.unnormalized_log_prob(y)).shape, y.shape[:2])


def moved(library):
    if library == "torch":
        torch = pytest.importorskip("torch")
        return lambda x: torch.tensor(np.asarray(x))
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return lambda x: jax.numpy.asarray(np.asarray(x))


@pytest.mark.parametrize("library", ["torch", "jax"])
def test_functions_without_parameters_say_where_they_compute(library):
    array = moved(library)
    mean = array(MEAN)
    predictions = UnnormalizedDensity(lambda y: -0.5 * (y - mean) ** 2, n=N, library=library)
    np.testing.assert_allclose(to_numpy(predictions.score(QUARTIC)), MEAN - QUARTIC, rtol=1e-12)
    score = Score(lambda y: mean - y, n=N, library=library)
    np.testing.assert_allclose(to_numpy(score.score(QUARTIC)), MEAN - QUARTIC, rtol=1e-12)


def test_gradients_flow_to_parameters_and_not_without_need():
    torch = pytest.importorskip("torch")
    mean = torch.tensor(MEAN, requires_grad=True)
    predictions = UnnormalizedDensity(lambda y, m: -((y - m) ** 4), mean)
    predictions.score(torch.tensor(QUARTIC)).sum().backward()
    np.testing.assert_allclose(mean.grad, 12 * (QUARTIC - MEAN) ** 2, rtol=1e-12)
    host = predictions.map_arrays(to_numpy)
    np.testing.assert_allclose(host.score(QUARTIC), -4 * (QUARTIC - MEAN) ** 3, rtol=1e-12)


def test_pytorch_modules_compute_in_their_own_precision():
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1), torch.nn.Flatten(0))
    predictions = UnnormalizedDensity(network, n=N, event_shape=2)
    y = RNG.normal(size=(N, 2))
    scores = predictions.map_arrays(to_numpy).score(y)
    step = differences(lambda y: to_numpy(network.double()(torch.tensor(y))), y)
    np.testing.assert_allclose(scores, step, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: UnnormalizedDensity(log_quartic, QUARTIC),
            "a log density of NumPy does not tell its gradient: pass gradient=.*finite_differences=True.*'torch'",
        ),
        (lambda: UnnormalizedDensity(log_quartic, QUARTIC, gradient=3), "gradient must be a function.*got 3"),
        (
            lambda: UnnormalizedDensity(log_quartic, QUARTIC, gradient=quartic, finite_differences=True),
            "pass gradient= or finite_differences=, not both",
        ),
        (
            lambda: UnnormalizedDensity(log_quartic, QUARTIC, finite_differences=-1.0),
            r"finite_differences must be True, False, or a positive number.*got -1\.0",
        ),
        (
            lambda: UnnormalizedDensity(lambda y, a: y[:, None], QUARTIC, finite_differences=True).score(QUARTIC),
            r"what log_density returns must have shape \(5,\), one number a row, got \(5, 1\)",
        ),
        (
            lambda: UnnormalizedDensity(log_quartic, QUARTIC, gradient=lambda y, a: y[:2]).score(QUARTIC),
            r"what gradient returns must have shape \(5,\), that of the targets, got \(2,\)",
        ),
    ],
)
def test_log_densities_that_do_not_fit_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_what_pytorch_cannot_differentiate_is_refused():
    torch = pytest.importorskip("torch")
    mean = torch.tensor(MEAN)
    constant = UnnormalizedDensity(lambda y, m: (m**2).detach(), mean)
    with pytest.raises(InputError, match="numbers that PyTorch cannot differentiate by the targets"):
        constant.score(QUARTIC)
    with pytest.raises(InputError, match="finite_differences is for NumPy: torch differentiates by itself"):
        UnnormalizedDensity(log_quartic, mean, finite_differences=True)
    numbers = pytest.importorskip("jax.numpy")
    with pytest.raises(InputError, match="the parameters must be arrays of one library, got torch and jax"):
        UnnormalizedDensity(log_quartic, (mean, numbers.asarray(MEAN)))


def test_targets_of_extreme_size_are_refused_without_means():
    """Scores alone have no mean and standard deviation to be checked, their targets are checked."""
    y = np.zeros(N)
    predictions = Score(lambda y, a: a - y, parameters=np.zeros(N))
    assert not predictions.described
    np.testing.assert_array_equal(checked_pair(y, predictions)[0], y)
    y[2] = 1e76
    with pytest.raises(InputError, match=r"the target in row 2 .*at most 1e\+75 in size"):
        checked_pair(y, predictions)


def test_coordinates_are_what_the_euclidean_metric_compares():
    x = np.random.default_rng(3).normal(size=(N, 2))
    batch = Score(quartic, QUARTIC, coordinates=x)
    np.testing.assert_array_equal(kc.Euclidean().coordinates(batch), x)
    np.testing.assert_array_equal(kc.Euclidean().coordinates(batch[2:4]), x[2:4])
    y = np.random.default_rng(4).normal(size=N)
    result = kccsd(y, batch, target_kernel=kc.Gaussian(1.0))
    assert isinstance(result.options["prediction_kernel"].metric, kc.Euclidean)
    assert not any("prediction kernel" in note for note in result.notes)


def test_a_sampler_is_not_called_where_nothing_asks_for_draws():
    def sampler(*_):
        raise AssertionError

    batch = Score(quartic, QUARTIC, sampler=sampler)
    SteinResidual.of(batch, kc.Gaussian(1.0)).inner(np.zeros(N)).block(slice(None), slice(None))


def test_scores_whose_squares_overflow_name_the_row():
    with pytest.raises(InputError, match=r"in row 3 is 1e\+80 at the target 0\..*choose another unit of targets"):
        refuse_unusable_scores(np.array([0.0, 1.0, 2.0, 1e80]), np.zeros(4), "Score")


def test_draws_may_be_added():
    draws = np.random.default_rng(0).normal(size=(N, 7))
    sampled = Score(quartic, QUARTIC, sampler=lambda rng, a: a)
    batch = sampled.with_draws(draws)
    np.testing.assert_array_equal(batch.draws.draws, draws)
    assert batch.sampler is None
    assert batch.exchangeable
    assert sampled.notes
    assert not batch.notes
    np.testing.assert_array_equal(batch[1:3].with_draws(draws[1:3] + 1).draws.draws, draws[1:3] + 1)
    np.testing.assert_array_equal(batch.score(np.ones(N)), sampled.score(np.ones(N)))
    torch = pytest.importorskip("torch")
    density = UnnormalizedDensity(lambda y, a: -((y - a) ** 2), torch.tensor(QUARTIC)).with_draws(draws)
    np.testing.assert_allclose(to_numpy(density.score(np.ones(N))), 2 * (QUARTIC - 1))


def test_targets_of_another_shape_name_event_shape():
    with pytest.raises(InputError, match=r"they predict one number a row.*scores event_shape=2"):
        kccsd(np.zeros((N, 2)), Score(quartic, QUARTIC))
    with pytest.raises(InputError, match=r"numpy\.moveaxis\(draws, 0, 1\), or say event_shape"):
        Score(quartic, QUARTIC, draws=np.zeros((N, 3, 2)))


def test_functions_that_mix_rows_are_refused():
    y = np.linspace(-1, 1, N)
    mixed = Score(lambda y, a: a - (y - y.mean()), QUARTIC)
    with pytest.raises(InputError, match="changes when other rows are computed beside it"):
        kccsd(y, mixed, prediction_kernel=kc.Gaussian(1.0, metric=FisherDivergence("standard")))
    rng = np.random.default_rng(0)
    noisy = Score(lambda y, a: a - y + rng.normal(size=y.shape), QUARTIC)
    with pytest.raises(InputError, match="or on chance"):
        kc.calibration_test(y, noisy)


def test_modules_in_training_mode_are_refused():
    torch = pytest.importorskip("torch")

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.drop = torch.nn.Linear(2, 1, dtype=torch.float64), torch.nn.Dropout()

        def forward(self, y, a):
            return self.drop(self.layer(torch.stack([y, a], dim=1)))[:, 0]

    net = Net()
    with pytest.raises(InputError, match=r"has Dropout, whose values are random or mix rows: call model\.eval\(\)"):
        Score(net, QUARTIC)
    y = np.linspace(-1, 1, N)
    for parameters in (QUARTIC, torch.tensor(QUARTIC)):  # NumPy parameters are moved
        batch = Score(net.eval(), parameters)
        assert batch.library.name == "torch"
        assert batch.score(y).shape == (N,)


def test_numpy_parameters_beside_a_named_library():
    torch = pytest.importorskip("torch")
    table, y = torch.tensor(QUARTIC), np.linspace(-1, 1, N)
    by_number = UnnormalizedDensity(lambda y, i: -((y - table[i]) ** 4), np.arange(N), library="torch")
    by_value = UnnormalizedDensity(lambda y, a: -((y - a) ** 4), QUARTIC, library="torch")
    for batch in (by_number, by_value, by_number[1:4], by_value.map_arrays(to_numpy)):
        rows = slice(1, 4) if len(batch) == 3 else slice(None)
        np.testing.assert_allclose(to_numpy(batch.score(y[rows])), quartic(y, QUARTIC)[rows], rtol=1e-12)


def test_a_sampler_must_use_its_generator():
    stubborn = Score(quartic, QUARTIC, sampler=lambda rng, a: a + np.random.default_rng(1).normal(size=len(a)))
    with pytest.raises(InputError, match="the sampler returned the same targets for two generators"):
        kc.calibration_test(np.zeros(N), stubborn)


def test_scores_of_single_precision_have_a_bound_of_their_own():
    scores = np.array([0.0, 1e20], dtype=np.float32)
    with pytest.raises(InputError, match=r"in row 1 is 1e\+20.*at most 1e\+15"):
        refuse_unusable_scores(scores, np.zeros(2), "Score")
    refuse_unusable_scores(scores.astype(np.float64), np.zeros(2), "Score")


def test_whole_numbers_serve_as_targets():
    density = UnnormalizedDensity(lambda y, a: -((y - a) ** 4), QUARTIC, finite_differences=True)
    np.testing.assert_allclose(density.score(np.arange(N)), quartic(np.arange(N), QUARTIC), rtol=1e-5, atol=1e-6)


def test_case_weights_of_scores_alone_need_draws():
    y, weights = np.linspace(-1, 1, N), np.ones(N)
    with pytest.raises(InputError, match="takes no case weights: pass draws= or sampler= to the predictions"):
        kc.calibration_test(y, Score(quartic, QUARTIC), weights=weights)
