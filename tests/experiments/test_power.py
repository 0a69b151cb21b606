"""Short version of experiments/power: statistics of others by loops, level of all tests, power of the family."""

import importlib
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import binom

import kernelcal as kc

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "power"
PARTS = ("common", "classes")

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


@pytest.fixture(scope="module")
def scripts():
    """The experiment's modules, imported from their folder; afterwards nothing of them is left."""
    before = {name: sys.modules.pop(name) for name in PARTS if name in sys.modules}
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(FOLDER)
        yield SimpleNamespace(**{name: importlib.import_module(name) for name in PARTS})
    for name in PARTS:
        sys.modules.pop(name, None)
    sys.modules.update(before)


def data(m, n=60, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(m), n)
    return p, rng.integers(0, m, (3, n))


def question(p, y):
    """Probability and outcome that the statistics of others look at."""
    if p.shape[1] == 2:
        return p[:, 1], (y == 1).astype(float)
    return p.max(axis=1), (y == p.argmax(axis=1)).astype(float)


def chi_square(c, y, parts):
    return sum(sum(y[i] - c[i] for i in part) ** 2 / sum(c[i] * (1 - c[i]) for i in part) for part in parts)


@pytest.mark.parametrize("m", [2, 3])
def test_statistics_of_others_are_those_of_loops(scripts, m):
    s = scripts.classes
    p, labels = data(m)
    for k, y in enumerate(labels):
        c, hit = question(p, y)
        order = sorted(range(60), key=lambda i: c[i])
        tenths = [order[6 * b : 6 * b + 6] for b in range(10)]
        assert s.hosmer_lemeshow(p, labels)[k] == pytest.approx(chi_square(c, hit, tenths), rel=1e-9)
        wide = [[i for i in range(60) if b / 10 <= c[i] < (b + 1) / 10] for b in range(10)]
        expected = chi_square(c, hit, [part for part in wide if part])
        assert s.equal_width(p, labels)[k] == pytest.approx(expected, rel=1e-9)
        z = sum((1 - 2 * p[i, j]) * ((y[i] == j) - p[i, j]) for i in range(60) for j in range(m))
        assert s.spiegelhalter(p, labels)[k] == pytest.approx(abs(z), rel=1e-9)
        walk = np.cumsum([0, *(hit[i] - c[i] for i in order)])
        assert s.cumulative(p, labels, False)[k] == pytest.approx(np.abs(walk).max(), rel=1e-9)
        assert s.cumulative(p, labels, True)[k] == pytest.approx(np.ptp(walk), rel=1e-9)


def test_cox_is_the_likelihood_ratio_of_an_optimiser(scripts):
    p, labels = data(2, n=200, seed=1)
    c = p[:, 1]
    y = (labels[0] == 1) | (c > 0.7)

    def loss(theta):
        q = expit(theta[0] * logit(c) + theta[1])
        return -np.log(np.where(y, q, 1 - q)).sum()

    ratio = loss([1.0, 0.0]) - minimize(loss, [1.0, 0.0], tol=1e-10).fun
    assert scripts.classes.cox(p, y[None].astype(int))[0] == pytest.approx(ratio, rel=1e-4)


def test_t_cal_by_loops(scripts):
    p, labels = data(2, n=64, seed=2)
    c, order = p[:, 1], np.argsort(p[:, 1])
    for k, y in enumerate(labels):
        found = []
        for bins in (2, 4, 8, 16, 32):
            value = variance = 0.0
            for part in np.split(order, bins):
                for i in part:
                    for j in part:
                        if i != j:
                            value += (y[i] - c[i]) * (y[j] - c[j]) / len(part)
                            variance += 2 * c[i] * (1 - c[i]) * c[j] * (1 - c[j]) / len(part) ** 2
            found.append(value / np.sqrt(variance))
        assert scripts.classes.t_cal(p, labels)[k] == pytest.approx(max(found), rel=1e-9)


def test_alternatives_happen_as_they_say(scripts):
    """True probabilities of every alternative are probabilities, and calibrated ones are those that were said."""
    rng = np.random.default_rng(3)
    for name, truth in scripts.classes.SEVERAL.items():
        p = rng.dirichlet(np.full(3, 0.5), 500)
        q = truth(p)
        np.testing.assert_allclose(q.sum(axis=1), 1, rtol=1e-9, err_msg=name)
        assert (q >= -1e-12).all()
    shares = {name: [] for name in ("calibrated", "shift .3")}
    for name, gaps in shares.items():
        for _ in range(60):
            y, batch = scripts.classes.ALTERNATIVES[name](rng)
            gaps.append((y - batch.p).mean())
    assert abs(np.mean(shares["calibrated"])) < 4 * 0.5 / np.sqrt(60 * 400)
    assert np.mean(shares["shift .3"]) > 0.03


@pytest.mark.slow
def test_the_frame_in_short(scripts):
    """12 calibrated data sets and 12 shifted ones: shares are those of p-values made one by one."""
    found = scripts.common.powers("classes", 12, seed=5, names=["calibrated", "shift .3"], tell=lambda line: None)
    alone = [scripts.common.pvalues(("classes", "shift .3", 5, k)) for k in range(12)]
    np.testing.assert_array_equal(found.shares[1], (np.array(alone) <= 0.05).mean(axis=0))
    assert found.valid.all()
    assert found.shares[1, found.tests.index("bias")] > 0.3 > found.shares[1, found.tests.index("slope")]


@pytest.mark.slow
def test_tests_keep_their_level_and_the_family_is_near_the_best(scripts):
    """60 calibrated data sets: no test above its bound; five waves and a slope, of which one test sees one only."""
    names = ["calibrated", "slope 1 / 1.4", "five waves, p + .15 sin(10 pi p)"]
    found = scripts.common.powers("classes", 60, seed=5, names=names, tell=lambda line: None)
    assert found.valid.all()
    assert found.bounds[1] == binom.ppf(0.9995, 60, 0.05) / 60
    power = dict(zip(found.tests, found.shares.T, strict=True))
    assert power["slope"][1] > 0.6 > 0.5 > power["slope"][2]
    assert power["bins"][2] > 0.7 > power["bins"][1]
    assert power["default family"][1:].min() > 0.55
    assert found.losses().max() < 30
    header, calibrated, *others = found.rows()
    assert header[:3] == ["alternative", "default family", "earlier family"]
    assert calibrated[3:] == ["", "", ""]
    assert all(float(row[4]) >= float(row[1]) - 0.2 for row in others)
    assert "loses" in found.sentence()


def test_a_test_that_breaks_its_level_is_no_best(scripts):
    shares = np.array([[0.05, 0.05, 0.9], [0.4, 0.6, 1.0]])
    tests = ["default family", "slope", "bias"]
    found = scripts.common.Powers("classes", ["calibrated", "shifted"], tests, shares, 200)
    assert found.valid.tolist() == [True, True, False]
    assert found.best()[1] == 1
    assert found.losses() == pytest.approx([20])


def test_exact_ranks_count_ties(scripts):
    batch = kc.Bernoulli(np.full(30, 0.5))
    constant = scripts.classes.exact(lambda p, labels: np.zeros(len(labels)))
    assert constant(np.zeros(30, dtype=int), batch, 1) == 1.0
    largest = scripts.classes.exact(lambda p, labels: labels.sum(axis=1).astype(float))
    assert largest(np.ones(30, dtype=int), batch, 1) == 1 / 200
