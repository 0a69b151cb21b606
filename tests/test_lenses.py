"""Lenses against hand-worked values and a naive loop over rows."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.lenses import Relabel

P = np.array([[0.7, 0.1, 0.15, 0.05], [0.3, 0.4, 0.1, 0.2], [0.25, 0.25, 0.25, 0.25]])
Y = np.array([1, 2, 0])


def naive(p, y, table, number):
    q = np.zeros((len(p), number))
    for i in range(len(p)):
        for k in range(p.shape[1]):
            q[i, table[i][k]] += p[i, k]
    return np.array([table[i][y[i]] for i in range(len(p))]), q


def test_top_label():
    hit, confidence = kc.TopLabel()(Y, P)
    np.testing.assert_array_equal(hit, [0, 0, 1])  # of equal probabilities the first class is the first choice
    np.testing.assert_array_equal(confidence.p, [0.7, 0.4, 0.25])
    assert confidence.question == "top label"


@pytest.mark.parametrize(
    ("lens", "table", "number"),
    [
        (kc.TopK(2), [[0, 2, 1, 2], [1, 0, 2, 2], [0, 1, 2, 2]], 3),
        (kc.Groups(["a", "b", "a", "b"]), [[0, 1, 0, 1]] * 3, 2),
        (kc.Groups({"x": [3], "y": [0, 1]}), [[1, 1, 2, 0]] * 3, 3),
        (Relabel(lambda p: (p < 0.2).astype(int)), [[0, 1, 1, 1], [0, 0, 1, 0], [0, 0, 0, 0]], 2),
    ],
    ids=["top-2", "groups in order", "groups by name", "relabel"],
)
def test_merging_lenses_equal_a_loop(lens, table, number):
    labels, predictions = lens(Y, P)
    expected, q = naive(P, Y, table, number)
    np.testing.assert_array_equal(labels, expected)
    np.testing.assert_allclose(predictions.probabilities, q, atol=1e-15)


def test_one_class_by_name_and_every_class():
    names = ["a", "b", "c", "d"]
    y, one = kc.OneClass("c")(np.array(names)[Y], P, classes=names)
    np.testing.assert_array_equal(y, [0, 1, 0])
    np.testing.assert_array_equal(one.p, P[:, 2])
    pairs = kc.ClassWise()(Y, P)
    assert len(pairs) == 4
    np.testing.assert_array_equal([p.p for _, p in pairs], P.T)
    np.testing.assert_array_equal([y for y, _ in pairs], np.eye(4, dtype=int)[Y].T)


def test_lenses_keep_library_and_labels_of_many_draws(backend):
    p = backend(P)
    _, confidence = kc.TopLabel()(Y, p)
    assert type(confidence.p) is type(p)
    view = kc.TopK(2).view(kc.Categorical(P))
    draws = np.array([[1, 2, 0], [0, 1, 3]], dtype=np.uint8)
    np.testing.assert_array_equal(view.relabel(draws), [[2, 2, 0], [0, 0, 2]])


def test_gradient_flows_through_the_top_label():
    torch = pytest.importorskip("torch")
    logits = torch.tensor(np.log(P), requires_grad=True)
    kc.mmce(Y, torch.softmax(logits, 1)).value.backward()
    assert float(logits.grad.abs().sum()) > 0


@pytest.mark.parametrize(
    ("lens", "message"),
    [
        (lambda: kc.TopK(4)(Y, P), "needs more than 4 classes, the predictions have 4"),
        (lambda: kc.TopK(0), "k must be a whole number, at least 1, got 0"),
        (lambda: kc.OneClass("z")(Y, P), "'z' is none of the classes 0, 1, 2, 3"),
        (lambda: kc.Groups(["a"])(Y, P), "one for each of the 4 classes is expected"),
        (lambda: kc.Groups(["a"] * 4)(Y, P), "there is only one group"),
        (lambda: kc.Groups({"a": [0], "b": [0]})(Y, P), "class 0 is in two groups, 'a' and 'b'"),
        (lambda: Relabel(lambda p: p)(Y, P), "must return whole numbers from 0 of shape"),
        (lambda: Relabel(lambda p: np.full(p.shape, 3), ["a"])(Y, P), "returns labels up to 3, but names has 1"),
        (lambda: kc.Groups(3)(Y, P), "groups must be a mapping such as .* got 3"),
        (lambda: kc.Groups("abcd")(Y, P), "groups must be a mapping"),
        (lambda: kc.confidence_interval(Y, P, lens="top"), "lens must be a lens such as kernelcal.TopLabel"),
        (lambda: kc.confidence_interval(Y, P, lens=kc.ClassWise()), "this takes one question"),
        (lambda: kc.ClassWise(joint="all"), "joint must be 'holm' or 'full', got 'all'"),
        (lambda: kc.evaluate(Y, P, lens=kc.ClassWise()), "this takes one question"),
    ],
)
def test_messages(lens, message):
    with pytest.raises(InputError, match=message):
        lens()


def test_evaluate_through_a_lens_answers_the_simpler_question():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), 300)
    y = kc.Categorical(p).sample(rng)[0]
    result = kc.evaluate(y, p, lens=kc.TopLabel(), draws=99)
    hit, confidence = kc.TopLabel()(y, p)
    assert result.question == "top label"
    assert result.accuracy == hit.mean() == kc.evaluate(y, p, draws=99).accuracy
    assert float(result.eces[0]) == float(kc.ece(y, p, question="top label"))
    assert float(result.skce) == float(kc.skce(hit, confidence))
    reordered = kc.evaluate(y, p, lens=kc.Groups([1, 0, 0, 1]), draws=99)  # names that are numbers in another order
    assert reordered.accuracy == (np.argmax([p[:, [0, 3]].sum(1), p[:, [1, 2]].sum(1)], 0) == np.isin(y, [1, 2])).mean()
