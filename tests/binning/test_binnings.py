import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from hypothesis.extra.numpy import arrays

from kernelcal.binning import Binning, EdgeBins, EqualMassBins, MedianVarianceBins, QuantileBins, UniformBins
from kernelcal.binning.base import equal_rows
from kernelcal.errors import InputError

ONE = [
    UniformBins(7),
    UniformBins(7, closed="left"),
    EdgeBins([0, 0.2, 0.21, 1]),
    EdgeBins([0, 0.5, 1], lone_end=True),
    EdgeBins([0, 0.5, 1], closed="left", lone_end=True),
    EqualMassBins(4),
    QuantileBins(4),
    QuantileBins(4, closed="left", lone_end=True),
    MedianVarianceBins(3),
    MedianVarianceBins(1, max_bins=3),
]
SEVERAL = [b for b in ONE if not isinstance(b, EqualMassBins | QuantileBins)]


def column(values):
    return np.asarray(values, dtype=float)[:, None]


def partition(bins):
    return {frozenset(np.flatnonzero(bins.index == b).tolist()) for b in range(bins.size)} - {frozenset()}


probabilities = arrays(
    float, st.integers(12, 40), elements=st.sampled_from([0, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0, 0.33])
)


@pytest.mark.parametrize("binning", ONE, ids=str)
@given(p=probabilities, seed=st.integers(0, 99))
@pytest.mark.quick_cases(2)
def test_contract_for_one_probability(binning, p, seed):
    bins = binning.assign(column(p))
    assert isinstance(binning, Binning)
    assert bins.index.shape == p.shape
    assert 0 <= bins.index.min() <= bins.index.max() < bins.size == len(bins.lower) == len(bins.upper)
    assert bins.count.sum() == len(p)
    # equal values share a bin, and bins are in the order of the values
    order = np.argsort(p, kind="stable")
    assert np.all(np.diff(bins.index[order]) >= 0)
    assert np.all((np.diff(bins.index[order]) == 0) | (np.diff(p[order]) > 0))
    # edges hold what is inside
    inside = (p >= bins.lower[bins.index] - 1e-12) & (p <= bins.upper[bins.index] + 1e-12)
    assert inside.all()
    # a permutation of the rows permutes the bins
    shuffled = np.random.default_rng(seed).permutation(len(p))
    np.testing.assert_array_equal(binning.assign(column(p[shuffled])).index, bins.index[shuffled])


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("binning", SEVERAL, ids=str)
@given(seed=st.integers(0, 99), m=st.sampled_from([2, 3, 20]))
def test_contract_for_several(binning, seed, m):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(m, 0.3), 30)
    p[3] = p[4] = p[5]
    bins = binning.assign(p)
    assert bins.index.min() == 0
    assert bins.index.max() == bins.size - 1  # only bins that hold a row
    assert bins.count.min() >= 1
    assert bins.index[3] == bins.index[4] == bins.index[5]
    shuffled = rng.permutation(30)
    again = partition(binning.assign(p[shuffled]))
    assert {frozenset(shuffled[list(rows)].tolist()) for rows in again} == partition(bins)


@pytest.mark.parametrize("closed", ["right", "left"])
def test_uniform_rule_word_for_word(closed):
    p = np.concatenate([np.arange(101) / 100, np.random.default_rng(0).random(200), [0.1 * 3, 0.1 * 6, 0.1 * 7]])
    for bins in (1, 2, 3, 10, 15, 300):
        products = [bins * Fraction(x).limit_denominator(10**9) for x in p]  # k / B as it is meant
        if closed == "right":
            expected = [0 if x == 0 else math.ceil(x) - 1 for x in products]
        else:
            expected = [bins - 1 if x == bins else math.floor(x) for x in products]
        np.testing.assert_array_equal(UniformBins(bins, closed=closed).assign(column(p)).index, expected)


def test_uniform_edges_are_numbers_up_to_rounding():
    # 0.1 * 3 is the third of numpy.linspace(0, 1, 11), and one unit in the last place above 0.3
    assert UniformBins(10).assign(column([0.3, 0.1 * 3, 0.3 + 1e-14])).index.tolist() == [2, 2, 3]
    # a float32 that is meant to be 0.3 lies where 0.3 does
    assert UniformBins(10).assign(np.float32([[0.3], [0.7]])).index.tolist() == [2, 6]


def test_julia_uniform_index(julia):
    facts = julia["uniform_bin_index"]
    p, places = zip(*facts["scalar"], strict=True)
    assert (UniformBins(facts["nbins"]).assign(column(p)).index + 1).tolist() == list(places)
    p, places = map(np.array, zip(*facts["vector"], strict=True))
    for a in range(len(p)):
        for b in range(len(p)):
            bins = UniformBins(facts["nbins"]).assign(p[[a, b]].astype(float))
            assert (bins.index[0] == bins.index[1]) == np.array_equal(places[a], places[b])


@pytest.mark.parametrize("section", ["uniform_binning_partition", "median_variance_partition"])
def test_julia_partitions(julia, section):
    for case in julia[section]["cases"]:
        p = np.array(case["predictions"])
        binning = UniformBins(case["nbins"]) if "nbins" in case else MedianVarianceBins(case["minsize"])
        bins = binning.assign(p)
        expected = [frozenset(row - 1 for row in b["rows_1based"]) for b in case["bins"]]
        assert partition(bins) == set(expected)
        if section == "median_variance_partition":  # in the same order
            assert [frozenset(np.flatnonzero(bins.index == k).tolist()) for k in range(bins.size)] == expected


@pytest.mark.parametrize("m", [2, 10, 100])
@pytest.mark.parametrize("size", [1, 10, 100, 500, 1000])
def test_median_variance_invariants(m, size):
    p = np.random.default_rng(m).dirichlet(np.ones(m), 1000)
    assert MedianVarianceBins(size).assign(p).count.min() >= size
    assert MedianVarianceBins(1, max_bins=size).assign(p).size <= size
    if size <= 100:
        assert MedianVarianceBins(1, max_bins=size).assign(p).size == size


def naive_median_variance(p, min_size, max_bins):
    """Lists and sorting, in the words of the definition."""
    waiting, final = [list(range(len(p)))] if len(p) >= 2 * min_size else [], []
    if not waiting:
        return {frozenset(range(len(p)))}
    while waiting and len(waiting) + len(final) < max_bins:
        waiting.sort(key=lambda rows: p[rows].var(axis=0, ddof=1).max())
        rows = waiting.pop()
        k = p[rows].var(axis=0, ddof=1).argmax()
        x = sorted(p[rows, k])
        mid = len(x) // 2 + 1
        if x[mid - 2] < x[mid - 1]:
            low = sorted(rows, key=lambda r: p[r, k])[: mid - 1]
        else:
            low = [r for r in rows if p[r, k] < x[mid - 1]]
        high = [r for r in rows if r not in low]
        if min(len(low), len(high)) < min_size:
            final.append(rows)
            continue
        for part in (low, high):
            (waiting if len(part) >= 2 * min_size else final).append(part)
    return {frozenset(rows) for rows in waiting + final}


@given(seed=st.integers(0, 300), m=st.sampled_from([1, 3, 5]), min_size=st.integers(1, 6), limit=st.integers(1, 20))
def test_median_variance_equals_naive(seed, m, min_size, limit):
    rng = np.random.default_rng(seed)
    p = rng.random((41, 1)) if m == 1 else rng.dirichlet(np.ones(m), 41)
    if seed % 2:
        p[:25, 0] = p[0, 0]  # many equal to the median
    bins = MedianVarianceBins(min_size, max_bins=limit).assign(p)
    assert partition(bins) == naive_median_variance(p, min_size, limit)


def test_equal_mass_never_splits_ties():
    p = column([0.1] * 7 + [0.5] + [0.9] * 2)
    assert EqualMassBins(5).assign(p).index.tolist() == [0] * 7 + [1] + [2] * 2
    assert EqualMassBins(5).assign(column([0.8] * 10)).size == 1
    bins = EqualMassBins(4).assign(column(np.arange(100) / 100))
    assert bins.count.tolist() == [25] * 4
    assert bins.lower.tolist() == [0, 0.25, 0.5, 0.75]
    assert bins.upper.tolist() == [0.24, 0.49, 0.74, 0.99]


def test_equal_mass_weights_are_repetitions():
    rng = np.random.default_rng(3)
    p, w = rng.integers(0, 20, 60) / 20, rng.integers(0, 4, 60)
    weighted = EqualMassBins(6).assign(column(p), w / w.mean())
    repeated = EqualMassBins(6).assign(column(np.repeat(p, w)))
    assert partition_of_values(p[w > 0], weighted.index[w > 0]) == partition_of_values(np.repeat(p, w), repeated.index)
    assert weighted.index[p.argmax()] == weighted.index.max()


def partition_of_values(p, index):
    return {frozenset(p[index == b].tolist()) for b in np.unique(index)}


def test_equal_mass_at_exact_boundaries_with_equal_weights():
    p = column(np.arange(30) / 30)
    for weight in (1.0, 0.1, 1 / 3, 1e-7):
        w = np.full(30, weight)
        np.testing.assert_array_equal(
            EqualMassBins(15).assign(p, w / w.mean()).index, EqualMassBins(15).assign(p).index
        )


def test_lone_ends():
    p = column([0, 0.25, 0.5, 1])
    assert EdgeBins([0, 0.5, 1]).assign(p).index.tolist() == [0, 0, 0, 1]
    assert EdgeBins([0, 0.5, 1], lone_end=True).assign(p).index.tolist() == [0, 1, 1, 2]
    assert EdgeBins([0, 0.5, 1], closed="left").assign(p).index.tolist() == [0, 0, 1, 1]
    left = EdgeBins([0, 0.5, 1], closed="left", lone_end=True).assign(p)
    assert left.index.tolist() == [0, 0, 1, 2]
    assert list(zip(left.lower, left.upper, strict=True)) == [(0, 0.5), (0.5, 1), (1, 1)]


@given(rows=arrays(np.uint8, (25, 11), elements=st.integers(0, 2)))
def test_equal_rows_is_exact(rows):
    index, size = equal_rows(rows)
    groups = {tuple(row) for row in rows.tolist()}
    assert size == len(groups)
    assert len({(int(i), tuple(row)) for i, row in zip(index, rows.tolist(), strict=True)}) == size


def test_equal_rows_when_hashes_collide(monkeypatch):
    monkeypatch.setattr("kernelcal.binning.base._mixed", lambda words: 0 * words)
    index, size = equal_rows(np.array([[1, 2], [3, 4], [1, 2]]))
    assert size == 2
    assert index[0] == index[2] != index[1]


@pytest.mark.parametrize("bins", [0, -1, True, 2.5, "ten", None])
@pytest.mark.parametrize("binning", [UniformBins, EqualMassBins, QuantileBins])
def test_bad_number_of_bins(binning, bins):
    with pytest.raises(InputError, match=r"bins must be a whole number, at least 1, got .*for example"):
        binning(bins)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MedianVarianceBins(0), r"min_size must be a whole number, at least 1, got 0"),
        (lambda: MedianVarianceBins(10, max_bins=0), r"max_bins must be .* or None for no limit"),
        (lambda: UniformBins(5, closed="both"), r"closed must be 'right' or 'left', got 'both'"),
        (lambda: EdgeBins([0, 0.5]), r"edges must rise from 0 to 1, for example \[0, 0.5, 0.9, 1\]"),
        (lambda: EdgeBins([0, 0.5, 0.5, 1]), r"edges must rise"),
        (lambda: EdgeBins("abc"), r"edges must rise"),
        (lambda: MedianVarianceBins(10).assign(np.ones((4, 1))), r"needs at least 10 rows, got 4: lower min_size"),
        (lambda: QuantileBins(3).assign(np.ones((4, 1)), np.ones(4)), r"no case weights: use EqualMassBins"),
        (
            lambda: EqualMassBins(3).assign(np.ones((4, 3)) / 3),
            r"has 3 a row: use UniformBins\(\) or MedianVarianceBins",
        ),
        (lambda: QuantileBins(3).assign(np.ones((4, 3)) / 3), r"QuantileBins orders the values of one probability"),
    ],
)
def test_messages(make, message):
    with pytest.raises(InputError, match=message):
        make()
