"""The sketch: the same answer for any partition and order, that of the whole data in memory, and its exact level."""

import json
import zipfile
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binom

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.kernels import Spectral
from kernelcal.kernels.plain import kernel_from_plain, kernel_to_plain
from kernelcal.predictions import MultivariateNormal, Score
from kernelcal.randomness import generator_of
from kernelcal.sketch import Sketch, rows, scores, sums
from kernelcal.sketch.rows import RowSet

KERNEL, ENGINE = kc.Laplacian(0.3), kc.RandomFourier(12, rng=3)
NEAR = np.array([[1.0, 0.6, 0.0], [0.6, 1.0, 0.1], [0.0, 0.1, 1.0]])
LARGE = NEAR * np.outer([2.0, 1.0, 0.7], [2.0, 1.0, 0.7])  # whose classes have features of other lengths


def _class_rows(m, n, seed=0, power=1.3):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(m, 0.7), n)
    q = p**power
    return kc.Categorical(q / q.sum(axis=1, keepdims=True)).sample(rng)[0], kc.Categorical(p)


def _one_probability(n, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    return kc.Bernoulli(p**1.3).sample(rng)[0], kc.Bernoulli(p)


def _numbers(n, seed=0):
    rng = np.random.default_rng(seed)
    batch = kc.Normal(rng.normal(size=n), rng.uniform(0.5, 2, n))
    return batch.sample(rng)[0], batch


def _vectors(n, seed=0):
    rng = np.random.default_rng(seed)
    cov = np.einsum("nij,nkj->nik", *(2 * [rng.normal(size=(n, 2, 2))])) + np.eye(2)
    batch = MultivariateNormal(rng.normal(size=(n, 2)), cov)
    return batch.sample(rng)[0], batch


SUBJECTS = {
    "one probability": (lambda: _one_probability(90), {}),
    "three classes": (lambda: _class_rows(3, 90), {}),
    "three classes, some alike": (lambda: _class_rows(3, 90), {"target_kernel": kc.FiniteKernel(NEAR)}),
    "thirty classes": (lambda: _class_rows(30, 90), {}),
    "numbers": (lambda: _numbers(90), {"target_kernel": Spectral(kc.Gaussian(1.0), 3)}),
    "vectors": (lambda: _vectors(90), {"target_kernel": Spectral(kc.Gaussian(1.0), 3)}),
}


def _sketch(draws=19, **options):
    return Sketch(KERNEL, **{"engine": ENGINE, "draws": draws, **options})


def _parts(subject, cuts, order, options):
    """Sketch of rows in any order, cut into parts, which are merged from the last to the first."""
    y, batch = subject
    bounds = [0, *sorted({c for c in cuts if 0 < c < len(y)}), len(y)]
    total = _sketch(**options)
    for start, stop in reversed(list(pairwise(bounds))):
        part = order[start:stop]
        total = _sketch(**options).update(y[part], batch[part], rows=part) + total
    return total


def _same(a, b):
    """Whole numbers that are equal, and with them everything that is printed."""
    assert a._sums.keys() == b._sums.keys()
    for name, x in a._sums.items():
        assert x.dtype == np.int64
        np.testing.assert_array_equal(x, b._sums[name], err_msg=name)
    np.testing.assert_array_equal(a._rows.starts, b._rows.starts)


def _numbers_of(sketch):
    """Sums in the unit of features and residuals."""
    return sums.as_numbers(sketch._sums, sketch._settings, sketch._subject)


@pytest.mark.parametrize("name", SUBJECTS)
@settings(max_examples=12)
@given(st.lists(st.integers(1, 89), max_size=6), st.randoms(use_true_random=False))
@pytest.mark.slow
def test_any_partition_in_any_order_gives_the_sums_of_one_batch(name, cuts, random):
    make, options = SUBJECTS[name]
    order = np.array(random.sample(range(90), 90))
    subject = make()
    whole = _sketch(**options).update(*subject)
    parts = _parts(subject, cuts, order, options)
    _same(whole, parts)
    assert {**parts.result().to_dict(), "seconds": 0} == {**whole.result().to_dict(), "seconds": 0}


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_sketch_is_near_the_exact_test_in_memory(name):
    """The same features, rounded to 2^-12, and other draws: the same estimate, and draws of the same spread."""
    make, options = SUBJECTS[name]
    y, batch = make()
    found = _sketch(399, rng=5, **options).update(y[:50], batch[:50]).update(y[50:], batch[50:]).result()
    statistic = kc.SKCE(prediction_kernel=KERNEL, engine=ENGINE, **options)
    expected = kc.calibration_test(y, batch, statistic=statistic, draws=399, rng=5, early_stopping=False)
    spread = expected.statistic / expected.members[0].deviation
    assert float(found.estimate) == pytest.approx(expected.statistic, abs=2e-3 * abs(spread))
    assert found.pvalue == pytest.approx(expected.pvalue, abs=4 * np.sqrt(0.5 * expected.pvalue / 399))
    assert found.test.members[0].deviation == pytest.approx(expected.members[0].deviation, rel=0.25, abs=0.25)


@pytest.mark.parametrize("name", SUBJECTS)
def test_parts_of_a_batch_and_threads_change_nothing(name, monkeypatch):
    make, options = SUBJECTS[name]
    y, batch = make()
    whole = _sketch(**options).update(y, batch)
    for module, setting, value in (
        (sums, "_PART", 7),
        (sums, "BLOCK", 11),
        (scores, "_NUMBERS", 13),
        (sums, "thread_count", lambda _: 4),
    ):
        monkeypatch.setattr(module, setting, value)
        _same(whole, _sketch(**options).update(y, batch))


@pytest.mark.parametrize(
    ("name", "kernel"),
    [("one probability", None), ("three classes", None), ("three classes", NEAR), ("three classes", LARGE)],
)
def test_sums_are_those_of_loops_over_rows(name, kernel):
    """Second implementation: dense arrays, one row at a time."""
    make, options = SUBJECTS[name]
    if kernel is not None:
        options = {"target_kernel": kc.FiniteKernel(kernel)}
    y, batch = make()
    found = _numbers_of(_sketch(**options).update(y, batch))
    rng = generator_of(3, "random Fourier features")
    one = isinstance(batch, kc.Bernoulli)
    x = batch.p[:, None] if one else batch.probs
    w, b = KERNEL.frequencies(rng, 12, x.shape[1]), rng.uniform(0, 2 * np.pi, 12)
    phi = np.sqrt(2 / 12) * np.rint(2**12 * np.cos(x @ w.T + b)) / 2**12
    p = np.stack([1 - batch.p, batch.p], axis=1) if one else batch.probs
    left = np.eye(p.shape[1])
    if one:
        left = np.array([[0.0], [np.sqrt(2.0)]])
    elif kernel is not None:
        values, vectors = np.linalg.eigh(kernel)
        left = vectors * np.sqrt(values)
    d = left.shape[1] * 12
    moment, covariance, total, lengthened, squares = np.zeros((d, d)), np.zeros((d, d)), np.zeros(d), np.zeros(d), 0.0
    for i in range(len(y)):
        z = np.kron(left[y[i]] - p[i] @ left, phi[i])
        v = left.T @ (np.diag(p[i]) - np.outer(p[i], p[i])) @ left
        total, moment, lengthened = total + z, moment + np.outer(z, z), lengthened + (z @ z) * z
        covariance, squares = covariance + np.kron(v, np.outer(phi[i], phi[i])), squares + (z @ z) ** 2
    close = {"rtol": 2e-4, "atol": 5e-4}  # places of a turn are rounded, and products to 2^-20
    assert found["diagonal"][0] == pytest.approx(np.trace(moment), rel=1e-4)
    expected = {"moment": moment, "covariance": covariance, "lengthened": lengthened, "squares": squares}
    for key, value in expected.items():
        np.testing.assert_allclose(found[key], value, **close, err_msg=key)
    np.testing.assert_allclose(found["totals"][:, 0].ravel(), total, **close)
    assert found["n"] == len(y)
    np.testing.assert_allclose(found["features"], phi.sum(axis=0), rtol=1e-4, atol=2e-3)
    np.testing.assert_allclose(
        found["means"], sum(np.kron(p[i] @ left, phi[i]) for i in range(len(y))), rtol=1e-4, atol=2e-3
    )
    assert found["lengths"] == pytest.approx(((p @ left) ** 2).sum(), rel=1e-5)
    np.testing.assert_allclose(found["expected"], p.sum(axis=0), rtol=1e-11)
    surprised = [sum(1 - p[i, k] for i in range(len(y)) if y[i] == k) for k in range(p.shape[1])]
    np.testing.assert_allclose(found["surprised"], surprised, rtol=1e-8)


def test_the_interval_is_that_of_all_pairs():
    y, batch = _class_rows(3, 400, power=2.5)
    found = _sketch(99).update(y[:100], batch[:100]).update(y[100:], batch[100:]).result(0.9)
    statistic = kc.SKCE(prediction_kernel=KERNEL, engine=ENGINE)
    for pvalue in (0.001, 0.5):
        asked = {"method": "root", "confidence_level": 0.9, "pvalue": pvalue}
        expected = kc.confidence_interval(y, batch, statistic=statistic, **asked)
        if (found.pvalue <= 0.1) == (pvalue <= 0.1):
            assert found.interval.lower == pytest.approx(expected.lower, rel=1e-3)
            assert expected.upper * (1 - 1e-3) <= found.interval.upper <= 1.02 * expected.upper
            assert found.interval.method == expected.method
    assert found.interval.lower > 0
    unsure = _sketch(3).update(y, batch).result(0.9)  # p is at least 1/4
    assert (unsure.interval.lower, unsure.interval.upper) == (0.0, pytest.approx(found.interval.upper))
    assert unsure.interval.notes == ("the lower end is 0: the exact test does not reject (p = 0.25)",)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["one probability", "three classes"])
def test_the_known_law_is_near_that_of_all_pairs(name):
    y, batch = _one_probability(1400) if name == "one probability" else _class_rows(3, 480)
    found = _sketch().update(y, batch).result().known
    statistic = kc.SKCE(prediction_kernel=KERNEL, engine=ENGINE)
    expected = kc.calibration_test(y, batch, statistic=statistic, null="saddlepoint")
    assert found.pvalue == pytest.approx(expected.pvalue, rel=0.1)
    assert found.members[0].deviation == pytest.approx(expected.members[0].deviation, rel=0.02)


def test_the_known_law_has_the_variance_of_all_eigenvalues():
    """The deviation is the value in standard deviations of ``sum_k l_k (Z_k^2 - 1)``, also of many small l_k."""
    y, batch = _one_probability(400)
    engine = kc.RandomFourier(60, rng=1)
    found = Sketch(kc.Laplacian(0.01), engine=engine, draws=3).update(y, batch).result()
    features, _ = engine.maps([kc.Laplacian(0.01)], batch)
    z = features(slice(None)) * np.sqrt(2 * batch.p * (1 - batch.p))[:, None]
    eigenvalues = np.linalg.eigvalsh(z.T @ z)
    value = float(found.estimate) * 400 * 399
    assert found.known.members[0].deviation == pytest.approx(value / np.sqrt(2 * (eigenvalues**2).sum()), rel=1e-4)


@pytest.mark.parametrize("make", [lambda: _one_probability(200), lambda: _class_rows(4, 200)])
def test_scores_and_binned_errors_are_those_of_evaluate(make):
    y, batch = make()
    found = (_sketch().update(y[:77], batch[:77]) + _sketch().update(y[77:], batch[77:], first_row=77)).result()
    expected = kc.evaluate(y, batch, draws=19)
    for name in ("accuracy", "log_score", "brier_score"):
        assert found.means[name] == pytest.approx(getattr(expected, name), rel=1e-9)
    assert [e.name for e in found.eces] == [e.name for e in expected.eces]
    for mine, theirs in zip(found.eces, expected.eces, strict=True):
        assert float(mine) == pytest.approx(float(theirs), rel=1e-8)
        assert repr(mine) == repr(theirs)
        np.testing.assert_array_equal(mine.tables[0].count, theirs.tables[0].bins.count)


def test_the_question_of_a_lens_is_kept():
    y, batch = kc.TopLabel()(*_class_rows(3, 60))
    found = _sketch().update(y, batch).result()
    assert found.question == "top label"
    assert [e.name for e in found.eces] == ["ECE, top label"]
    with pytest.raises(InputError, match="differ in question: top label and None"):
        _sketch().update(y, batch).update(y, batch.p)


def test_scores_of_numbers_are_those_of_evaluate():
    y, batch = _numbers(60)
    found = Sketch.like(batch, engine=ENGINE, draws=19).update(y, batch).result()
    expected = kc.evaluate(y, batch, draws=19)
    for name in ("negative_log_likelihood", "crps"):
        assert found.means[name] == pytest.approx(getattr(expected, name), rel=1e-12)
    assert found.interval is None
    assert any("no interval" in note for note in found.notes)
    vectors = Sketch(KERNEL, Spectral(kc.Gaussian(1.0), 3), engine=ENGINE, draws=9).update(*_vectors(20)).result()
    assert vectors.means["crps"] > 0
    quantiles = kc.Quantiles([[0.0, 1.0], [1.0, 2.0]], [0.25, 0.75])
    assert Sketch.like(quantiles, engine=ENGINE, draws=9).update([0.5, 1.5], quantiles).result().family == "Quantiles"


def test_impossible_targets_are_named():
    found = _sketch().update([1, 0, 1], [[1.0, 0.0], [0.5, 0.5], [0.2, 0.8]]).result()
    assert found.means["log_score"] == np.inf
    assert found.to_dict()["log_score"] is None
    assert any(note.startswith("1 row has a target that the prediction had ruled out") for note in found.notes)


def test_certain_predictions_give_p_one():
    found = _sketch().update([0, 1, 0, 1], kc.Categorical(np.eye(2)[[0, 1, 0, 1]])).result()
    assert found.pvalue == 1.0
    assert found.known is None


def test_the_known_law_says_where_it_is_rough():
    y, batch = _class_rows(3, 2000, power=4)
    far = _sketch().update(y, batch).result()
    assert far.pvalue == 0.05
    assert far.known.pvalue < 1e-8
    assert any("order of magnitude" in note for note in far.notes)
    few = _sketch().update(y[:40], batch[:40]).result()
    assert any("take the exact p-value" in note for note in few.notes)


def test_what_is_held_does_not_grow():
    y, batch = _class_rows(3, 3000)
    few, many = _sketch().update(y[:30], batch[:30]), _sketch()
    for start in range(0, 3000, 1000):
        many.update(y[start : start + 1000], batch[start : start + 1000])
    assert {name: x.shape for name, x in few._sums.items()} == {name: x.shape for name, x in many._sums.items()}
    assert len(many._rows.starts) == 1


def test_merging_does_not_depend_on_brackets_or_order():
    y, batch = _class_rows(3, 90)
    a, b, c = (
        _sketch().update(y[s], batch[s], first_row=s.start) for s in (slice(0, 20), slice(20, 55), slice(55, 90))
    )
    _same((a + b) + c, a + (b + c))
    _same(a + b + c, c + b + a)
    assert (a.n, b.n, c.n) == (20, 35, 35)
    before = {name: x.copy() for name, x in b._sums.items()}
    a.merge(b)
    assert all(np.array_equal(before[name], b._sums[name]) for name in before)
    assert (a.n, (a + _sketch()).n, (_sketch() + a).n) == (55, 55, 55)
    _same(a + a.empty(), a)


def test_the_draws_of_a_row_follow_its_identity():
    y, batch = _class_rows(3, 30)
    first, later = _sketch().update(y, batch), _sketch().update(y, batch, first_row=1000)
    assert not np.allclose(first._sums["totals"][:, 1:], later._sums["totals"][:, 1:])
    np.testing.assert_array_equal(first._sums["totals"][:, 0], later._sums["totals"][:, 0])


@pytest.mark.slow
def test_the_level_is_exact():
    """Calibrated data, two uneven parts: p <= a at most as often as a, by a binomial bound of 1 in 10,000."""
    runs, draws, rng = 400, 19, np.random.default_rng(0)
    p = rng.beta(0.3, 0.5, 40)
    batch, pvalues, known = kc.Bernoulli(p), [], []
    for run in range(runs):
        y = batch.sample(rng)[0]
        sketch = _sketch(draws, rng=run, engine=kc.RandomFourier(6)).update(y[:13], batch[:13])
        result = (
            sketch + _sketch(draws, rng=run, engine=kc.RandomFourier(6)).update(y[13:], p[13:], first_row=13)
        ).result()
        pvalues.append(result.pvalue)
        known.append(result.known.pvalue)
    for level in (0.05, 0.2, 0.5):
        low, high = binom.ppf([5e-5, 1 - 5e-5], runs, level)
        assert low <= (np.array(pvalues) <= level + 1e-9).sum() <= high
        assert (np.array(known) <= level).sum() <= binom.ppf(1 - 5e-5, runs, 1.4 * level)  # the law of many rows


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_file_gives_the_sketch_back(name, tmp_path):
    make, options = SUBJECTS[name]
    y, batch = make()
    sketch = _sketch(**options).update(y[:40], batch[:40], first_row=5)
    sketch.save(tmp_path / "part.sketch")
    back = Sketch.load(tmp_path / "part.sketch")
    assert [file.name for file in tmp_path.iterdir()] == ["part.sketch"]
    _same(sketch, back)
    first, second = (s.update(y[40:], batch[40:]).result() for s in (sketch, back))
    assert {**first.to_dict(), "seconds": 0} == {**second.to_dict(), "seconds": 0}
    with pytest.raises(InputError, match="row 5 was given twice"):
        back.merge(sketch)


def test_an_empty_sketch_can_be_kept_too(tmp_path):
    y, batch = _class_rows(3, 30)
    Sketch.like(batch, engine=ENGINE, draws=9).save(tmp_path / "a.npz")
    assert Sketch.load(tmp_path / "a.npz").update(y, batch).n == 30
    _sketch().save(tmp_path / "a.npz")
    assert Sketch.load(tmp_path / "a.npz").n == 0


def test_damaged_and_foreign_files_are_refused(tmp_path):
    path = tmp_path / "a.npz"
    _sketch().update(*_class_rows(3, 30)).save(path)
    whole = path.read_bytes()
    for data in (whole[: len(whole) // 2], b"", b"no zip", whole[:3000] + b"xxxx" + whole[3004:]):
        path.write_bytes(data)
        with pytest.raises(InputError, match="not a sketch, or it is damaged"):
            Sketch.load(path)
    np.savez(path, x=np.zeros(3))
    with pytest.raises(InputError, match="not a sketch, or it is damaged"):
        Sketch.load(path)
    np.savez(path, settings=np.array(json.dumps({"format": "kernelcal sketch", "version": 9})))
    with pytest.raises(InputError, match="written as 'kernelcal sketch' version 9"):
        Sketch.load(path)
    np.savez(path, settings=np.array(json.dumps({"format": "kernelcal sketch", "version": 1})))
    with pytest.raises(InputError, match=r"version 1, this reads 'kernelcal sketch' 2: make it again from what it was"):
        Sketch.load(path)
    np.save(tmp_path / "b.npy", np.zeros(3))
    path.write_bytes((tmp_path / "b.npy").read_bytes())
    with pytest.raises(InputError, match="damaged"):
        Sketch.load(path)
    np.savez(path, settings=np.array([{}], dtype=object))
    with pytest.raises(InputError, match="damaged"):
        Sketch.load(path)
    path.write_bytes(whole)
    with np.load(path) as file:
        arrays = dict(file)
    np.savez(path, **{**arrays, "/diagonal": arrays["/diagonal"][:-1]})
    with pytest.raises(InputError, match="arrays do not fit its settings"):
        Sketch.load(path)


CHANGED = {  # what a file says of the rows seen, of notes, of sums; None stands for text in the place of settings
    "next": ({"next": "30"}, {}, "rows that it says"),
    "next too small": ({"next": 3}, {}, "rows that it says"),
    "whole": ({"whole": "no"}, {}, "rows that it says"),
    "text as rows": ({}, {"starts": np.array(["a"])}, "rows that it says"),
    "rows that overlap": ({}, {"starts": np.array([0, 20]), "stops": np.array([25, 30])}, "rows that it says"),
    "more starts": ({}, {"starts": np.array([0, 20])}, "rows that it says"),
    "fewer rows than sums": ({}, {"stops": np.array([29])}, "rows that it says"),
    "sums of no rows": ({}, {"/n": np.array(0)}, "the number of rows"),
    "sums in floating point": ({}, {"/n": np.array(np.nan)}, "n of float64, not int64"),
    "digits that are not carried": ({}, {"/log_score": np.array([0, 2**40])}, "contradict each other, log_score"),
    "sums of another size": ({}, {"/covariance": np.zeros((36, 36), dtype=np.int64)}, "arrays do not fit"),
    "one number as totals": ({}, {"/totals": np.array(1.0)}, "arrays do not fit"),
    "a number": ({}, {"settings": np.array("5")}, "damaged"),
    "brackets without end": ({}, {"settings": np.array("[" * 100_000)}, "damaged"),
}


@pytest.mark.parametrize("name", CHANGED)
def test_files_that_contradict_themselves_are_refused(name, tmp_path):
    head, arrays, message = CHANGED[name]
    _sketch().update(*_class_rows(3, 30)).save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as file:
        whole = dict(file)
    settings = np.array(json.dumps({**json.loads(str(whole["settings"])), **head}))
    np.savez(tmp_path / "a.npz", **{**whole, "settings": settings, **arrays})
    with pytest.raises(InputError, match=message):
        Sketch.load(tmp_path / "a.npz")


def test_a_shape_that_no_memory_holds_is_refused(tmp_path):
    _sketch().update(*_class_rows(3, 30)).save(tmp_path / "a.npz")
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000, 20, 12)}".ljust(117) + b"\n"
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as file, file.open("x.npy", "w") as member:
        member.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    with pytest.raises(InputError, match="damaged"):
        Sketch.load(tmp_path / "a.npz")


def test_notes_of_a_file_are_text(tmp_path):
    _sketch().update(*_class_rows(3, 30)).save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as file:
        whole = dict(file)
    settings = np.array(json.dumps({**json.loads(str(whole["settings"])), "notes": [{"a": 1}]}))
    np.savez(tmp_path / "a.npz", **{**whole, "settings": settings})
    found = Sketch.load(tmp_path / "a.npz").update(*_class_rows(3, 30)).result()
    assert "{'a': 1}" in found.notes


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    _sketch().update(*_class_rows(3, 30)).save(path)
    before = path.read_bytes()

    def fails(file, **arrays):
        file.write(b"half")
        raise OSError("the disk is full")

    monkeypatch.setattr(np, "savez", fails)
    with pytest.raises(OSError, match="full"):
        _sketch().save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["a.npz"]
    assert path.read_bytes() == before


OTHERS = {
    "prediction kernel": lambda: Sketch(kc.Laplacian(0.31), engine=ENGINE, draws=19),
    "frequencies": lambda: Sketch(KERNEL, engine=kc.RandomFourier(13, rng=3), draws=19),
    "engine.rng": lambda: Sketch(KERNEL, engine=kc.RandomFourier(12, rng=4), draws=19),
    "draws": lambda: _sketch(20),
    "rng": lambda: _sketch(rng=1),
    "bins": lambda: _sketch(bins=10),
    "target kernel": lambda: _sketch(target_kernel=kc.FiniteKernel(NEAR)),
    "second moments": lambda: _sketch(second_moments=False),
}


@pytest.mark.parametrize("name", OTHERS)
def test_sketches_of_other_settings_are_not_merged(name):
    with pytest.raises(InputError, match=f"the sketches differ in {name}: "):
        _sketch().merge(OTHERS[name]())


def test_predictions_of_another_kind_are_refused_and_nothing_is_added():
    y, batch = _class_rows(3, 30)
    sketch = _sketch().update(y, batch)
    before = {name: x.copy() for name, x in sketch._sums.items()}
    for other, what in (
        (_one_probability(20), "family: Categorical and Bernoulli"),
        (_class_rows(4, 20), "columns: 3 and 4"),
        ((y, kc.Categorical(batch.probs, classes=[0, 1, 2])), "classes: None and"),
    ):
        with pytest.raises(InputError, match=f"these rows and those before differ in {what}"):
            sketch.update(*other)
        with pytest.raises(InputError, match=f"differ in {what}"):
            sketch.merge(_sketch().update(*other, first_row=99))
    with pytest.raises(InputError, match="row 29 was given twice"):
        sketch.update(y, batch, first_row=29)
    with pytest.raises(InputError, match="missing"):
        sketch.update([0.0, np.nan], batch[:2])
    assert all(np.array_equal(before[name], sketch._sums[name]) for name in before)
    assert sketch.update(y, batch).n == 60  # 30 to 59


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: Sketch(kc.Laplacian()).update(*_one_probability(9)), "must be a number before the pass begins"),
        (
            lambda: Sketch(KERNEL, Spectral(kc.Gaussian())).update(*_numbers(9)),
            "the lengthscale of Gaussian must be a number",
        ),
        (lambda: Sketch(KERNEL, kc.Gaussian(1.0)).update(*_numbers(9)), "target_kernel=kernelcal.kernels.PIT"),
        (lambda: Sketch(KERNEL, engine=kc.Nystrom(8)), "features of each row alone"),
        (lambda: Sketch("laplacian"), "prediction_kernel must be a kernel"),
        (
            lambda: Sketch(KERNEL, rng=None),
            "rng must be a seed, a whole number from 0: all parts of the data are given the",
        ),
        (
            lambda: Sketch(KERNEL, rng=-3),
            "rng must be a seed such as 0, a numpy.random.Generator or SeedSequence, or None, got -3",
        ),
        (lambda: Sketch(KERNEL, engine=kc.RandomFourier(8, rng=None)), "engine.rng must be a whole number"),
        (lambda: Sketch(KERNEL, draws=0), "draws must be a positive whole number, got 0"),
        (lambda: Sketch(KERNEL, bins=0), "bins must be a whole number, at least 1"),
        (lambda: Sketch(KERNEL + KERNEL), "Sum cannot be written to a file: use one of Gaussian"),
        (
            lambda: Sketch(kc.kernels.PowerExponential(0.3)).update(*_one_probability(9)),
            "not available for PowerExponential",
        ),
        (lambda: Sketch.like(kc.Samples(np.zeros((3, 4)))), "use calibration_test\\(..., null='swap'\\)"),
        (lambda: Sketch(KERNEL).result(), "has seen no rows: call update"),
        (lambda: Sketch(KERNEL).update([1], [0.5]).result(), "at least 2 rows, got 1"),
        (lambda: Sketch(KERNEL).result(2), "confidence_level must lie between 0 and 1"),
        (lambda: Sketch(KERNEL).result("a"), "confidence_level must lie between 0 and 1"),
        (lambda: Sketch(KERNEL).merge(3), "a sketch is merged with a sketch, got int"),
        (lambda: Sketch(KERNEL).update([1], [0.5], first_row=-1), "first_row must be a whole number from 0 to 45035"),
        (lambda: Sketch(KERNEL).update([1], [0.5], first_row=2**52), "from 0 to 4503599627370495, got 45035996273704"),
        (lambda: Sketch(KERNEL).update([1], [0.5], first_row=0, rows=[0]), "not both"),
        (lambda: Sketch(KERNEL).update([1, 0], [0.5, 0.5], rows=[3]), "rows must be 2 whole numbers"),
        (lambda: Sketch(KERNEL).update([1, 0], [0.5, 0.5], rows=[3, 3]), "row 3 was given twice"),
        (lambda: Sketch(KERNEL).update([1], [0.5], rows=[-3]), "rows must be whole numbers from 0"),
        (lambda: Sketch(KERNEL).update([1], [0.5], rows=np.array([2**60])), "take the remainder"),
    ],
)
def test_messages_name_the_cure(act, message):
    with pytest.raises(InputError, match=message):
        act()


def test_what_cannot_be_drawn_is_refused():
    with pytest.raises(InputError, match="cannot be drawn from"):
        Sketch(KERNEL, Spectral(kc.Gaussian(1.0))).update([0.0, 1.0], Score(lambda y: -y, n=2))


@pytest.mark.slow
@given(st.lists(st.lists(st.integers(0, 40), min_size=1, max_size=10, unique=True), min_size=1, max_size=8))
def test_row_sets_are_sets(parts):
    seen, expected = RowSet.of(), set()
    for part in parts:
        if expected & set(part):
            with pytest.raises(InputError, match=f"row ({'|'.join(map(str, expected & set(part)))}) was given twice"):
                seen.union(RowSet.of(np.array(part)))
        else:
            seen, expected = seen.union(RowSet.of(np.array(part))), expected | set(part)
    held = [row for start, stop in zip(seen.starts, seen.stops, strict=True) for row in range(start, stop)]
    assert held == sorted(expected)
    assert np.all(seen.starts[1:] > seen.stops[:-1])
    assert seen.next == max(expected) + 1


def test_too_many_ranges_are_said(monkeypatch):
    monkeypatch.setattr(rows, "_LIMIT", 3)
    y, batch = _one_probability(10)
    sketch = _sketch().update(y, batch, rows=np.arange(0, 20, 2))
    assert any("separate ranges" in note for note in sketch.result().notes)
    assert sketch.update(y, batch)._rows.next == 29  # counts on from the largest


def test_every_library_gives_the_same(backend):
    y, batch = _class_rows(3, 40)
    _same(_sketch().update(y, batch.probs), _sketch().update(y, backend(batch.probs)))


def test_single_precision_is_summed_in_double():
    y, batch = _class_rows(3, 40)
    single = kc.Categorical((batch.probs / batch.probs.sum(axis=1, keepdims=True)).astype(np.float32))
    found = _sketch().update(y, single)
    whole = _numbers_of(_sketch().update(y, batch))["totals"]
    np.testing.assert_allclose(_numbers_of(found)["totals"], whole, atol=2e-3)


def test_kernels_are_written_as_plain_values():
    for kernel in (
        kc.kernels.RationalQuadratic(0.5, alpha=0.8),
        kc.InverseMultiquadric(0.5, beta=-0.4, offset=1.5),
        kc.Laplacian(0.1 + 0.2, metric=kc.TotalVariation()),
        Spectral(kc.Matern32(2.0), 5, rng=4),
        kc.Dirac(),
    ):
        assert kernel_from_plain(json.loads(json.dumps(kernel_to_plain(kernel)))) == kernel
    back = kernel_from_plain(kernel_to_plain(kc.FiniteKernel(NEAR)))
    np.testing.assert_array_equal(back.matrix, NEAR)
    for wrong in ({"is": "system"}, "Dirac", {"is": "Gaussian"}, {"is": "Dirac", "more": 1}):
        with pytest.raises(InputError):
            kernel_from_plain(wrong)


def test_results_print():
    found = _sketch(99).update(*_class_rows(3, 200)).result()
    assert "p-value, exact" in repr(found)
    assert "ECE, top label, 15 equal-width bins" in found._repr_html_()
    json.dumps(found.to_dict(), allow_nan=False)
    assert (
        repr(_sketch())
        == "Sketch(Laplacian(lengthscale=0.3, metric=Euclidean()), frequencies=12, draws=19, rng=0, n=0)"
    )


def _same_bytes(x, y):
    return (x.dtype, x.shape, x.tobytes()) == (y.dtype, y.shape, y.tobytes())


def _altered(value):
    """Other values of the kind of a setting."""
    if isinstance(value, bool):
        return [not value, None]
    if isinstance(value, int | float):
        return [value + 1, -value - 1, None, "7", 1e400]
    if isinstance(value, str):
        return [value + "x", "", None, 3]
    if isinstance(value, dict):
        own = [{**value, name: other} for name, inner in value.items() for other in _altered(inner)]
        return [*own, {}, None, {**value, "more": 1}]
    if isinstance(value, list):
        return [[*value, *value], [None], None, 5] if value else [[1], None, "a"]
    return [5, "a", {"a": 1}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rows", "target"),
    [
        (lambda: _class_rows(3, 30), None),
        (lambda: _one_probability(30), None),
        (lambda: _numbers(30), Spectral(kc.Gaussian(1.0), 3)),
    ],
    ids=["classes", "one probability", "numbers"],
)
def test_any_single_alteration_of_a_file_is_refused(rows, target, tmp_path):
    path = tmp_path / "a.npz"
    sketch = _sketch(draws=9, target_kernel=target).update(*rows())
    sketch.save(path)
    assert Sketch.load(path).result().pvalue == sketch.result().pvalue
    with np.load(path) as file:
        whole = dict(file)
    head = json.loads(str(whole["settings"]))
    heads = [{**head, name: other} for name, value in head.items() if name != "notes" for other in _altered(value)]
    heads += [{name: value for name, value in head.items() if name != left} for left in head if left != "notes"]
    files = [{**whole, "settings": np.array(json.dumps(other))} for other in heads]
    for name, x in whole.items():
        if name == "settings":
            continue
        files.append({key: value for key, value in whole.items() if key != name})
        files += [{**whole, name: other} for other in (x * 2, x + 1, x.astype(np.float32), np.zeros(3), x[None], -x)]
        if x.size:
            one = x.copy()
            one.flat[-1] += 1
            files.append({**whole, name: one})
    files.append({**whole, "/more": np.zeros(2)})
    for arrays in files:
        if arrays.keys() == whole.keys() and all(_same_bytes(arrays[name], whole[name]) for name in whole):
            continue  # twice 0 is 0
        np.savez(path, **arrays)
        with pytest.raises(InputError, match=r"a\.npz"):
            Sketch.load(path)


def test_sums_that_contradict_each_other_are_refused_whatever_the_checksum_says(tmp_path):
    path = tmp_path / "a.npz"
    sketch = _sketch().update(*_class_rows(3, 30))
    for name, change, word in (
        ("totals", lambda x: 1000 * x, "totals and diagonal"),
        ("bins 0", lambda x: 2 * x, "bins 0"),
        ("predicted 0", lambda x: x + 10**6, "bins 0"),
        ("accuracy", lambda x: 99 * x, "accuracy"),
        ("brier_score", lambda x: x - 10**6, "brier_score"),
        ("labels", lambda x: x + 1, "labels"),
        ("impossible", lambda x: x - 1, "targets that were ruled out"),
        ("covariance", lambda x: -x, "covariance|moments"),
    ):
        sketch.save(path)
        other = Sketch.load(path)
        other._sums = {**other._sums, name: change(other._sums[name])}
        other.save(path)
        with pytest.raises(InputError, match=f"contradict each other, {word}"):
            Sketch.load(path)


def test_a_file_of_quantile_forecasts_gives_the_sketch_back(tmp_path):
    y = np.random.default_rng(0).normal(size=60)
    quantiles = kc.Quantiles(np.tile([-1.3, 0.0, 1.3], (60, 1)), [0.1, 0.5, 0.9])
    sketch = Sketch.like(quantiles, engine=ENGINE, draws=9).update(y, quantiles)
    sketch.save(tmp_path / "a.npz")
    assert Sketch.load(tmp_path / "a.npz").result().to_dict()["n"] == 60


def test_sketches_are_summed():
    y, batch = _class_rows(3, 60)
    whole = Sketch.like(batch, engine=ENGINE, draws=9)
    parts = [whole.empty().update(y[k : k + 20], batch[k : k + 20], first_row=k) for k in (0, 20, 40)]
    total = sum(parts)
    assert total.n == 60
    assert [part.n for part in parts] == [20, 20, 20]
    assert total.result().pvalue == whole.update(y, batch).result().pvalue
    with pytest.raises(TypeError, match="unsupported operand"):
        1 + parts[0]


def test_arrays_of_sketches_add_up_to_a_sketch():
    y, batch = _class_rows(3, 60)
    whole = Sketch.like(batch, engine=ENGINE, draws=9)
    halves = (slice(0, 25), slice(25, 60))
    first, second = (whole.empty().update(y[s], batch[s], first_row=s.start).arrays() for s in halves)
    rows = {name: np.append(first[name], second[name]) for name in ("starts", "stops")}
    both = {**{name: x + second[name] for name, x in first.items() if name not in rows}, **rows}
    total = whole.with_arrays(both)
    assert whole.n == 0
    assert total.result().pvalue == whole.update(y, batch).result().pvalue
    assert whole.empty().with_arrays(whole.empty().arrays()).n == 0
    with pytest.raises(InputError, match="row 0 was given twice"):
        whole.with_arrays({**both, "starts": np.zeros(2), "stops": np.array([25.0, 60.0])})
    with pytest.raises(InputError, match="its sums contradict each other"):
        whole.with_arrays({**both, "totals": 100 * both["totals"]})
    with pytest.raises(InputError, match=r"make it with Sketch\.like"):
        Sketch(kc.Laplacian(0.3)).with_arrays(both)
