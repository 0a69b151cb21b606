"""Intervals of rows that depend on each other: sums against loops, coverage by simulation, what is refused."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import binom, norm, skew, t

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.dependence import DependentUnits
from kernelcal.inference import equivalence_test
from kernelcal.inference.draws import Draws
from kernelcal.inference.intervals import Request, RowBootstrap, UnitMean, interval_of, mean_of_units
from kernelcal.inference.intervals.confidence import spread_of
from kernelcal.inference.intervals.flips import Flips
from kernelcal.inference.intervals.methods import INTERVAL_METHODS, IntervalMethod
from kernelcal.inference.intervals.surprises import hoeffding_parts, hoeffding_sums, surprises_of
from kernelcal.inference.intervals.units import UnitPairs, wider
from kernelcal.runs import Run
from kernelcal.statistics import CKCE
from kernelcal.statistics.pairwise import Apart, steps_alike

KERNEL = kc.Laplacian(0.3)
STATISTIC = kc.SKCE(prediction_kernel=KERNEL)


def in_clusters(rng, clusters=12, size=5, rho=0.5, power=1.5):
    of = np.repeat(np.arange(clusters), size)
    g = np.sqrt(rho) * rng.normal(size=clusters)[of] + np.sqrt(1 - rho) * rng.normal(size=len(of))
    p = norm.cdf(rng.normal(size=len(of)))
    order = rng.permutation(len(of))
    return (g > norm.isf(p)).astype(int)[order], (p**power)[order], {"clusters": of[order]}


def overlapping(rng, n=120, h=4, power=1.5):
    g = np.convolve(rng.normal(size=n + h - 1), np.full(h, h**-0.5), "valid")
    p = norm.cdf(rng.normal(size=n))
    order = rng.permutation(n)
    return (g > norm.isf(p)).astype(int)[order], (p**power)[order], {"horizon": h, "time": np.arange(n)[order]}


DATA = {"clusters": in_clusters, "stretches": overlapping}


def prepared(kind, seed=0, weighted=False):
    rng = np.random.default_rng(seed)
    y, p, said = DATA[kind](rng)
    weights = rng.uniform(0.3, 2, len(y)) if weighted else None
    case = Case.of(y, p, weights=weights, **said).in_numpy
    return case, Apart.of(STATISTIC.prepare(case.predictions, case.weights), case)


def by_loops(apart):
    """Matrices H and N of units, from h_ij and w_i w_j, and H with all pairs."""
    units, h = apart.units, apart.matrix.dense()
    number, n = len(units), len(h)
    sums, pairs, whole = np.zeros((3, number, number))
    for i in range(n):
        for j in range(n):
            g, k = units.unit[i], units.unit[j]
            whole[g, k] += h[i, j]
            if not units.first[i] <= j < units.last[i]:
                sums[g, k] += h[i, j]
                pairs[g, k] += apart.weights[i] * apart.weights[j]
    return sums, pairs, whole


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", DATA)
def test_sums_over_units_are_those_of_loops(kind, weighted):
    _, apart = prepared(kind, weighted=weighted)
    found, (sums, pairs, whole) = UnitPairs(apart), by_loops(apart)
    assert found.estimate == pytest.approx(sums.sum() / pairs.sum())
    assert apart.estimate() == pytest.approx(found.estimate)
    assert apart.pairs == pytest.approx(pairs.sum())
    d = (sums - found.estimate * pairs) / pairs.sum() * len(pairs) * (len(pairs) - 1)
    np.testing.assert_allclose(found.row_sums, d.sum(axis=1), atol=1e-12)
    assert found.row_squares.sum() == pytest.approx((d**2).sum())
    assert hoeffding_parts(found) == pytest.approx(hoeffding_sums(d.sum(axis=1), (d**2).sum()))
    counts = np.random.default_rng(1).multinomial(len(pairs), np.full(len(pairs), 1 / len(pairs)), 5).T.astype(float)
    np.testing.assert_allclose(found.totals(counts), np.einsum("gb,gk,kb->b", counts, pairs, counts))
    np.testing.assert_allclose(
        found.quadratic(counts, diagonal=False), np.einsum("gb,gk,kb->b", counts, sums, counts), atol=1e-10
    )
    np.testing.assert_allclose(found.quadratic(counts), np.einsum("gb,gk,kb->b", counts, whole, counts))
    assert found.whole == pytest.approx(whole.sum())


@pytest.mark.parametrize("kind", DATA)
def test_strips_change_no_sum(kind, monkeypatch):
    _, apart = prepared(kind)
    whole = UnitPairs(apart)
    wanted = whole.row_sums, whole.row_squares, whole.sharing
    monkeypatch.setattr("kernelcal.inference.intervals.units._STRIP", 1)  # 16 rows at once
    found = UnitPairs(apart)
    np.testing.assert_allclose(found.row_sums, wanted[0], atol=1e-12)
    np.testing.assert_allclose(found.row_squares, wanted[1])
    assert found.sharing.correlation == pytest.approx(wanted[2].correlation)


@pytest.mark.parametrize("kind", DATA)
def test_what_rows_of_a_unit_share_is_that_of_loops(kind):
    _, apart = prepared(kind)
    pairs, units, h = UnitPairs(apart), apart.units, apart.matrix.dense()
    inside = most = m = 0.0
    for g in range(len(units)):
        rows = np.flatnonzero(units.unit == g)
        m += len(rows) ** 2 / len(h)
        for i in rows:
            for j in rows:
                if i != j:
                    inside += h[i, j] - pairs.estimate
                    most += np.sqrt(h[i, i] * h[j, j])
    more = 2 * m * (m - 1) * np.diag(h).mean()
    assert pairs.sharing.correlation == pytest.approx(max(inside / most, 0))
    assert pairs.sharing.seen == pytest.approx(1 + (m - 1) * max(inside / most, 0))
    assert pairs.sharing.rows == pytest.approx(1 + (m - 1) * max((inside + more) / (most + more), 0))
    assert pairs.sharing.rows > pairs.sharing.seen


@pytest.mark.parametrize("kind", DATA)
def test_the_printed_estimate_leaves_out_what_the_interval_does(kind):
    case, apart = prepared(kind)
    sums, pairs, _ = by_loops(apart)
    estimate = STATISTIC.estimated(case)
    assert float(estimate) == pytest.approx(sums.sum() / pairs.sum())
    assert any("are left out of the estimate" in note for note in estimate.notes)
    assert float(STATISTIC.of_pairs(STATISTIC.prepare(case.predictions), case)) == pytest.approx(float(estimate))
    found = interval_of(case, STATISTIC, Run(draws=99), pvalue=0.001)
    assert found.estimate == pytest.approx(float(estimate))
    assert any("are left out of the estimate" in note for note in found.notes)


@pytest.mark.slow
def test_the_estimate_is_unbiased_where_that_of_all_pairs_is_not():
    rng, found = np.random.default_rng(3), []
    for _ in range(200):
        y, p, said = in_clusters(rng, 10, 6, rho=0.8, power=1)
        found.append(
            (float(STATISTIC.estimated(Case.of(y, p, **said))), float(kc.skce(y, p, prediction_kernel=KERNEL)))
        )
    apart, every = np.array(found).T
    assert abs(apart.mean()) < 4 * apart.std() / 200**0.5
    assert every.mean() > 6 * every.std() / 200**0.5


@pytest.mark.parametrize("kind", DATA)
def test_the_root_ends_where_the_formula_says(kind):
    case, apart = prepared(kind)
    pairs = UnitPairs(apart)
    linear, degenerate = hoeffding_parts(pairs)
    n, sharing = len(case), pairs.sharing
    h = apart.matrix.dense()
    sums = pairs.estimate * n * (n - 1), (h**2).sum() - (np.diag(h) ** 2).sum()
    more = surprises_of(apart.matrix, apart.case, sums)
    more = replace(more, each=more.each * sharing.rows, shared=sharing.rows)
    factor = np.sqrt(len(apart.units) / (len(apart.units) - 1))
    z = factor * t.ppf(0.975, sharing.effective - 1)
    noise = np.sqrt(degenerate / 2)
    upper = max(np.sqrt(max(pairs.estimate, 0) + noise) + z * np.sqrt(noise), more.root(z))
    found = interval_of(case, STATISTIC, Run(), pvalue=0.001)
    assert found.root[1] == pytest.approx(upper, rel=1e-9)
    deviation = np.sqrt(linear + degenerate)
    root = np.sqrt(max(pairs.estimate, 0))
    lower = 0 if pairs.estimate <= z * deviation else max(root - z * deviation / (2 * root), 0)
    assert found.root[0] == pytest.approx(lower, rel=1e-9)


def test_shared_surprises_are_as_wide_as_fewer_rows():
    """Where rows of a cluster are copies, pseudo-surprises say of them what they say of one row a cluster."""
    rng = np.random.default_rng(8)
    p = rng.uniform(0.05, 0.2, 40)
    y = (rng.random(40) < 0.1).astype(int)
    copies = np.repeat(np.arange(40), 6)
    alone = confidence(y, p, pvalue=0.001)
    found = confidence(y[copies], p[copies], pvalue=0.001, clusters=copies)
    assert found.estimate == pytest.approx(alone.estimate)
    freedom = 39
    z = norm.cdf(np.sqrt(40 / 39) * t.ppf(0.975, freedom)) * 2 - 1
    wide = confidence(y, p, pvalue=0.001, confidence_level=z)
    assert found.root[1] == pytest.approx(wide.root[1], rel=0.04)


def confidence(y, p, **options):
    return kc.confidence_interval(y, p, statistic=STATISTIC, method="root", **options)


@pytest.mark.parametrize("method", ["root", "bootstrap", "ball"])
def test_pvalues_go_back_the_way_of_the_ends(method):
    y, p, said = in_clusters(np.random.default_rng(0), power=3)
    case = Case.of(y, p, **said).in_numpy
    spread = spread_of(INTERVAL_METHODS[method], STATISTIC, case, Run(draws=999))
    upper = spread.upper(0.9)
    assert spread.above(upper) == pytest.approx(0.1, abs=0.006 if method == "root" else 0.06)
    assert spread.upper(0.5) < spread.upper(0.95) < spread.upper(0.99)
    assert spread.above(1e6) < 0.01
    low, high = spread.ends(0.95)
    assert low < spread.estimate < high


def test_widened_levels_are_those_of_student():
    inner = spread_of(INTERVAL_METHODS["root"], STATISTIC, Case.of(*in_clusters(np.random.default_rng(0))[:2]), Run())
    found = wider(inner, 9.0, 10)
    z = np.sqrt(10 / 9) * t.ppf(0.975, 9)
    assert found.ends(0.95) == pytest.approx(inner.ends(2 * norm.cdf(z) - 1))
    assert found.upper(0.95) == pytest.approx(inner.upper(norm.cdf(np.sqrt(10 / 9) * t.ppf(0.95, 9))))
    p = inner.above(0.02)
    assert found.above(0.02) == pytest.approx(t.cdf(norm.ppf(p) / np.sqrt(10 / 9), 9))


@pytest.mark.parametrize("kind", DATA)
def test_the_bootstrap_draws_units(kind):
    case, apart = prepared(kind)
    sums, pairs, _ = by_loops(apart)
    number = len(pairs)
    values = []
    for u in Draws(3, "draws of an interval").uniforms(0, 99, number):
        c = np.bincount((u * number).astype(int), minlength=number)
        values.append(c @ sums @ c / (c @ pairs @ c))
    spread = spread_of(INTERVAL_METHODS["bootstrap"], STATISTIC, case, Run(draws=99, rng=3))
    sharing = UnitPairs(apart).sharing
    z = np.sqrt(number / (number - 1)) * t.ppf(0.975, sharing.effective - 1)
    assert spread.ends(0.95)[0] == pytest.approx(np.quantile(values, norm.sf(z)))
    assert spread.ends(0.95)[1] >= np.quantile(values, norm.cdf(z)) - 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("kind", DATA)
def test_flipped_units_equal_loops_over_copies(kind):
    case, apart = prepared(kind, seed=2)
    pairs, units, draws = UnitPairs(apart), apart.units, 25
    request = Request(apart.case, apart.prepared, Run(draws=draws, rng=7), pairs)
    flips = Flips.of(pairs.below, apart.case, request.source, draws, **pairs.drawn)
    found = flips.changes(4.0)
    y, p, n, number = apart.case.targets, np.asarray(apart.case.predictions.p), len(case), len(units)
    kernel = np.exp(-np.abs(p[:, None] - p) / 0.3)
    share = min(1.0, pairs.sharing.rows * number / n)
    eps = 4.0 * flips.law.each * pairs.sharing.rows / (n * share)
    changed = 0
    for b, u in enumerate(Draws(7, "draws of an interval").uniforms(0, draws, 2 * number + n + 1)):
        label = int(np.searchsorted(np.cumsum(flips.law.labels)[:-1], u[-1], side="right"))
        copies = []
        for a in range(number):
            unit, flipped = int(u[a] * number), u[number + a] < eps / (1 + eps)
            for i in np.flatnonzero(units.unit == unit):
                copies.append((i, label if flipped and u[2 * number + i] < share else int(y[i])))
        total = 0.0
        for (i, new), (j, other) in combinations(copies, 2):
            if not units.first[i] <= j < units.last[i]:
                residuals = [
                    np.eye(2)[k] - np.array([1 - p[r], p[r]]) for k, r in ((new, i), (other, j), (y[i], i), (y[j], j))
                ]
                total += 2 * kernel[i, j] * (residuals[0] @ residuals[1] - residuals[2] @ residuals[3])
        assert found[b] == pytest.approx(total, rel=1e-8, abs=1e-8)
        changed += total != 0
    assert changed > 10


@pytest.mark.parametrize("engine", [kc.ExactPairs(), kc.IncompleteCholesky(1e-13)], ids=["exact", "cholesky"])
@pytest.mark.parametrize("kind", DATA)
def test_the_ckce_of_units_equals_the_formula_with_inverses(kind, engine):
    rng = np.random.default_rng(4)
    y, p, said = DATA[kind](rng)
    case = Case.of(y, p, **said).in_numpy
    units = DependentUnits.of(case.rows)
    case = case[units.order]
    kernel = kc.kernels.Linear() + kc.Gaussian(0.5)
    ready = CKCE(prediction_kernel=kernel, regularization=0.3, engine=engine).prepare(case.predictions)
    rows = RowBootstrap(ready, case.targets, units)
    n, p = len(case), np.asarray(case.predictions.p)
    table = np.stack([1 - p, p], axis=1)
    k = table @ table.T + np.exp(-((table[:, None] - table) ** 2).sum(axis=2) / (2 * 0.25))
    w = np.linalg.inv(k + 0.3 * n * np.eye(n))
    m, r = w @ k @ w, np.eye(2)[case.targets] - table
    e = r - k @ w @ r
    place = np.arange(n)
    m = np.where((place >= units.first[:, None]) & (place < units.last[:, None]), 0, m)
    assert rows.estimate == pytest.approx((m * (r @ r.T)).sum())
    counts = rng.multinomial(len(units), np.full(len(units), 1 / len(units)), 6).T.astype(float)
    for c, value in zip(counts.T, rows.values(counts), strict=True):
        x = r + (c[units.unit] - 1)[:, None] * e
        assert value == pytest.approx((m * (x @ x.T)).sum(), rel=1e-8)


def test_the_ckce_has_an_interval_of_units():
    y, p, said = in_clusters(np.random.default_rng(2), 30, 6, power=2.5)
    found = kc.confidence_interval(y, p, statistic=CKCE(), pvalue=0.001, draws=199, **said)
    plain = kc.confidence_interval(y, p, statistic=CKCE(), pvalue=0.001, draws=199)
    assert found.upper - found.lower > plain.upper - plain.lower
    assert "30 clusters in the place of rows" in found.method


@pytest.mark.parametrize("kind", DATA)
def test_blocks_are_made_of_rows_that_do_not_depend(kind):
    case, _ = prepared(kind)
    blocks = kc.SKCE(prediction_kernel=KERNEL, estimator="block", block_size=2)
    units = DependentUnits.of(case.rows)
    rows, group = units.layers(2)
    values = blocks.prepare(case.predictions[rows]).block_values(case.targets[rows])
    found = interval_of(case, blocks, Run())
    assert found.estimate == pytest.approx(values.mean())
    assert float(blocks.estimated(case)) == pytest.approx(values.mean())
    sums, number = np.bincount(group, values), np.bincount(group)
    groups = len(number)
    error = np.sqrt(((sums - values.mean() * number) ** 2).sum() * groups / (groups - 1)) / len(values)
    assert found.upper >= values.mean() + t.ppf(0.975, groups - 1) * error - 1e-12
    spread = spread_of(INTERVAL_METHODS["block"], blocks, case, Run())
    assert spread.ends(0.95)[0] == pytest.approx(values.mean() - t.ppf(0.975, groups - 1) * error)


def test_the_mean_of_a_score_is_that_of_loops():
    rng = np.random.default_rng(6)
    y, p, said = in_clusters(rng)
    weights = rng.uniform(0.5, 2, len(y))
    case = Case.of(y, p, weights=weights, **said)
    values = (y - p) ** 2
    found = mean_of_units(values, case)
    w = case.weights
    assert found.mean == pytest.approx((w * values).sum() / w.sum())
    sums = [(w * (values - found.mean))[said["clusters"] == g].sum() for g in range(12)]
    assert found.error == pytest.approx(np.sqrt(12 / 11 * np.square(sums).sum()) / w.sum())
    assert found.skewness == pytest.approx(skew(sums))
    assert found.freedom == pytest.approx(11)  # clusters of one size
    one_step = mean_of_units(values, Case.of(y, p, horizon=1))
    assert one_step.error == pytest.approx(values.std(ddof=1) / len(y) ** 0.5)
    assert (one_step.units, one_step.freedom) == (60, 59)


def test_ends_of_a_skewed_mean_solve_the_transformation():
    found = UnitMean(2.0, 0.3, 24.0, 25, 1.2)
    for end, sign in zip(found.ends(0.95), (1, -1), strict=True):
        x = (2.0 - end) / (0.3 * 5)  # (mean - mu) / s
        g = x + 1.2 * x**2 / 3 + 1.2**2 * x**3 / 27 + 1.2 / (6 * 25)
        assert g == pytest.approx(sign * t.ppf(0.975, 24) / 5)
    low, high = found.ends(0.95)
    assert high - 2.0 > 2.0 - low
    plain = UnitMean(2.0, 0.3, 24.0, 25, 0.0).ends(0.95)
    assert plain == pytest.approx((2.0 - 0.3 * t.ppf(0.975, 24), 2.0 + 0.3 * t.ppf(0.975, 24)))


def test_the_mean_over_stretches_allows_for_what_neighbours_share():
    y, p, said = overlapping(np.random.default_rng(7), power=1)
    case = Case.of(y, p, **said)
    values = (y - p) ** 2
    found = mean_of_units(values, case)
    away = (values - values.mean())[np.argsort(said["time"])].reshape(15, 8)
    sums = away.sum(axis=1)
    size = np.abs(away).sum(axis=1)
    correlation = (np.square(sums).sum() - np.square(away).sum()) / (np.square(size).sum() - np.square(away).sum())
    seen = 1 + 7 * correlation
    assert seen > 1
    more = 1 + (1 - 1 / seen) * (1 / (1 - 4 / 24) - 1)
    assert found.error == pytest.approx(np.sqrt(15 / 14 * np.square(sums).sum() * more) / 120)
    assert (found.mean, found.freedom) == (pytest.approx(values.mean()), pytest.approx(14))


def test_a_method_that_does_not_know_units_is_refused():
    y, p, said = in_clusters(np.random.default_rng(3), 12, 9)
    own = IntervalMethod(INTERVAL_METHODS["root"].spread, "mine")
    assert kc.confidence_interval(y, p, method=own).method == "mine"
    with pytest.raises(kc.InputError, match="mine: this method takes rows as independent"):
        kc.confidence_interval(y, p, method=own, pvalue=0.5, **said)


def test_stretches_grow_where_rows_stay_alike():
    rng = np.random.default_rng(0)
    rows = Case.of([0, 1] * 300, [0.5] * 600, horizon=4).rows
    x = np.zeros(600)
    for i in range(1, 600):
        x[i] = 0.95 * x[i - 1] + rng.normal()
    correlation = ((x - x.mean())[:-4] * (x - x.mean())[4:]).mean() / x.var()
    phi = correlation ** (1 / 4)
    wanted = np.ceil(1.1447 * (4 * phi**2 / (1 - phi**2) ** 2 * 600) ** (1 / 3))
    assert steps_alike(x, rows) == min(wanted, 60)
    assert steps_alike(np.convolve(rng.normal(size=603), np.ones(4), "valid"), rows) <= 16
    assert steps_alike(np.ones(600), rows) == 0


def test_one_step_forecasts_have_the_interval_of_independent_rows():
    rng = np.random.default_rng(1)
    p = rng.uniform(size=150)
    y = (rng.random(150) < p).astype(int)
    said = kc.confidence_interval(y, p**2, method="root", pvalue=0.001, horizon=1)
    assert said.to_dict() == kc.confidence_interval(y, p**2, method="root", pvalue=0.001).to_dict()


def test_the_order_of_rows_and_of_labels_changes_nothing():
    y, p, said = overlapping(np.random.default_rng(5))
    order = np.argsort(said["time"])
    found = kc.confidence_interval(y, p, statistic=STATISTIC, pvalue=0.001, **said)
    again = kc.confidence_interval(y[order], p[order], statistic=STATISTIC, pvalue=0.001, horizon=4)
    assert found.upper == pytest.approx(again.upper)
    assert found.estimate == pytest.approx(again.estimate)


def test_case_weights_are_taken_by_the_root():
    y, p, said = in_clusters(np.random.default_rng(7), 30, 4)
    twice = np.repeat(np.arange(len(y)), 2)
    once = kc.confidence_interval(y, p, statistic=STATISTIC, pvalue=0.001, weights=np.full(len(y), 3.0), **said)
    plain = kc.confidence_interval(y, p, statistic=STATISTIC, pvalue=0.001, **said)
    copied = kc.confidence_interval(
        y[twice], p[twice], statistic=STATISTIC, pvalue=0.001, clusters=said["clusters"][twice]
    )
    assert once.upper == pytest.approx(plain.upper)
    assert copied.estimate == pytest.approx(plain.estimate)
    assert copied.upper == pytest.approx(plain.upper, rel=0.15)


def test_the_lower_end_asks_the_test_of_dependent_rows():
    y, p, said = in_clusters(np.random.default_rng(9), 40, 8, rho=0.6, power=1)
    found = kc.confidence_interval(y, p, draws=199, **said)
    assert any("the test of dependent rows does not reject" in note for note in found.notes)
    pvalue = kc.calibration_test(y, p, draws=199, **said).pvalue
    assert any(f"(p = {pvalue:.3g})" in note for note in found.notes)


@pytest.mark.parametrize(
    ("statistic", "options", "words"),
    [
        (None, {"clusters": np.repeat([0, 1, 2, 3], 15)}, "4 clusters count like 4.0 of equal size"),
        (CKCE(), {"clusters": np.repeat([0, 1, 2, 3], 15)}, "more clusters are needed, not more rows"),
        (None, {"horizon": 8}, "stretches of 16 steps count like 3.0"),
        (None, {"horizon": 40}, "make one stretch of"),
        (
            kc.SKCE(estimator="block", block_size=2),
            {"clusters": np.repeat([0, 1, 2, 3], 15)},
            "4 clusters count like",
        ),
    ],
)
def test_too_few_units_are_refused(statistic, options, words):
    rng = np.random.default_rng(0)
    p = rng.uniform(size=60)
    y = (rng.random(60) < p).astype(int)
    with pytest.raises(kc.InputError, match=words):
        kc.confidence_interval(y, p, statistic=statistic, pvalue=0.5, **options)


def test_few_units_are_marked_and_neighbouring_pairs_refused():
    y, p, said = in_clusters(np.random.default_rng(3), 7, 9)
    found = kc.confidence_interval(y, p, pvalue=0.5, **said)
    assert any("too few to tell how much they differ" in note for note in found.notes)
    with pytest.raises(kc.InputError, match="use estimator='unbiased'"):
        kc.SKCE(estimator="incomplete", superdiagonals=3).estimated(Case.of(y, p, **said))


def test_equivalence_is_that_of_units():
    y, p, said = in_clusters(np.random.default_rng(4), 60, 5, rho=0.3, power=1)
    found = equivalence_test(y, p, within=0.3, statistic=STATISTIC, **said)
    assert "60 clusters in the place of rows" in found.method
    spread = spread_of(INTERVAL_METHODS["root"], STATISTIC, Case.of(y, p, **said), Run())
    assert found.pvalue == pytest.approx(spread.above(0.09))
    assert found.upper == pytest.approx(np.sqrt(spread.upper(0.95)))
    assert found.pvalue > equivalence_test(y, p, within=0.3, statistic=STATISTIC).pvalue


@pytest.mark.slow
@pytest.mark.parametrize("kind", DATA)
def test_intervals_cover(kind):
    rng, sets = np.random.default_rng(20), 60
    big = in_clusters(rng, 6_000, 1, power=2.5)
    true = float(kc.skce(big[0], big[1], prediction_kernel=KERNEL))
    held = naive = 0
    for _ in range(sets):
        y, p, said = in_clusters(rng, 30, 10, 0.7, 2.5) if kind == "clusters" else overlapping(rng, 240, 8, 2.5)
        found = confidence(y, p, pvalue=0.001, **said)
        held += found.lower <= true <= found.upper
        found = confidence(y, p, pvalue=0.001)
        naive += found.lower <= true <= found.upper
    assert held >= binom.ppf(0.001, sets, 0.95)
    assert naive < held
