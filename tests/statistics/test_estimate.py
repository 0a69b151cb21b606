"""An estimate is a number: all that floats can do, gradients where a library follows them, and a table when printed."""

import copy
import json
import math
import pickle
import statistics

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.statistics import BinnedEstimate, Estimate

RNG = np.random.default_rng(0)
P = RNG.dirichlet([1, 1, 1], 60)
Y = RNG.integers(0, 3, 60)
KERNEL = kc.Laplacian(0.5)

OPERATIONS = {
    "-e": lambda e: -e,
    "+e": lambda e: +e,
    "abs": abs,
    "e + 1": lambda e: e + 1,
    "1 + e": lambda e: 1 + e,
    "e - 1": lambda e: e - 1,
    "1 - e": lambda e: 1 - e,
    "e * 2": lambda e: e * 2,
    "2 * e": lambda e: 2 * e,
    "e / 2": lambda e: e / 2,
    "2 / e": lambda e: 2 / e,
    "e // 0.001": lambda e: e // 0.001,
    "e % 0.001": lambda e: e % 0.001,
    "e ** 2": lambda e: e**2,
    "2 ** e": lambda e: 2**e,
    "e + e": lambda e: e + e,
    "sum": lambda e: sum([e, e]),
    "round": lambda e: round(e, 3),
    "int": int,
    "bool": bool,
    "e < 1": lambda e: e < 1,
    "1 < e": lambda e: e > 1,
    "e >= e": lambda e: e >= e,
    "e == float": lambda e: e == float(e),
    "format": lambda e: f"{e:.3f} {e:>12.2e} {e:+g} {e:%}",
    "percent": lambda e: "%.2f %g" % (e, e),  # noqa: UP031
    "sorted": lambda e: [float(x) for x in sorted([e, 0.5, e, -1])],
    "max": lambda e: float(max(e, 0.001)),
    "math.sqrt": lambda e: math.sqrt(abs(e)),
    "statistics.mean": lambda e: statistics.mean([e, e]),
    "np.mean": lambda e: np.mean([e, e]),
    "np.asarray": lambda e: np.asarray(e).dtype == np.float64 and np.asarray(e).item(),
    "np.sqrt": lambda e: np.sqrt(np.abs(e)),
    "np.float64": lambda e: np.float64(2) * e,
    "array": lambda e: (np.array([1.0, 2.0]) * e).tolist(),
    "json": lambda e: json.dumps({"a": e, "b": [e]}),
    "json indented": lambda e: json.dumps({"a": e}, indent=2),
    "hash": hash,
    "dict": lambda e: {float(e): 1}[e],
}


@pytest.mark.parametrize("made", [kc.skce, kc.ece, kc.ckce, kc.ucme], ids=lambda f: f.__name__)
@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_an_estimate_does_what_its_float_does(made, operation):
    estimate = made(Y, P)
    number = float(estimate)
    assert type(number) is float
    assert isinstance(estimate, float)
    assert isinstance(estimate, Estimate)
    assert operation(estimate) == operation(number)


def test_it_prints_as_a_table():
    estimate = kc.skce(Y, P)
    lines = repr(estimate).splitlines()
    assert lines[:2] == ["SKCE", "----"]
    assert lines[2].split() == ["SKCE", f"{float(estimate):.6g}"]
    assert str(estimate) == f"{estimate}" == estimate.summary() == repr(estimate)
    assert estimate._repr_html_().startswith("<table>")


@pytest.mark.parametrize("made", [kc.skce, kc.ece])
def test_copies_and_pickles_are_whole(made):
    estimate = made(Y, P)
    for other in (copy.copy(estimate), copy.deepcopy(estimate), pickle.loads(pickle.dumps(estimate))):
        assert type(other) is type(estimate)
        assert other == estimate
        assert other.to_dict() == estimate.to_dict()
    with pytest.raises(AttributeError):
        estimate.n = 3


def test_of_frozen_predictions_of_other_libraries(backend):
    estimate = kc.skce(Y, backend(P), prediction_kernel=KERNEL)
    assert isinstance(estimate, float)
    assert json.loads(json.dumps(estimate)) == pytest.approx(float(kc.skce(Y, P, prediction_kernel=KERNEL)), rel=1e-4)
    assert isinstance(kc.ece(Y, backend(P)), BinnedEstimate)


GRADIENTS = {
    "e * 2": (lambda e, x: e * 2, 2),
    "2 * e": (lambda e, x: 2 * e, 2),
    "e + x": (lambda e, x: e + 0 * x, 1),
    "x + e": (lambda e, x: 0 * x + e, 1),
    "x - e": (lambda e, x: 0 * x - e, -1),
    "e - x": (lambda e, x: e - 0 * x, 1),
    "-e": (lambda e, x: -e, -1),
    "e / 4": (lambda e, x: e / 4, 0.25),
    "sum": (lambda e, x: sum([e, e, 0 * x]), 2),
    "np.float64": (lambda e, x: np.float64(3) * e, 3),
}


@pytest.mark.parametrize(("operation", "factor"), GRADIENTS.values(), ids=GRADIENTS)
def test_gradients_of_torch_go_through_arithmetic(operation, factor):
    torch = pytest.importorskip("torch")
    p = torch.tensor(P, requires_grad=True)
    (own,) = torch.autograd.grad(kc.skce(Y, p, prediction_kernel=KERNEL).value, p)
    found = operation(kc.skce(Y, p, prediction_kernel=KERNEL), p.sum())
    (other,) = torch.autograd.grad(found, p)
    np.testing.assert_allclose(other.numpy(), factor * own.numpy(), atol=1e-15)
    assert own.abs().sum() > 0


def test_functions_of_torch_see_the_tensor():
    torch = pytest.importorskip("torch")
    p = torch.tensor(P, requires_grad=True)
    estimate = kc.skce(Y, p, prediction_kernel=KERNEL)
    assert not isinstance(estimate, float)  # else PyTorch would take it as a constant and say nothing
    assert torch.sqrt(estimate**2).requires_grad
    assert torch.stack([estimate, p.sum()]).requires_grad
    assert f"{estimate:.3f}" == f"{float(estimate):.3f}"
    assert (round(estimate, 3), bool(estimate)) == (round(float(estimate), 3), True)
    assert np.mean([estimate, estimate]) == float(estimate)
    assert repr(estimate).startswith("SKCE\n----")


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("name", ["e * 2", "x - e", "sum", "np.float64"])
@pytest.mark.slow
def test_gradients_of_jax_go_through_arithmetic(name, compiled):
    jax = pytest.importorskip("jax")
    operation, factor = GRADIENTS[name]
    p = jax.numpy.asarray(P)
    made = jax.jit if compiled else lambda f: f

    def estimate(p):
        return kc.skce(Y, p, prediction_kernel=KERNEL)

    own = jax.grad(lambda p: estimate(p).value)(p)
    other = made(jax.grad(lambda p: operation(estimate(p), p.sum())))(p)
    np.testing.assert_allclose(np.asarray(other), factor * np.asarray(own), atol=1e-7)
    assert abs(np.asarray(own)).sum() > 0
    with pytest.raises(TypeError):  # and never a gradient of 0 because it was taken as a constant
        made(jax.grad(estimate))(p)


def test_a_scorer_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    from sklearn.model_selection import cross_val_score
    from sklearn.naive_bayes import GaussianNB

    x = np.random.default_rng(0).normal(size=(90, 3))
    scorer = metrics.make_scorer(kc.skce, response_method="predict_proba", greater_is_better=False)
    found = cross_val_score(GaussianNB(), x, np.resize(Y, 90), scoring=scorer)
    assert np.isfinite(found).all()
    model = GaussianNB().fit(x[18:], np.resize(Y, 90)[18:])
    assert scorer(model, x[:18], np.resize(Y, 90)[:18]) == -kc.skce(np.resize(Y, 90)[:18], model.predict_proba(x[:18]))
