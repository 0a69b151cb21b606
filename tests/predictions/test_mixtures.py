"""Mixtures against direct sums, root finding and each other."""

import numpy as np
import pytest
from scipy import optimize, stats

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.predictions import (
    DiagonalNormal,
    Laplace,
    Mixture,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
    Samples,
)

RNG = np.random.default_rng(0)
N, K = 5, 3
WEIGHTS = RNG.dirichlet(np.ones(K), N)
WEIGHTS[1] = [0.3, 0.0, 0.7]
MEANS, STDS = RNG.normal(size=(N, K)) * 3, RNG.uniform(0.2, 2, (N, K))
PARTS = [Normal(MEANS[:, 0], STDS[:, 0]), Laplace(MEANS[:, 1], STDS[:, 1]), Normal(MEANS[:, 2], STDS[:, 2])]
BATCH = Mixture(WEIGHTS, PARTS)
FROZEN = [f(MEANS[:, k], STDS[:, k]) for k, f in enumerate((stats.norm, stats.laplace, stats.norm))]
Y = RNG.normal(size=(7, N)) * 4


def total(parts):
    return sum(WEIGHTS[:, k] * part for k, part in enumerate(parts))


def test_by_hand():
    batch = Mixture([0.25, 0.75], [Normal([0.0], 1.0), Normal([4.0], 2.0)])
    np.testing.assert_allclose(batch.mean, [3.0])
    np.testing.assert_allclose(batch.std**2, [0.25 * (1 + 9) + 0.75 * (4 + 1)])
    assert isinstance(batch.components, tuple)
    assert batch.weights.shape == (1, 2)
    assert batch.uniforms == 2


def test_everything_is_a_weighted_sum():
    np.testing.assert_allclose(BATCH.log_prob(Y), np.log(total([f.pdf(Y) for f in FROZEN])), rtol=1e-12)
    np.testing.assert_allclose(BATCH.cdf(Y), total([f.cdf(Y) for f in FROZEN]), rtol=1e-12)
    np.testing.assert_allclose(BATCH.mean, total([f.mean() for f in FROZEN]), rtol=1e-12)
    second = total([f.var() + f.mean() ** 2 for f in FROZEN])
    np.testing.assert_allclose(BATCH.std, np.sqrt(second - BATCH.mean**2), rtol=1e-12)


def test_quantiles_are_roots():
    for row in range(N):
        for u in (1e-9, 0.03, 0.5, 0.9, 1 - 1e-9):
            gap = lambda y, one=BATCH[row : row + 1], u=u: one.cdf([y])[0] - u  # noqa: E731
            root = optimize.brentq(gap, -99, 99, xtol=1e-14, rtol=1e-14)
            np.testing.assert_allclose(BATCH.quantile(u)[row], root, rtol=1e-6 if u in (1e-9, 1 - 1e-9) else 1e-12)
    np.testing.assert_array_equal(BATCH.quantile(np.array([[0.0], [1.0]])), [[-np.inf] * N, [np.inf] * N])


def test_equal_components_are_one():
    one = Normal(MEANS[:, 0], STDS[:, 0])
    same = Mixture(None, [one, one])
    np.testing.assert_allclose(same.quantile(0.3), one.quantile(0.3), rtol=1e-14)
    np.testing.assert_allclose(same.log_prob(Y), one.log_prob(Y), rtol=1e-13)
    np.testing.assert_allclose(same.std, one.std, rtol=1e-13)


def test_components_of_weight_zero_change_nothing():
    far = Normal(np.full(N, 1e6), 1.0)
    padded, plain = Mixture([0.4, 0.6, 0.0], [*PARTS[:2], far]), Mixture([0.4, 0.6], PARTS[:2])
    np.testing.assert_array_equal(padded.log_prob(Y), plain.log_prob(Y))
    np.testing.assert_array_equal(padded.quantile(0.7), plain.quantile(0.7))
    np.testing.assert_array_equal(padded.sample(0, 50), plain.sample(0, 50))
    assert Mixture([0.0, 1.0], PARTS[:2]).sample(0, 50).tolist() == Mixture([1.0], PARTS[1:2]).sample(0, 50).tolist()
    only = Mixture([1.0, 0.0], [Poisson([0.0]), Poisson([1.0])])
    np.testing.assert_array_equal(only.impossible(np.array([[0.0], [1.0]])), [[False], [True]])
    assert only.log_prob([1.0]) == -np.inf


def test_the_first_uniform_number_chooses_the_component():
    u = RNG.random((400, N, 2))
    chosen = (u[..., :1] >= np.cumsum(WEIGHTS, axis=1)[:, :-1]).sum(axis=-1)
    drawn = np.stack([part.draw(u[..., 1]) for part in PARTS], axis=-1)
    np.testing.assert_array_equal(BATCH.draw(u), np.take_along_axis(drawn, chosen[..., None], axis=-1)[..., 0])


def test_mixtures_of_counts_count():
    batch = Mixture([0.3, 0.7], [Poisson([0.0, 2.0]), NegativeBinomial([9.0, 30.0], 2.0)])
    k = np.arange(700.0)[:, None] * np.ones(2)
    assert batch.counts
    assert not BATCH.counts
    np.testing.assert_allclose(np.exp(batch.log_prob(k)).sum(axis=0), 1.0, rtol=1e-9)
    u = RNG.random((500, 2))
    expected = (batch.cdf(k)[:, None] < u).sum(axis=0)
    np.testing.assert_array_equal(batch.quantile(u), expected)
    np.testing.assert_array_equal(batch.sample(0, 9), np.round(batch.sample(0, 9)))
    assert kc.predictions.checked_pair([3, 4], batch)[0].tolist() == [3.0, 4.0]


def test_steps_inside_a_continuous_distribution_are_found():
    batch = Mixture([0.5, 0.5], [Samples([[0.0, 0.0]]), Normal([1.0], 1.0)])
    below, at = batch.cdf_below([0.0])[0], batch.cdf([0.0])[0]
    assert at - below == pytest.approx(0.5)
    np.testing.assert_allclose(batch.quantile([[below + 1e-9], [at - 1e-9], [0.3]]), 0.0, atol=1e-15)
    assert batch.quantile([at + 1e-3])[0] > 0


def test_vectors_take_more_uniform_numbers():
    batch = Mixture([0.5, 0.5], [DiagonalNormal(np.zeros((2, 3)), np.ones((2, 3))), Samples(np.ones((2, 4, 3)))])
    assert (batch.uniforms, batch.event_shape) == (4, (3,))
    np.testing.assert_allclose(batch.mean, np.full((2, 3), 0.5))
    np.testing.assert_allclose(batch.std, np.full((2, 3), np.sqrt(0.5 + 0.25)))


def test_gradients_of_torch_reach_weights_and_components():
    torch = pytest.importorskip("torch")
    weights = torch.tensor([[0.3, 0.7, 0.0]], dtype=torch.float64, requires_grad=True)
    means = torch.tensor([[0.0], [2.0], [9.0]], dtype=torch.float64, requires_grad=True)
    Mixture(weights, [Normal(mean, 1.0) for mean in means]).log_prob(torch.tensor([0.5])).sum().backward()
    density = stats.norm.pdf(0.5 - np.array([0.0, 2.0]))
    share = np.array([0.3, 0.7]) * density / (np.array([0.3, 0.7]) @ density)
    np.testing.assert_allclose(means.grad[:2, 0], share * (0.5 - np.array([0.0, 2.0])), rtol=1e-7)
    assert means.grad[2, 0] == 0
    assert torch.isfinite(weights.grad).all()


def test_weights_move_to_the_library_of_the_components():
    torch = pytest.importorskip("torch")
    batch = Mixture(np.array([0.25, 0.75]), [Normal(torch.zeros(2), 1.0), Normal(torch.ones(2), 1.0)])
    assert batch.weights.dtype == torch.float32
    np.testing.assert_allclose(batch.mean, [0.75, 0.75])
    assert type(Mixture(None, [Poisson(torch.ones(2))]).log_prob([1.0, 1.0])) is np.ndarray


def test_notes_of_components_are_kept():
    crossed = Quantiles([[1.0, 0.5]], [0.2, 0.8], crossing="sort")
    notes = Mixture(None, [crossed, crossed]).notes
    assert notes[:-1] == crossed.notes
    assert (
        "the mixture is one of the laws that are linear between their quantiles, which were not forecast" in notes[-1]
    )


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Mixture(None, PARTS[0]), "components must be a list of batches, one a component, got Normal: Mixture"),
        (lambda: Mixture(None, []), "components must be a list of batches"),
        (lambda: Mixture(None, [PARTS[0], 3.0]), "component 1 is float, expected a batch of a family for numbers"),
        (lambda: Mixture(None, [kc.Bernoulli([0.5])]), "component 0 is Bernoulli, .* mixed by their weighted mean"),
        (
            lambda: Mixture(None, [PARTS[0], PARTS[1][:2]]),
            r"component 0 has 5 rows and targets of shape \(\), component 1",
        ),
        (
            lambda: Mixture([0.5, 0.6], PARTS[:2]),
            r"the weights of row 0 sum to 1.1, expected 1 \(5 such rows\): divide",
        ),
        (lambda: Mixture([1.5, -0.5], PARTS[:2]), "the weight in row 0, column 1 is -0.5, expected a probability"),
        (lambda: Mixture([0.5, 0.5], PARTS), r"weights must have shape \(5, 3\) for 3 components, got \(5, 2\)"),
        (lambda: Mixture(WEIGHTS[:2], PARTS), r"weights must have shape \(5, 3\) for 3 components, got \(2, 3\)"),
    ],
)
def test_mixtures_refuse(make, message):
    with pytest.raises(InputError, match=message):
        make()


def test_densities_and_counts_do_not_mix():
    mixed = Mixture(None, [Poisson([1.0]), Normal([1.0], 1.0)])
    assert mixed.cdf([1.0]) == pytest.approx(0.5 * stats.poisson(1).cdf(1) + 0.25)
    with pytest.raises(InputError, match="a mixture of Normal and Poisson has neither a density nor probabilities"):
        mixed.log_prob([1.0])
