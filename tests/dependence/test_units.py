"""Units: which rows lie in one, and which pairs are left out, against loops over pairs."""

import numpy as np
import pytest

from kernelcal.dependence import Dependence, DependentUnits


def of_series(seed=0, n=90, h=4):
    """Three series of different lengths with gaps, rows in any order."""
    rng = np.random.default_rng(seed)
    series = np.repeat([0, 1, 2], [n // 2, n // 3, n - n // 2 - n // 3])
    time = np.concatenate([np.sort(rng.choice(2 * k, k, replace=False)) for k in np.bincount(series)])
    order = rng.permutation(n)
    return Dependence.of(n, time=time[order], horizon=h, series=series[order])


def of_clusters(seed=0):
    rng = np.random.default_rng(seed)
    return Dependence.of(60, clusters=rng.integers(0, 13, 60))


def left_out_by_loops(units, rows):
    """Whether two rows are of one unit, or of one series and less than h steps apart, in the order of units."""
    there, n = rows[units.order], len(rows)
    found = np.zeros((n, n), dtype=bool)
    for i in range(n):
        for j in range(n):
            near = rows.clusters is None and there.series[i] == there.series[j]
            near = near and abs(there.time[i] - there.time[j]) < rows.horizon
            found[i, j] = near or units.unit[i] == units.unit[j]
    return found


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("length", [0, 5, 19, 400])
def test_what_is_left_out_beside_a_row_is_a_run_of_rows(seed, length):
    rows = of_series(seed) if length else of_clusters(seed)
    units = DependentUnits.stretches(rows, length) if length else DependentUnits.clusters(rows)
    wanted = left_out_by_loops(units, rows)
    place = np.arange(len(rows))
    found = (place >= units.first[:, None]) & (place < units.last[:, None])
    assert (found == wanted).all()
    strip = np.ones((20, len(rows)))
    units.leave_out(strip, 7)
    assert ((strip == 0) == wanted[7:27]).all()
    w = np.random.default_rng(seed).uniform(0.5, 2, len(rows))
    assert units.left_out(w) == pytest.approx(w @ wanted @ w)
    following = np.array(
        [(w @ (wanted & (units.unit[:, None] == g) & (units.unit == g + 1)) @ w) for g in range(len(units))]
    )
    np.testing.assert_allclose(units.next_to(w), following, atol=1e-12)
    assert not (wanted & (units.unit[:, None] + 1 < units.unit)).any()  # only units that follow each other


def test_units_are_clusters_or_stretches_of_two_horizons():
    rows = of_series(h=3)
    units = DependentUnits.of(rows)
    there = rows[units.order]
    assert units.length == 6
    assert units.name == "stretches of 6 steps"
    for g in range(len(units)):
        part = units.unit == g
        assert len(set(there.series[part])) == 1
        assert np.ptp(there.time[part]) < 12  # at least 6 and less than twice as many steps
    assert sorted(units.order) == list(range(90))
    assert len(DependentUnits.of(of_clusters())) == of_clusters().groups
    assert DependentUnits.of(Dependence.of(10, horizon=1)) is None
    assert DependentUnits.of(Dependence.of(12, horizon=2)).sorted
    np.testing.assert_array_equal(DependentUnits.of(Dependence.of(12, horizon=2)).sizes, [4, 4, 4])


@pytest.mark.parametrize("rows", [of_clusters(3), of_series(3)], ids=["clusters", "series"])
def test_blocks_hold_rows_of_different_units_and_groups_share_none(rows):
    units = DependentUnits.of(rows)
    unit_of = np.empty(len(rows), dtype=int)
    unit_of[units.order] = units.unit
    taken, group = units.layers(3)
    blocks = unit_of[taken].reshape(-1, 3)
    assert len(set(taken.tolist())) == len(taken)
    assert len(blocks) == len(group)
    for block, number in zip(blocks, group, strict=True):
        assert len(set(block)) == 3
        assert set(block) == set(blocks[np.flatnonzero(group == number)[0]])
    used = [set(blocks[group == k].ravel()) for k in set(group)]
    assert sum(map(len, used)) == len(set.union(*used))
    assert units.layers(len(units) + 1)[0].size == 0


def test_effective_units_are_those_of_loops():
    units = DependentUnits.clusters(Dependence.of(6, clusters=[0, 0, 0, 1, 2, 2]))
    sums = [sum(1.0 if i == j else 0.4 for i in range(m) for j in range(m)) for m in (3, 1, 2)]
    assert units.effective(0.4) == pytest.approx(sum(sums) ** 2 / sum(s**2 for s in sums))


@pytest.mark.parametrize("sizes", [[5] * 30, [40, *[2] * 30], [1, 2, 3, 4, 5, 6, 7, 8], [30] * 10])
def test_thinned_clusters_have_no_two_rows_of_one(sizes):
    of = np.random.default_rng(1).permutation(np.repeat(np.arange(len(sizes)), sizes))
    subsets = Dependence.of(len(of), clusters=of).thinned
    kept = np.concatenate(subsets)
    assert len(set(kept.tolist())) == len(kept)
    assert max(map(len, subsets)) - min(map(len, subsets)) <= 1
    for rows in subsets:
        assert len(set(of[rows])) == len(rows)
    best = max(range(1, min(max(sizes), 20) + 1), key=lambda m: sum(min(s, m) for s in sizes) / m**0.5)
    assert len(subsets) == best
    assert len(kept) == sum(min(s, best) for s in sizes)
