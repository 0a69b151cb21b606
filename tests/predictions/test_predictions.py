"""Families, wrappers and frames: values, draws, indexing, every library."""

import numpy as np
import pytest
from scipy import special, stats

import kernelcal as kc
from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError

P = np.array([[0.2, 0.0, 0.8], [0.5, 0.25, 0.25], [0.0, 1.0, 0.0], [1 / 3, 1 / 3, 1 / 3]])
X = np.random.default_rng(0).standard_normal((6, 4)) * 30


def test_bernoulli_by_hand():
    batch = kc.Bernoulli([0, 0.25, 1])
    assert (len(batch), batch.n_classes, batch.event_shape) == (3, 2, ())
    np.testing.assert_array_equal(batch.probabilities, [[1, 0], [0.75, 0.25], [0, 1]])
    np.testing.assert_array_equal(batch.mean, batch.probabilities)
    np.testing.assert_allclose(batch[1:].log_prob([0, 1]), np.log([0.75, 1.0]))
    np.testing.assert_array_equal(batch.probability_of(np.array([[0, 1, 1], [1, 0, 0]])), [[1, 0.25, 1], [0, 0.75, 0]])


def test_categorical_by_hand():
    batch = kc.Categorical(P, classes=["a", "b", "c"])
    assert (len(batch), batch.n_classes, batch.class_name(1)) == (4, 3, "b")
    np.testing.assert_allclose(batch[[0, 1]].log_prob([2, 0]), np.log([0.8, 0.5]))
    labels = np.array([[2, 0, 1, 0], [0, 1, 1, 2]])
    np.testing.assert_array_equal(batch.probability_of(labels), P[np.arange(4), labels])
    assert batch[1:3].classes == ("a", "b", "c")
    np.testing.assert_array_equal(batch[np.array([3, 0])].probs, P[[3, 0]])


@pytest.mark.parametrize("m", [2, 5, 16, 17, 60])
def test_drawing_inverts_the_distribution_function(m):
    rng = np.random.default_rng(m)
    p = rng.dirichlet(np.full(m, 0.2), 30)
    p[0] = np.eye(m)[0]
    u = rng.random((50, 30))
    u[0], u[1] = 0.0, np.nextafter(1, 0)
    labels = kc.Categorical(p).draw(u)
    for i in range(30):
        cumulative = np.cumsum(p[i])
        expected = np.searchsorted(cumulative / cumulative[-1], u[:, i], side="right")
        np.testing.assert_array_equal(labels[:, i], expected)
        assert np.all(p[i, labels[:, i]] > 0), "a class of probability 0 was drawn"


def test_one_probability_draws_what_two_classes_draw():
    p = np.random.default_rng(0).random(40)
    u = np.random.default_rng(1).random((7, 40))
    two = kc.Categorical(np.stack([1 - p, p], axis=1))
    np.testing.assert_array_equal(kc.Bernoulli(p).draw(u), two.draw(u))
    np.testing.assert_array_equal(kc.Bernoulli(p).draw(u), (u >= 1 - p).astype(int))


def test_frequencies_lie_within_binomial_bounds():
    labels = kc.Categorical(P).sample(rng=0, size=5000)
    for i, row in enumerate(P):
        for k, p in enumerate(row):
            low, high = stats.binom.ppf([1e-6, 1 - 1e-6], 5000, p) if 0 < p < 1 else (5000 * p, 5000 * p)
            assert low <= (labels[:, i] == k).sum() <= high


def test_samples_are_seeded():
    batch = kc.Categorical(P)
    np.testing.assert_array_equal(batch.sample(3, 4), batch.sample(np.random.SeedSequence(3), 4))
    same = [batch.sample(np.random.default_rng(3), 4) for _ in range(2)]
    np.testing.assert_array_equal(*same)
    assert batch.sample(3, 4).shape == (4, 4)


def test_every_library_keeps_its_arrays(backend):
    for batch in (kc.Categorical(backend(P)), kc.Bernoulli(backend(P[:, 0]))):
        assert type(batch.probabilities) is type(backend(P))
        y = np.array([0, 0, 1, 0])
        host = batch.map_arrays(to_numpy)
        with np.errstate(divide="ignore"):
            np.testing.assert_allclose(to_numpy(batch.log_prob(y)), host.log_prob(y), rtol=1e-12)
        np.testing.assert_array_equal(batch.sample(0, 3), host.sample(0, 3))


def test_wrappers_are_the_functions_of_scipy(backend):
    np.testing.assert_allclose(
        to_numpy(kc.as_predictions(kc.Logits(backend(X))).probs), special.softmax(X, axis=1), atol=1e-14
    )
    np.testing.assert_allclose(
        to_numpy(kc.as_predictions(kc.Logits(backend(X[:, 0]))).p), special.expit(X[:, 0]), atol=1e-15
    )
    logs = special.log_softmax(X, axis=1)
    np.testing.assert_allclose(
        to_numpy(kc.as_predictions(kc.LogProbs(backend(logs))).probs), special.softmax(X, axis=1), atol=1e-13
    )
    percent = kc.as_predictions(kc.Percent(backend(100 * P)))
    np.testing.assert_allclose(to_numpy(percent.probs), P, atol=1e-15)


@pytest.mark.filterwarnings("error")
def test_extreme_logits_do_not_overflow():
    p = kc.as_predictions(kc.Logits([[1e4, -1e4], [-800.0, 800.0]])).probs
    np.testing.assert_array_equal(p, [[1, 0], [0, 1]])
    np.testing.assert_array_equal(kc.as_predictions(kc.Logits([-1e4, 0.0, 1e4])).p, [0, 0.5, 1])


def test_as_predictions_chooses_the_family_by_shape():
    assert isinstance(kc.as_predictions([0.2, 0.3]), kc.Bernoulli)
    assert isinstance(kc.as_predictions([[0.2], [0.3]]), kc.Bernoulli)
    assert isinstance(kc.as_predictions([[0.2, 0.8]]), kc.Categorical)
    batch = kc.Categorical(P)
    assert kc.as_predictions(batch) is batch
    assert kc.as_predictions(batch, classes=["a", "b", "c"]).classes == ("a", "b", "c")


def test_normalizing_is_asked_for_and_told():
    batch = kc.as_predictions([[2.0, 2.0], [1.0, 3.0]], normalize=True)
    np.testing.assert_allclose(batch.probs, [[0.5, 0.5], [0.25, 0.75]])
    assert batch.notes == ("every row was divided by its sum, as asked; the sums were 4 to 4",)
    assert batch.notes[0] in kc.evaluate([0, 1], batch).notes
    with pytest.raises(InputError, match="predictions have been checked already"):
        kc.as_predictions(batch, normalize=True)


def test_rounding_is_set_to_the_bound_with_a_note():
    batch = kc.Bernoulli([1.0000000000000002, 0.5, -1e-17])
    np.testing.assert_array_equal(batch.p, [1, 0.5, 0])
    assert batch.notes[0].startswith("2 probabilities outside [0, 1] by at most 2e-16 (first in row 0)")


def test_a_row_that_sums_to_one_up_to_rounding_stays_as_given():
    p = np.array([[0.1, 0.9 + 3e-7], [0.5, 0.5]])
    np.testing.assert_array_equal(kc.Categorical(p).probs, p)


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_name_the_classes(library):
    frames = pytest.importorskip(library)
    frame = frames.DataFrame({"cat": P[:, 0], "dog": P[:, 1], "owl": P[:, 2]})
    batch = kc.as_predictions(frame)
    assert batch.classes == ("cat", "dog", "owl")
    np.testing.assert_array_equal(batch.probs, P)
    names = frames.Series(["owl", "cat", "dog", "dog"])
    by_name = kc.evaluate(names, frame)
    by_number = kc.evaluate([2, 0, 1, 1], P)
    assert by_name.pvalue == by_number.pvalue
    assert float(by_name.skce) == float(by_number.skce)
    assert isinstance(kc.as_predictions(frame[["cat"]]), kc.Bernoulli)


def test_a_frame_without_narwhals_names_the_extra(monkeypatch):
    pandas = pytest.importorskip("pandas")
    import sys

    monkeypatch.setitem(sys.modules, "narwhals", None)
    monkeypatch.setitem(sys.modules, "narwhals.stable", None)
    monkeypatch.setitem(sys.modules, "narwhals.stable.v1", None)
    with pytest.raises(kc.errors.MissingExtraError, match=r"pip install 'kernelcal\[frame\]'"):
        kc.as_predictions(pandas.DataFrame({"a": [0.5], "b": [0.5]}))


@pytest.mark.parametrize("classes", ["ab", 3, [[0], [1]], ["a", "a"], ["a", "b", "c"]])
def test_classes_are_distinct_labels(classes):
    with pytest.raises(InputError, match="classes"):
        kc.Bernoulli([0.5, 0.2], classes=classes)
    with pytest.raises(InputError, match="classes"):
        kc.as_predictions([0.5, 0.2], classes=classes)


def test_bfloat16_is_read():
    torch = pytest.importorskip("torch")
    p = torch.tensor([0.25, 0.5, 0.75], dtype=torch.bfloat16)
    same = kc.evaluate([0, 1, 1], np.array([0.25, 0.5, 0.75], dtype=np.float32))
    assert kc.evaluate([0, 1, 1], p).test == same.test


def test_the_smallest_uniform_number_draws_no_class_of_probability_zero():
    p = np.array([[0.0, 1.0], [0.0, 0.0]])[:1]
    assert kc.Categorical(p).draw(np.zeros((3, 1))).tolist() == [[1]] * 3
    wide = np.zeros((1, 20))
    wide[0, 7] = 1.0
    assert kc.Categorical(wide).draw(np.array([[0.0], [0.5]])).tolist() == [[7], [7]]
    assert kc.Bernoulli([1.0, 0.0]).draw(np.zeros((1, 2))).tolist() == [[1, 0]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logits_keep_small_probabilities(dtype):
    x = np.array([-40.0, -36.0, -20.0, 0.0, 16.0], dtype=dtype)
    np.testing.assert_allclose(kc.as_predictions(kc.Logits(x)).p, special.expit(x.astype(float)), rtol=1e-14)
    y = np.zeros(200, int)
    y[-1] = 1
    result = kc.evaluate(y, kc.Logits(np.full(200, -20, dtype=dtype)))
    assert result.test.impossible_rows == ()
    assert result.log_score == pytest.approx(20 / 200, rel=1e-6)


def test_rows_are_taken_by_slices_and_arrays(backend):
    batch = kc.Categorical(backend(P))
    for index in (slice(1, 3), [1, 2], np.array([1, 2]), [False, True, True, False]):
        np.testing.assert_array_equal(to_numpy(batch[index].probs), P[1:3])
    with pytest.raises(InputError, match=r"use p\[3:4\]"):
        batch[3]


def test_pandas_indexes_must_agree():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(P, columns=["a", "b", "c"])
    y = pandas.Series(["c", "a", "b", "a"])
    shuffled = y.sample(frac=1, random_state=1)
    with pytest.raises(InputError, match=r"different indexes \(at position 0.*y.loc\[predictions.index\]"):
        kc.evaluate(shuffled, frame)
    assert kc.evaluate(shuffled.loc[frame.index], frame).pvalue == kc.evaluate(y, frame).pvalue
    kc.evaluate(shuffled.to_numpy(), frame)
