"""Acceptance regions and deviations of the distribution-free bound; the normal law of blocks by pairs."""

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.inference import Block, acceptance_threshold, bounded_error

RNG = np.random.default_rng(0)
P = RNG.dirichlet(np.ones(3), 40)
Y = RNG.integers(0, 3, 40)


@pytest.mark.parametrize(("estimator", "size"), [("unbiased", None), ("biased", None), ("block", 5)])
def test_at_the_threshold_the_bound_of_the_p_value_is_the_level(estimator, size):
    from kernelcal.inference.laws.undrawn import bound_pvalue

    t = acceptance_threshold(40, alpha=0.03, bound=1.5, estimator=estimator, block_size=size)
    block = None if estimator == "biased" else size or 40
    assert bound_pvalue(t, 40, 1.5, block) == pytest.approx(0.03, rel=1e-12)
    assert bound_pvalue(t * 1.001, 40, 1.5, block) < 0.03 < bound_pvalue(t * 0.999, 40, 1.5, block)


def test_corollaries_as_printed():
    log = np.log(0.05)
    assert acceptance_threshold(100, estimator="biased") == pytest.approx(
        (np.sqrt(2 / 100) * (1 + np.sqrt(-2 * log))) ** 2
    )
    assert acceptance_threshold(100) == pytest.approx(2 / np.sqrt(50) * np.sqrt(-2 * log))
    assert acceptance_threshold(100, estimator="block", block_size=2) == acceptance_threshold(100)


def test_deviation_as_printed():
    r = np.eye(3)[Y] - P
    k = np.exp(-np.linalg.norm(P[:, None] - P[None], axis=2) / 0.3)
    root = np.sqrt((k * (r @ r.T)).mean())
    found = bounded_error(Y, P, statistic=kc.SKCE(prediction_kernel=kc.Laplacian(0.3)), confidence_level=0.9)
    reach = 2 * np.sqrt(2 / 40) + np.sqrt(2 * 2 * np.log(10) / 40)
    assert found.estimate == pytest.approx(root, rel=1e-10)
    assert found.upper == pytest.approx(root + reach, rel=1e-10)
    assert found.lower == max(root - reach, 0)
    assert found.to_dict()["bound"] == 2.0


def test_normal_law_by_pairs_is_the_corrected_formula():
    """Remark B.1: Phi(-sqrt(J b (b - 1) / 2) SKCE / sqrt(E h^2))."""
    r = np.eye(3)[Y] - P
    k = np.exp(-np.linalg.norm(P[:, None] - P[None], axis=2) / 0.3)
    h, size = k * (r @ r.T), 4
    pairs = np.concatenate([h[i : i + size, i : i + size][np.triu_indices(size, 1)] for i in range(0, 40, size)])
    z = np.sqrt(10 * size * (size - 1) / 2) * pairs.mean() / np.sqrt((pairs**2).mean())
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3), estimator="block", block_size=size)
    found = kc.calibration_test(Y, P, statistic=statistic, null=Block(variance="pairs"))
    assert found.pvalue == pytest.approx(stats.norm.sf(z), rel=1e-9)


@pytest.mark.slow
def test_level_of_the_law_by_pairs():
    rng, rejected = np.random.default_rng(5), 0
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3), estimator="block", block_size=2)
    for _ in range(300):
        p = rng.dirichlet(np.ones(3), 200)
        y = (rng.random(200)[:, None] > p.cumsum(axis=1)).sum(axis=1)
        rejected += kc.calibration_test(y, p, statistic=statistic, null=Block(variance="pairs")).pvalue <= 0.1
    assert 12 < rejected < 52  # the binomial law of 300 tests at 10 % leaves this with probability 1e-4


def test_options_that_do_not_fit_are_refused():
    for make, message in (
        (lambda: acceptance_threshold(1), "n must be a number of rows, at least 2"),
        (lambda: acceptance_threshold(10, estimator="block"), "'block' with its block_size"),
        (lambda: acceptance_threshold(10, block_size=2), "'block' with its block_size"),
        (lambda: acceptance_threshold(10, bound=0), "bound must be a positive"),
        (lambda: acceptance_threshold(10, alpha=2), "alpha must lie between 0 and 1"),
        (lambda: acceptance_threshold(10, estimator="block", block_size=30), "use block_size from 2 to 10"),
        (lambda: bounded_error(Y, P, statistic=kc.CKCE()), "statistic must be an SKCE"),
        (lambda: Block(variance="rows"), "variance must be 'blocks' or 'pairs'"),
    ):
        with pytest.raises(InputError, match=message):
            make()
