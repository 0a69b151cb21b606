"""What losses refuse by type and shape: each message says what was given, expected and to do."""

import warnings

import numpy as np
import pytest

from kernelcal.errors import InputError
from kernelcal.losses import RunningWitness, ckce_loss, mmce_loss, skce_loss

Y = np.arange(8) % 2
P = np.full((8, 2), 0.5)
LOSSES = pytest.mark.parametrize("loss", [skce_loss, mmce_loss, ckce_loss])


@LOSSES
@pytest.mark.parametrize(
    ("p", "y", "words"),
    [
        (None, Y, r"must be an array of PyTorch, JAX or NumPy, got NoneType: pass numpy.asarray\(x\) of lists"),
        (P.tolist(), Y, "got list: pass"),
        ("x", Y, "got str: pass"),
        (Y, P, r"must be floating numbers, got int64: were the arguments swapped\? The order is"),
        (P > 0.4, Y, "must be floating numbers, got bool"),
        (P.astype(object), Y, "must be floating numbers, got object"),
        (P, ["a"] * 8, r"labels must be class numbers from 0, one a row, got \['a', 'a'"),
        (P, None, "labels must be class numbers from 0, one a row, got None"),
    ],
)
def test_batches_that_are_none(loss, p, y, words):
    with pytest.raises(InputError, match=words):
        loss(p, y)


@LOSSES
@pytest.mark.parametrize("value", ["x", None, 0, -1.0, np.nan])
def test_lengthscales_that_are_none(loss, value):
    with pytest.raises(InputError, match=r"lengthscale must be positive, such as 0\.25, got"):
        loss(P, Y, lengthscale=value)


@pytest.mark.parametrize("value", ["x", None, 0])
def test_regularizations_that_are_none(value):
    with pytest.raises(InputError, match=r"regularization must be positive, such as 0\.25, got"):
        ckce_loss(P, Y, regularization=value)


@pytest.mark.parametrize("loss", [skce_loss, mmce_loss])
def test_weights(loss):
    with pytest.raises(InputError, match="weights must be numbers, one a row, got x"):
        loss(P, Y, weights="x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isnan(loss(P, Y, weights=np.eye(8)[0]))


def test_tensors_of_whole_numbers():
    torch = pytest.importorskip("torch")
    with pytest.raises(InputError, match=r"must be floating numbers, got torch\.int64"):
        skce_loss(torch.tensor(Y), torch.tensor(Y))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"features": "x"}, "features must be even and decay from 0 to below 1, got 'x' and 0.9: 128 and 0.9 are"),
        ({"features": 2.0}, "features must be even"),
        ({"decay": "x"}, "features must be even and decay"),
        ({"lengthscale": "x"}, "lengthscale must be positive"),
    ],
)
def test_settings_of_a_witness(settings, words):
    with pytest.raises(InputError, match=words):
        RunningWitness.begin(P, **settings)


def test_predictions_of_a_witness():
    with pytest.raises(InputError, match="must be an array of PyTorch, JAX or NumPy, got list"):
        RunningWitness.begin(P.tolist())
    with pytest.raises(InputError, match=r"of shape \(B, m\), or \(B,\) for yes/no, are expected, got \(1, 8, 2\)"):
        RunningWitness.begin(P[None])
    with pytest.raises(InputError, match="begun with 2 classes, got 3: begin another one"):
        RunningWitness.begin(P).loss(np.full((8, 3), 1 / 3), Y)


WRONG = [
    ([0.7, *Y[1:]], r"row 0: label 0\.7 is no class number, 0 to 1 \(1 such rows\): a class that happened is expected"),
    (Y + 1, r"row 1: label 2 is no class number, 0 to 1 \(4 such rows\): they count from 1: pass labels - 1"),
    ([-1, *Y[1:]], "row 0: label -1 is no class number, 0 to 1 .* leave rows of other labels out of the batch"),
    ([*Y[:7], np.nan], "row 7: label nan is no class number"),
]


@LOSSES
@pytest.mark.parametrize(("y", "words"), WRONG)
@pytest.mark.parametrize("library", ["numpy", "torch", "jax"])
def test_labels_that_are_no_class_numbers(loss, y, words, library):
    p, y = np.linspace(0.1, 0.9, 8)[:, None] * [1, -1] + [0, 1], np.asarray(y)
    if library != "numpy":
        pytest.importorskip(library)
    if library == "torch":
        import torch

        p, y = torch.tensor(p), torch.tensor(y)
    if library == "jax":
        import jax

        p, y = jax.numpy.asarray(p), jax.numpy.asarray(y)
    with pytest.raises(InputError, match=words):
        loss(p, y)


def test_class_numbers_of_any_type_are_taken():
    expected = skce_loss(P[:, 0], Y)
    for y in (Y.astype(float), Y.astype(bool), Y.astype(np.int8), Y.tolist()):
        assert skce_loss(P[:, 0], y) == expected


@pytest.mark.slow
def test_labels_that_are_traced_are_not_looked_at():
    jax = pytest.importorskip("jax")
    p, y = jax.numpy.asarray(P), jax.numpy.asarray(Y)
    traced = jax.jit(skce_loss)
    assert np.isclose(traced(p, y), skce_loss(P, Y), rtol=0.01)
    assert np.isfinite(traced(p, y + 0.7))  # cut, as the docstring says
    value, _ = jax.value_and_grad(skce_loss)(p, y)  # labels are no tracers here
    assert np.isclose(value, skce_loss(P, Y), rtol=0.01)
    with pytest.raises(InputError, match="pass labels - 1"):
        jax.value_and_grad(skce_loss)(p, y + 1)


def test_labels_of_tensors_that_are_transformed_are_not_looked_at():
    torch = pytest.importorskip("torch")
    p, y = torch.tensor(np.stack([P, P])), torch.tensor(np.stack([Y, Y]))
    several = torch.func.vmap(skce_loss)(p, y)
    assert several.tolist() == pytest.approx([float(skce_loss(P, Y))] * 2)
    followed = skce_loss(torch.tensor(P, requires_grad=True), y[0].to(torch.float32))
    assert followed.item() == pytest.approx(float(skce_loss(P, Y)))


def test_running_witnesses_look_at_labels_too():
    with pytest.raises(InputError, match="pass labels - 1"):
        RunningWitness.begin(P).loss(P, Y + 1)
