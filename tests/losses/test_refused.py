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
