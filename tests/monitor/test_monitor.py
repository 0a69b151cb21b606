"""The monitor against plain products of bets, files, batches in any cut, and false alarms."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import binom

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.monitor import Monitor
from kernelcal.monitor.cells import bets_of, kind_of
from kernelcal.monitor.lanes import experts_of
from kernelcal.monitor.learners import Kernels, Learner
from kernelcal.monitor.wealth import Wealth
from kernelcal.predictions import Poisson, Quantiles, Samples

LEVELS = [0.1, 0.25, 0.5, 0.75, 0.9]
SCORES = np.array([-1.2816, -0.6745, 0.0, 0.6745, 1.2816])


def binary(rng, n, slope=1.0, shift=0.0):
    p = rng.uniform(size=n)
    return rng.random(n) < expit(slope * logit(p) + shift), kc.Bernoulli(p)


def classes(rng, n, power=1.0):
    q = rng.dirichlet([0.7] * 4, n)
    p = q**power / (q**power).sum(axis=1, keepdims=True)
    return (q.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, 3), kc.Categorical(p)


def normal(rng, n, factor=1.0, shift=0.0):
    m, s = 2 * rng.normal(size=n), rng.uniform(0.5, 2, n)
    return m + s * (shift + factor * rng.normal(size=n)), kc.Normal(m, s)


def quantiles(rng, n, factor=1.0):
    y, batch = normal(rng, n, factor)
    return y, Quantiles(batch.mean[:, None] + batch.std[:, None] * SCORES, LEVELS)


def ensembles(rng, n, factor=1.0):
    m = 2 * rng.normal(size=n)
    return m + factor * rng.normal(size=n), Samples(m[:, None] + rng.normal(size=(n, 9)))


def counts(rng, n, factor=1.0):
    rate = rng.uniform(0.5, 6, n)
    return rng.poisson(factor * rate), Poisson(rate)


KINDS = {f.__name__: f for f in (binary, classes, normal, quantiles, ensembles, counts)}
WRONG = {
    "binary": lambda rng, n: binary(rng, n, 0.5),
    "classes": lambda rng, n: classes(rng, n, 2.5),
    "normal": lambda rng, n: normal(rng, n, 1.4),
    "quantiles": lambda rng, n: quantiles(rng, n, 1.6),
    "ensembles": lambda rng, n: ensembles(rng, n, 1.5),
    "counts": lambda rng, n: counts(rng, n, 1.3),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_bet_has_mean_one_under_the_prediction(kind):
    """Over all cells ``sum p e = 1`` for every expert, before and after it has learned."""
    rng = np.random.default_rng(0)
    case = Case.of(*KINDS[kind](rng, 60))
    told = kind_of(case)
    bets, experts = bets_of(case, told, rng.random(60))[0], experts_of(told)
    for _ in range(2):
        total = np.zeros((60, sum(one.number for one in experts)))
        for cell in range(told.cells):
            at = np.full(60, cell)
            moved = replace(bets, low=at, high=at)
            logs = np.concatenate([one.log_bets(moved) for one in experts], axis=1)
            total += bets.p[:, [cell]] * np.exp(logs)
        np.testing.assert_allclose(total, 1, atol=1e-9)
        for one in experts:
            if isinstance(one, Learner):
                one.learn(bets)


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


def test_learning_is_ridge_regression_by_newton_steps():
    """One block of kernel experts for two classes against the normal equations written out."""
    rng = np.random.default_rng(3)
    case = Case.of(*binary(rng, 50, 0.5))
    kind = kind_of(case)
    bets, kernels = bets_of(case, kind, rng.random(50))[0], Kernels(kind)
    kernels.learn(bets)
    p, y = bets.features[:, 0], case.targets
    for at, (length, tau) in zip(
        np.ndindex(3, 4), itertools.product((0.05, 0.2, 0.8), (0.3, 1.0, 0.3, 1.0)), strict=True
    ):
        frequencies = np.tan(np.pi / 2 * (np.arange(32) + 0.5) / 32) / length
        phi = np.concatenate([np.cos(np.outer(p, frequencies)), np.sin(np.outer(p, frequencies))], axis=1) / np.sqrt(32)
        precision = np.eye(64) / tau**2 + (phi * (p * (1 - p))[:, None]).T @ phi
        np.testing.assert_allclose(kernels.w[at][0], np.linalg.solve(precision, phi.T @ (y - p)), atol=1e-10)
        near = np.exp(-np.abs(p[:, None] - p) / length)
        assert np.abs(phi @ phi.T - near).max() < 0.35  # 32 frequencies


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_predictions_raise_an_alarm_and_any_cut_of_batches_is_the_same(kind):
    rng = np.random.default_rng(4)
    y, batch = WRONG[kind](rng, 600)
    whole = Monitor().update(y, batch)
    assert whole.alarm is not None
    assert whole.evalue > 20
    if kind in ("ensembles", "counts"):
        return  # ties are broken by batch
    parts = Monitor()
    for rows in np.split(np.arange(600), [1, 2, 50, 51, 333]):
        parts.update(y[rows], batch[rows])
    assert parts.alarm.row == whole.alarm.row
    assert parts.log_evalue == pytest.approx(whole.log_evalue, rel=1e-9)
    assert parts.changepoint == whole.changepoint


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda rng: binary(rng, 800, 0.5), ["over-confident", "times the predicted logit"]),
        (lambda rng: binary(rng, 800, 2.0), ["under-confident"]),
        (lambda rng: binary(rng, 800, 1.0, 0.6), ["class 1 happens more often"]),
        (lambda rng: binary(rng, 800, 1.0, -0.6), ["class 1 happens less often"]),
        (lambda rng: classes(rng, 800, 2.0), ["over-confident"]),
        (lambda rng: classes(rng, 800, 0.5), ["under-confident"]),
        (lambda rng: normal(rng, 800, 1.4), ["over-confident", "times as wide"]),
        (lambda rng: normal(rng, 800, 0.7), ["under-confident"]),
        (lambda rng: normal(rng, 800, 1.0, 0.4), ["above the predictions"]),
        (lambda rng: normal(rng, 800, 1.0, -0.4), ["below the predictions"]),
        (lambda rng: ensembles(rng, 800, 1.5), ["over-confident"]),
    ],
)
def test_directions_are_those_of_a_known_truth(make, words):
    for seed in range(3):
        found = Monitor().update(*make(np.random.default_rng(seed))).direction
        assert all(word in found for word in words), found
        opposite = {"over-confident": "under-confident", "above": "below", "more often": "less often"}
        for one, other in (*opposite.items(), *((b, a) for a, b in opposite.items())):
            if any(one in word for word in words):
                assert other not in found


def test_a_change_is_found_where_it_began():
    rng = np.random.default_rng(5)
    monitor = Monitor()
    for day in range(14):
        monitor.update(*binary(rng, 150, 1.0 if day < 8 else 0.4))
    began, low, high = monitor.changepoint
    assert low <= 1200 <= high
    assert abs(began - 1200) < 150
    assert monitor.alarm.row > 1200
    assert "Alarm" in monitor.verdict


def test_files_keep_everything_and_days_count_once(tmp_path):
    rng, path = np.random.default_rng(6), tmp_path / "state.npz"
    days = [classes(rng, 90, 1.6) for _ in range(6)]
    whole = Monitor(alpha=0.01)
    for day, data in enumerate(days):
        whole.update(*data, key=day)
    Monitor(alpha=0.01).save(path)
    for day, data in enumerate([days[0], *days]):  # the first day twice
        monitor = Monitor.load(path)
        monitor.update(*data, key=max(day - 1, 0))
        monitor.save(path)
    again = Monitor.load(path)
    assert again.to_dict() == whole.to_dict()
    assert [look[0] for look in again.history] == [str(day) for day in range(6)]
    text = path.read_bytes()
    path.write_bytes(text[:-200])
    with pytest.raises(InputError, match="not a monitor, or it is damaged"):
        Monitor.load(path)
    kc.Sketch(prediction_kernel=kc.Laplacian(0.2)).save(path)
    with pytest.raises(InputError, match="kernelcal sketch"):
        Monitor.load(path)


def test_what_is_altered_is_refused(tmp_path):
    path = tmp_path / "state.npz"
    Monitor().update(*binary(np.random.default_rng(0), 50)).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    arrays["/0/wealth/ever"] = arrays["/0/wealth/ever"] + 1.0
    np.savez(path, **arrays)
    with pytest.raises(InputError, match="altered"):
        Monitor.load(path)


def test_a_batch_that_is_refused_changes_nothing():
    rng = np.random.default_rng(7)
    monitor = Monitor().update(*binary(rng, 100), key="a")
    before = monitor.to_dict()
    for wrong, word in (
        (lambda: monitor.update(*classes(rng, 10)), "begin another one"),
        (lambda: monitor.update([0, 1, 2], [0.1, 0.2, 0.3]), "label"),
        (lambda: monitor.update(*binary(rng, 10), clusters=np.arange(10)), "one row of each cluster"),
        (lambda: monitor.update(*binary(rng, 10), weights=np.ones(10)), "no place in a bet"),
        (lambda: Monitor(alpha=2), "between 0 and 1"),
        (lambda: Monitor(horizon=0), "1 or more"),
    ):
        with pytest.raises(InputError, match=word):
            wrong()
    assert monitor.update(*binary(rng, 100), key="a").to_dict() == before


def test_an_impossible_outcome_is_proof():
    monitor = Monitor().update([0, 1, 1], [0.2, 0.0, 0.5])
    assert monitor.alarm.row == 2


def test_shards_merge_and_nothing_counts_twice():
    rng = np.random.default_rng(8)
    one, two = Monitor().update(*binary(rng, 300, 0.5), key="a"), Monitor().update(*binary(rng, 300, 0.5), key="b")
    apart = max(one.log_evalue, two.log_evalue)
    assert one.merge(two).log_evalue > apart
    assert one.rows == 600
    with pytest.raises(InputError, match="counts twice"):
        one.merge(two)
    one.update(*binary(rng, 50, 0.5))
    first, second = (Monitor().update(*binary(rng, 100)) for _ in range(2))
    mean = (first.evalue + second.evalue) / 2
    assert first.merge(second, "beside").evalue == pytest.approx(mean)


def test_overlapping_horizons_are_watched_in_lanes():
    rng = np.random.default_rng(9)
    y, batch = binary(rng, 900, 0.4)
    lanes = Monitor(horizon=3).update(y, batch)
    alone = [Monitor().update(y[k::3], batch[k::3]).log_evalue for k in range(3)]
    assert lanes.log_evalue == pytest.approx(max(alone) - np.log(3))
    assert lanes.alarm is not None


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_false_alarms_ever_are_rare(kind):
    """In 60 streams of 800 rows, looked at after every row."""
    alarms = sum(
        Monitor(rng=seed).update(*KINDS[kind](np.random.default_rng(seed), 800)).alarm is not None for seed in range(60)
    )
    assert alarms <= binom.ppf(0.999, 60, 0.05)
