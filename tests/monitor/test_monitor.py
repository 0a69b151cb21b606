"""The monitor against plain products of bets, files, batches in any cut, and false alarms."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit, ndtri
from scipy.stats import binom, norm, qmc

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.monitor import Monitor
from kernelcal.monitor.cells import Kind, bets_of, kind_of
from kernelcal.monitor.experts import NormalMaps
from kernelcal.monitor.lanes import Lane, experts_of
from kernelcal.monitor.learners import ClassScales, Kernels, Learner
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


def tilted(rng, n, bias):
    """Four classes, of which the third happens more often than predicted."""
    p = rng.dirichlet([0.7] * 4, n)
    q = p * np.exp([0, 0, bias, 0])
    q /= q.sum(axis=1, keepdims=True)
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


def of_outcomes(kind, rng):
    """A row's prediction with every outcome it may have, as arguments of update, each equally likely or told."""
    if kind == "binary":
        return [((j, kc.Bernoulli([0.3])), p) for j, p in enumerate((0.7, 0.3))]
    if kind == "classes":
        p = rng.dirichlet([1.0] * 4)
        return [((j, kc.Categorical(p[None])), p[j]) for j in range(4)]
    if kind == "normal":
        return [
            ((kc.Normal([0.7], [1.3]).quantile(np.array([(j + 0.5) / 20])), kc.Normal([0.7], [1.3])), 0.05)
            for j in range(20)
        ]
    if kind == "quantiles":
        shares, batch = np.diff([0, *LEVELS, 1]), Quantiles(0.2 + 1.7 * SCORES[None], LEVELS)
        inner = (batch.values[0, 1:] + batch.values[0, :-1]) / 2
        return list(zip([(y, batch) for y in (-9.0, *inner, 9.0)], shares, strict=True))
    pool = rng.normal(size=10)
    return [((pool[j], Samples(np.delete(pool, j)[None])), 0.1) for j in range(10)]


@pytest.mark.quick_cases(6)
@pytest.mark.parametrize("rows", [1, 41, 500])
@pytest.mark.parametrize("kind", ["binary", "classes", "normal", "quantiles", "ensembles"])
def test_money_is_a_martingale_under_the_prediction(kind, rows, tmp_path):
    """Over what the next row may bring, the mean e-value is that of now, and the drift statistic grows by 1."""
    rng = np.random.default_rng(11)
    monitor, place = Monitor().update(*KINDS[kind](rng, rows)), tmp_path / "state.npz"
    monitor.save(place)
    money = turned = 0.0
    for (y, batch), p in of_outcomes(kind, rng):
        after = Monitor.load(place).update(np.atleast_1d(y), batch)
        money += p * after.evalue
        turned += p * np.exp(after.log_drift) * 100_000
    assert money == pytest.approx(monitor.evalue, rel=1e-9)
    assert turned == pytest.approx(np.exp(monitor.log_drift) * 100_000 + 1, rel=1e-9)


def test_ties_are_broken_by_other_numbers_than_those_of_the_caller():
    """Data simulated from the seed of the monitor: counts, whose jumps are filled by random numbers."""
    for seed in range(3):
        y, batch = counts(np.random.default_rng(seed), 1500)
        assert Monitor(rng=seed).update(y, batch).log_evalue < 3


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
    first = kernels.precision
    kernels.learn(bets)
    lost = (1 - np.exp(-50 / 1000)) * (first - np.eye(64) / kernels.spreads[:, None, None] ** 2)
    np.testing.assert_allclose(kernels.precision[:, :2] - kernels.precision[:, 2:], lost[:, :2], atol=1e-10)


def test_scales_and_biases_of_classes_are_learned_by_newton_steps():
    """Two blocks, row by row and class by class: gradient of the log-likelihood and its Fisher information."""
    rng = np.random.default_rng(4)
    case = Case.of(*classes(rng, 30, 2.0))
    bets, learner = bets_of(case, kind_of(case), np.zeros(30))[0], ClassScales(4)
    precisions, thetas = [np.eye(6) / spread**2 for spread in (0.1, 0.3)], np.zeros((2, 6))
    for _ in range(2):
        bet = learner.log_bets(bets)
        learner.learn(bets)
        for k in range(2):
            gradient, before = np.zeros(6), thetas[k].copy()
            for row, (p, label) in enumerate(zip(bets.p, case.targets, strict=True)):
                x = np.column_stack([np.log(p), np.arange(4) == p.argmax(), np.eye(4)])
                powers = np.exp(x @ before)
                q = p * powers / (p @ powers)
                assert bet[row, k] == pytest.approx(np.log(q[label] / p[label]))
                gradient += x[label] - q @ x
                precisions[k] += (x * q[:, None]).T @ x - np.outer(q @ x, q @ x)
            thetas[k] += np.linalg.solve(precisions[k], gradient)
        np.testing.assert_allclose(learner.theta, thetas, rtol=1e-9)
    assert np.abs(thetas[:, 0]).min() > 0.01  # else no scale is tried


@pytest.mark.parametrize("kind", ["classes", "quantiles"])
def test_kernels_of_many_cells_learn_row_by_row(kind):
    """Newton steps written out; of a row that may lie in several cells the mean over these counts, given their p."""
    rng = np.random.default_rng(5)
    case = Case.of(*KINDS[kind](rng, 12))
    told = kind_of(case)
    bets, kernels = bets_of(case, told, np.zeros(12))[0], Kernels(told)
    if told.ordered:
        bets = replace(bets, high=np.minimum(bets.low + np.arange(12) % 3, told.cells - 1))
        assert (bets.high > bets.low).any()
    phi = kernels._features(bets)
    kernels.learn(bets)
    for at in np.ndindex(kernels.shape):
        own, columns = phi[at[0]], told.basis.shape[1]
        precision, slopes = np.eye(64) / kernels.spreads[at[1]] ** 2, np.zeros((columns, 64))
        for row in range(12):
            p, cells = bets.p[row], slice(bets.low[row], bets.high[row] + 1)
            mean = p @ told.basis
            precision += max(p @ (told.basis - mean) ** 2) * np.outer(own[row], own[row])
            slopes += np.outer(np.average(told.basis[cells], axis=0, weights=p[cells]) - mean, own[row])
        np.testing.assert_allclose(kernels.w[at], np.linalg.solve(precision, slopes.T).T, atol=1e-12)


def test_the_basis_of_ordered_cells_is_orthonormal_and_that_of_normal_scores():
    """Polynomials of the means of a standard normal number over its cells, of length 1 under the claimed shares."""
    kind = kind_of(Case.of(*quantiles(np.random.default_rng(0), 3)))
    p, basis = kind.probabilities, kind.basis
    edges = ndtri([0, *LEVELS, 1])
    means = np.array([norm.expect(lb=a, ub=b, conditional=True) for a, b in itertools.pairwise(edges)])
    np.testing.assert_allclose(basis.T @ (p[:, None] * basis), np.eye(4), atol=1e-12)
    np.testing.assert_allclose(p @ basis, 0, atol=1e-12)
    np.testing.assert_allclose(basis[:, 0], means / np.sqrt(p @ means**2), atol=1e-6)
    assert (basis[-1] > 0).all()


def test_shifts_and_widths_of_normal_scores_bet_the_ratio_of_chances():
    """Of every cell; chances that are 0 in double precision have logarithms too."""
    levels = (1e-300, 0.1, 0.5, 0.9)
    maps = NormalMaps(Kind("quantiles", 5, levels))
    edges, claimed = ndtri([0, *levels, 1]), np.diff([0, *levels, 1])
    for k, (shift, width) in enumerate(zip(maps.shifts, maps.slopes, strict=True)):
        chances = np.diff(norm.cdf(edges, shift, width))[1:] / claimed[1:]
        np.testing.assert_allclose(maps.table[1:, k], np.log(chances), rtol=1e-8, atol=1e-12)
        assert maps.table[0, k] == pytest.approx(norm.logcdf(edges[1], shift, width) - np.log(1e-300), rel=1e-9)


def test_the_pvalue_is_the_inverse_of_the_money():
    rng = np.random.default_rng(0)
    right, wrong = Monitor().update(*binary(rng, 200)), Monitor().update(*binary(rng, 200, 0.2))
    assert right.evalue < 1
    assert right.pvalue == 1
    assert wrong.pvalue == pytest.approx(1 / wrong.evalue)
    assert wrong.pvalue < 0.05


def test_the_alarm_comes_with_the_first_row_whose_money_is_the_inverse_of_alpha():
    y, batch = binary(np.random.default_rng(2), 300, 0.3)
    whole, monitor, money = Monitor(alpha=0.1).update(y, batch), Monitor(alpha=0.1), []
    while not money or money[-1] < 10:
        row = len(money)
        money.append(monitor.update(y[[row]], kc.Bernoulli(batch.p[[row]])).evalue)
        assert (monitor.alarm is None) == (money[-1] < 10)
    assert max(money[:-1]) > 2
    assert whole.alarm.row == monitor.alarm.row == len(money)


@pytest.mark.parametrize(("alpha", "alarmed"), [(0.5, True), (0.04, False)])
def test_shards_raise_an_alarm_where_the_money_of_both_is_the_inverse_of_alpha(alpha, alarmed):
    shards = []
    for seed in (3, 4):
        y, batch = binary(np.random.default_rng(seed), 40, 0.4)
        shards.append(Monitor(alpha=alpha, rng=seed).update(y, batch))
        shards[-1].alarm = None
    both = shards[0].merge(shards[1])
    assert 2 < both.evalue < 25
    assert (both.alarm is not None) == alarmed


def test_features_of_place_and_width_are_those_of_a_gaussian_kernel():
    case = Case.of(*normal(np.random.default_rng(0), 300))
    kind = kind_of(case)
    kernels = Kernels(kind)
    frequencies = ndtri(qmc.Halton(2, scramble=False).random(33)[1:])
    for k, length in enumerate((0.5, 2.0)):
        np.testing.assert_allclose(kernels.frequencies[32 * k : 32 * (k + 1)] * length, frequencies, atol=1e-12)
    x = np.random.default_rng(1).normal(size=(300, 2))
    bets = replace(bets_of(case, kind, np.zeros(300))[0], features=x)
    kernels.scale = replace(kernels.scale, n=4.0, squares=np.full(2, 4.0))  # the identity
    phi = kernels._features(bets)[1]
    near = np.exp(-((x[:, None] - x) ** 2).sum(axis=2) / (2 * 2.0**2))
    assert np.sqrt(np.mean((phi @ phi.T - near) ** 2)) < 0.06


@pytest.mark.parametrize("kind", ["binary", "classes", "normal"])
def test_what_shards_have_learned_is_that_of_all_rows(kind):
    """One block each, then joined: as one block of both, whose Newton step begins at the same place."""
    rng = np.random.default_rng(3)
    case = Case.of(*KINDS[kind](rng, 90))
    told = kind_of(case)
    bets, _ = bets_of(case, told, rng.random(90))
    for k, learner in enumerate(one for one in experts_of(told) if isinstance(one, Learner)):
        one, two, both = ([x for x in experts_of(told) if isinstance(x, Learner)][k] for _ in range(3))
        if isinstance(learner, Kernels) and told.ordered:  # standardised alike
            one.scale = two.scale = both.scale = one.scale.with_rows(bets.features)
        one.learn(bets[:30])
        two.learn(bets[30:])
        both.learn(bets)
        one.join(two)
        remembered = slice(0, 2) if isinstance(learner, Kernels) else slice(None)
        for name, axis in (("precision", 1), ("w", 1)) if isinstance(learner, Kernels) else (("theta", 0),):
            found, expected = (np.moveaxis(getattr(x, name), axis, 0)[remembered] for x in (one, both))
            np.testing.assert_allclose(found, expected, atol=1e-9)


@pytest.mark.quick_cases(4)
@pytest.mark.parametrize("kind", KINDS)
def test_wrong_predictions_raise_an_alarm_and_any_cut_of_batches_is_the_same(kind):
    rng = np.random.default_rng(4)
    y, batch = WRONG[kind](rng, 600)
    whole = Monitor().update(y, batch)
    assert whole.alarm is not None
    assert whole.evalue > 20
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
        (lambda rng: tilted(rng, 800, 0.9), ["class 2 happens more often"]),
        (lambda rng: tilted(rng, 1500, -1.5), ["class 2 happens less often"]),
        (lambda rng: normal(rng, 800, 1.4), ["over-confident", "times as wide"]),
        (lambda rng: normal(rng, 800, 0.7), ["under-confident"]),
        (lambda rng: normal(rng, 800, 1.0, 0.4), ["above the predictions"]),
        (lambda rng: normal(rng, 800, 1.0, -0.4), ["below the predictions"]),
        (lambda rng: ensembles(rng, 800, 1.5), ["over-confident"]),
    ],
)
@pytest.mark.quick_cases(4)
def test_directions_are_those_of_a_known_truth(make, words):
    for seed in range(2):
        found = Monitor().update(*make(np.random.default_rng(seed))).direction
        assert all(word in found for word in words), found
        opposite = {"over-confident": "under-confident", "above": "below", "more often": "less often"}
        for one, other in (*opposite.items(), *((b, a) for a, b in opposite.items())):
            if any(one in word for word in words):
                assert other not in found


def rare(rng, n, slope=1.0, shift=0.0):
    p = expit(rng.normal(-4, 1, n))
    return rng.random(n) < expit(slope * logit(p) + shift), kc.Bernoulli(p)


def middles(rng, n, factor, shift):
    y, batch = normal(rng, n, factor, shift)
    return y, Quantiles(batch.mean[:, None], [0.5])


def biased(rng, n, bias):
    q = rng.dirichlet([0.7] * 4, n)
    p = q * np.exp([0, 0, bias, 0])
    p /= p.sum(axis=1, keepdims=True)
    return (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1).clip(0, 3), kc.Categorical(q)


@pytest.mark.parametrize(
    ("make", "words", "never"),
    [
        (lambda rng: normal(rng, 500, 1.0, 2.0), ["above the predictions, by 0.8 of their spread, or more"], "-conf"),
        (lambda rng: normal(rng, 500, 0.5, 2.0), ["above the predictions"], "over-confident"),
        (lambda rng: normal(rng, 500, 1.0, -1.2), ["below the predictions"], "-conf"),
        (lambda rng: normal(rng, 500, 0.7, 0.5), ["under-confident", "above the predictions, by 0.4"], "more"),
        (lambda rng: normal(rng, 500, 1.6, -0.5), ["over-confident", "below the predictions"], "more"),
        (lambda rng: normal(rng, 500, 5.0), ["over-confident", "2.2 times as wide as predicted, or more"], "lie"),
        (lambda rng: normal(rng, 500, 0.2), ["under-confident", "0.5 times as wide as predicted, or less"], "lie"),
        (lambda rng: middles(rng, 500, 1.0, 2.0), ["above the predictions"], "-conf"),
        (lambda rng: middles(rng, 500, 1.0, -0.6), ["below the predictions"], "-conf"),
        (lambda rng: rare(rng, 4000, 1.0, 0.6), ["class 1 happens more often"], "-conf"),
        (lambda rng: rare(rng, 4000, 1.0, 2.5), ["more often than predicted, by 0.8 in logits, or more"], "-conf"),
        (lambda rng: rare(rng, 4000, 1.0, -1.5), ["class 1 happens less often"], "-conf"),
        (lambda rng: binary(rng, 800, 1.0, 1.5), ["class 1 happens more often"], "-conf"),
        (lambda rng: biased(rng, 1500, 2.0), ["class 2 happens more often"], "-conf"),
        (lambda rng: biased(rng, 1500, -2.0), ["class 2 happens less often"], "-conf"),
    ],
)
@pytest.mark.quick_cases(2)
def test_no_slope_is_told_where_a_shift_explains_it(make, words, never):
    """Shifts beyond all experts and between two of them, rare events, one quantile, a class of its own."""
    for seed in range(2):
        found = Monitor().update(*make(np.random.default_rng(seed))).direction
        assert all(word in found for word in words), found
        assert never not in found


def test_a_change_is_found_where_it_began():
    rng = np.random.default_rng(5)
    monitor = Monitor()
    for day in range(14):
        monitor.update(*binary(rng, 150, 1.0 if day < 8 else 0.4), key=f"day {day:02d}")
    began, low, high = monitor.changepoint
    assert low <= 1200 <= high
    assert abs(began - 1200) < 150
    assert monitor.alarm.row > 1200
    assert monitor.drift_alarm.row > 1200
    assert monitor.alarm.key == f"day {(monitor.alarm.row - 1) // 150:02d}"
    assert f"(batch {min(monitor.alarm, monitor.drift_alarm, key=lambda one: one.row).key})" in monitor.verdict
    assert "Alarm" in monitor.verdict


def test_both_alarms_are_told_with_their_rows():
    """That of drift came sooner; what holds at any time is the other one, later."""
    rng, monitor = np.random.default_rng(5), Monitor()
    monitor.update(*binary(rng, 1200), key="before")
    while monitor.alarm is None:
        monitor.update(*binary(rng, 50, 0.3), key=f"after {monitor.rows}")
    ever, drift = monitor.alarm, monitor.drift_alarm
    assert drift.row < ever.row
    told = f"Alarm after row {ever.row:,} (batch {ever.key}), of drift after row {drift.row:,} (batch {drift.key}); "
    assert monitor.verdict.startswith(told)


def test_an_alarm_that_later_rows_take_back_has_no_change_point():
    """A short run of bad luck, then ten times as many rows that are right."""
    rng, monitor = np.random.default_rng(1), Monitor(alpha=1e-9)
    while monitor.drift_alarm is None:
        monitor.update(*binary(rng, 20, 0.2))
    assert monitor.changepoint[0] < monitor.drift_alarm.row < 200
    while monitor.changepoint is not None:
        monitor.update(*binary(rng, 1000))
    assert monitor.alarm is None
    assert monitor.rows < 20_000
    assert monitor.verdict.endswith("Later rows do not bear it out: what was won until then has been lost since.")
    assert f"after row {monitor.drift_alarm.row}" in monitor.verdict
    right = monitor.rows
    while monitor.log_drift < 0:  # and a change in earnest
        monitor.update(*binary(rng, 50, 0.3))
    assert abs(monitor.changepoint[0] - right) < 100


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


@pytest.mark.parametrize("horizon", [1, 2])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.quick_cases(4)
def test_a_saved_monitor_goes_on_to_the_last_bit(kind, horizon, tmp_path):
    rng, place = np.random.default_rng(10), tmp_path / "state.npz"
    y, batch = KINDS[kind](rng, 120)
    whole, saved = Monitor(horizon=horizon), Monitor(horizon=horizon)
    for rows in np.split(np.arange(120), [1, 30, 77, 78]):
        whole.update(y[rows], batch[rows])
        saved.update(y[rows], batch[rows]).save(place)
        saved = Monitor.load(place)
    assert saved.to_dict() == whole.to_dict()
    assert saved.log_evalue == whole.log_evalue
    assert saved.history == whole.history
    assert place.stat().st_size < 700_000 * horizon


def test_names_of_classes_are_kept(tmp_path):
    rng, place = np.random.default_rng(0), tmp_path / "state.npz"
    p = rng.dirichlet([1.0] * 3, 40)
    for names in (np.array([3, 5, 9]), ["a", "b", "c"]):
        y = rng.choice(names, 40)
        Monitor().update(y, p, classes=names, key="one").save(place)
        assert Monitor.load(place).update(y, p, classes=names, key="two").rows == 80


def test_one_row_at_a_time():
    rng = np.random.default_rng(2)
    y, p = rng.integers(0, 2, 40), rng.uniform(size=40)
    one = Monitor()
    for row in zip(y, p, strict=True):
        one.update(*row)
    assert one.log_evalue == pytest.approx(Monitor().update(y, p).log_evalue, rel=1e-9)
    assert Monitor().update("b", [0.2, 0.5, 0.3], classes=["a", "b", "c"]).kind == "classes"
    assert Monitor().update(0.3, kc.Normal([0.0], [1.0])).rows == 1


@pytest.mark.parametrize(
    ("y", "batch", "word"),
    [
        (np.zeros((4, 2)), kc.IsotropicNormal(np.zeros((4, 2)), np.ones(4)), "watch one coordinate at a time"),
        (np.zeros(4), Samples(np.zeros((4, 1))), "two members or more"),
        (np.zeros(0), np.zeros(0), "there are no rows"),
        ([0, 1], [0.3, np.nan], "missing"),
    ],
)
def test_what_cannot_be_watched_is_refused(y, batch, word):
    monitor = Monitor()
    with pytest.raises(InputError, match=word):
        monitor.update(y, batch)
    assert (monitor.rows, monitor.kind, monitor.verdict) == (0, "", "Nothing was watched yet.")


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_extremes_are_numbers():
    """Certain predictions, outcomes far away, laws without a mean, one quantile, many classes, nothing that varies."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=60)
    far = Monitor().update(1e6 * z, kc.Normal(np.zeros(60), np.ones(60)))
    assert far.alarm is not None
    for y, batch in (
        ([0, 1] * 30, [0.0, 1.0] * 30),
        (rng.standard_cauchy(60), kc.StudentT(np.ones(60), np.zeros(60), np.ones(60))),
        (z, Quantiles(np.zeros((60, 1)), [0.5])),
        (rng.integers(0, 300, 60), np.full((60, 300), 1 / 300)),
        (np.zeros(60), Samples(np.zeros((60, 4)))),
    ):
        found = Monitor().update(y, batch)
        assert np.isfinite(found.log_evalue)
        assert found.log_evalue < 3
    assert far.evalue > 1e40


def test_an_interrupt_leaves_what_was(monkeypatch):
    rng = np.random.default_rng(0)
    monitor = Monitor(horizon=2).update(*binary(rng, 51, 0.7))
    before, own = monitor.to_dict(), Lane.after
    y, batch = binary(rng, 60, 0.7)
    untouched = Monitor(horizon=2).merge(monitor).update(y, batch).to_dict()
    called = []

    def once(lane, bets):
        called.append(1)
        if len(called) == 2:
            raise KeyboardInterrupt
        return own(lane, bets)

    monkeypatch.setattr(Lane, "after", once)
    with pytest.raises(KeyboardInterrupt):
        monitor.update(y, batch)
    assert monitor.to_dict() == before
    assert monitor.update(y, batch).to_dict() == untouched


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
    with pytest.raises(InputError, match="'a' was taken before, with other rows"):
        monitor.update(*binary(rng, 100), key="a")
    assert monitor.to_dict() == before


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_is_known_by_its_key_and_its_rows(kind, tmp_path):
    y, batch = KINDS[kind](np.random.default_rng(7), 40)
    monitor = Monitor().update(y, batch, key="a")
    monitor.update(y, batch, key="b").save(tmp_path / "state.npz")
    again = Monitor.load(tmp_path / "state.npz")
    assert again.update(y, batch, key="a").update(y, batch, key="b").to_dict() == monitor.to_dict()
    with pytest.raises(InputError, match="with other rows"):
        again.update(y[:39], batch[np.arange(39)], key="a")
    assert again.keys == {"a", "b"}


def test_an_impossible_outcome_is_proof(tmp_path):
    monitor = Monitor().update([0, 1, 1], [0.2, 0.0, 0.5])
    assert monitor.alarm.row == 2
    assert "What happened in row 2 had been predicted with probability 0" in monitor.verdict
    assert (monitor.ruled_out, monitor.changepoint, monitor.direction) == (2, None, "")
    monitor.save(tmp_path / "state.npz")
    assert Monitor.load(tmp_path / "state.npz").to_dict() == monitor.to_dict()
    assert Monitor().update([0, 1], [0.2, 0.4]).merge(monitor).ruled_out == 4
    ends = Quantiles(np.tile([0.0, 1.0, 2.0, 3.0], (5, 1)), [0.0, 0.3, 0.7, 1.0])
    assert Monitor().update([1.5, 0.2, 2.9, 0.0, 3.0], ends).alarm is None
    assert Monitor().update([1.5, 0.2, 2.9, 3.1, 1.5], ends).alarm.row == 4


def test_an_outcome_that_equals_quantiles_counts_for_the_least_favourable_cell():
    """Money after a tie is at most that after any of the cells it may lie in; whole numbers are no codes of cells."""
    rng = np.random.default_rng(3)
    before, batch = quantiles(rng, 200, 1.5), Quantiles([[0.0, 2.0, 2.0, 3.0, 5.0]], LEVELS)
    values = {}
    for y in (1.0, 2, 2.5):
        values[y] = Monitor().update(*before).update([y], batch)
    ties = values[2]._lanes[0].wealth.logs
    assert (ties <= np.minimum(values[1.0]._lanes[0].wealth.logs, values[2.5]._lanes[0].wealth.logs) + 1e-12).all()
    inner = bets_of(Case.of([2], batch), values[2]._kind, np.zeros(1))[0]
    assert (inner.low, inner.high) == (1, 3)


def test_one_lens_for_all_rows():
    rng = np.random.default_rng(0)
    p, y = rng.dirichlet([1.0] * 3, 60), rng.integers(0, 3, 60)
    monitor = Monitor().update(y, p, lens=kc.TopLabel())
    assert monitor.update(y, p, lens=kc.TopLabel()).kind == "binary"
    for other in (None, kc.OneClass(1)):
        with pytest.raises(InputError, match=r"began with the lens TopLabel\(\)"):
            monitor.update(y, p, lens=other)
    with pytest.raises(InputError, match="different lenses"):
        monitor.merge(Monitor().update(y, p, lens=kc.OneClass(1)))


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
    assert first.rows == 200
    began, _, high = first.update(*binary(rng, 600, 0.3)).changepoint
    assert abs(began - 200) < 60
    assert high <= first.rows


@pytest.mark.parametrize("first", [0, 1])
def test_an_alarm_of_one_shard_is_none_of_both_beside(first):
    """Whichever is joined into the other: the mean is looked at when they are joined, and from then on."""
    rng = np.random.default_rng(5)
    shards = [Monitor().update(*binary(rng, 150, 0.3)), Monitor().update(*binary(rng, 150))]
    assert shards[0].alarm is not None
    shards[0]._lanes[0].wealth.ever -= shards[0].log_evalue - np.log(30)  # won, and lost again since
    both = shards[first].merge(shards[1 - first], "beside")
    assert 10 < both.evalue < 20
    assert both.alarm is None
    after = both.update(*binary(rng, 150, 0.3))
    assert after.alarm.row > 300


def test_shards_that_broke_ties_by_one_seed_are_not_multiplied():
    """A number that fills jumps of both rows makes their bets dependent."""
    rng = np.random.default_rng(0)
    make = lambda seed: Monitor(rng=seed).update(*counts(rng, 50))  # noqa: E731
    joined = make(0).merge(make(1))
    assert joined.rows == 100
    for seed in (0, 1):
        with pytest.raises(InputError, match=f"numbers of the seed {seed}, .* an rng of its own"):
            joined.merge(make(seed))
    assert make(0).merge(make(0), "beside").rows == 100
    assert Monitor().update(*normal(rng, 50)).merge(Monitor().update(*normal(rng, 50))).rows == 100


def test_lanes_of_shards_go_on_where_the_first_ended():
    """Row r of all is in lane r mod h, so that rows of a lane are h apart also where the shards meet."""
    rng = np.random.default_rng(0)
    for first, second in ((10, 7), (5, 3), (2, 9)):
        one, two = (Monitor(horizon=3).update(*binary(rng, n)) for n in (first, second))
        lanes = [two._lanes[(k - first) % 3].wealth.after(one._lanes[k].wealth) for k in range(3)]
        joined = one.merge(two)
        assert [lane.wealth.rows for lane in joined._lanes] == [len(range(k, first + second, 3)) for k in range(3)]
        assert joined.log_evalue == pytest.approx(max(lane.log_evalue for lane in lanes) - np.log(3))
    with pytest.raises(InputError, match="one after the other"):
        one.merge(two, "beside")


def test_an_empty_monitor_takes_the_alarm_of_the_other():
    rng = np.random.default_rng(0)
    other = Monitor().update(*binary(rng, 500, 0.3), key="a")
    assert Monitor().merge(other).to_dict() == other.to_dict()


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


@pytest.mark.parametrize("name", ["a.txt", "a", "a.npz.gz"])
def test_a_state_is_an_npz_file(name, tmp_path):
    with pytest.raises(InputError, match=r"a monitor is an npz file: its name ends in \.npz, got .*a"):
        Monitor().save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
