"""All classes against the rest."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.inference.test.calibration import holm_adjusted


def data(seed=0, n=300):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(4), n)
    return kc.Categorical(p).sample(rng)[0], p


def test_holm():
    np.testing.assert_allclose(holm_adjusted(np.array([0.01, 0.04, 0.03, 0.005])), [0.03, 0.06, 0.06, 0.02])
    np.testing.assert_array_equal(holm_adjusted(np.array([0.9, 0.8])), [1, 1])


def test_holm_of_the_classes_equals_separate_tests():
    y, p = data()
    result = kc.calibration_test(y, p, lens=kc.ClassWise(), draws=199)
    alone = [kc.calibration_test(*pair, draws=199).pvalue for pair in kc.ClassWise()(y, p)]
    np.testing.assert_allclose([m.pvalue for m in result.members], holm_adjusted(np.array(alone)))
    assert result.pvalue == min(m.pvalue for m in result.members)
    assert "Holm" in result.question
    assert "200 draws" not in result.summary()


def test_a_wrong_class_is_named_by_both_ways():
    y, p = data()
    y[:60] = 2
    holm = kc.calibration_test(y, p, lens=kc.ClassWise(), classes=["a", "b", "c", "d"])
    assert holm.pvalue <= 0.01
    assert holm.fired == "class c"
    joint = kc.calibration_test(y, p, lens=kc.ClassWise(joint="full"), statistic="skce")
    assert joint.pvalue <= 0.01
    assert "labels redrawn from the whole predictions" in joint.notes[-1]
    assert len(joint.members) == 4


def test_few_draws_for_many_classes_are_noted():
    y, p = data()
    note = kc.calibration_test(y, p, lens=kc.ClassWise(), draws=19).notes[-1]
    assert "19 draws for 4 classes cannot give a corrected p-value below 0.2: use draws=159" in note


@pytest.mark.slow
@pytest.mark.parametrize("joint", [pytest.param("holm", marks=pytest.mark.slow), "full"])
def test_level(joint):
    from scipy.stats import binom

    rejected = 0
    for seed in range(120):
        y, p = data([3, seed], 40)
        lens = kc.ClassWise(joint=joint)
        rejected += kc.calibration_test(y, p, lens=lens, statistic="skce", draws=99, rng=seed).pvalue <= 0.1
    assert rejected <= binom.ppf(0.9995, 120, 0.1)


def test_single_lens_equals_the_pair_it_makes():
    y, p = data()
    through = kc.calibration_test(y, p, lens=kc.TopLabel(), draws=99)
    assert through.pvalue == kc.calibration_test(*kc.TopLabel()(y, p), draws=99).pvalue
    assert through.question == "top label"


def test_names_of_the_classes_reach_lens_and_sentence():
    y, p = data()
    y[:60] = 2
    names = np.array(["ant", "bee", "cat", "dog"])
    one = kc.calibration_test(names[y], p, classes=names, lens=kc.OneClass("cat"))
    assert one.question == "class cat against the rest"
    assert "class cat is under-predicted" in "; ".join(one.directions)
    assert one.pvalue == kc.calibration_test(y, p, lens=kc.OneClass(2)).pvalue
    for joint in ("holm", "full"):
        result = kc.calibration_test(
            names[y], p, classes=names, lens=kc.ClassWise(joint=joint), statistic="skce", draws=199
        )
        assert "cat" in result.fired
    interval = kc.confidence_interval(names[y], p, classes=names, lens=kc.OneClass("cat"), pvalue=0.001)
    assert interval.lower > 0


def test_impossible_labels_are_told_by_both_ways():
    y, p = data()
    p[:, 3], p[0] = p[:, 3] / 2, [0.5, 0.5, 0.0, 0.0]
    p /= p.sum(axis=1, keepdims=True)
    y[0] = 2
    holm = kc.calibration_test(y, p, lens=kc.ClassWise(), draws=199)
    assert holm.impossible_rows == (0,)
    assert "row 0" in holm.notes[0]
    joint = kc.calibration_test(y, p, lens=kc.ClassWise(joint="full"), draws=199)
    silent = [m.name for m in joint.members if "impossible label" in m.name]
    assert silent == ["class 2 against the rest: impossible label"]  # those of the other classes say nothing
