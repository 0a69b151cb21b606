"""Laplace and Normal against scipy.stats, gradients, and messages."""

import numpy as np
import pytest
from scipy import integrate, stats

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.predictions import Beta, Binomial, Dirichlet, Gamma, Laplace, LogNormal, Normal, StudentT
from kernelcal.recalibration import TemperatureScaling
from kernelcal.statistics import negative_log_likelihood

RNG = np.random.default_rng(0)
LOC, SCALE = RNG.normal(size=30) * 5, RNG.uniform(0.01, 9, 30)
Y = RNG.normal(size=(8, 30)) * 10
U = RNG.random((8, 30))
PAIRS = [(Laplace(LOC, SCALE), stats.laplace(LOC, SCALE)), (Normal(LOC, SCALE), stats.norm(LOC, SCALE))]


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_everything_agrees_with_scipy(ours, theirs):
    np.testing.assert_allclose(ours.mean, theirs.mean(), rtol=1e-14)
    np.testing.assert_allclose(ours.std, theirs.std(), rtol=1e-14)
    np.testing.assert_allclose(ours.log_prob(Y), theirs.logpdf(Y), rtol=1e-12)
    np.testing.assert_allclose(ours.cdf(Y), theirs.cdf(Y), rtol=1e-12)
    np.testing.assert_allclose(ours.quantile(U), theirs.ppf(U), rtol=1e-10, atol=1e-12)
    np.testing.assert_array_equal(ours.cdf_below(Y), ours.cdf(Y))


def test_laplace_by_hand():
    batch = Laplace([0.0, 1.0], [1.0, 2.0])
    np.testing.assert_allclose(batch.log_prob([0.0, 3.0]), [np.log(0.5), np.log(0.25) - 1])
    np.testing.assert_allclose(batch.cdf([-np.log(2), 1.0]), [0.25, 0.5])
    np.testing.assert_allclose(batch.quantile(np.array([[0.25, 0.5], [0.75, 0.5]])), [[-np.log(2), 1], [np.log(2), 1]])
    np.testing.assert_allclose(batch.std**2, [2.0, 8.0])
    np.testing.assert_allclose(batch.standardised(np.array([1.0, 1.0])), [1 / np.sqrt(2), 0.0])


def test_laplace_keeps_the_digits_of_both_tails():
    batch = Laplace([0.0], [1.0])
    np.testing.assert_allclose(batch.cdf([-700.0]), 0.5 * np.exp(-700.0), rtol=1e-13)
    np.testing.assert_allclose(batch.quantile([1e-300]), np.log(2e-300), rtol=1e-14)
    np.testing.assert_allclose(batch.quantile([1 - 2.0**-53]), -np.log(2.0**-52), rtol=1e-14)
    np.testing.assert_array_equal(batch.quantile(np.array([[0.0], [1.0]])), [[-np.inf], [np.inf]])


def _fourier(w):
    real = integrate.quad(lambda z: np.cos(w * z) * np.exp(-abs(z - 1) / 2) / 4, -80, 80, points=[1])[0]
    return real + 1j * integrate.quad(lambda z: np.sin(w * z) * np.exp(-abs(z - 1) / 2) / 4, -80, 80, points=[1])[0]


@pytest.mark.parametrize("w", [0.0, 0.3, 2.0])
def test_the_characteristic_function_of_laplace_is_its_fourier_integral(w):
    np.testing.assert_allclose(Laplace([1.0], 2.0).characteristic(np.array([w]))[0, 0], _fourier(w), atol=1e-10)


def test_gradients_of_torch_reach_the_parameters():
    torch = pytest.importorskip("torch")
    loc, scale = (torch.tensor(x, requires_grad=True) for x in (LOC, SCALE))
    Laplace(loc, scale).log_prob(torch.tensor(Y[0])).sum().backward()
    z = (Y[0] - LOC) / SCALE
    np.testing.assert_allclose(loc.grad, np.sign(z) / SCALE)
    np.testing.assert_allclose(scale.grad, (np.abs(z) - 1) / SCALE)


def test_gradients_of_jax_pass_through_the_constructor():
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    slope = jax.jit(jax.grad(lambda s: Laplace(jax.numpy.asarray(LOC), s).log_prob(jax.numpy.asarray(Y[0])).sum()))
    np.testing.assert_allclose(slope(jax.numpy.asarray(SCALE)), (np.abs((Y[0] - LOC) / SCALE) - 1) / SCALE, rtol=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.0, np.nan], 1.0), r"the centre in row 1 is missing \(NaN\), expected a finite number \(1 such row\)"),
        (([0.0, 1.0], [1.0, 0.0]), "the scale in row 1 is 0, expected a positive number; a point prediction alone"),
        (([0.0, 1.0], [1.0, 1.0, 1.0]), "loc and scale must have equal length, got 2 and 3"),
        (([[0.0]], 1.0), r"the centre must have shape \(n,\)"),
    ],
)
def test_laplace_refuses(arguments, message):
    with pytest.raises(InputError, match=message):
        Laplace(*arguments)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StudentT([3.0, 0.0], [0.0, 1.0], 1.0), r"df in row 1 is 0, expected a positive number \(a normal law"),
        (
            lambda: StudentT(3.0, [0.0], [-1.0]),
            "the scale in row 0 is -1, expected a positive number; no spread is below 0",
        ),
        (
            lambda: StudentT.from_std([3.0, 2.0], 0.0, 1.0),
            "df minus 2 in row 1 is 0, .*up to df = 2 there is no variance",
        ),
        (lambda: Gamma([1.0, -1.0], 1.0), "the concentration in row 1 is -1, expected a positive number"),
        (lambda: Gamma(1.0, [0.0]), r"the rate in row 0 is 0, expected a positive number \(the inverse of the scale\)"),
        (lambda: LogNormal([0.0], [0.0]), "sigma, the standard deviation of the logarithm, in row 0 is 0, expected"),
        (lambda: LogNormal.from_mean([-1.0], std=1.0), "the mean in row 0 is -1, expected a positive number"),
        (lambda: Beta([1.0], [0.0]), "b in row 0 is 0, expected a positive number"),
        (
            lambda: Beta.from_mean([1.2], concentration=3.0),
            "the mean in row 0 is 1.2, expected a number between 0 and 1",
        ),
        (lambda: Binomial([2.5], 0.5), "the number of trials in row 0 is 2.5, expected a whole number"),
        (lambda: Binomial([-1], 0.5), "the number of trials in row 0 is -1, expected a number that is not negative"),
        (lambda: Binomial(0.5, [3.0]), r"the number of trials in row 0 is 0.5"),
        (lambda: Binomial(3, [1.5]), r"a hit in row 0 is 1.5, expected a number in \[0, 1\] \(n comes first\)"),
        (lambda: Dirichlet([1.0, 2.0]), r"shape \(n, d\), got shape \(2,\): for one row pass concentration\[None, :\]"),
        (lambda: Dirichlet([[1.0]]), "shares are at least two, got one column"),
        (lambda: Dirichlet([[1.0, 0.0]]), "the concentration in row 0, column 1 is 0, expected a positive number"),
        (lambda: Gamma(1.0, 2.0), r"concentration and rate are numbers, .* such as concentration=\[1.0\] for one row"),
    ],
)
def test_parameters_that_are_none_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_families_from_mean_and_spread():
    for predictions in (
        StudentT.from_std(5.0, [1.0, 3.0], [0.5, 2.0]),
        Gamma.from_mean([1.0, 3.0], std=[0.5, 2.0]),
        LogNormal.from_mean([1.0, 3.0], std=[0.5, 2.0]),
    ):
        np.testing.assert_allclose(predictions.mean, [1.0, 3.0], rtol=1e-12)
        np.testing.assert_allclose(predictions.std, [0.5, 2.0], rtol=1e-12)
    beta = Beta.from_mean([0.25, 0.5], concentration=8.0)
    assert (beta.a.tolist(), beta.b.tolist()) == ([2.0, 4.0], [6.0, 4.0])


def test_values_by_hand():
    assert StudentT(1.0, [0.0], 2.0).cdf([2.0]) == pytest.approx([0.75])  # Cauchy: 1/2 + atan(1) / pi
    assert StudentT(3.0, [1.0], 1.0).std == pytest.approx([np.sqrt(3)])
    assert Gamma([2.0], 3.0).log_prob([1.0]) == pytest.approx([np.log(9) - 3])
    assert Gamma([1.0], 2.0).crps(np.array([0.0])) == pytest.approx([0.25])  # exponential: (1 - 1/2) / rate at 0
    assert LogNormal([0.0], 1.0).mean == pytest.approx([np.exp(0.5)])
    assert LogNormal([1.0], 0.5).density_level(np.exp([0.75])) == pytest.approx([0.0])  # the mode
    assert Beta([2.0], 2.0).log_prob([0.5]) == pytest.approx([np.log(1.5)])
    assert Binomial([4], 0.5).log_prob([2]) == pytest.approx([np.log(6 / 16)])
    assert Binomial([1], 0.3).crps(np.array([1.0])) == pytest.approx([0.49])  # one trial: the Brier score
    two = Dirichlet([[2.0, 3.0]])
    assert two.log_prob([[0.3, 0.7]]) == pytest.approx(Beta([2.0], 3.0).log_prob([0.3]))
    assert two.marginal(1).b == pytest.approx([2.0])
    assert Dirichlet([[1.0, 1.0, 1.0]]).log_prob([[0.2, 0.2, 0.6]]) == pytest.approx([np.log(2)])


def test_binomial_counts_at_the_ends():
    sure = Binomial([3, 3, 0], [0.0, 1.0, 0.5])
    assert sure.sample(0, 50).std(axis=0).tolist() == [0, 0, 0]
    assert sure.quantile(0.7).tolist() == [0.0, 3.0, 0.0]
    assert sure.quantile(1.0).tolist() == [0.0, 3.0, 0.0]
    assert Binomial([7], 0.5).quantile(1.0).tolist() == [7.0]
    assert sure.crps(np.array([1.0, 1.0, 0.0])).tolist() == pytest.approx([1.0, 2.0, 0.0], abs=1e-12)
    assert sure.tempered(3.0).p.tolist() == [0.0, 1.0, 0.5]


def test_targets_with_an_infinite_density_have_no_log_score():
    predictions = Gamma([0.5, 2.0, 0.5], 1.0)
    y = np.array([1.0, 1.0, 0.0])
    words = r"density of Gamma in row 2 is infinite at the target 0.0 \(1 such rows\), so there is no log score"
    with pytest.raises(InputError, match=words):
        negative_log_likelihood(y, predictions)
    with pytest.raises(InputError, match=words):
        TemperatureScaling().fit(y, predictions)
    assert kc.evaluate(np.tile(y, 9), predictions[np.tile([0, 1, 2], 9)], draws=99).negative_log_likelihood is None
    assert np.isfinite(predictions.crps(y)).all()


@pytest.mark.parametrize("predictions", [Gamma([1.0, 1.0], 1.0), LogNormal([0.0, 0.0], 1.0), Beta([1.0, 1.0], 2.0)])
def test_temperatures_do_not_mend_impossible_targets(predictions):
    with pytest.raises(InputError, match=r"row 1: the target had a predicted density of exactly 0 \(1 such rows\)"):
        TemperatureScaling().fit(np.array([0.5, -1.0]), predictions)


def test_a_law_without_variance_must_say_what_stands_for_it():
    class Endless(Normal):
        @property
        def width(self):
            return np.full(len(self), np.inf)

    words = "deviation in row 0 is inf, expected a finite number: a family whose laws have no mean or variance says"
    with pytest.raises(InputError, match=words):
        kc.calibration_test(np.zeros(3), Endless(np.zeros(3), 1.0))


def test_quantiles_of_student_near_the_median_and_far_out():
    predictions = StudentT([0.5, 1.0, 4.0, 300.0, 1e7, 1e17], np.zeros(6), 1.0)
    levels = np.array([1e-100, 1e-12, 0.1, 0.4999999])[:, None]
    found = predictions.quantile(levels)
    np.testing.assert_allclose(predictions.cdf(found), np.broadcast_to(levels, (4, 6)), rtol=3e-9)
    np.testing.assert_array_equal(predictions.quantile(0.5), 0.0)
    np.testing.assert_allclose(predictions.quantile(0.25), -predictions.quantile(0.75), rtol=1e-12)
    np.testing.assert_allclose(predictions[[4, 5]].quantile(0.1), stats.norm.ppf(0.1), rtol=1e-6)
