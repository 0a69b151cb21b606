"""Maps of classes against plain implementations, and what they leave alone."""

import numpy as np
import pytest
from scipy.optimize import isotonic_regression, minimize

from kernelcal.dependence import Dependence
from kernelcal.recalibration.class_maps import CLASS_MAPS, Identity, Isotonic, Rows, Temperature, floor_of
from kernelcal.recalibration.curve_maps import Platt, Quadratic, Spline, VennAbers
from kernelcal.recalibration.folds import blocks_of, folds_of
from kernelcal.recalibration.pool import (
    Pool,
    _odds,
    _pooled,
    _trusted,
    _weighed,
    _worth,
    candidates,
    error_of,
    fit_pool,
)


def rows_of(n, k, power, seed=0, weights=False):
    """Labels of probabilities, and the logarithms of their powers."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(k, 0.8), n) + 1e-3
    p /= p.sum(axis=1, keepdims=True)
    labels = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    sharp = p**power / (p**power).sum(axis=1, keepdims=True)
    w = rng.uniform(0.5, 2, n) if weights else np.ones(n)
    return Rows(np.log(sharp), labels, w / w.mean())


def plain_softmax(z):
    return np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("k", [2, 4])
def test_temperature_minimises_the_penalised_loss(k, weights):
    rows = rows_of(80, k, 2.0, weights=weights)
    n = rows.weights.sum() ** 2 / (rows.weights**2).sum()

    def loss(u):
        q = plain_softmax(np.exp(u) * rows.logs)[np.arange(80), rows.labels]
        return -np.mean(rows.weights * np.log(q)) + u**2 / (2 * n * 0.25)

    grid = np.linspace(-3, 3, 60001)[::20]
    best = grid[np.argmin([loss(u) for u in grid])]
    made = Temperature.fit(rows)
    assert np.log(made.power) == pytest.approx(best, abs=2e-3)
    q = made.probabilities(rows.logs)
    np.testing.assert_allclose(q, (1 - 1 / (n + 1)) * plain_softmax(made.power * rows.logs) + 1 / (n + 1) / k)


@pytest.mark.parametrize("name", ["svs", "svs, ridge / 4", "sms", "sms, ridge / 4", "sms, ridge / 16"])
def test_scalings_minimise_the_loss_with_their_ridge(name):
    k, rows = 3, rows_of(60, 3, 1.5, weights=True)
    kind, n = CLASS_MAPS[name], rows.weights.sum() ** 2 / (rows.weights**2).sum()
    strength = {"4": 0.25, "6": 1 / 16}.get(name[-1] if "/" in name else "", 1.0)

    def loss(theta):
        matrix = theta[:9].reshape(3, 3) if "sms" in name else np.diag(theta[:3])
        shift = theta[-3:]
        q = plain_softmax(rows.logs + rows.logs @ matrix.T + shift)[np.arange(60), rows.labels]
        diagonal = np.diag(matrix)
        off = (matrix**2).sum() - diagonal @ diagonal
        ridge = k / n * (shift @ shift + diagonal @ diagonal) + k * (k - 1) / n * off
        return -np.mean(rows.weights * np.log(q)) + strength * ridge

    plain = minimize(loss, np.zeros(12 if "sms" in name else 6), method="BFGS", options={"gtol": 1e-8})
    made = kind.fit(rows)
    theta = np.concatenate([made.matrix.ravel() if "sms" in name else np.diag(made.matrix), made.shift])
    assert loss(theta) == pytest.approx(plain.fun, abs=1e-8)
    np.testing.assert_allclose(theta, plain.x, atol=2e-3)


@pytest.mark.parametrize(("kind", "power"), [(Platt, 2.0), (Quadratic, 2.0), (Spline, 2.0), (Quadratic, 0.5)])
def test_curves_minimise_their_loss_and_never_fall(kind, power):
    rows = rows_of(90, 2, power)
    x, y = rows.logs[:, 1] - rows.logs[:, 0], rows.labels
    made = kind.fit(rows)
    if kind is not Spline:  # in the usual coefficients, while no bound is met
        powers = np.column_stack([x**j for j in range(2 if kind is Platt else 3)])
        identity = np.array([0.0, 1.0, 0.0])[: powers.shape[1]]

        def loss(theta):
            return (
                np.mean(np.logaddexp(0, -(2 * y - 1) * (powers @ theta))) + (theta - identity) @ (theta - identity) / 90
            )

        plain = minimize(loss, identity, method="BFGS", options={"gtol": 1e-9}).x
        if (made.slopes > 1e-6).all():
            inside = np.linspace(x.min(), x.max(), 9)
            shown = plain_curve(made, inside)
            np.testing.assert_allclose(
                shown, np.column_stack([inside**j for j in range(len(plain))]) @ plain, atol=2e-3
            )
    grid = np.linspace(-30, 30, 500)
    assert (np.diff(plain_curve(made, grid)) >= -1e-12).all()


def plain_curve(made, x):
    p = made.probabilities(np.column_stack([np.zeros_like(x), x]))
    return np.log(p[:, 1]) - np.log(p[:, 0])


def test_venn_abers_adds_the_row_with_either_label():
    rows = rows_of(70, 2, 1.7)
    x = np.round(rows.logs[:, 1] - rows.logs[:, 0], 1)  # with ties
    rows = Rows(np.column_stack([np.zeros(70), x]), rows.labels, rows.weights)
    made = VennAbers.fit(rows)
    for new in np.unique(x)[::7]:
        order = np.argsort(np.append(x, new), kind="stable")
        found = []
        for label in (0.0, 1.0):
            values, places = np.append(rows.labels, label)[order], np.append(x, new)[order]
            distinct, inverse = np.unique(places, return_inverse=True)
            mass = np.bincount(inverse)
            fitted = isotonic_regression(np.bincount(inverse, values) / mass, weights=mass).x
            found.append(fitted[distinct == new][0])
        p = found[1] / (1 - found[0] + found[1])
        assert made.probabilities(np.array([[0.0, new]]))[0, 1] == pytest.approx(p, abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_steps_are_those_of_scipy(weighted):
    """Mixed with what was given by ``sqrt(k / (n + k)) / 2``, and divided by their sums."""
    rows = rows_of(200, 3, 1.5, weights=weighted)
    made, given, n = Isotonic.fit(rows), plain_softmax(rows.logs), rows.weights.sum() ** 2 / (rows.weights**2).sum()
    p = np.empty((200, 3))
    for k in range(3):
        order = np.argsort(rows.logs[:, k])
        plain = isotonic_regression((rows.labels[order] == k).astype(float), weights=rows.weights[order]).x
        stepped = made.steps[k][np.searchsorted(made.ends[k], rows.logs[order, k])]
        np.testing.assert_allclose(stepped, plain, atol=1e-12)
        mixed = np.sqrt(3 / (n + 3)) / 2
        p[order, k] = (1 - mixed) * plain + mixed * given[order, k]
    np.testing.assert_allclose(made.probabilities(rows.logs), p / p.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("name", CLASS_MAPS)
def test_states_are_bit_exact(name):
    import json

    rows = rows_of(600, 2, 1.5)
    made = CLASS_MAPS[name].fit(rows)
    again = CLASS_MAPS[name].of_state(json.loads(json.dumps(made.state())))
    np.testing.assert_array_equal(again.probabilities(rows.logs), made.probabilities(rows.logs))
    assert np.allclose(made.probabilities(rows.logs).sum(axis=1), 1)


def plain_weights(losses, counts, steps):
    prior = np.array([0.2, 0.6, 0.15, 0.05, 0.05, 0.05, 0.05, 0.05]) / 1.2
    weights = prior.copy()
    for _ in range(steps):
        q = weights * np.exp(-losses)
        q /= q.sum(axis=1, keepdims=True)
        weights = (counts @ q + 5 * prior) / (len(losses) + 5)
    return weights


def plain_trust(weights, gain, before):
    """Identity, the first map, beside the pool, whose odds are `before` times the likelihood of its gain."""
    odds = before * np.exp(gain)
    weights = np.append(1, odds * weights) / (1 + odds)
    return np.append(weights[0] + weights[1], weights[2:])


@pytest.mark.slow
@pytest.mark.parametrize("weighted", [False, True])
def test_the_pool_weighs_by_held_out_losses_as_the_plain_algorithm(weighted):
    rows, rng = rows_of(120, 3, 2.0, weights=weighted), np.random.default_rng(1)
    pool, held = fit_pool(rows, "auto", rng, None)
    names = ["identity", "temperature", "svs", "svs, ridge / 4", "bounded", "sms", "sms, ridge / 4", "sms, ridge / 16"]
    losses, counts = np.empty((120, len(names))), rows.weights
    untouched = (Identity, Temperature, CLASS_MAPS["bounded"])
    for fit, out in folds_of(rows.labels, 5, np.random.default_rng(1), None):
        first = Temperature.fit(rows[fit])
        weights = counts[fit] / counts[fit].mean()
        after = Rows(np.log(first.probabilities(rows.logs[fit])), rows.labels[fit], weights)
        for m, name in enumerate(names):
            kind = CLASS_MAPS[name]
            own = rows[fit] if kind in untouched else after
            seen = rows.logs[out] if kind in untouched else np.log(first.probabilities(rows.logs[out]))
            made = kind.fit(own, start=pool.maps[m])  # else tolerances of the search differ
            losses[out, m] = -np.log(made.probabilities(seen)[np.arange(len(out)), rows.labels[out]])
    parts, gains = [], np.empty(120)
    for fit, out in folds_of(rows.labels, 5, np.random.default_rng(1), None):  # by weights that saw other rows
        part = plain_weights(losses[fit], counts[fit] / counts[fit].mean(), 77)
        gains[out] = counts[out] * (losses[out, 0] + np.log(np.exp(-losses[out]) @ part))
        parts.append((fit, out, part))
    odds = 100 / (counts.sum() ** 2 / (counts**2).sum())
    weights = plain_trust(plain_weights(losses, counts, 96), gains.sum(), odds)  # 0.8 steps a row
    np.testing.assert_allclose(pool.weights, weights, atol=1e-8)
    for fit, out, part in parts:
        trusted = plain_trust(part, gains[fit].sum(), odds)
        np.testing.assert_allclose(held[out], -np.log(np.exp(-losses[out]) @ trusted), atol=1e-8)
    assert [one.name for one in pool.maps] == names
    for name, column in zip(names, losses.T, strict=True):
        assert pool.losses[name] == pytest.approx(np.average(column, weights=counts), abs=1e-4)
        own = fit_pool(rows, name, np.random.default_rng(1), None)[0].losses
        assert own == pytest.approx({name: pool.losses[name]}, abs=1e-4)
    after = np.log(pool.first.probabilities(rows.logs))
    mixed = [
        w * one.probabilities(rows.logs if isinstance(one, untouched) else after)
        for w, one in zip(pool.weights, pool.maps, strict=True)
    ]
    np.testing.assert_allclose(pool.probabilities(rows.logs), np.sum(mixed, axis=0))


@pytest.mark.parametrize(("n", "classes"), [(60, 2), (800, 2), (60, 3), (800, 3), (60, 100), (800, 100)])
def test_shares_of_candidates_sum_to_one_whichever_are_served(n, classes):
    shares, prior = candidates(n, classes)
    assert sum(shares.values()) == pytest.approx(1)
    assert prior == (1 if classes == 2 else 5)
    assert ("isotonic" in shares, "venn-abers" in shares) == (n > 500 and classes == 3, n > 500 and classes == 2)
    assert ("sms" in shares) == (classes == 3)
    assert ("bounded" in shares) == (classes < 100)
    assert shares["temperature"] / shares["svs"] == pytest.approx(4)


def test_the_whole_pool_is_weighed_against_leaving_alone():
    weights = np.array([0.2, 0.5, 0.3])
    for gained in (-3.0, 0.0, 2.0, 1e9):
        for odds in (0.05, 0.5, 1.0):
            trust = odds / (odds + np.exp(-min(gained, 700)))
            np.testing.assert_allclose(_trusted(weights, gained, odds), trust * weights + [1 - trust, 0, 0])


@pytest.mark.parametrize("classes", [2, 3])
def test_the_more_rows_the_clearer_a_gain_must_be(classes):
    def odds_of(n, weights=None):
        ones = np.ones(n) if weights is None else weights
        return _odds(Rows(np.zeros((n, classes)), np.zeros(n, dtype=int), ones))

    even = 150 if classes == 2 else 100
    assert [odds_of(n) for n in (10, 100, 500, 2000)] == [even / n for n in (100, 100, 500, 2000)]
    halved = np.repeat([0.0, 2.0], 200)  # half of the rows do not count
    assert odds_of(400, halved) == pytest.approx(even / 200)


def test_a_pool_that_is_worse_leaves_predictions_alone():
    """Of many rows, whose weights go far where they look: what other folds say of them decides."""
    rows = Rows(np.zeros((500, 2)), np.zeros(500, dtype=int), np.ones(500))
    losses = 0.6 + np.column_stack([np.zeros(500), np.full(500, 0.02)])
    folds = folds_of(rows.labels, 5, np.random.default_rng(1), None)
    weights, held = _pooled(losses, rows, np.array([0.2, 0.8]), 1.0, folds, None)
    assert weights[0] > 0.9
    np.testing.assert_allclose(held, 0.6, atol=2e-3)


def test_rows_that_depend_on_each_other_are_worth_as_few_as_they_are():
    gains = np.random.default_rng(0).normal(size=200)
    twice = Dependence.of(400, clusters=np.arange(400) // 2)  # each row twice over tells no more than once
    assert _worth(np.repeat(gains, 2), twice) == pytest.approx(0.5, rel=0.02)
    assert _worth(gains, None) == 1
    apart = gains[:100].repeat(2) * np.tile([1, -1], 100)  # two that cancel are worth no more than one each
    assert _worth(apart, Dependence.of(200, clusters=np.arange(200) // 2)) == 1
    assert _worth(np.zeros(200), None) == 1


def test_the_pool_is_trusted_by_what_rows_that_depend_on_each_other_are_worth():
    """Of clusters of four equal rows the gain counts once."""
    rng, n = np.random.default_rng(0), 160
    rows = Rows(np.zeros((n, 3)), np.zeros(n, dtype=int), np.ones(n))
    losses = np.repeat(1 + np.column_stack([np.zeros(40), rng.normal(0, 0.3, 40)]), 4, axis=0)
    shares, depend = np.array([0.3, 0.7]), Dependence.of(n, clusters=np.arange(n) // 4)
    folds = folds_of(rows.labels, 5, np.random.default_rng(1), depend)

    parts = [_weighed(losses[fit], np.ones(len(fit)), shares, 5.0) for fit, _ in folds]
    gains = np.empty(n)
    for part, (_, out) in zip(parts, folds, strict=True):
        gains[out] = losses[out, 0] + np.log(np.exp(-losses[out]) @ part)
    for given, worth in ((None, 1.0), (depend, 0.25)):
        weights, held = _pooled(losses, rows, shares, 5.0, folds, given)
        whole = plain_trust(_weighed(losses, np.ones(n), shares, 5.0), worth * gains.sum(), 100 / n)
        np.testing.assert_allclose(weights, whole, rtol=0.02)
        for part, (fit, out) in zip(parts, folds, strict=True):  # by weights that saw other rows
            own = plain_trust(part, worth * gains[fit].sum(), 100 / n)
            np.testing.assert_allclose(held[out], -np.log(np.exp(-losses[out]) @ own), atol=4e-3)


def test_the_fewer_rows_the_nearer_are_the_weights_to_the_shares():
    shares = np.array([0.5, 0.25, 0.25])
    losses = np.tile([0.7, 0.7, 0.4], (1000, 1)) + 0.1 * np.random.default_rng(0).normal(size=(1000, 3))
    last = [_weighed(losses[:n], np.ones(n), shares, 1.0)[2] for n in (10, 30, 100, 1000)]
    assert last == sorted(last)
    assert last[0] < 0.7 < 0.95 < last[-1]


def test_a_bounded_map_is_a_scaling_of_probabilities():
    rows = rows_of(300, 3, 3.0)
    made = CLASS_MAPS["bounded"].fit(rows)
    p = 3 * plain_softmax(rows.logs)
    same = CLASS_MAPS["svs"].fit(Rows(p, rows.labels, rows.weights))
    np.testing.assert_allclose(made.probabilities(rows.logs), same.probabilities(p), atol=1e-6)
    sure = made.probabilities(np.log([[1e-300, 1.0, 1e-300], [1e-9, 1.0, 1e-9]]))
    np.testing.assert_allclose(sure[0], sure[1], rtol=1e-6)  # however sure
    assert sure.max() < 0.999


def test_the_error_of_a_gain_is_that_of_a_mean_of_rows_of_clusters_and_of_stretches():
    gain = np.random.default_rng(0).normal(size=30)
    clusters = np.random.default_rng(1).integers(0, 7, 30)
    assert error_of(gain, None) == pytest.approx(gain.std() / np.sqrt(30))
    assert error_of(gain, Dependence.of(30, horizon=1)) == pytest.approx(gain.std() / np.sqrt(30))
    off = gain - gain.mean()
    sums = [off[clusters == k].sum() for k in range(7)]
    over = np.sqrt(7 / 6) * np.linalg.norm(sums) / 30
    assert error_of(gain, Dependence.of(30, clusters=clusters)) == pytest.approx(over)
    window = max(np.ceil(1.3 * np.sqrt(30)), 2 * 4)
    near = np.maximum(1 - np.abs(np.arange(30)[:, None] - np.arange(30)) / window, 0)
    assert error_of(gain, Dependence.of(30, horizon=4)) == pytest.approx(np.sqrt(off @ near @ off) / 30)


@pytest.mark.slow
def test_one_and_cautious_take_the_best_or_nothing():
    far, near = rows_of(400, 3, 2.5), rows_of(60, 3, 1.0, seed=3)
    for rows, expected in ((far, False), (near, True)):
        pool, _ = fit_pool(rows, "cautious", np.random.default_rng(0), None)
        assert [one.name for one in pool.maps] == ["identity"] or not expected
        assert len(pool.maps) == 1
    pool, _ = fit_pool(far, "one", np.random.default_rng(0), None)
    assert pool.maps[0].name == min(pool.losses, key=pool.losses.get)
    assert isinstance(pool, Pool)


def test_the_floor_is_half_the_smallest_positive_one():
    with np.errstate(divide="ignore"):
        assert np.exp(floor_of(np.log([[0.0, 0.3, 0.7], [0.1, 0.2, 0.7]]))) == pytest.approx(0.05)
        assert np.exp(floor_of(np.log([[0.0, 1.0], [1e-9, 1 - 1e-9]]))) == pytest.approx(1e-6)


def test_folds_hold_clusters_and_horizons_apart():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 3, 100)
    for fit, held in folds_of(labels, 5, rng, None):
        assert len(held) == 20
        assert np.abs(np.bincount(labels[held], minlength=3) - np.bincount(labels, minlength=3) / 5).max() <= 1
        assert sorted([*fit, *held]) == list(range(100))
    clusters = rng.integers(0, 23, 100)
    for fit, held in folds_of(labels, 5, rng, Dependence.of(100, clusters=clusters)):
        assert not set(clusters[fit]) & set(clusters[held])
    depend = Dependence.of(100, horizon=4)
    for fit, held in folds_of(labels, 5, rng, depend):
        assert min(abs(i - j) for i in fit for j in held) >= 4
    for of, apart in ((depend, 4), (Dependence.of(100, horizon=1), 1), (None, None)):
        blocks = blocks_of(100, 5, rng, of)
        assert [len(held) for _, held in blocks] == [20] * 4
        for k, (fit, held) in enumerate(blocks):
            assert len(fit) == 20 * (k + 1) - (0 if apart is None else apart - 1)
            assert apart is None or fit.max() + apart <= held.min()
            assert not set(fit) & set(held)
    blocks = blocks_of(100, 5, rng, Dependence.of(100, clusters=clusters))
    assert [*map(len, next(zip(*blocks, strict=True)))] == pytest.approx([20, 40, 60, 80], abs=9)
    for fit, held in blocks:
        assert not set(clusters[fit]) & set(clusters[held])
