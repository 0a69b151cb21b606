"""Logits and log-probabilities: what they say of unlikely labels is said to the score."""

import json

import numpy as np
import pytest

import kernelcal as kc
from kernelcal import cli
from kernelcal.predictions.libraries import read_distribution
from kernelcal.recalibration import TemperatureScaling, tempered
from kernelcal.statistics import log_score, log_score_rows


def test_scores_of_the_faults_that_were_found():
    assert log_score([0], kc.LogProbs([[-800.0, 0.0]])) == 800
    assert log_score([0], kc.Logits([[0.0, 750.0]])) == 750
    assert log_score([0], kc.Logits([36.0])) == pytest.approx(36, rel=1e-15)
    assert log_score([0], kc.Logits([[0.0, 36.0]])) == pytest.approx(36, rel=1e-15)


LOGITS = np.random.default_rng(0).normal(size=(40, 4)) * np.geomspace(0.1, 800, 40)[:, None]
LABELS = np.random.default_rng(1).integers(0, 4, 40)


def exact(x):
    """Logarithm of the softmax by pairs of numpy.logaddexp."""
    return x - np.logaddexp.reduce(x, axis=1, keepdims=True)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_many_classes(dtype):
    x = LOGITS.astype(dtype)
    expected = -exact(x.astype(np.float64))[np.arange(40), LABELS]
    tolerance = {"rtol": 1e-5, "atol": 1e-6} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-13}
    for given in (kc.Logits(x), kc.LogProbs(exact(x.astype(np.float64)).astype(dtype))):
        np.testing.assert_allclose(log_score_rows(LABELS, given), expected, **tolerance)
        assert not kc.as_predictions(given).impossible(LABELS).any()


def test_one_probability():
    x = np.concatenate([LOGITS[:, 0], [0.0, 36.0, -36.0, 750.0, -750.0]])
    p = kc.as_predictions(kc.Logits(x))
    for label, sign in ((1, -1), (0, 1)):
        labels = np.full(len(x), label)
        np.testing.assert_allclose(log_score_rows(labels, p), np.logaddexp(0, sign * x), rtol=1e-14)
        np.testing.assert_allclose(-p.log_prob(labels), np.logaddexp(0, sign * x), rtol=1e-14)
    yes = -np.logaddexp(0, -x)
    given = kc.as_predictions(kc.LogProbs(yes))
    np.testing.assert_allclose(log_score_rows(np.ones(len(x), dtype=int), given), -yes, rtol=1e-15)
    small = kc.as_predictions(kc.LogProbs([-1e-18, -1e-3, -0.7, -2.0, -800.0, 0.0]))
    no = log_score_rows(np.zeros(6, dtype=int), small)
    np.testing.assert_allclose(no[:4], -np.log(-np.expm1([-1e-18, -1e-3, -0.7, -2.0])), rtol=1e-13)
    assert no[4] == 0
    assert no[5] == np.inf  # a log-probability of 0 leaves nothing for the other label


def test_only_minus_infinity_rules_out():
    y = np.array([0, 0, 1])
    probabilities = kc.as_predictions(kc.LogProbs([[-800.0, 0.0], [-np.inf, 0.0], [-np.inf, 0.0]]))
    assert probabilities.impossible(y).tolist() == [False, True, False]
    assert kc.calibration_test(y, probabilities, draws=19).impossible_rows == (1,)
    logits = kc.as_predictions(kc.Logits([800.0, -np.inf, -800.0]))
    assert logits.impossible(np.array([0, 1, 1])).tolist() == [False, True, False]


@pytest.mark.parametrize(
    "lens", [kc.TopLabel(), kc.OneClass(2), kc.TopK(2), kc.Groups(["a", "b", "a", "b"]), kc.Groups({"x": [0, 1, 2]})]
)
def test_lenses_add_on_the_log_scale(lens):
    seen_y, seen = lens(LABELS, kc.Logits(LOGITS))
    logs, own = exact(LOGITS), kc.as_predictions(kc.Logits(LOGITS))
    answers = np.stack([lens.view(own).relabel(np.full(40, k)) for k in range(4)], axis=1)
    same = answers == seen_y[:, None]
    expected = np.logaddexp.reduce(np.where(same, logs, -np.inf), axis=1)
    np.testing.assert_allclose(-log_score_rows(seen_y, seen), expected, rtol=1e-12, atol=1e-13)
    assert np.abs(np.exp(seen.logs) - seen.probabilities).max() < 1e-12


def test_rows_arrays_names_and_stacks_keep_them():
    batch = kc.as_predictions(kc.Logits(LOGITS), classes=list("abcd"))
    rows = np.array([39, 3, 5])
    np.testing.assert_array_equal(batch[rows].logs, batch.logs[rows])
    np.testing.assert_array_equal(batch.map_arrays(lambda x: x.astype(np.float32)).logs, batch.logs.astype(np.float32))
    assert batch.without_names().placed().logs is not None
    one = [kc.as_predictions(kc.Logits([x])) for x in (40.0, 750.0)] + [kc.Bernoulli([0.25])]
    np.testing.assert_allclose(log_score_rows([0, 0, 0], kc.as_predictions(one)), [40, 750, -np.log(0.75)])


def test_temperatures():
    rng = np.random.default_rng(3)
    wide, narrow = 2 * rng.normal(size=(200, 4)), 3 * rng.normal(size=200)
    many = kc.as_predictions(kc.Logits(wide / 2)).sample(rng)[0]
    two = kc.as_predictions(kc.Logits(narrow / 2)).sample(rng)[0]
    for x, y in ((wide, many), (narrow, two)):
        batch = kc.as_predictions(kc.Logits(x))
        for t in (0.01, 0.5, 30.0):
            np.testing.assert_allclose(
                log_score_rows(y, tempered(batch, t)), log_score_rows(y, kc.Logits(x / t)), rtol=1e-10, atol=1e-15
            )
        scaled = TemperatureScaling().fit(y, kc.Logits(50 * x)).temperature_
        assert scaled == pytest.approx(50 * TemperatureScaling().fit(y, kc.Logits(x)).temperature_, rel=1e-6)
    sharp = tempered(kc.Categorical([[0.9, 0.1]]), 1e-3)  # 0.1 / 0.9 to the power of 1,000
    assert log_score([1], sharp) == pytest.approx(1000 * np.log(9), rel=1e-12)
    assert log_score([0], tempered(kc.Bernoulli([0.9]), 1e-3)) == pytest.approx(1000 * np.log(9), rel=1e-12)


def test_gradients_flow_through_the_logarithms():
    torch = pytest.importorskip("torch")
    x = torch.tensor([[0.0, 36.0, -2.0], [1.0, 2.0, 3.0], [0.0, 750.0, 1.0]], dtype=torch.float64, requires_grad=True)
    y = np.array([0, 1, 2])
    kc.as_predictions(kc.Logits(x)).log_prob(y).sum().backward()
    own = x.detach().clone().requires_grad_()
    torch.log_softmax(own, 1)[np.arange(3), y].sum().backward()
    np.testing.assert_allclose(x.grad, own.grad, atol=1e-14)
    z = torch.tensor([40.0, -750.0, 0.0], dtype=torch.float64, requires_grad=True)
    kc.as_predictions(kc.Logits(z)).log_prob(np.array([0, 1, 1])).sum().backward()
    np.testing.assert_allclose(z.grad, [-1.0, 1.0, 0.5], atol=1e-14)


@pytest.mark.slow
def test_jax():
    jax = pytest.importorskip("jax")
    x = jax.numpy.asarray(LOGITS[:5], dtype="float32")
    expected = -exact(np.asarray(x, dtype=np.float64))[np.arange(5), LABELS[:5]]
    np.testing.assert_allclose(log_score_rows(LABELS[:5], kc.Logits(x)), expected, rtol=1e-5)

    def loss(logits):
        return -kc.as_predictions(kc.Logits(logits)).log_prob(LABELS[:5]).sum()

    def other(logits):
        return -jax.nn.log_softmax(logits)[np.arange(5), LABELS[:5]].sum()

    np.testing.assert_allclose(jax.jit(jax.grad(loss))(x), jax.grad(other)(x), atol=1e-6)


def test_distributions_by_logits_keep_them():
    torch = pytest.importorskip("torch")
    x = torch.tensor(LOGITS)
    found = read_distribution(torch.distributions.Categorical(logits=x))
    np.testing.assert_allclose(log_score_rows(LABELS, found), -exact(LOGITS)[np.arange(40), LABELS], atol=1e-12)
    assert log_score([0], read_distribution(torch.distributions.Bernoulli(logits=torch.tensor([40.0])))) == 40
    assert read_distribution(torch.distributions.Bernoulli(probs=torch.tensor([0.25]))).logs is None


def test_command_line_and_sketches(tmp_path, capsys):
    x = np.array([40.0, -36.0, 750.0, -1.0] * 15)
    y = np.array([0, 1, 1, 0] * 15)
    (tmp_path / "a.csv").write_text("y,x\n" + "".join(f"{a},{b}\n" for a, b in zip(y, x, strict=True)))
    expected = log_score(y, kc.Logits(x))
    assert expected == pytest.approx((40 + 36 + 0 + np.logaddexp(0, -1)) / 4)
    options = ["--target", "y", "--predictions", "x", "--kind", "logits", "--json"]
    assert cli.main(["evaluate", str(tmp_path / "a.csv"), "--draws", "19", *options]) in (0, 1)
    assert json.loads(capsys.readouterr().out)["log_score"] == pytest.approx(expected)
    sketch = kc.Sketch(kc.Laplacian(0.3), draws=19)
    for part in (slice(0, 20), slice(20, 60)):
        sketch.update(y[part], kc.Logits(x[part]))
    found = sketch.result()
    assert found.means["log_score"] == pytest.approx(expected)
    assert not any("ruled out" in note for note in found.notes)


def test_the_slope_hears_what_was_said():
    """Logits of 60, of which one in a hundred is wrong: each costs 60, and none is impossible; p alone says 1."""
    y = np.r_[np.zeros(2), np.ones(198), np.zeros(50), np.ones(50)].astype(int)
    logits = np.r_[
        np.full(200, 60.0),
        np.linspace(-2, 2, 100),
    ]
    signals = kc.statistics.ClassSignals().prepare(kc.as_predictions(kc.Logits(logits)))
    result = kc.calibration_test(y, kc.Logits(logits), draws=99)
    p = 1 / (1 + np.exp(-logits))
    scores = np.where(y == 1, -np.log1p(np.exp(-logits)), -np.log1p(np.exp(logits)))
    expected = -p * np.log1p(np.exp(-logits)) - (1 - p) * np.log1p(np.exp(logits))
    uncleared = float((scores - expected).sum())
    assert uncleared < -90  # two rows at 60, less what the other rows happen to say
    variance = p * (1 - p)
    along = (variance * logits).sum() / variance.sum()  # the frequencies that a shift of all logits would change
    cleared = uncleared - along * (y - p).sum()
    assert signals.slope(y[None])[0] == pytest.approx(cleared, rel=1e-6)
    assert result.impossible_rows == ()


def test_logs_that_are_not_of_the_probabilities_are_refused():
    with pytest.raises(kc.InputError, match="row 1 are not the logarithms"):
        kc.Categorical([[0.5, 0.5], [0.25, 0.75]], logs=np.log([[0.5, 0.5], [0.5, 0.5]]))
    with pytest.raises(kc.InputError, match=r"shape \(1, 2\), got \(1,\)"):
        kc.Bernoulli([0.5], logs=[0.0])
    assert kc.Bernoulli([0.25], logs=np.log([[0.75, 0.25]])).log_prob(np.array([1])) == np.log(0.25)


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_half_precision_is_read(kind):
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    x, y = torch.randn(500, 3), np.arange(500) % 3
    dtype = getattr(torch, kind)
    single = float(kc.skce(y, torch.softmax(x, 1)))
    logs = torch.log_softmax(x, 1)
    for given in (torch.softmax(x, 1).to(dtype), kc.LogProbs(logs.to(dtype)), kc.Logits(x.to(dtype))):
        assert float(kc.skce(y, given)) == pytest.approx(single, rel=0.05)
    batch = kc.as_predictions(torch.softmax(x, 1).to(dtype))
    assert kind in batch.notes[0]
    assert "every row was divided by its sum" in batch.notes[0]
    assert float(torch.abs(batch.probs.sum(1) - 1).max()) < 1e-6
    wide = torch.softmax(torch.randn(50, 1000), 1).to(dtype)
    assert kc.as_predictions(wide).probs.dtype == torch.float32
    assert kc.Bernoulli(torch.sigmoid(x[:, 0]).to(dtype)).p.dtype == torch.float32
    assert kc.Normal(x[:, 0].to(dtype), torch.ones(500).to(dtype)).mean.dtype == torch.float32
    with pytest.raises(kc.InputError, match=r"sums to 0\.(89|9)"):
        kc.as_predictions(0.9 * torch.softmax(x, 1).to(dtype))


def test_half_precision_of_numpy_and_jax():
    x = np.random.default_rng(0).dirichlet(np.ones(5), 100).astype(np.float16)
    assert kc.Categorical(x).probs.dtype == np.float32
    jnp = pytest.importorskip("jax.numpy")
    assert kc.Categorical(jnp.asarray(x).astype("bfloat16")).probs.dtype == jnp.float32
