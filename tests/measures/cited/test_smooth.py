"""Smooth ECE: against relplot, a naive second implementation, and what follows from its definition."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.measures.cited import SmoothECE


def sequence(n, square=1.0, low=0.0, high=1.0):
    """Probabilities and outcomes without a generator: fractional parts of multiples of irrational numbers."""
    i = np.arange(1, n + 1)
    p = low + (high - low) * (i * 0.6180339887498949 % 1)
    return (i * 0.7548776662466927 % 1 < p**square).astype(int), p


# smECE of relplot 1.0.3, of the sequences above: experiments/peers/cited.py compares more
RELPLOT = {
    (400, 1.0, 0.0, 1.0): 0.023567,
    (400, 2.0, 0.0, 1.0): 0.160498,
    (1500, 1.3, 0.0, 1.0): 0.063692,
    (300, 0.2, 0.6, 0.99): 0.164383,
    (60, 3.0, 0.3, 0.7): 0.350038,
}


@pytest.mark.parametrize("setting", RELPLOT)
def test_it_is_that_of_relplot(setting):
    y, p = sequence(*setting)
    assert float(SmoothECE()(y, p)) == pytest.approx(RELPLOT[setting], abs=1e-3)


def naive(y, p, weights, width):
    """The kernel itself, reflected at 0 and 1 five times, and an integral by the midpoint rule."""
    t = (np.arange(4000) + 0.5) / 4000
    smoothed = np.zeros(len(t))
    for a, b, w in zip(y, p, weights, strict=True):
        for k in range(-5, 6):
            for mirror in (2 * k + b, 2 * k - b):
                smoothed += w * (a - b) * np.exp(-((t - mirror) ** 2) / (2 * width**2))
    return np.abs(smoothed / (width * np.sqrt(2 * np.pi))).mean() / np.sum(weights)


@pytest.mark.parametrize("width", [0.03, 0.2, 0.9])
def test_at_a_fixed_width_it_is_the_integral_of_the_smoothed_residuals(width):
    y, p = sequence(40, 1.5)
    p[:3] = 0.0, 1.0, 0.5
    w = np.linspace(0.5, 1.5, 40)
    assert float(SmoothECE(width=width)(y, p, weights=w)) == pytest.approx(naive(y, p, w, width), rel=1e-3)


def test_the_value_is_its_own_width():
    y, p = sequence(500, 2.0)
    value = float(SmoothECE()(y, p))
    assert float(SmoothECE(width=value)(y, p)) == pytest.approx(value, abs=2e-6)


def test_one_residual_for_all_is_the_error_at_every_width():
    p = np.linspace(0.2, 0.6, 50)
    prepared = SmoothECE().prepare(kc.Bernoulli(p)).parts[0][1]
    np.testing.assert_allclose(prepared.of_residuals(np.full((1, 50), 0.3 / 50)), 0.3, atol=1e-6)


def test_errors_of_sums_are_at_most_the_sums_of_errors():
    p, rng = sequence(200)[1], np.random.default_rng(0)
    part = SmoothECE().prepare(kc.Bernoulli(p)).parts[0][1]
    a, b = rng.normal(size=(2, 50, 200)) / 200
    assert np.all(part.of_residuals(a + b) <= part.of_residuals(a) + part.of_residuals(b) + 1e-6)
    np.testing.assert_allclose(part.of_residuals(-a), part.of_residuals(a), rtol=1e-12)


def test_classes():
    p = np.random.default_rng(3).dirichlet([1, 1, 1], 120)
    y = kc.Categorical(p).sample(4)[0]
    each = [float(SmoothECE()((y == k).astype(int), p[:, k])) for k in range(3)]
    assert float(SmoothECE(question="class-wise")(y, p)) == pytest.approx(np.mean(each))
    top = p.argmax(axis=1)
    found = SmoothECE()(y, p)
    assert float(found) == pytest.approx(float(SmoothECE()((y == top).astype(int), p.max(axis=1))))
    assert found.options["question"] == "top label"
    assert any("top label is asked" in note for note in found.notes)


def test_refusals():
    with pytest.raises(InputError, match=r"width must lie in \(0, 1\], such as 0.05, or be left out, got 2"):
        SmoothECE(width=2)
    with pytest.raises(InputError, match="smooth ECE asks about one event a row: ask question='top label'"):
        SmoothECE(question="simplex")([0, 1, 2], np.full((3, 3), 1 / 3))
    with pytest.raises(InputError, match="smooth ECE is for class probabilities, got Normal"):
        SmoothECE()([0.0], kc.Normal([0.0], [1.0]))
