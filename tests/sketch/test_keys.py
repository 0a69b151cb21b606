"""Rows that are known by keys: the same answer for any order and partition, keys that come twice."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.stats import binom

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.io.columns import identities
from kernelcal.sketch import Sketch, rows
from kernelcal.sketch.rows import KeySet

KERNEL, ENGINE = kc.Laplacian(0.3), kc.RandomFourier(12, rng=3)


def rows_of(n, seed=0, power=1.0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([0.7, 0.7, 0.7], n)
    q = p**power
    return kc.Categorical(q / q.sum(axis=1, keepdims=True)).sample(rng)[0], kc.Categorical(p)


def sketch(draws=19, **options):
    return Sketch(KERNEL, **{"engine": ENGINE, "draws": draws, **options})


# ---- sketches


@pytest.mark.slow
@settings(max_examples=12)
@given(st.lists(st.integers(1, 89), max_size=6), st.randoms(use_true_random=False))
def test_any_order_and_partition_give_the_same(cuts, random):
    y, batch = rows_of(90)
    names = np.array([f"row {k}" for k in range(90)])
    whole = sketch().update(y, batch, keys=names)
    order = np.array(random.sample(range(90), 90))
    total = sketch()
    for start, stop in reversed(list(pairwise([0, *sorted(set(cuts)), 90]))):
        part = order[start:stop]
        total = sketch().update(y[part], batch[part], keys=names[part]) + total
    assert (total.n, total.result().pvalue) == (90, whole.result().pvalue)
    for name, x in whole._sums.items():
        np.testing.assert_array_equal(total._sums[name], x, err_msg=name)
    assert total.to_bytes() == whole.to_bytes()


def test_keys_of_several_columns_and_numbers_are_other_draws():
    y, batch = rows_of(60)
    many = {"station": np.repeat(["a", "b"], 30), "day": np.tile(np.arange(30), 2)}
    first = sketch(99).update(y, batch, keys=many)
    second = sketch(99).update(y, batch, keys=np.arange(60))
    third = sketch(99).update(y, batch)
    np.testing.assert_array_equal(first._sums["totals"][:, 0], second._sums["totals"][:, 0])
    assert len({s._sums["totals"][0, 1, 0] for s in (first, second, third)}) == 3


def test_bytes_and_files_give_the_sketch_back(tmp_path):
    y, batch = rows_of(40)
    first = sketch().update(y[:25], batch[:25], keys=np.arange(25))
    first.save(tmp_path / "a.npz")
    content = first.to_bytes()
    for back in (Sketch.load(tmp_path / "a.npz"), Sketch.from_bytes(content), first.with_arrays(first.arrays())):
        assert back.to_bytes() == content
        with pytest.raises(InputError, match="a row of one part has the same key as a row of the other: a row has one"):
            back.merge(first)
        assert back.update(y[25:], batch[25:], keys=np.arange(25, 40)).n == 40
    with pytest.raises(InputError, match=r"^these bytes of a sketch is not a sketch|^these bytes of a sketch"):
        Sketch.from_bytes(content[:-900])
    with pytest.raises(InputError, match="these bytes of a sketch are expected as bytes, got str"):
        Sketch.from_bytes("text")
    numbered = sketch().update(y, batch)
    assert Sketch.from_bytes(numbered.to_bytes()).next_row == 40


def test_altered_keys_are_refused(tmp_path):
    y, batch = rows_of(9)
    first = sketch().update(y, batch, keys=np.arange(9))
    for wrong in (np.zeros(9, dtype=np.uint64), np.arange(8, dtype=np.uint64), np.arange(9.0)):
        first._rows = KeySet(wrong)
        with pytest.raises(InputError, match="the keys that it says it has seen are not those of its sums"):
            Sketch.from_bytes(first.to_bytes())


def test_keys_and_numbers_are_not_mixed():
    y, batch = rows_of(9)
    with pytest.raises(InputError, match="rows seen are known by their keys, and these by numbers, so that rows"):
        sketch().update(y, batch, keys=np.arange(9)).update(y, batch)
    with pytest.raises(InputError, match="rows seen are known by their numbers, and these by keys"):
        sketch().update(y, batch).merge(sketch().update(y, batch, keys=np.arange(9)))
    with pytest.raises(InputError, match=r"pass keys, or numbers of the rows \(first_row or rows\), not both"):
        sketch().update(y, batch, keys=np.arange(9), first_row=0)
    with pytest.raises(InputError, match="8 keys were given with 9 rows: give one key a row"):
        sketch().update(y, batch, keys=np.arange(8))
    assert (sketch() + sketch().update(y, batch, keys=np.arange(9)) + sketch()).n == 9


# ---- keys that come twice


def test_keys_that_come_twice_are_refused_with_the_row():
    y, batch = rows_of(9)
    with pytest.raises(InputError, match=r"row 5 has the same key as row 2: .* Name further columns"):
        sketch().update(y, batch, keys=np.array([0, 1, 7, 3, 4, 7, 6, 8, 9]))
    seen = sketch().update(y, batch, keys=np.arange(9))
    with pytest.raises(InputError, match="row 4 has the same key as a row that was given before"):
        seen.update(y, batch, keys=np.array([20, 21, 22, 23, 3, 25, 26, 27, 28]))
    assert seen.n == 9


def test_of_many_keys_the_same_ones_are_compared_in_any_order(monkeypatch):
    """What is kept are the smallest identities of all: parts in any brackets keep the same."""
    monkeypatch.setattr(rows, "_HELD", 50)
    ids = identities({"id": np.arange(1000)})
    whole = KeySet.of(ids)
    assert whole.smallest.tolist() == sorted(ids.tolist())[:50]
    assert not whole.whole
    for parts in (np.split(ids, [10, 500]), np.split(ids[::-1], [333, 350, 900])):
        total = KeySet.of()
        for part in parts:
            total = total.union(KeySet.of(part))
        assert total.smallest.tolist() == whole.smallest.tolist()
        assert (total.whole, total.said) == (False, whole.said)
    twice = whole.smallest[:1]
    with pytest.raises(InputError, match="row 0 has the same key"):
        whole.union(KeySet.of(twice), twice)
    unseen = ids[ids > whole.smallest[-1]][:1]
    whole.union(KeySet.of(unseen), unseen)  # it is not seen, and the note says so


def test_the_note_says_that_not_all_keys_were_compared(monkeypatch):
    y, batch = rows_of(90)
    assert not any(
        "known by their keys" in note for note in sketch().update(y, batch, keys=np.arange(90)).result().notes
    )
    monkeypatch.setattr(rows, "_HELD", 50)
    found = sketch().update(y, batch, keys=np.arange(90))
    assert "would have been seen if they were more than about 1 in 3,500" in found.result().notes[-1]
    assert Sketch.from_bytes(found.to_bytes()).result().notes == found.result().notes


def test_the_share_of_the_note():
    """One key in 3,500 twice: none among those kept with probability 1 in 100."""
    assert pytest.approx(0.01, rel=0.1) == (1 - 1 / 3500) ** rows._HELD


def pvalues(runs, make, monkeypatch):
    """P-values of calibrated rows whose keys come twice; the check that refuses them is taken away."""
    monkeypatch.setattr(KeySet, "of", classmethod(lambda cls, keys=None: cls(np.zeros(0, dtype=np.uint64))))
    found = []
    for run in range(runs):
        y, p, ids = make(np.random.default_rng(run))
        own = Sketch(KERNEL, engine=kc.RandomFourier(8), draws=19, rng=run, second_moments=False)
        found.append(own.update(y, p, keys=ids).result().pvalue)
    return np.array(found)


@pytest.mark.slow
def test_the_level_with_keys():
    """Calibrated rows, in any order: p <= a as often as a, by a binomial bound of 1 in 10,000."""
    rng, found = np.random.default_rng(0), []
    p = rng.beta(0.3, 0.5, 40)
    for run in range(400):
        y, order = (rng.random(40) < p).astype(int), rng.permutation(40)
        own = Sketch(KERNEL, engine=kc.RandomFourier(6), draws=19, rng=run, second_moments=False)
        found.append(own.update(y[order], p[order], keys=order).result().pvalue)
    for level in (0.05, 0.2, 0.5):
        low, high = binom.ppf([5e-5, 1 - 5e-5], 400, level)
        assert low <= (np.array(found) <= level + 1e-9).sum() <= high


@pytest.mark.slow
def test_what_keys_that_come_twice_do_to_the_level(monkeypatch):
    """A row written twice has its outcome twice, and so do draws: exact. Other outcomes: far fewer rejections."""
    copies = np.tile(np.arange(40), 2)

    def written_twice(rng):
        p = rng.beta(0.5, 0.5, 40)
        return (rng.random(40) < p).astype(int)[copies], p[copies], copies

    def other_outcomes(rng):
        p = rng.beta(0.5, 0.5, 40)[copies]
        return (rng.random(80) < p).astype(int), p, copies

    twice, other = (pvalues(400, make, monkeypatch) for make in (written_twice, other_outcomes))
    for level in (0.05, 0.2, 0.5):
        low, high = binom.ppf([5e-5, 1 - 5e-5], 400, level)
        assert low <= (twice <= level + 1e-9).sum() <= high
    assert (other <= 0.2 + 1e-9).sum() < binom.ppf(5e-5, 400, 0.2)
