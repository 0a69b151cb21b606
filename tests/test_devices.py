"""The same draws and the same answers wherever arrays lie, shown with devices that refuse each other's arrays."""

import sys

import numpy as np
import pytest

import kernelcal as kc
from kernelcal import arrays
from kernelcal.kernels import FiniteKernel
from kernelcal.sketch import Sketch

N = 700


def _data(seed=0, m=4):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(m, 0.7), N)
    y = kc.Categorical(p**1.3 / (p**1.3).sum(1, keepdims=True)).sample(rng)[0]
    return y, p


def _strict(x):
    """An array on a device that no NumPy array and no array of another device may meet."""
    strict = pytest.importorskip("array_api_strict")
    return strict.asarray(np.asarray(x), device=strict.Device("device1"))


def _torch(x):
    return pytest.importorskip("torch").tensor(np.asarray(x))


def _jax(x):
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    return jax.numpy.asarray(np.asarray(x))


@pytest.fixture(params=["array_api_strict", "torch", "jax"])
def place(request, monkeypatch):
    """Move to a device of its own; PyTorch and JAX have only processors here, which are taken for one."""
    move = {"array_api_strict": _strict, "torch": _torch, "jax": _jax}[request.param]
    if request.param != "array_api_strict":
        _pretend(monkeypatch)
    return move


def _pretend(monkeypatch):
    for name, module in list(sys.modules.items()):
        if name.startswith("kernelcal") and hasattr(module, "on_accelerator"):
            monkeypatch.setattr(module, "on_accelerator", lambda x: not isinstance(x, np.ndarray))


def _same(a, b):
    assert a.pvalue == b.pvalue
    assert [m.name for m in a.members] == [m.name for m in b.members]
    np.testing.assert_allclose([m.value for m in a.members], [m.value for m in b.members], rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose([m.deviation for m in a.members], [m.deviation for m in b.members], rtol=1e-8)


@pytest.mark.parametrize("statistic", ["default", "skce", kc.SKCE(estimator="biased"), kc.SKCE(engine=kc.Nystrom(40))])
def test_exact_test_is_the_same_on_a_device(place, statistic):
    y, p = _data()
    settings = {"statistic": statistic, "draws": 49, "early_stopping": False}
    _same(kc.calibration_test(y, place(p), **settings), kc.calibration_test(y, p, **settings))


def test_features_tests_and_weights(place):
    y, p = _data(1)
    weights = np.random.default_rng(2).uniform(0.5, 2, N)
    engine = kc.RandomFourier(32)
    statistic = kc.SKCE(prediction_kernel=kc.Gaussian(0.4), engine=engine)
    settings = {"statistic": statistic, "draws": 49, "weights": weights, "early_stopping": False}
    _same(kc.calibration_test(y, place(p), **settings), kc.calibration_test(y, p, **settings))


def test_target_kernels_that_are_no_identity(place):
    y, p = _data(3)
    similar = FiniteKernel(np.exp(-np.abs(np.subtract.outer(range(4), range(4)))))
    settings = {"draws": 39, "early_stopping": False, "statistic": kc.SKCE(target_kernel=similar)}
    _same(kc.calibration_test(y, place(p), **settings), kc.calibration_test(y, p, **settings))


@pytest.mark.parametrize("lens", [kc.TopLabel(), kc.TopK(2)])
def test_lenses_on_a_device(place, lens):
    y, p = _data(4)
    settings = {"lens": lens, "draws": 39, "early_stopping": False}
    _same(kc.calibration_test(y, place(p), **settings), kc.calibration_test(y, p, **settings))


@pytest.mark.parametrize("name", ["Dirac", "FiniteKernel"])
@pytest.mark.parametrize("classes", [2, 3])
def test_sketches_of_any_device_are_merged(place, name, classes):
    y, p = _data(5, classes)
    p = p[:, 1] if classes == 2 else p
    matrix = np.exp(-np.abs(np.subtract.outer(range(classes), range(classes))))
    target = FiniteKernel(matrix) if name == "FiniteKernel" else None
    first = Sketch(kc.Gaussian(0.3), target, engine=kc.RandomFourier(24), draws=39)
    whole = first.empty().update(y, p).result()
    parts = first.empty().update(y[:300], place(p[:300])) + first.empty().update(y[300:], p[300:], first_row=300)
    found = parts.result()
    assert found.pvalue == whole.pvalue
    np.testing.assert_allclose(float(found.estimate), float(whole.estimate), rtol=1e-9)
    np.testing.assert_allclose(found.known.pvalue, whole.known.pvalue, rtol=1e-7)
    np.testing.assert_allclose(
        [found.interval.lower, found.interval.upper], [whole.interval.lower, whole.interval.upper], rtol=1e-8
    )


@pytest.mark.quick_cases(1)
def test_evaluate_on_a_device(place):
    y, p = _data(6)
    here, there = kc.evaluate(y, p, draws=49), kc.evaluate(y, place(p), draws=49)
    assert there.test.pvalue == here.test.pvalue
    np.testing.assert_allclose(float(there.estimate), float(here.estimate), rtol=1e-10)
    assert there.log_score == pytest.approx(here.log_score)


def test_a_device_without_float64_is_left(monkeypatch):
    y, p = _data(7)
    torch = pytest.importorskip("torch")
    _pretend(monkeypatch)
    monkeypatch.setattr(arrays, "_has_double", lambda x: False)
    batch = kc.Categorical(torch.tensor(p)).placed()
    assert isinstance(batch.probs, np.ndarray)
    _same(kc.calibration_test(y, torch.tensor(p), draws=39), kc.calibration_test(y, p, draws=39))


def test_a_gradient_does_not_follow_the_sums(monkeypatch):
    torch = pytest.importorskip("torch")
    _pretend(monkeypatch)
    p = torch.tensor(_data(8)[1], requires_grad=True)
    placed = kc.Categorical(p).placed().probs
    assert isinstance(placed, torch.Tensor)
    assert not placed.requires_grad


def test_single_precision_is_widened_where_it_lies(monkeypatch):
    torch = pytest.importorskip("torch")
    _pretend(monkeypatch)
    p = torch.tensor(_data(9)[1], dtype=torch.float32)
    assert kc.Categorical(p).placed().probs.dtype == torch.float64
