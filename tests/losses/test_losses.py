"""Losses of a batch against the statistics and plain sums, gradients by differences, and the running witness."""

import pickle

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.losses import RunningWitness, ckce_loss, mmce_loss, skce_loss


def data(n=40, m=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.dirichlet([1.0] * m, n), rng.integers(0, m, n)


@pytest.mark.parametrize("m", [1, 2, 5])
def test_skce_is_the_statistic(m):
    p, y = data(m=max(m, 2))
    p = p[:, 1] if m == 1 else p
    for name, kernel in (("laplacian", kc.Laplacian(0.3)), ("gaussian", kc.Gaussian(0.3))):
        found = skce_loss(p, y, lengthscale=0.3, kernel=name)
        assert float(found) == pytest.approx(float(kc.skce(y, p, prediction_kernel=kernel)), abs=1e-12)


def test_weights_are_those_of_pairs():
    p, y = data(12)
    w = np.arange(12) % 3
    total = mass = 0.0
    r = np.eye(4)[y] - p
    for i in range(12):
        for j in range(12):
            if i != j:
                total += w[i] * w[j] * np.exp(-np.linalg.norm(p[i] - p[j]) / 0.25) * (r[i] @ r[j])
                mass += w[i] * w[j]
    assert float(skce_loss(p, y, weights=w)) == pytest.approx(total / mass, abs=1e-12)
    padded = np.concatenate([p, np.full((3, 4), 0.25)]), np.concatenate([y, [0, 0, 0]])
    assert skce_loss(*padded, weights=np.arange(15) < 12) == pytest.approx(skce_loss(p, y), abs=1e-12)


def test_mmce_is_its_sum_over_pairs():
    p, y = data(15)
    c, right = p.max(axis=1), p.argmax(axis=1) == y
    total = sum(
        np.exp(-abs(c[i] - c[j]) / 0.4) * (right[i] - c[i]) * (right[j] - c[j])
        for i in range(15)
        for j in range(15)
        if i != j
    )
    assert float(mmce_loss(p, y)) == pytest.approx(total / (15 * 14), abs=1e-12)


def test_mmce_of_right_and_wrong_rows_apart_is_that_of_netcal():
    """The penalty of netcal 1.4.0 weighs rows by one over the number of right, or of wrong, ones, i = j too."""
    p, y = data(15)
    c, right = p.max(axis=1), p.argmax(axis=1) == y
    w = np.where(right, 1 / right.sum(), 1 / (~right).sum())
    own = (w**2 * (right - c) ** 2).sum()
    apart = float(mmce_loss(p, y, weights=w)) * (w.sum() ** 2 - (w**2).sum())
    assert np.sqrt(apart + own) == pytest.approx(NETCAL, rel=1e-5)


NETCAL = 0.14597863641007683  # MMCEPenalty()(log p, y) of data(15)


@pytest.mark.parametrize("regularization", [0.1, 0.25])
def test_ckce_is_the_statistic(regularization):
    p, y = data()
    kernel = kc.Linear() + kc.Gaussian(0.5)
    expected = float(kc.ckce(y, p, prediction_kernel=kernel, regularization=regularization))
    assert float(ckce_loss(p, y, regularization=regularization)) == pytest.approx(expected, rel=1e-8)


def test_a_batch_is_unbiased_for_the_whole():
    """The mean over all pairs of rows, as batches of two, is the value of all rows."""
    p, y = data(9)
    pairs = [skce_loss(p[[i, j]], y[[i, j]]) for i in range(9) for j in range(i)]
    assert np.mean(pairs) == pytest.approx(float(skce_loss(p, y)), abs=1e-12)


LOSSES = {
    "skce": skce_loss,
    "gaussian": lambda p, y: skce_loss(p, y, kernel="gaussian", lengthscale=0.4),
    "weights": lambda p, y: skce_loss(p, y, weights=np.arange(12) % 4),
    "yes/no": lambda p, y: skce_loss(p[:, 1], y // 2),
    "mmce": mmce_loss,
    "mmce, weights": lambda p, y: mmce_loss(p, y, weights=np.arange(12) % 4),
    "ckce": ckce_loss,
    "ckce, yes/no": lambda p, y: ckce_loss(p[:, 1], y // 2),
}


def differences(value, z, places, step=1e-6):
    """Slopes of a function of logits at some places."""

    def at(moved):
        q = np.exp(moved)
        return float(value(q / q.sum(axis=1, keepdims=True)))

    for place in places:
        moved = np.zeros_like(z)
        moved[place] = step
        yield (at(z + moved) - at(z - moved)) / (2 * step)


PLACES = ((0, 0), (3, 1), (11, 2))


@pytest.mark.parametrize("name", LOSSES)
def test_gradients_in_pytorch_are_differences(name):
    torch = pytest.importorskip("torch")
    loss, (p, y) = LOSSES[name], data(12, 3)
    logits = torch.tensor(np.log(p), requires_grad=True)
    found = loss(torch.softmax(logits, dim=1), torch.tensor(y))
    found.backward()
    assert float(found.detach()) == pytest.approx(float(loss(p, y)), abs=1e-12)
    expected = list(differences(lambda q: loss(q, y), np.log(p), PLACES))
    assert [float(logits.grad[place]) for place in PLACES] == pytest.approx(expected, abs=1e-8)


def test_gradients_of_the_witness_are_differences():
    torch = pytest.importorskip("torch")
    p, y = data(12, 3)
    before = data(20, 3, seed=4)
    witness = RunningWitness.begin(p, features=16).loss(*before)[1]
    logits = torch.tensor(np.log(p), requires_grad=True)
    other = RunningWitness.begin(logits, features=16).loss(*map(torch.tensor, before))[1]
    loss, after = other.loss(torch.softmax(logits, dim=1), torch.tensor(y))
    loss.backward()
    assert not after.mean.requires_grad
    expected = list(differences(lambda q: witness.loss(q, y)[0], np.log(p), PLACES))
    assert max(map(abs, expected)) > 1e-3
    assert [float(logits.grad[place]) for place in PLACES] == pytest.approx(expected, abs=1e-8)


def test_equal_rows_have_finite_gradients():
    torch = pytest.importorskip("torch")
    logits = torch.zeros((6, 3), requires_grad=True)
    p = torch.softmax(logits, dim=1)
    found = skce_loss(p, torch.tensor([0, 1, 2, 0, 1, 1]))
    found.backward()
    assert torch.isfinite(logits.grad).all()
    r = np.eye(3)[[0, 1, 2, 0, 1, 1]] - 1 / 3
    expected = ((r.sum(axis=0) ** 2).sum() - (r**2).sum()) / 30
    assert float(found.detach()) == pytest.approx(expected, rel=0.005)  # of single precision


@pytest.mark.parametrize("noise", [0.0, 1e-7])
@pytest.mark.parametrize("loss", [skce_loss, mmce_loss, ckce_loss])
def test_rows_closer_than_rounding_have_bounded_gradients_in_single_precision(loss, noise):
    torch = pytest.importorskip("torch")
    rng, (p, y) = np.random.default_rng(8), data(60, 3)
    z = np.repeat(np.log(p)[:6], 10, axis=0) + noise * rng.normal(size=(60, 3))
    z[::2] *= 8  # sure of themselves
    found = []
    for kind in (torch.float32, torch.float64):
        logits = torch.tensor(z, dtype=kind, requires_grad=True)
        loss(torch.softmax(logits, dim=1), torch.tensor(y)).backward()
        found.append(logits.grad.double().numpy())
    if noise == 0.0:
        assert np.abs(found[0] - found[1]).max() < 0.01 * np.abs(found[1]).max()
    assert np.abs(found[0]).max() < 1.5 * np.abs(found[1]).max()


def test_a_network_in_half_precision_and_labels_of_numpy():
    torch = pytest.importorskip("torch")
    p, y = data(64, 3)
    half = torch.tensor(p, dtype=torch.bfloat16, requires_grad=True)
    found = skce_loss(half, y)
    found.backward()
    assert found.dtype == torch.float32
    assert half.grad.dtype == torch.bfloat16
    assert float(found.detach()) == pytest.approx(float(skce_loss(half.detach().float(), y)), abs=1e-7)
    assert RunningWitness.begin(half.detach()).loss(half, y)[1].mean.dtype == torch.float32


def test_the_running_witness_is_a_mean_of_features():
    p, y = data(30, 3)
    witness = RunningWitness.begin(p, features=8, decay=0.5, seed=3)
    r = np.eye(3)[y] - p
    angles = p @ witness.frequencies.T
    phi = np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / 2.0
    batches = np.split(np.arange(30), 3)
    products = [phi[rows].T @ r[rows] / 10 for rows in batches]
    seen, mean = witness, np.zeros((8, 3))
    assert float(seen.error) == 0.0
    for k, rows in enumerate(batches):
        loss, seen = seen.loss(p[rows], y[rows])
        assert float(loss) == pytest.approx(2 * (mean * products[k]).sum())
        weights = 0.5 ** np.arange(k, -1, -1)
        mean = sum(w * x for w, x in zip(weights / weights.sum(), products[: k + 1], strict=True))
        assert float(seen.error) == pytest.approx((mean**2).sum())
    assert float(pickle.loads(pickle.dumps(seen)).error) == float(seen.error)


def test_features_are_those_of_the_kernel():
    """Between two halves of the rows the loss is twice the mean of the kernel, up to the noise of features."""
    p, y = data(40, 3)
    witness = RunningWitness.begin(p, features=40_000, lengthscale=0.3)
    found = witness.loss(p[:20], y[:20])[1].loss(p[20:], y[20:])[0]
    r = np.eye(3)[y] - p
    k = np.exp(-np.linalg.norm(p[:20, None] - p[20:], axis=2) / 0.3)
    assert float(found) == pytest.approx(2 * (k * (r[:20] @ r[20:].T)).mean(), abs=1e-3)


def overconfident(seed=5):
    """Logits three times too far apart, and labels."""
    p, _ = data(400, 3, seed=seed)
    y = (p.cumsum(axis=1) < np.random.default_rng(6).random((400, 1))).sum(axis=1).clip(0, 2)
    return 3 * np.log(p + 1e-3), y


@pytest.mark.slow
@pytest.mark.parametrize("loss", [None, skce_loss, mmce_loss, ckce_loss], ids=["witness", "skce", "mmce", "ckce"])
def test_training_a_temperature_lowers_the_error(loss):
    torch = pytest.importorskip("torch")
    logits, y = map(torch.tensor, overconfident())
    power = torch.tensor(1.0, dtype=torch.float64, requires_grad=True)
    witness, descent = RunningWitness.begin(logits), torch.optim.Adam([power], lr=0.05)
    first = float(skce_loss(torch.softmax(logits, dim=1), y))
    for _ in range(60):
        p = torch.softmax(power * logits, dim=1)
        if loss is None:
            found, witness = witness.loss(p, y)
        else:
            found = loss(p, y)
        descent.zero_grad()
        found.backward()
        descent.step()
    assert float(skce_loss(torch.softmax(power.detach() * logits, dim=1), y)) < 0.2 * first


@pytest.mark.slow
def test_jax_traces_labels():
    jax = pytest.importorskip("jax")
    p, y = data(16, 3)
    logits = jax.numpy.log(jax.numpy.asarray(p))
    for loss in (skce_loss, mmce_loss, ckce_loss):

        def through(z, labels, loss=loss):
            return loss(jax.nn.softmax(z, axis=1), labels)

        value, slope = jax.jit(jax.value_and_grad(through))(logits, jax.numpy.asarray(y))
        assert float(value) == pytest.approx(float(loss(p, y)), abs=1e-5)
        places = ((0, 0), (3, 1), (15, 2))
        expected = list(differences(lambda q, loss=loss: loss(q, y), np.log(p), places))
        assert [float(slope[place]) for place in places] == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_a_compiled_step_of_jax_carries_the_witness():
    jax = pytest.importorskip("jax")
    logits, y = map(jax.numpy.asarray, overconfident())
    begun = RunningWitness.begin(logits)
    leaves, tree = jax.tree_util.tree_flatten(begun)
    assert len(leaves) == 3
    assert jax.tree_util.tree_unflatten(tree, leaves).decay == 0.9

    def error(power, witness, labels):
        return witness.loss(jax.nn.softmax(power * logits, axis=1), labels)

    traced = []

    @jax.jit
    def step(power, witness, labels):
        traced.append(1)
        (_, witness), slope = jax.value_and_grad(error, has_aux=True)(power, witness, labels)
        return power - 0.5 * slope, witness

    power, witness = jax.numpy.ones((), logits.dtype), begun
    for _ in range(150):
        power, witness = step(power, witness, y)
    assert len(traced) == 1  # a state has the types of the state before it
    assert float(witness.steps) == 150
    first = float(skce_loss(jax.nn.softmax(logits, axis=1), y))
    assert float(skce_loss(jax.nn.softmax(power * logits, axis=1), y)) < 0.2 * first


def test_what_does_not_fit_is_refused():
    p, y = data(5)
    for wrong, word in (
        (lambda: skce_loss(p[:1], y[:1]), "2 or more"),
        (lambda: skce_loss(p[:, :1], y), r"or \(B,\) for yes/no.*got \(5, 1\)"),
        (lambda: mmce_loss(p, y[:, None]), r"\(5, 4\) and \(5, 1\)"),
        (lambda: skce_loss(p, y[:3]), r"\(5, 4\) and \(3,\)"),
        (lambda: skce_loss(p, y, lengthscale=0), "lengthscale must be positive"),
        (lambda: ckce_loss(p, y, lengthscale=0), "lengthscale must be positive"),
        (lambda: skce_loss(p, y, kernel="cubic"), "kernel must be one of"),
        (lambda: skce_loss(p, y, weights=np.ones(2)), "weights must have shape"),
        (lambda: ckce_loss(p, y, regularization=0), "regularization must be positive"),
        (lambda: RunningWitness.begin(p, features=3), "features must be even"),
        (lambda: RunningWitness.begin(p).loss(p, y[:3]), r"\(5, 4\) and \(3,\)"),
    ):
        with pytest.raises(InputError, match=word):
            wrong()
