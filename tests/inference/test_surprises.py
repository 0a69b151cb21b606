"""Pseudo-surprises: against loops over rows that are written out, closed limits, and levels by simulation."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import beta, binom, norm, ttest_1samp

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.comparison.figures import by_rows, conditional, score_surprises, shared_law, skce_differences
from kernelcal.inference import Draws, equivalence_test
from kernelcal.inference.intervals import BlockSurprises, PairedSurprises, RowBootstrap, label_law, surprises_of
from kernelcal.inference.intervals.flips import Flips
from kernelcal.inference.intervals.methods import Request
from kernelcal.inference.intervals.surprises import ScoreSurprises, deepest, expected, hoeffding_parts, pseudo_rows
from kernelcal.kernels import Spectral, Wasserstein
from kernelcal.pairs.matrix import joint_sums
from kernelcal.runs import Run
from kernelcal.sketch.findings import _surprises
from kernelcal.sketch.sums import as_numbers
from kernelcal.statistics import CKCE

WIDTH = 0.3
STATISTIC = kc.SKCE(prediction_kernel=kc.Laplacian(WIDTH))


def data(n, m, seed=0):
    """Outcomes, and predictions of classes that are often nearly sure."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.r_[8.0, np.full(m - 1, 0.3)], n).clip(1e-4)
    p /= p.sum(axis=1, keepdims=True)
    return np.array([rng.choice(m, p=q) for q in p]), p


def batch_of(p):
    return kc.Bernoulli(p[:, 1]) if p.shape[1] == 2 else kc.Categorical(p)


def distances(p):
    """Between predictions as the library sees them: one probability, or all."""
    return np.abs(p[:, None, 1] - p[:, 1]) if p.shape[1] == 2 else np.linalg.norm(p[:, None] - p, axis=2)


def law_by_hand(y, tables):
    n, m = tables[0].shape
    v = np.full(m, 1 / m)
    for i in range(n):
        v[y[i]] += np.mean([1 - p[i, y[i]] for p in tables])
    v /= v.sum()
    return v, 1 / np.mean([1 - v @ q for p in tables for q in p])


class Written:
    """All rows, real and pseudo, one after the other: their predictions, residuals and weights."""

    def __init__(self, y, p, v, eps):
        n, m = p.shape
        self.n, self.weights = n, np.r_[np.ones(n), np.tile(eps * v, n)]
        self.place = np.r_[np.arange(n), np.repeat(np.arange(n), m)]
        outcomes = np.r_[y, np.tile(np.arange(m), n)]
        self.residuals = np.eye(m)[outcomes] - p[self.place]
        kernel = np.exp(-distances(p) / WIDTH)
        self.h = kernel[np.ix_(self.place, self.place)] * (self.residuals @ self.residuals.T)

    def value(self):
        """Weights count rows: a row of weight w makes w^2 - w pairs with itself."""
        w, whole = self.weights, self.weights.sum()
        return (w @ self.h @ w - w @ np.diag(self.h)) / (whole * (whole - 1))


@pytest.mark.parametrize("m", [2, 3, 5])
@pytest.mark.parametrize("z", [1.0, 2.0, 4.0])
def test_the_root_equals_the_formula_over_rows_that_are_written_out(m, z):
    y, p = data(12, m)
    v, each = law_by_hand(y, [p])
    case = Case(y, batch_of(p))
    law = label_law(y, [case.predictions])
    np.testing.assert_allclose(law.labels, v, rtol=1e-12)
    assert law.each == pytest.approx(each, rel=1e-12)
    eps = max(2.0, z * z / 2) * each / 12
    written = Written(y, p, v, eps)
    h, n = written.h, 12
    q = sum(h[i, j] ** 2 for i in range(n) for j in range(n) if i != j)
    kernel = np.exp(-distances(p) / WIDTH)
    nu = [1 - 2 * v @ p[i] + p[i] @ p[i] for i in range(n)]
    r = [h[i, i] for i in range(n)]
    both = sum(kernel[i, j] ** 2 * nu[i] * nu[j] for i in range(n) for j in range(n))
    mixed = min(sum(kernel[i, j] ** 2 * nu[i] * r[j] for i in range(n) for j in range(n)), np.sqrt(q * both))
    w = n * (1 + eps)
    square = (q + 2 * eps * mixed + eps**2 * both) / (w * (w - 1))
    noise = np.sqrt(max(square - written.value() ** 2, 0) / (w * (w - 1)))
    prepared = STATISTIC.prepare(case.predictions)
    found = surprises_of(prepared.matrix(y), case)
    assert found.value(expected(z)) == pytest.approx(written.value(), rel=1e-9)
    assert found.noise(expected(z)) == pytest.approx(noise, rel=1e-9)
    assert found.root(z) == pytest.approx(np.sqrt(max(written.value(), 0) + noise) + z * np.sqrt(noise), rel=1e-9)
    whole, own = written.weights @ h @ written.weights, np.trace(h[:n, :n])
    reach = np.sqrt(0.1**2 + z**2 * eps * sum(nu) / w**2)
    centre = np.sqrt(max(whole, 0)) / w
    assert found.ball(z, 9.0, 0.1, own) == pytest.approx((centre - reach, centre + reach), rel=1e-9)


def test_other_target_kernels_have_features_of_their_own():
    """A kernel twice as large has roots sqrt(2) as large; the identity as a matrix is the Dirac kernel."""
    y, p = data(15, 3)
    case = Case(y, kc.Categorical(p))

    def root(kernel):
        prepared = replace(STATISTIC, target_kernel=kernel).prepare(case.predictions)
        return surprises_of(prepared.matrix(y), case).root(1.5)

    own = root(None)
    assert root(kc.kernels.FiniteKernel(np.eye(3))) == pytest.approx(own, rel=1e-9)
    assert root(kc.kernels.FiniteKernel(2 * np.eye(3))) == pytest.approx(np.sqrt(2) * own, rel=1e-9)


def test_surprises_of_many_rows_lie_on_some_of_them():
    assert pseudo_rows(1024) == slice(0, 1024, 1)
    assert pseudo_rows(3000) == slice(0, 3000, 3)
    assert len(range(*pseudo_rows(10**7).indices(10**7))) == 128
    rng = np.random.default_rng(0)
    p = rng.beta(1, 20, 3000)
    y = (rng.random(3000) < p).astype(int)
    case, prepared = Case(y, kc.Bernoulli(p)), STATISTIC.prepare(kc.Bernoulli(p))
    found = surprises_of(prepared.matrix(y), case)
    kernel, r = np.exp(-np.abs(p[:, None] - p) / WIDTH), np.sqrt(2) * (y - p)
    law = label_law(y, [case.predictions])
    d = np.sqrt(2) * (law.labels[1] - p)[::3]
    nu = 2 * (law.labels[1] - 2 * law.labels[1] * p + p**2)[::3]
    assert found.rows == 1000
    assert found.linear == pytest.approx(d @ kernel[::3] @ r, rel=1e-8)
    assert found.square == pytest.approx(d @ kernel[::3, ::3] @ d, rel=1e-8)
    assert found.both == pytest.approx(nu @ kernel[::3, ::3] ** 2 @ nu, rel=1e-8)
    assert found.own == pytest.approx(nu.sum(), rel=1e-8)


@pytest.mark.parametrize("events", [0, 1, 3, 8])
@pytest.mark.parametrize("z", [norm.ppf(0.95), 3.0])
def test_a_constant_rare_risk_has_the_limit_of_counts(events, z):
    """In units of sqrt(2) / n about ``k + c + z sqrt(k + c)``, exactly so for k = 0; not below the limit of counts."""
    n = 1000
    y, p = (np.arange(n) < events).astype(int), np.full(n, 1e-7)
    case, prepared = Case(y, kc.Bernoulli(p)), STATISTIC.prepare(kc.Bernoulli(p))
    found = surprises_of(prepared.matrix(y), case).root(z) * n / np.sqrt(2)
    law = label_law(y, [case.predictions])
    c = expected(z) * law.each * law.labels[1]  # pseudo-outcomes that are events
    seen = events * (events - 1)  # pairs of events
    noise = np.sqrt(seen + min(2 * c * events, 2 * c * np.sqrt(seen)) + c**2)
    k = events + c
    assert found == pytest.approx(np.sqrt(k**2 - k + noise) + z * np.sqrt(noise), rel=0.03)
    assert found == pytest.approx(k + z * np.sqrt(k), rel=0.03 if events == 0 else 0.15)
    level = norm.cdf(z)
    assert found >= n * beta.ppf(level, events + 1, n - events)


@pytest.mark.parametrize("events", range(7))
@pytest.mark.parametrize(("n", "p"), [(30, 0.02), (100, 0.02), (100, 0.001), (300, 0.01)])
def test_the_upper_end_of_a_constant_risk_is_not_below_clopper_and_pearson(events, n, p):
    y = (np.arange(n) < events).astype(int)
    rate = beta.ppf(0.95, events + 1, n - events)
    found = equivalence_test(y, np.full(n, p), within=0.5)
    assert found.upper >= np.sqrt(2) * (rate - p) * 0.999
    assert found.upper <= np.sqrt(2) * (1.6 * rate + 2.5 / n)


def test_thirty_rows_without_an_event_show_nothing():
    for method in ("root", "ball", "bootstrap"):
        found = equivalence_test(np.zeros(30, int), np.full(30, 0.02), within=0.05, method=method)
        assert found.pvalue > 0.18
        assert found.upper > 0.106
        interval = kc.confidence_interval(np.zeros(30, int), np.full(30, 0.02), method=method)
        assert interval.lower == 0
        assert interval.root[1] > 0.135
    right = 1 - np.random.default_rng(0).beta(0.5, 100, 60)
    assert equivalence_test(np.ones(60, int), right, within=0.03).pvalue > 0.05


@pytest.mark.slow
def test_a_wide_bound_is_met_by_rows_that_show_it():
    """P-values fall as the bound is wider, all the way, and get small where rows are many."""
    y, p = np.zeros(3000, int), np.full(3000, 0.001)
    pvalues = [equivalence_test(y, p, within=w).pvalue for w in (0.001, 0.002, 0.004, 0.008, 0.02, 0.1)]
    assert pvalues == sorted(pvalues, reverse=True)
    assert 0.05 > pvalues[2] > 1e-6
    assert 0 < pvalues[-1] < 1e-20


def test_bisection_finds_where_a_condition_begins():
    assert deepest(lambda z: z >= 1.25) == pytest.approx(1.25, rel=1e-9)
    assert deepest(lambda z: True) == 0
    assert deepest(lambda z: False, 5.0) == 5.0
    assert [expected(z) for z in (-9.0, 0.0, 1.96, 2.0, 3.0)] == [2, 2, 2, 2, 4.5]


# Numbers


def normal_data(n, seed=0):
    rng = np.random.default_rng(seed)
    mean, std = rng.normal(size=n), rng.uniform(0.5, 1.5, n)
    return mean + std * rng.normal(size=n), mean, std


def test_far_lengths_are_those_of_an_outcome_far_away():
    """``k(y, y) + E k(Z, Z')``, in closed form and as features; k(y, y) is met by an outcome in the far distance."""
    _, mean, std = normal_data(8)
    batch, far = kc.Normal(mean, std), np.full(8, 1e4)
    own = kc.SKCE(target_kernel=kc.Gaussian(0.8)).prepare(batch).residual
    np.testing.assert_allclose(own.far_lengths(), np.diag(own.inner(far).block(slice(None), slice(None))), rtol=1e-9)
    waves = kc.SKCE(target_kernel=Spectral(kc.Gaussian(0.8), 60)).prepare(batch).residual
    psi = waves.features(np.zeros(8)) + waves.mean
    length = (psi**2).sum(axis=1) + (waves.mean**2).sum(axis=1)
    assert (length <= waves.far_lengths()).all()  # by the bound of the kernel: the constant wave is left out
    np.testing.assert_allclose(waves.far_lengths(), length, rtol=0.03)
    np.testing.assert_allclose(waves.far_lengths(), own.far_lengths(), rtol=0.05)
    assert kc.SKCE(target_kernel=kc.kernels.Linear()).prepare(batch).residual.far_lengths() is None
    classes = kc.SKCE().prepare(kc.Categorical(data(5, 3)[1])).residual
    np.testing.assert_array_equal(classes.far_lengths(), np.full(5, 2.0))


def test_numbers_are_given_noise_alone():
    y, mean, std = normal_data(14)
    batch = kc.Normal(mean, std)
    statistic = kc.SKCE(prediction_kernel=kc.Gaussian(0.7, metric=Wasserstein()), target_kernel=kc.Gaussian(0.8))
    prepared = statistic.prepare(batch)
    found = surprises_of(prepared.matrix(y), Case(y, batch))
    h, far = prepared.matrix(y).dense(), prepared.residual.far_lengths()
    k = np.exp(-((mean[:, None] - mean) ** 2 + (std[:, None] - std) ** 2) / (2 * 0.7**2))
    off = h - np.diag(np.diag(h))
    eps, n, w, z = 2 / 14, 14, 16.0, 1.7
    both = sum(k[i, j] ** 2 * far[i] * far[j] for i in range(n) for j in range(n))
    mixed = sum(k[i, j] ** 2 * far[i] * h[j, j] for i in range(n) for j in range(n))
    mixed = min(mixed, np.sqrt((off**2).sum() * both))
    value = off.sum() / (n * (n - 1))
    square = ((off**2).sum() + 2 * eps * mixed + eps**2 * both) / (w * (w - 1))
    noise = np.sqrt((square - value**2) / (w * (w - 1)))
    assert found.value(2.0) == pytest.approx(value, rel=1e-9)
    assert found.root(z) == pytest.approx(np.sqrt(max(value, 0) + noise) + z * np.sqrt(noise), rel=1e-9)
    assert found.inflation(1.0, 2.0, 2.0) == pytest.approx(max(1, np.sqrt((1 + 2 * noise**2) / 3)), rel=1e-9)
    assert found.inflation(0.0, 0.0, 2.0) == 1


def test_the_bootstrap_of_numbers_is_wider_by_twice_as_many_surprises():
    y, mean, std = normal_data(25)
    batch, statistic = kc.Normal(mean, std), kc.SKCE(target_kernel=kc.Gaussian(0.8))
    prepared = statistic.prepare(batch)
    matrix = prepared.matrix(y)
    h = matrix.dense()
    drawn = []
    for u in Draws(3, "draws of an interval").uniforms(0, 99, 25):
        c = np.bincount((u * 25).astype(int), minlength=25)
        drawn.append(c @ (h - np.diag(np.diag(h))) @ c / (c.sum() ** 2 - (c**2).sum()))
    known = surprises_of(matrix, Case(y, batch))
    ratio = replace(known, each=2.0).inflation(*hoeffding_parts(matrix), 2.0)
    estimate = known.value(2.0)
    upper = max(np.quantile(drawn, 0.975), estimate + ratio * (np.quantile(drawn, 0.975) - estimate))
    found = kc.confidence_interval(y, batch, statistic=statistic, draws=99, rng=3, pvalue=0.001)
    assert found.upper == pytest.approx(upper, rel=1e-9)
    assert ratio > 1


def test_a_target_kernel_without_a_bound_leaves_intervals_as_they_are():
    y, mean, std = normal_data(60)
    statistic = kc.SKCE(target_kernel=kc.kernels.Linear())
    for method in ("root", "ball", "bootstrap"):
        interval = kc.confidence_interval(y, kc.Normal(mean, std), statistic=statistic, method=method, pvalue=0.5)
        assert 0 == interval.lower < interval.upper


# Draws with flipped rows


def flips_by_hand(u, y, p, weights, surprises):
    """Rows, outcomes and labels of one draw, copy by copy."""
    n = len(y)
    m = p.shape[1]
    v = np.full(m, 1 / m)
    for i in range(n):
        v[y[i]] += weights[i] * (1 - p[i, y[i]])
    v /= v.sum()
    each = 1 / np.mean([weights[i] * (1 - v @ p[i]) for i in range(n)])
    label = int((u[2 * n] >= np.cumsum(v)[:-1]).sum())
    copies = []
    for a in range(n):
        i = int(u[a] * n)
        eps = surprises * each / n * weights[i]
        copies.append((i, label if u[n + a] < eps / (1 + eps) else int(y[i])))
    return copies


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("m", [2, 3])
def test_drawn_rows_with_flips_equal_loops_over_copies(m, weighted):
    y, p = data(12, m, seed=3)
    weights = np.random.default_rng(5).uniform(0.2, 2, 12) if weighted else np.ones(12)
    weights = weights / weights.mean()
    case = Case(y, batch_of(p), weights if weighted else None)
    run = Run(draws=40, rng=7)
    request = Request(case, STATISTIC.prepare(case.predictions, case.weights), run)
    matrix = request.prepared.matrix(y)
    kernel = np.exp(-distances(p) / WIDTH)
    for z in (1.0, 3.0):
        found = Flips.of(matrix, case, request.source, run.draws).changes(expected(z))
        changed = 0
        for b, u in enumerate(Draws(7, "draws of an interval").uniforms(0, 40, 25)):
            copies = flips_by_hand(u, y, p, weights, max(2.0, z * z / 2))
            total = 0.0
            for (i, new), (j, other) in combinations(copies, 2):
                if i != j:
                    pair = 2 * kernel[i, j] * weights[i] * weights[j]
                    after = (np.eye(m)[new] - p[i]) @ (np.eye(m)[other] - p[j])
                    total += pair * (after - (np.eye(m)[y[i]] - p[i]) @ (np.eye(m)[y[j]] - p[j]))
            assert found[b] == pytest.approx(total, rel=1e-9, abs=1e-9)
            changed += total != 0
        assert changed > 10


def test_the_bootstrap_ends_at_the_larger_of_both():
    y, p = data(20, 2)
    case, run = Case(y, kc.Bernoulli(p[:, 1])), Run(draws=99, rng=3)
    request = Request(case, STATISTIC.prepare(case.predictions), run)
    matrix = request.prepared.matrix(y)
    h, old, totals = matrix.dense(), [], []
    for u in Draws(3, "draws of an interval").uniforms(0, 99, 20):
        c = np.bincount((u * 20).astype(int), minlength=20)
        old.append(c @ (h - np.diag(np.diag(h))) @ c)
        totals.append(c.sum() ** 2 - (c**2).sum())
    new = np.array(old) + Flips.of(matrix, case, request.source, run.draws).changes(2.0)
    ends = [np.quantile(np.array(x) / totals, 0.975) for x in (old, new)]
    interval = kc.confidence_interval(y, p[:, 1], statistic=STATISTIC, draws=99, rng=3, pvalue=0.001)
    assert interval.upper == pytest.approx(max(ends), rel=1e-9)
    found = equivalence_test(y, p[:, 1], within=0.3, statistic=STATISTIC, method="bootstrap", draws=99, rng=3)
    shares = [(1 + np.sum(np.array(x) / totals >= 0.09)) / 100 for x in (old, new)]
    assert found.pvalue >= max(shares)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("engine", [kc.ExactPairs(), kc.IncompleteCholesky(1e-13)], ids=["exact", "cholesky"])
def test_drawn_rows_of_the_ckce_with_flips_equal_the_formula_with_inverses(engine, weighted):
    y, p = data(15, 3, seed=1)
    weights = np.random.default_rng(2).uniform(0.2, 2.0, 15) if weighted else np.ones(15)
    weights = weights / weights.mean()
    kernel = kc.kernels.Linear() + kc.Gaussian(0.5)
    prepared = CKCE(prediction_kernel=kernel, regularization=0.3, engine=engine).prepare(
        kc.Categorical(p), weights if weighted else None
    )
    rows, run = RowBootstrap(prepared, y), Run(draws=30, rng=4)
    request = Request(Case(y, kc.Categorical(p), weights if weighted else None), prepared, run)
    drawn = rows.drawn(request)
    found = rows.surprised(request, drawn)(4.5)
    roots = np.sqrt(weights)
    squares = ((p[:, None] - p) ** 2).sum(-1)
    k = (p @ p.T + np.exp(-squares / 0.5)) * np.outer(roots, roots)
    w = np.linalg.inv(k + 0.3 * 15 * np.eye(15))
    m = w @ k @ w
    m -= np.diag(np.diag(m))
    r = (np.eye(3)[y] - p) * roots[:, None]
    e = r - k @ w @ r
    for b, u in enumerate(Draws(4, "draws of an interval").uniforms(0, 30, 31)):
        x = r - e  # once for the rows as they are; each copy adds e
        for i, new in flips_by_hand(u, y, p, weights, 4.5):
            x = x.copy()
            x[i] += e[i] + roots[i] * (np.eye(3)[new] - np.eye(3)[y[i]])
        assert found[b] == pytest.approx(np.sum(m * (x @ x.T)), rel=1e-5, abs=1e-9)
    interval = conditional(request.case, prepared.statistic, run, 0.001)[0]
    if not weighted:
        both = drawn, rows.surprised(request, drawn)(2.0)
        assert interval.upper == pytest.approx(max(0, *(np.quantile(x, 0.975) for x in both)), rel=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("engine", [kc.ExactPairs(), kc.IncompleteCholesky(1e-13)], ids=["exact", "cholesky"])
def test_what_is_kept_of_drawn_rows_changes_no_value(engine, weighted, monkeypatch):
    y, p = data(30, 3, seed=6)
    weights = np.random.default_rng(2).uniform(0.2, 2.0, 30) if weighted else None
    case, run = Case(y, kc.Categorical(p), weights), Run(draws=50, rng=4)
    prepared = CKCE(prediction_kernel=kc.Gaussian(0.5), regularization=0.3, engine=engine).prepare(
        case.predictions, case.weights
    )
    request = Request(case, prepared, run)
    rows = RowBootstrap(prepared, y)
    drawn = rows.drawn(request)
    found = [rows.surprised(request, drawn)(some) for some in (2.0, 4.5, 18.0)]
    monkeypatch.setattr("kernelcal.statistics.conditional.operator.ByCholesky.pairs", lambda *some: None)
    monkeypatch.setattr("kernelcal.inference.intervals.row_bootstrap._KEPT_BYTES", 0)
    monkeypatch.setattr("kernelcal.inference.intervals.row_bootstrap._BYTES", 40 * 30 * 3 * 40)
    monkeypatch.setattr("kernelcal.inference.intervals.flips._KEPT", 0)
    monkeypatch.setattr("kernelcal.statistics.conditional.operator._KEEP_BYTES", 0)
    monkeypatch.setattr("kernelcal.statistics.conditional.operator._CHUNK_BYTES", 2**11)
    again = RowBootstrap(prepared, y)
    anew = again.drawn(request)
    np.testing.assert_allclose(anew, drawn, rtol=1e-9, atol=1e-12)
    changes = again.surprised(request, anew)
    np.testing.assert_allclose([changes(some) for some in (2.0, 4.5, 18.0)], found, rtol=1e-9, atol=1e-12)


def test_single_precision_moves_no_draw_of_many_rows(monkeypatch):
    y, p = data(900, 3, seed=8)
    case, run = Case(y, kc.Categorical(p)), Run(draws=99, rng=4)
    engine = kc.IncompleteCholesky(1e-8)
    prepared = CKCE(prediction_kernel=kc.Gaussian(0.5), regularization=0.01, engine=engine).prepare(case.predictions)
    request, found = Request(case, prepared, run), []
    for first in (10**9, 0):
        monkeypatch.setattr("kernelcal.statistics.conditional.operator._SINGLE_FROM", first)
        monkeypatch.setattr("kernelcal.statistics.conditional.operator._SINGLE_ROWS", 400)
        rows = RowBootstrap(prepared, y)
        drawn = rows.drawn(request)
        found.append(np.stack([drawn, rows.surprised(request, drawn)(4.5)]))
    away = np.abs(found[1] - found[0]).max(axis=1) / found[0].std(axis=1)
    assert (away < 1e-4).all()
    assert (away > 0).all()  # it is another precision


def test_draws_of_the_ckce_of_numbers_are_wider():
    y, mean, std = normal_data(20)
    kernel = Spectral(kc.Gaussian(0.8), 12)
    prepared = CKCE(target_kernel=kernel, regularization=0.3).prepare(kc.Normal(mean, std))
    rows = RowBootstrap(prepared, y)
    request = Request(Case(y, kc.Normal(mean, std)), prepared, Run(draws=50, rng=1))
    drawn = rows.drawn(request)
    r, far = prepared.observed(y), prepared.residual.far_lengths()
    gram = r @ r.T
    q = (gram**2).sum() - (np.diag(gram) ** 2).sum()
    eps, w, both = 4 / 20, 24.0, far.sum() ** 2
    mixed = min(far.sum() * np.trace(gram), np.sqrt(q * both))
    ratio = np.sqrt(((q + 2 * eps * mixed + eps**2 * both) / (w * (w - 1)) ** 2) / (q / (20 * 19) ** 2))
    assert ratio > 1
    np.testing.assert_allclose(
        rows.surprised(request, drawn)(2.0), rows.estimate + ratio * (drawn - rows.estimate), rtol=1e-9
    )


# Paired differences


def paired_by_hand(y, tables, eps_of):
    """Hoeffding's variance of the difference over rows that are written out, whose weights count them."""
    v, each = law_by_hand(y, tables)
    n = len(y)
    eps = eps_of(each, n)
    first, second = (Written(y, p, v, eps) for p in tables)
    d, w = first.h - second.h, first.weights
    sums = d @ w - np.diag(d)
    real = np.arange(len(w)) < n
    q = w @ d**2 @ w - np.sum(np.diag(d)[real] ** 2)
    whole = w.sum()
    pairs = whole * (whole - 1)
    total, rows = w @ sums, w @ sums**2
    mean = (total**2 - 4 * (rows - q) - 2 * q) / (pairs * (whole - 2) * (whole - 3))
    linear = max((rows - q) / (pairs * (whole - 2)) - mean, 0)
    return np.sqrt(4 * (whole - 2) / pairs * linear + 2 / pairs * max(q / pairs - mean, 0))


@pytest.mark.parametrize("z", [1.0, 3.5])
@pytest.mark.parametrize("m", [2, 3, 5])
def test_the_paired_error_equals_that_of_rows_that_are_written_out(m, z):
    y, p = data(11, m)
    tables = [p, data(11, m, seed=8)[1]]
    expected_error = paired_by_hand(y, tables, lambda each, n: max(2, z * z / 2) * each / n)
    surprises = max(2, z * z / 2)
    assert paired(y, tables).between(0, 1).error(surprises) == pytest.approx(expected_error, rel=1e-9)
    assert paired(y, tables).between(1, 0).error(surprises) == pytest.approx(expected_error, rel=1e-9)


def paired(y, tables):
    batches = [batch_of(p) for p in tables]
    prepared = [STATISTIC.prepare(batch) for batch in batches]
    matrices = [one.matrix(y) for one in prepared]
    return PairedSurprises(matrices, label_law(y, batches), *joint_sums(matrices))


def test_three_models_share_one_label_law():
    y, p = data(10, 3)
    tables = [p, data(10, 3, seed=8)[1], data(10, 3, seed=9)[1]]
    v, _ = law_by_hand(y, tables)
    found = paired(y, tables)
    np.testing.assert_allclose(found.law.labels, v, rtol=1e-12)
    assert found.between(0, 0).error(2.0) == 0
    assert len({round(found.between(*two).error(2.0), 9) for two in combinations(range(3), 2)}) == 3


def test_the_paired_error_of_numbers_grows_by_outcomes_far_away():
    y, mean, std = normal_data(12)
    statistic = kc.SKCE(
        prediction_kernel=kc.Gaussian(0.7, metric=Wasserstein()), target_kernel=Spectral(kc.Gaussian(0.8), 20)
    )
    prepared = [statistic.prepare(kc.Normal(mean, s)) for s in (std, 1.3 * std)]
    matrices = [one.matrix(y) for one in prepared]
    sums, products = joint_sums(matrices)
    found = PairedSurprises.of(matrices, None, sums, products)
    eps, w = 2 / 12, 14.0
    size = prepared[0].residual.kernel.bound()
    sides = []
    for one, s in zip(prepared, (std, 1.3 * std), strict=True):
        m, r = one.residual.mean, one.residual.features(y)
        k = np.exp(-((mean[:, None] - mean) ** 2 + (s[:, None] - s) ** 2) / (2 * 0.7**2))
        sides.append((k * -(m @ r.T), k * (size + m @ m.T)))
    mixed, both = (((a - b) ** 2).sum() for a, b in zip(*sides, strict=True))
    q = products[0, 0] - 2 * products[0, 1] + products[1, 1] + 2 * eps * mixed + eps**2 * both
    rows, pairs = sums[0] - sums[1], w * (w - 1)
    t = (rows.sum() ** 2 - 4 * (rows @ rows - q) - 2 * q) / (pairs * (w - 2) * (w - 3))
    linear = 4 * (w - 2) / pairs * max((rows @ rows - q) / (pairs * (w - 2)) - t, 0)
    assert found.between(0, 1).error(2.0) == pytest.approx(
        np.sqrt(linear + 2 / pairs * max(q / pairs - t, 0)), rel=1e-9
    )


def blocks_by_hand(y, tables, size, eps):
    """Hoeffding's variance of a mean over blocks, z1 and z2 from all rows that are written out."""
    v, _ = law_by_hand(y, tables)
    first, second = (Written(y, p, v, eps) for p in tables)
    d, w = first.h - second.h, first.weights
    sums = d @ w - np.diag(d)
    q = w @ d**2 @ w - np.sum(np.diag(d)[: len(y)] ** 2)
    whole, b = w.sum(), size * (1 + eps)
    pairs = whole * (whole - 1)
    mean = (w @ sums / pairs) ** 2
    z1 = max((w @ sums**2 - q) / (pairs * (whole - 2)) - mean, 0)
    return (4 * (b - 2) * z1 + 2 * max(q / pairs - mean, 0)) / (len(y) // size * b * (b - 1))


def in_blocks(y, tables, size):
    cases = {str(k): Case(y, batch_of(p)) for k, p in enumerate(tables)}
    statistic = replace(STATISTIC, estimator="block", block_size=size)
    return cases, {name: statistic.prepare(case.predictions) for name, case in cases.items()}


@pytest.mark.parametrize(("m", "size"), [(2, 5), (3, 4), (5, 2)])
def test_what_surprises_add_to_blocks_equals_rows_that_are_written_out(m, size):
    y, p = data(14, m)
    tables = [p, data(14, m, seed=8)[1]]
    cases, prepared = in_blocks(y, tables, size)
    found = BlockSurprises.of(list(prepared.values()), list(cases.values()), shared_law(cases))
    values = prepared["0"].block_values(y) - prepared["1"].block_values(y)
    each = law_by_hand(y, tables)[1]
    for surprises in (2.0, 6.0):
        more = blocks_by_hand(y, tables, size, surprises * each / 14) - blocks_by_hand(y, tables, size, 0.0)
        expected_error = np.sqrt(values.var(ddof=1) / len(values) + max(more, 0))
        assert found.errors(values, 0, 1)(surprises) == pytest.approx(expected_error, rel=1e-9)


@pytest.mark.slow
def test_parts_of_many_rows_know_the_variance_of_a_mean_over_blocks():
    rng = np.random.default_rng(3)
    p, q = rng.uniform(size=(2, 9000))
    y = (rng.random(9000) < p).astype(int)
    cases, prepared = in_blocks(y, [np.stack([1 - x, x], axis=1) for x in (p, q)], 30)
    found = BlockSurprises.of(list(prepared.values()), list(cases.values()), shared_law(cases))
    assert len(found.parts) == 16
    values = prepared["0"].block_values(y) - prepared["1"].block_values(y)
    own = values.var(ddof=1) / len(values)
    assert found._variance([part.between(0, 1) for part in found.parts], 0.0) == pytest.approx(own, rel=0.2)
    assert found.errors(values, 0, 1)(2.0) == pytest.approx(np.sqrt(own), rel=0.02)  # many outcomes surprise


@pytest.mark.slow
def test_blocks_without_a_surprise_do_not_tell_models_apart_that_err_alike():
    n, repetitions, found = 500, 25, 0
    for seed in range(repetitions):
        y = (np.random.default_rng([13, seed]).random(n) < 0.0012).astype(int)
        cases, prepared = in_blocks(y, [np.tile([1 - p, p], (n, 1)) for p in (0.0004, 0.002)], 16)
        found += skce_differences(cases, prepared)[0].pvalue <= 0.05  # without surprises in every second set
    assert found <= binom.ppf(0.999, repetitions, 0.05)


def test_scores_of_surprises_equal_a_loop():
    y, p = data(9, 3)
    tables = [p, data(9, 3, seed=4)[1]]
    found = ScoreSurprises([kc.Categorical(one) for one in tables])
    rows = np.log(tables[1][np.arange(9), y]) - np.log(tables[0][np.arange(9), y])
    for c in (2.0, 8.0):
        more = whole = 0.0
        for i in range(9):
            together = tables[0][i] + tables[1][i]
            for k in range(3):
                if k != together.argmax():
                    whole += together[k]
                    more += together[k] * (np.log(tables[1][i, k] / tables[0][i, k]) - rows.mean()) ** 2
        more *= c / whole
        w = 9 + c
        error = np.sqrt((((rows - rows.mean()) ** 2).sum() + more) / (w * (w - 1)))
        assert found.errors(rows, 0, 1)(c) == pytest.approx(error, rel=1e-9)


def test_sixty_right_answers_do_not_tell_two_sure_models_apart():
    c = np.minimum(1 - 0.99 * np.random.default_rng(0).beta(0.5, 100, 60), 1 - 1e-4)
    models = {"a": c, "b": np.clip(c - 0.002, 1e-4, 1)}
    found = kc.compare(np.ones(60, int), models, draws=199)
    tied = "The models are tied: no two of them can be told apart by their CKCE. "
    assert found.verdict.startswith(tied)
    assert found.verdict.endswith(", which may be chance.")
    assert {d.verdict for d in found.differences} == {"tie"}
    assert min(d.pvalue for d in found.differences) > 0.05


def test_few_rows_have_the_law_of_student():
    rng = np.random.default_rng(1)
    rows = {"a": rng.normal(size=8), "b": rng.normal(size=8) + 1}
    assert by_rows("CRPS", rows)[0].pvalue == pytest.approx(ttest_1samp(rows["a"] - rows["b"], 0).pvalue, rel=1e-9)
    found = [by_rows("CRPS", {k: rng.normal(size=10) for k in "abcde"}) for _ in range(400)]
    some = sum(min(d.adjusted for d in one) <= 0.05 for one in found)
    assert some <= binom.ppf(0.999, 400, 0.05)


def test_numbers_have_no_surprises_of_scores():
    y, mean, std = normal_data(12)
    assert score_surprises("CRPS", {"a": Case(y, kc.Normal(mean, std))}) is None
    assert score_surprises("log score", {"a": Case(y, kc.Normal(mean, std))}) is None


@pytest.mark.parametrize("m", [2, 3])
def test_a_sketch_holds_what_surprised_and_bounds_which_rows_are_near(m):
    y, p = data(60, m)
    batch, engine = batch_of(p), kc.RandomFourier(40, rng=3)
    sketch = kc.Sketch(prediction_kernel=kc.Laplacian(0.3), engine=engine, draws=99).update(y, batch)
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3), engine=engine)
    prepared = statistic.prepare(batch)
    own = surprises_of(prepared.matrix(y), Case(y, batch))
    sums = as_numbers(sketch._sums, sketch._settings, sketch._subject)
    found = _surprises(sums, sketch._settings, sketch._subject, own.total, own.squares)
    assert (found.each, found.rows) == (pytest.approx(own.each, rel=1e-9), 60)
    assert (found.linear, found.square) == pytest.approx((own.linear, own.square), rel=2e-3)  # features are rounded
    assert (found.own, found.both >= own.both) == (0, True)
    for z in (0.5, 1.6, 3.0):
        assert own.root(z) <= found.root(z) * (1 + 1e-3)
    none = kc.Sketch(prediction_kernel=kc.Laplacian(0.3), draws=99).update(np.zeros(30, int), np.full(30, 0.02))
    assert none.result().interval.root[1] > 0.135


# Levels, in short; the tables are made by experiments/few_surprises


def rejected(draw, within, repetitions, **options):
    """How often a model is called calibrated to within the error that it has."""
    found = 0
    for seed in range(repetitions):
        y, p = draw(np.random.default_rng([11, seed]))
        found += equivalence_test(y, p, within=within, **options).pvalue <= 0.05
    return found


def constant(p, truth, n):
    return lambda rng: ((rng.random(n) < truth).astype(int), np.full(n, p)), np.sqrt(2) * abs(truth - p)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize(
    ("p", "truth", "n"), [(0.02, 0.0554, 30), (0.03, 0.09, 30), (0.999, 0.979, 200), (0.02, 0.2, 10), (0.2, 0.1, 50)]
)
@pytest.mark.parametrize("method", ["root", pytest.param("ball", marks=pytest.mark.slow)])
def test_equivalence_keeps_its_level_at_the_bound(p, truth, n, method):
    draw, within = constant(p, truth, n)
    repetitions = 150
    assert rejected(draw, within, repetitions, method=method, draws=99) <= binom.ppf(0.999, repetitions, 0.05)


def nearly_sure(rng, n=60):
    c = np.minimum(1 - 0.99 * rng.beta(0.5, 100, n), 1 - 1e-4)
    d = np.clip(c - 0.002, 1e-4, 1)
    return (rng.random(n) < (c + d) / 2).astype(int), [np.stack([1 - x, x], axis=1) for x in (c, d)]


@pytest.mark.slow
def test_models_that_err_by_equally_much_are_not_told_apart():
    repetitions, found = 100, 0
    for seed in range(repetitions):
        y, tables = nearly_sure(np.random.default_rng([12, seed]))
        sums = joint_sums([STATISTIC.prepare(batch_of(p)).matrix(y) for p in tables])[0]
        difference = (sums[0] - sums[1]).sum() / (60 * 59)
        found += 2 * norm.sf(abs(difference) / paired(y, tables).between(0, 1).error(2.0)) <= 0.05
    assert found <= binom.ppf(0.999, repetitions, 0.05)
