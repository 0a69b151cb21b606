"""Money of experts against the recursions as they are written."""

import numpy as np
import pytest

from kernelcal.monitor.wealth import Wealth, _running_log_sums, log_sums


def plain_wealth(weights, bets):
    """Money by the recursions as they are written."""
    ever, drift, reserve = weights / 2, np.zeros(len(weights)), 0.5
    for t, e in enumerate(bets, 1):
        spent = reserve / (t + 1)
        ever, drift = e * (ever + weights * spent), e * (drift + 1)
        reserve -= spent
        yield ever.sum() + reserve, weights @ drift


@pytest.mark.parametrize("cuts", [[40], [1] * 40, [7, 13, 20]])
def test_money_is_that_of_the_recursions(cuts):
    rng = np.random.default_rng(1)
    weights, bets = np.array([0.5, 0.3, 0.2]), rng.lognormal(0, 0.5, (40, 3))
    expected = np.array([*plain_wealth(weights, bets)])
    wealth, found, done = Wealth.begin(weights), [], 0
    for cut in cuts:
        found.append(np.stack(wealth.add(np.log(bets[done : done + cut])), axis=1))
        done += cut
    np.testing.assert_allclose(np.exp(np.concatenate(found)), expected, rtol=1e-10)
    assert np.exp(wealth.log_evalue) == pytest.approx(expected[-1, 0])
    sums = np.concatenate([np.zeros((1, 3)), np.log(bets).cumsum(axis=0)])
    np.testing.assert_allclose(wealth.began, sums.argmin(axis=0))


def test_sums_of_logarithms_are_those_of_numpy():
    rng = np.random.default_rng(0)
    for spread in (1.0, 50.0, 2000.0):
        logs = rng.normal(size=(60, 5)) * spread
        logs[0, :2] = -np.inf
        np.testing.assert_allclose(_running_log_sums(logs), np.logaddexp.accumulate(logs, axis=0), rtol=1e-12)
        np.testing.assert_allclose(log_sums(logs), np.logaddexp.reduce(logs, axis=1), rtol=1e-12)
    assert log_sums(np.full(3, -np.inf)) == -np.inf


def test_the_way_is_thinned_evenly():
    wealth = Wealth.begin(np.ones(1))
    for _ in range(9):
        wealth.add(np.zeros((100, 1)))
    assert len(wealth.marks) <= 128
    np.testing.assert_array_equal(wealth.marks, np.arange(0, 901, wealth.step))


@pytest.mark.slow
def test_the_interval_of_a_change_is_the_richest_part_of_what_all_experts_would_own():
    """Row by row: money put on all after row k, of those who learn the geometric mean with their best row."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        weights, bets = np.array([0.5, 0.3, 0.2]), rng.normal(0, 0.4, (90, 3))
        bets[:50] -= 0.1
        bets[50:, [0, 2]] += 0.2
        wealth = Wealth.begin(weights)
        wealth.add(bets)
        money = np.zeros(91)
        for k in range(91):
            for i in range(3):
                own = np.exp(bets[k:, i].sum())
                best = max(np.exp(bets[j:, i].sum()) for j in range(91))
                money[k] += weights[i] * (np.sqrt(own * best) if i == 2 else own)
        taken, rows = 0.0, []
        for k in np.argsort(-money):
            rows.append(k)
            taken += money[k]
            if taken >= 0.98 * money.sum():
                break
        began, low, high = wealth.change(np.array([False, False, True]))
        assert (low, high) == (min(*rows, began), max(*rows, began))
        assert 3 < high - low < 85


def test_the_interval_of_a_change_holds_it_wherever_it_lies_in_a_stretch():
    """Of a long way stretches are kept: a change just before the end of one is not put into the next."""
    held = shown = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        change = 2**13 - rng.integers(0, 40)  # of stretches of 128 rows
        x = rng.normal(np.where(np.arange(2**13 + 300) < change, 0.0, 0.7))
        wealth = Wealth.begin(np.ones(1))
        wealth.add((0.7 * x - 0.245)[:, None])
        began, low, high = wealth.change()
        assert low <= began <= high
        held += low <= change <= high
        shown += high - low < 512
    assert wealth.step == 128
    assert held >= 35
    assert shown >= 35  # and says something


@pytest.mark.parametrize("cuts", [[1000], [1, 499, 500], [300, 7, 693]])
def test_stretches_hold_the_likelihood_of_all_their_rows(cuts):
    rng = np.random.default_rng(4)
    bets, wealth = rng.normal(size=(1000, 2)), Wealth.begin(np.ones(2) / 2)
    for part in np.split(bets, np.cumsum(cuts)[:-1]):
        wealth.add(part)
    way = np.concatenate([np.zeros((1, 2)), bets.cumsum(axis=0)])
    expected = [-np.logaddexp.reduce(-way[k : k + wealth.step]) for k in wealth.marks]
    np.testing.assert_allclose(wealth.ways, expected)


def test_money_of_shards_one_after_the_other_is_a_product_of_bets():
    """All the money that the first shard left is bet by the second: experts go on, the reserve is spread anew."""
    rng = np.random.default_rng(2)
    weights, one, two = np.array([0.6, 0.4]), rng.lognormal(0, 0.5, (12, 2)), rng.lognormal(0, 0.5, (9, 2))
    first, second = Wealth.begin(weights), Wealth.begin(weights)
    first.add(np.log(one))
    second.add(np.log(two))
    joined = second.after(first)
    products = two.prod(axis=0)
    by_hand = (np.exp(first.ever) * products).sum() + np.exp(first.log_reserve) * np.exp(second.log_evalue)
    assert np.exp(joined.log_evalue) == pytest.approx(by_hand)
    np.testing.assert_allclose(np.exp(joined.drift), np.exp(first.drift) * products + np.exp(second.drift))
    beside = first.beside(second)
    assert np.exp(beside.log_evalue) == pytest.approx((np.exp(first.log_evalue) + np.exp(second.log_evalue)) / 2)
    assert np.exp(beside.log_drift) == pytest.approx((np.exp(first.log_drift) + np.exp(second.log_drift)) / 2)
    np.testing.assert_allclose(beside.ways[-1], beside.logs)  # the way of the larger one goes on from the mean
    np.testing.assert_allclose(beside.logs - beside.least, first.logs - first.least)
