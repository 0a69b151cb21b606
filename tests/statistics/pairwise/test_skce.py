"""SKCE: hand-worked and published values, equivalences, options and errors."""

import random

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError


def values(y, predictions, kernel):
    return {
        "unbiased": float(kc.skce(y, predictions, prediction_kernel=kernel)),
        "biased": float(kc.skce(y, predictions, prediction_kernel=kernel, estimator="biased")),
        "block_B2": float(kc.skce(y, predictions, prediction_kernel=kernel, estimator="block", block_size=2)),
    }


@pytest.mark.parametrize("estimator", ["unbiased", "biased", "block_B2"])
def test_two_points_by_hand(julia, estimator):
    facts = julia["skce_two_points"]
    for case in facts[estimator]["categorical"]:
        y = np.array(case["labels_1based"]) - 1
        p = facts["categorical"]["predictions"]
        assert values(y, p, kc.Gaussian(1.0))[estimator] == pytest.approx(case["expected"], abs=1e-15)
        if estimator == "block_B2":
            repeated = values(np.tile(y, 10), np.tile(np.array(p, float), (10, 1)), kc.Gaussian(1.0))
            assert repeated[estimator] == pytest.approx(case["expected"], abs=1e-15)
    for case in facts[estimator]["binary"]:
        value = values(case["targets"], [1.0, 0.0], kc.Gaussian(1 / np.sqrt(2)))[estimator]
        assert value == pytest.approx(case["expected"], abs=1e-15)


def test_values_of_the_readme_of_another_package(julia):
    cases = julia["readme_numpy_reproducible"]["cases"]
    random.seed(1234)
    p = [random.random() for _ in range(100)]
    y = [bool(random.getrandbits(1)) for _ in range(100)]
    assert float(kc.skce(y, p, prediction_kernel=kc.Laplacian(1.0))) == pytest.approx(cases[0]["expected"], rel=1e-12)
    g = np.random.default_rng(1234)
    p = g.random(100)
    y = g.choice([True, False], 100)
    assert float(kc.skce(y, p, prediction_kernel=kc.Laplacian(1.0))) == pytest.approx(cases[1]["expected"], rel=1e-12)
    g = np.random.default_rng(1234)
    p = g.dirichlet((3, 2, 5), 100)
    y = g.integers(low=1, high=4, size=100)
    value = kc.skce(y, p, prediction_kernel=kc.Laplacian(1.0), classes=[1, 2, 3])
    assert float(value) == pytest.approx(cases[2]["expected"], rel=1e-12)
    p, y = cases[3]["predictions"], cases[3]["labels_1based"]
    value = kc.skce(y, p, prediction_kernel=kc.Laplacian(1.0), classes=[1, 2, 3])
    assert float(value) == pytest.approx(cases[3]["expected"], rel=1e-12)


def test_derived_values_with_total_variation(julia):
    facts = julia["derived_asymptotic"]
    g = np.random.default_rng(1234)
    p = g.dirichlet((3, 2, 5), 100)
    y = g.integers(1, 4, 100) - 1
    kernel = kc.Laplacian(1.0, metric=kc.TotalVariation())
    assert values(y, p, kernel)["unbiased"] == pytest.approx(facts["SKCE_unbiased"], rel=1e-12)
    assert values(y, p, kernel)["biased"] == pytest.approx(facts["SKCE_biased"], rel=1e-12)
    for size, fact in facts["block_tests"].items():
        value = kc.skce(y, p, prediction_kernel=kernel, estimator="block", block_size=int(size))
        assert float(value) == pytest.approx(fact["estimate"], rel=1e-12)


@pytest.mark.parametrize("network", ["lenet-5-cifar-10", "wideresnet-16-4-cifar-10"])
def test_networks_pair_by_pair(data_folder, network, naive):
    """The estimates of 2019 from dense matrices; experiments/published has the published values of eight networks."""
    z = np.load(data_folder / "netcal_records" / f"{network}.npz")
    p, y = z["predictions"].astype(float), z["ground_truth"]
    p /= p.sum(axis=1, keepdims=True)
    predictions, tv = kc.Categorical(p), kc.TotalVariation()
    apart = naive.distance(p, "TotalVariation")
    median = kc.median_lengthscale(predictions, metric=tv, include_diagonal=True, max_rows=None)
    assert median == pytest.approx(np.median(apart), rel=1e-14)
    found = values(y, predictions, kc.Laplacian(median, metric=tv))
    residuals = np.eye(10)[y] - p
    h = np.exp(-apart / np.median(apart)) * (residuals @ residuals.T)
    assert found["biased"] == pytest.approx(h.mean(), rel=1e-12)
    assert found["unbiased"] == pytest.approx(h[~np.eye(len(y), dtype=bool)].mean(), rel=1e-11)
    assert found["block_B2"] == pytest.approx(np.mean([h[i, i + 1] for i in range(0, len(y) - 1, 2)]), rel=1e-12)


@pytest.mark.parametrize("size", [2, 3, 7, 64, 65, 80, 150])
def test_blocks_are_the_mean_of_unbiased_values(size, backend, make_data):
    p, y = make_data(150, 3)
    kernel = kc.Laplacian(0.3)
    parts = [slice(s, s + size) for s in range(0, 150 - size + 1, size)]
    expected = np.mean([float(kc.skce(y[k], p[k], prediction_kernel=kernel)) for k in parts])
    value = kc.skce(y, backend(p), prediction_kernel=kernel, estimator="block", block_size=size)
    assert float(value) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("pairs", [1, 100, 1000])
def test_blocks_do_not_depend_on_how_many_pairs_go_together(pairs, make_data, monkeypatch):
    p, y = make_data(150, 3)
    for size in (2, 7, 32):
        expected = float(kc.skce(y, p, estimator="block", block_size=size))
        with monkeypatch.context() as patch:
            patch.setattr("kernelcal.pairs.aligned._PAIRS", pairs)
            value = kc.skce(y, p, estimator="block", block_size=size)
        assert float(value) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("pairs", [1, 100, 16_384])
@pytest.mark.parametrize("size", [2, 5, 32, 70])
def test_the_value_of_every_block_is_its_unbiased_value(size, pairs, make_data, monkeypatch):
    p, y = make_data(150, 3)
    kernel = kc.Laplacian(0.3)
    monkeypatch.setattr("kernelcal.pairs.aligned._PAIRS", pairs)
    statistic = kc.SKCE(prediction_kernel=kernel, estimator="block", block_size=size)
    values = statistic.prepare(kc.Categorical(p)).block_values(y)
    starts = range(0, 150 - size + 1, size)
    expected = [float(kc.skce(y[s : s + size], p[s : s + size], prediction_kernel=kernel)) for s in starts]
    np.testing.assert_allclose(values, expected, rtol=1e-10, atol=1e-14)


def test_block_of_all_rows_is_unbiased(make_data):
    for n in (40, 100):
        p, y = make_data(n, 3)
        block = kc.skce(y, p, estimator="block", block_size=n)
        assert float(block) == pytest.approx(float(kc.skce(y, p)), rel=1e-12)


def test_biased_is_unbiased_plus_the_diagonal_and_never_negative(make_data):
    for seed in range(20):
        p, y = make_data(12, 3, seed=seed)
        kernel = kc.Matern32(0.5)
        diagonal = ((np.eye(3)[y] - p) ** 2).sum()
        unbiased, biased = (float(kc.skce(y, p, prediction_kernel=kernel, estimator=e)) for e in ("unbiased", "biased"))
        assert biased * 144 == pytest.approx(unbiased * 132 + diagonal, rel=1e-12)
        assert biased >= 0


def test_u_and_v_of_a_constant_kernel():
    # K = 1 everywhere: V = |sum r|^2 / n^2, U leaves out the diagonal
    p, y = np.full(4, 0.5), np.array([1, 1, 1, 0])
    kernel = kc.Laplacian(1e12)
    assert float(kc.skce(y, p, prediction_kernel=kernel, estimator="biased")) == pytest.approx(2 * 1 / 16, abs=1e-10)
    assert float(kc.skce(y, p, prediction_kernel=kernel)) == pytest.approx(2 * (1 - 1) / 12, abs=1e-10)


def test_unbiased_keeps_its_sign_and_mean_zero_under_calibration():
    rng = np.random.default_rng(7)
    found = []
    for _ in range(400):
        p = rng.dirichlet(np.ones(3), 20)
        y = kc.Categorical(p).sample(rng)[0]
        found.append(float(kc.skce(y, p, prediction_kernel=kc.Laplacian(0.3))))
    assert min(found) < 0
    assert abs(np.mean(found)) < 3 * np.std(found) / np.sqrt(400)
    assert abs(np.mean(found)) < 1e-3 * 2  # the band of the reference's own test, at fewer data sets


def test_features_approach_exact_pairs(make_data):
    p, y = make_data(400, 3, duplicates=False)
    kernel = kc.Gaussian(0.4)
    exact = float(kc.skce(y, p, prediction_kernel=kernel))
    assert float(kc.skce(y, p, prediction_kernel=kernel, engine=kc.Nystrom(200))) == pytest.approx(exact, rel=1e-6)
    for kernel in (kc.Laplacian(0.4), kc.Laplacian(0.4, metric=kc.TotalVariation())):
        exact = float(kc.skce(y, p, prediction_kernel=kernel))
        assert float(kc.skce(y, p, prediction_kernel=kernel, engine=kc.Nystrom(400))) == pytest.approx(exact, rel=1e-9)


def test_the_estimate_tells_how_it_came_about():
    estimate = kc.skce([0, 1, 1], [0.2, 0.7, 0.4], prediction_kernel=kc.Laplacian(0.3))
    assert str(estimate) == repr(estimate)
    assert "Laplacian(lengthscale=0.3, metric=Euclidean())" in repr(estimate)
    assert "exact pairs" in repr(estimate)
    assert "<table>" in estimate._repr_html_()
    plain = estimate.to_dict()
    assert plain["value"] == float(estimate)
    assert plain["n"] == 3
    assert plain["estimator"] == "unbiased"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"estimator": "best"}, "estimator must be one of unbiased, biased, block, incomplete, got 'best'"),
        ({"estimator": "block"}, "block_size belongs to estimator='block', which needs it"),
        ({"block_size": 2}, "block_size belongs to estimator='block'"),
        ({"estimator": "block", "block_size": 1}, "block_size must be a whole number, at least 2, got 1"),
        ({"estimator": "block", "block_size": 9}, "block estimator needs at least 9 rows, got 3"),
        ({"prediction_kernel": 1.0}, "prediction_kernel must be a kernel"),
        ({"target_kernel": "dirac"}, "target_kernel must be a kernel"),
        ({"estimator": "block", "block_size": 2.5}, "block_size must be a whole number, at least 2, got 2.5"),
        ({"kernel": kc.Laplacian()}, "skce has no option 'kernel'; its options are prediction_kernel"),
        ({"engine": "fast"}, "engine must be ExactPairs"),
        ({"engine": kc.RandomFourier(10), "prediction_kernel": kc.Linear()}, "use kernelcal.Nystrom"),
        ({"target_kernel": kc.FiniteKernel(np.eye(3))}, "FiniteKernel has 3 classes, the predictions have 2"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        kc.skce([0, 1, 1], [0.2, 0.7, 0.4], **options)


def test_one_row_is_too_few():
    with pytest.raises(InputError, match="unbiased estimator needs at least 2 rows, got 1"):
        kc.skce([1], [0.4])


def test_the_engine_that_is_named_is_the_engine_that_ran(make_data):
    p, y = make_data(30, 3)
    options = {"estimator": "block", "block_size": 6, "prediction_kernel": kc.Laplacian(0.3)}
    rough = kc.skce(y, p, engine=kc.Nystrom(1), **options)
    assert rough.engine == "blocks of 6 rows, Nystrom features, 1 landmarks"
    assert float(rough) != pytest.approx(float(kc.skce(y, p, **options)), rel=1e-3)
    assert kc.skce(y, p, **options).engine == "blocks of 6 rows, exact pairs"
    assert kc.skce(y[:3], p[:3], engine=kc.Nystrom(256)).engine == "Nystrom features, 3 landmarks"


def test_kernels_that_vanish_give_zero_not_nan():
    y, p = [0, 1, 0], [0.0, 0.0, 0.0]
    assert float(kc.skce(y, p, prediction_kernel=kc.Linear(), engine=kc.Nystrom(2))) == 0
    zero = kc.FiniteKernel(np.zeros((3, 3)))
    assert float(kc.skce([0, 1, 2], np.eye(3), target_kernel=zero)) == 0


def test_normalize_is_an_option_here_too():
    assert float(kc.skce([0, 1], [[1.0, 1.0], [1.0, 3.0]], normalize=True)) == float(
        kc.skce([0, 1], [[0.5, 0.5], [0.25, 0.75]])
    )
