"""No opposite word, ever: sentences about many kinds of miscalibrated classes against what was done to them.

The truth of a word is that of many rows: the slope of a logistic recalibration of the true probabilities, computed by
SciPy's optimiser, and the difference between mean predictions and mean true probabilities.
"""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit

import kernelcal as kc
from kernelcal.inference.test import directions


def one(truth, law):
    """Predictions of one event, and the probability with which it happens."""

    def made(rng, n):
        p = np.clip(law(rng, n), 1e-6, 1 - 1e-6)
        q = np.clip(truth(p), 0, 1)
        return np.stack([1 - p, p], axis=1), np.stack([1 - q, q], axis=1)

    return made


def several(truth, m, concentration=0.5):
    def made(rng, n):
        p = np.clip(rng.dirichlet(np.full(m, concentration), n), 1e-7, None)
        p /= p.sum(axis=1, keepdims=True)
        q = truth(p)
        return p, q / q.sum(axis=1, keepdims=True)

    return made


def even(rng, n):
    return rng.beta(1.2, 1.2, n)


def rare(rng, n):
    return expit(rng.normal(-2.5, 0.8, n))


def likely(rng, n):
    return expit(rng.normal(2.5, 0.8, n))


def line(slope, shift=0.0):
    return lambda p: expit(slope * logit(p) + shift)


def share(first, rest):
    """First class more or less often than predicted."""
    return lambda p: p * np.r_[first, np.full(p.shape[1] - 1, rest)]


def moved(p):
    """A quarter of the labels of class 0 become class 1."""
    q = p.copy()
    q[:, 0], q[:, 1] = 0.75 * p[:, 0], p[:, 1] + 0.25 * p[:, 0]
    return q


KINDS = {
    "calibrated": one(lambda p: p, even),
    "too sharp": one(line(0.6), even),
    "not sharp enough": one(line(1.5), even),
    "shifted up": one(line(1, 0.5), even),
    "rare, shifted up": one(line(1, 0.5), rare),
    "rare, shifted down": one(line(1, -0.5), rare),
    "likely, shifted up": one(line(1, 0.5), likely),
    "rare, too sharp, mean kept": one(line(0.7, -0.75), rare),
    "rare, not sharp enough": one(line(1.4, 1.0), rare),
    "likely, too sharp and shifted": one(line(0.7, -0.3), likely),
    "two waves": one(lambda p: p + 0.15 * np.sin(4 * np.pi * p), even),
    "five waves": one(lambda p: p + 0.15 * np.sin(10 * np.pi * p), even),
    "wrong near one half": one(lambda p: np.where(np.abs(p - 0.5) < 0.1, p + 0.2, p), even),
    "four classes, too sharp": several(lambda p: p**0.65, 4),
    "four classes, not sharp enough": several(lambda p: p**1.5, 4),
    "four classes, one more often": several(share(2.0, 1.0), 4),
    "four classes, one seldom": several(share(0.5, 1.0), 4),
    "four classes, noise": several(lambda p: 0.85 * p + 0.15 / 4, 4),
    "four classes, labels moved": several(moved, 4),
    "ten classes, too sharp, one more often": several(lambda p: share(2.0, 1.0)(p**0.8), 10, 0.3),
}


def true_slope(p, q):
    """Slope of ``softmax(a log p + b)`` that is closest to the true probabilities q."""
    logs = np.log(p)

    def loss(theta):
        return -(q * log_softmax(theta[0] * logs + np.r_[0, theta[1:]], axis=1)).sum() / len(p)

    return float(minimize(loss, np.r_[1.0, np.zeros(p.shape[1] - 1)], method="BFGS").x[0])


def truths(sentence, p, q, slope):
    """How far the truth lies on the side that every part of a sentence says, in units in which 1 is worth a word."""
    if "confident" in sentence:
        yield (1 - slope if sentence.startswith("over") else slope - 1) / 0.1
    for words in sentence.split(", "):
        if words.startswith("class "):
            k = int(words.split()[1])
            more = q[:, k].mean() - p[:, k].mean()
            yield (more if "under-predicted" in words else -more) / (0.1 * min(p[:, k].mean(), 1 - p[:, k].mean()))


SLOW = (  # of shapes of one kind some are enough every time
    "rare, shifted down",
    "likely, too sharp and shifted",
    "five waves",
    "four classes, not sharp enough",
    "four classes, one seldom",
    "four classes, noise",
    "four classes, labels moved",
    "ten classes, too sharp, one more often",
)


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.slow) if kind in SLOW else kind for kind in KINDS]
)
@pytest.mark.quick_cases(2)
def test_no_word_is_the_opposite_of_the_truth(kind):
    spoken, unfounded = [], 0
    p, q = KINDS[kind](np.random.default_rng(0), 20_000)
    slope = true_slope(p, q)
    for n, seeds in ((100, 4), (400, 3), (4000, 1)):
        for seed in range(seeds):
            rng = np.random.default_rng([n, seed, *kind.encode()])
            p, q = KINDS[kind](rng, n)
            y = (rng.random((n, 1)) > q.cumsum(axis=1)[:, :-1]).sum(axis=1)
            given = p[:, 1] if p.shape[1] == 2 else p
            found = kc.calibration_test(y, given, draws=99, rng=seed).directions
            spoken += [(n, words) for words in found]
            for words in found:
                sides = list(truths(words, p, q, slope))
                assert all(side > -1 for side in sides), (n, seed, slope, words)
                unfounded += any(side < 0.2 for side in sides)
    assert unfounded <= 1  # chance has its share where nothing is wrong
    text = [words for n, words in spoken if n == 4000]
    if "too sharp" in kind:
        assert any(words.startswith("over-confident (slope 0.") for words in text)
    if "not sharp enough" in kind:
        assert any(words.startswith("under-confident (slope 1.") for words in text)
    if "shifted up" in kind or "shifted down" in kind:
        assert text
        assert all("confident" not in words for words in text)
        assert all(("under-predicted" if "up" in kind else "over-predicted") in words for words in text)
    if "one more often" in kind:
        assert any("class 0 is under-predicted" in words for words in text)
    if kind == "five waves":
        assert "no single direction" in " ".join(text) or slope < 0.98


@pytest.mark.slow
def test_a_shift_of_rare_events_is_no_confidence_and_a_true_slope_is():
    """Four cases in which the sign of the slope about log odds 0 says the contrary."""
    rng = np.random.default_rng(1)
    said = []
    for mean, shift, slope in ((-2.5, 0.5, 1), (-2.5, -0.5, 1), (2.5, 0.5, 1), (-2.5, -0.75, 0.7)):
        x = rng.normal(mean, 0.8, 4000)
        y = (rng.random(4000) < expit(slope * x + shift)).astype(int)
        said.append(kc.calibration_test(y, expit(x), draws=199).directions)
    assert [len(words) for words in said] == [1, 1, 1, 1]
    assert said[0][0].startswith("class 1 is under-predicted")
    assert said[1][0].startswith("class 1 is over-predicted")
    assert said[2][0].startswith("class 1 is under-predicted")
    assert said[3] == ("over-confident (slope 0.74)",)


@pytest.mark.parametrize(("truth", "word"), [(0.7, "over"), (0.95, "under")])
def test_of_a_first_choice_the_bias_is_the_confidence(truth, word):
    rng = np.random.default_rng(2)
    c = rng.uniform(0.8, 0.9, 500)
    p = np.stack([c, (1 - c) / 2, (1 - c) / 2], axis=1)
    y = np.where(rng.random(500) < truth, 0, rng.integers(1, 3, 500))
    found = kc.calibration_test(y, p, lens=kc.TopLabel()).directions
    assert found[0].startswith(f"{word}-confident: class right is {'over' if word == 'over' else 'under'}-predicted")


def test_a_direction_of_its_own_needs_a_clear_fit():
    """A slope that only draws of calibrated labels find strange is not named: no word rather than a wrong one."""
    rng = np.random.default_rng(5)
    p = rng.uniform(0.2, 0.8, 300)
    y = (rng.random(300) < p).astype(int)
    signals = kc.statistics.ClassSignals().prepare(kc.Bernoulli(p))
    assert not signals.clear("slope", y)
    members = tuple(kc.inference.Member(name, 9.0, 0.001, 9.0) for name in ("slope", "bins"))
    assert directions(signals, y, members, "slope") == (signals.aimless,)
    members = tuple(kc.inference.Member(name, 9.0, 0.001, 9.0) for name in ("bias", "bins"))
    assert directions(signals, y, members, "bias")[0].startswith("class 1 is ")


def test_weights_count_in_the_words():
    """Rows of weight 0 say nothing: those left are over-confident, all together are not."""
    rng = np.random.default_rng(4)
    p = even(rng, 3000)
    w = np.repeat([1.0, 0.0], 1500)
    truth = np.where(w > 0, line(0.6)(p), line(1.6)(p))
    y = (rng.random(3000) < truth).astype(int)
    assert kc.calibration_test(y, p, weights=w, draws=199).directions[0].startswith("over-confident (slope 0.")
    assert kc.calibration_test(y, p, weights=1 - w, draws=199).directions[0].startswith("under-confident (slope 1.")
