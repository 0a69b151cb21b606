"""Groups of rows that depend on each other: pieces against loops, thinned groups against their sets, levels."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.dependence import Dependence, Parts, Scores, SharedPart, Stretches, shared_correlation
from kernelcal.explanation import by_group, checked_groups
from kernelcal.explanation.differing import _flipped, _form
from kernelcal.explanation.tested import Null, _finer, _witness
from kernelcal.inference import CoupledRows, DrawnValues, Redrawn
from kernelcal.kernels import Laplacian, kernel_between, resolve
from kernelcal.randomness import generator_of
from kernelcal.runs import Run
from kernelcal.statistics.pairwise import Apart


def in_clusters(rng, clusters, size, rho):
    """Numbers around predicted means, with a latent part that rows of one cluster share."""
    of = np.repeat(np.arange(clusters), size)
    g = np.sqrt(rho) * rng.normal(size=clusters)[of] + np.sqrt(1 - rho) * rng.normal(size=len(of))
    return g, rng.normal(size=len(of)), of


def moving(rng, n, h):
    """Sums of h shocks over their standard deviation."""
    e = rng.normal(size=n + h)
    return np.convolve(e, np.ones(h), "valid")[:n] / np.sqrt(h)


def normal_case(g, mean, **rows):
    return Case.of(mean + g, kc.Normal(mean, 1.0), **rows).in_numpy


def test_sets_of_rows_are_drawn_each_with_its_own_correlation_from_the_same_numbers():
    rows = Dependence.of(12, clusters=np.repeat(np.arange(4), 3))
    first, second = np.array([0, 1, 5]), np.array([5, 7, 11, 2])
    parts = Parts([(SharedPart(rows, 0.2), first), (SharedPart(rows, 0.7), second)])
    u = np.random.default_rng(0).random((3, parts.size))
    g = ndtri(u)
    for place, rho, own in ((slice(0, 3), 0.2, first), (slice(3, 7), 0.7, second)):
        wanted = np.sqrt(1 - rho) * g[:, own] + np.sqrt(rho) * g[:, 12 + own // 3]
        np.testing.assert_allclose(parts(u)[:, place], ndtr(wanted))


def test_some_rows_of_paths_are_those_of_all():
    rows = Dependence.of(30, horizon=3, series=np.arange(30) % 2)
    paths = Stretches(rows, np.array([0.6, 0.2]))
    u = np.random.default_rng(1).random((4, paths.size))
    some = np.array([3, 5, 20, 29])
    np.testing.assert_allclose(Parts([(paths, some)])(u), paths(u)[:, some])


def test_a_set_is_drawn_by_the_correlation_of_its_own_rows():
    rng = np.random.default_rng(2)
    g, mean, of = in_clusters(rng, 60, 6, 0.0)
    half = of < 30
    g[half] = in_clusters(rng, 30, 6, 0.6)[0]
    case = normal_case(g, mean, clusters=of)
    first, second = (CoupledRows.of(case, np.flatnonzero(rows)).coupling.rho for rows in (half, ~half))
    assert first > 0.4
    assert second < 0.2


def test_p_values_of_groups_by_hand():
    """Coupled targets, the family in each group, ranks: the group alone has the p-value of these draws."""
    rng = np.random.default_rng(3)
    g, mean, of = in_clusters(rng, 30, 4, 0.3)
    case, n = normal_case(g, mean, clusters=of), 120
    kind = np.arange(n) % 2
    found = by_group(case, checked_groups(kind, n), Run(draws=99))
    rows = [np.flatnonzero(kind == k) for k in (0, 1)]
    redrawn = Redrawn(case, [CoupledRows.of(case, part) for part in rows])
    assert [part.tolist() for part in (np.arange(120)[redrawn.places[0]], np.arange(120)[redrawn.places[1]])] == [
        list(range(60)),
        list(range(60, 120)),
    ]
    source = redrawn.source(Run(draws=99), "draws of an explanation")
    drawn = source.targets(redrawn.case.predictions, 0, 99)
    u = ndtri(source.uniforms(0, 99, n + 30))
    for k, part in enumerate(rows):  # each by its own correlation, raised by its error
        some = case[part]
        scores = Scores.of(some.predictions)
        rho = shared_correlation(scores, scores(some.targets), some.rows) * (1 + 30**-0.5)
        wanted = mean[part] + np.sqrt(1 - rho) * u[:, part] + np.sqrt(rho) * u[:, n + of[part]]
        np.testing.assert_allclose(drawn[:, redrawn.places[k]], wanted)
    family = kc.DefaultFamily().resolved(case.predictions)
    for k, part in enumerate(rows):
        prepared = family.prepare(case.predictions[part])
        values = prepared.values(np.concatenate([case.targets[None, part], drawn[:, redrawn.places[k]]]))
        alone = next(group for group in found.findings if group.name == str(k))
        assert alone.own_pvalue == pytest.approx(DrawnValues.of(values, merge=prepared.merge).pvalue)
        assert alone.pvalue >= alone.own_pvalue


@pytest.mark.parametrize("rows", ["clusters", "four steps"])
def test_what_rows_add_by_loops_over_pairs_of_independent_rows(rows):
    """Rows in any order; pairs of one cluster, or of one stretch or less than four steps apart, are left out."""
    rng = np.random.default_rng(11)
    p, n = rng.dirichlet([1, 1, 1], 48), 48
    y = (p.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    of, when = rng.permutation(np.repeat(np.arange(12), 4)), rng.permutation(n)
    said = {"clusters": of} if rows == "clusters" else {"time": when, "horizon": 4}
    found = kc.explain(y, p, draws=99, **said)
    kernel, residual = found.estimate.options["prediction_kernel"], np.eye(3)[y] - p
    values = np.asarray(kernel_between(kernel, kc.Categorical(p), kc.Categorical(p))) * (residual @ residual.T)
    if rows == "clusters":
        near = of[:, None] == of
    else:
        units = Apart.of(kc.SKCE().prepare(kc.Categorical(p)), Case.of(y, p, **said).in_numpy).units
        unit = np.empty(n, dtype=int)
        unit[units.order] = units.unit
        near = (unit[:, None] == unit) | (np.abs(when[:, None] - when) < 4)
    wanted = np.where(near, 0.0, values).sum(axis=1) / (~near).sum()
    np.testing.assert_allclose(found.contributions, wanted, atol=1e-12)
    assert sum(part.contribution for part in found.classes) == pytest.approx(wanted.sum())


@pytest.mark.slow
def test_groups_of_several_classes_are_tested_in_sets_of_independent_rows():
    rng = np.random.default_rng(4)
    p = rng.dirichlet([1, 1, 1], 120)
    y = (p.cumsum(axis=1) < rng.random((120, 1))).sum(axis=1)
    y[:60] = p[:60].argmin(axis=1)  # one group is wrong
    kind = np.repeat(["wrong", "right"], 60)
    found = by_group(Case.of(y, p, horizon=3).in_numpy, checked_groups(kind, 120), Run(draws=199))
    least = {}
    for k in range(3):
        alone = by_group(Case.of(y[k::3], p[k::3]).in_numpy, checked_groups(kind[k::3], 40), Run(draws=199))
        for group in alone.findings:
            least[group.name] = min(least.get(group.name, 1.0), group.pvalue)
    for group in found.findings:
        assert group.pvalue == pytest.approx(min(1.0, 3 * least[group.name]))
    assert [group.name for group in found.rejected] == ["wrong"]
    assert "test of every third row by itself" in found.test_in_words


def test_groups_whose_clusters_are_few_are_not_tested():
    rng = np.random.default_rng(5)
    g, mean, of = in_clusters(rng, 24, 5, 0.2)
    kind = np.where(of < 3, "few", "many")
    found = by_group(normal_case(g, mean, clusters=of), checked_groups(kind, len(of)), Run(draws=99))
    few = next(group for group in found.findings if group.name == "few")
    assert few.pvalue is None
    assert any("count like fewer than 5: group few" in note for note in found.notes)
    assert next(group for group in found.findings if group.name == "many").pvalue is not None


def test_clusters_that_differ_by_more_than_a_shift_take_the_larger_p_value():
    rng = np.random.default_rng(6)
    g, mean, of = in_clusters(rng, 60, 5, 0.0)
    slopes = rng.normal(size=60)[of]
    kind = np.arange(len(of)) % 2
    case = normal_case((g + 2 * slopes * mean) / np.sqrt(1 + 4 * mean**2), mean, clusters=of)
    found = by_group(case, checked_groups(kind, len(of)), Run(draws=199))
    assert any("flipped signs of them" in note for note in found.notes)
    redrawn = Redrawn(case, [CoupledRows.of(case, np.flatnonzero(kind == k)) for k in (0, 1)])
    _, corrected = redrawn.flipped([0, 1], Run(draws=199))
    for group in found.findings:
        assert group.pvalue >= corrected[int(group.name)] - 1e-12


def test_signs_of_clusters_change_sums_of_what_groups_add():
    """Quadratic forms of sums whose clusters change their signs, by loops."""
    rng = np.random.default_rng(7)
    parts, of = rng.normal(size=(20, 3)), np.arange(20) % 5
    signs = np.array([[1.0] * 5, [1, -1, 1, -1, -1]])
    covariance = np.eye(3) + 0.2
    wanted = []
    for one in signs:
        u = np.zeros(3)
        for i in range(20):
            u += one[of[i]] * parts[i]
        wanted.append(u @ np.linalg.inv(covariance) @ u)
    np.testing.assert_allclose(_form(_flipped(parts, of, signs), covariance), wanted)


@pytest.mark.parametrize("family", ["numbers", "events"])
def test_the_witness_under_flipped_signs_by_loops(family):
    rng = np.random.default_rng(8)
    g, mean, of = in_clusters(rng, 12, 4, 0.3)
    p = ndtr(mean)
    case = normal_case(g, mean, clusters=of)
    if family == "events":
        case = Case.of((g > ndtri(1 - p)).astype(int), p, clusters=of).in_numpy
    null = Null.of(case, Run(draws=5))
    kernel = _finer(resolve(Laplacian(), case.predictions)[0])
    witness = _witness(null, kernel)
    found = witness.suprema_of_flips(case, case.rows, null.run)
    signs = generator_of(0, "signs of clusters").integers(0, 2, size=(5, 12)) * 2.0 - 1.0
    signals = witness.signals.batch(slice(None), case.targets[None])[:, 0]
    alike = witness.alike(slice(None))
    for b in range(5):
        field = (alike * signs[b][of]) @ signals / len(of)
        assert found[b] == pytest.approx((np.abs(field) / witness.sd).max())


def test_whether_groups_differ_is_refused_where_it_is_not_known():
    rng = np.random.default_rng(9)
    y = rng.normal(size=300)
    kind = np.arange(300) % 2

    def reason(**rows):
        case = normal_case(y, np.zeros(300) + rng.normal(size=300), **rows)
        return by_group(case, checked_groups(kind, 300), Run(draws=99)).differences[0].reason

    assert "rows that do not overlap" in reason(horizon=4)
    assert "20 clusters and more, and there are 12" in reason(clusters=np.arange(300) % 12)
    assert reason(clusters=np.arange(300) % 60) == ""
    assert reason(horizon=1) == ""


def test_groups_that_differ_are_seen_in_clusters():
    rng = np.random.default_rng(10)
    g, mean, of = in_clusters(rng, 80, 4, 0.3)
    kind = of % 2
    case = normal_case(g + np.where(kind == 1, 0.8, -0.8), mean, clusters=of)
    found = by_group(case, checked_groups(kind, len(of)), Run(draws=199)).differences[0]
    assert found.pvalue < 0.02
    assert found.signal == "bias"


def _settings():
    for family in ("numbers", "events"):
        yield family, "clusters", lambda rng: in_clusters(rng, 40, 5, 0.5)
        yield family, "many clusters", lambda rng: in_clusters(rng, 90, 3, 0.8)
        yield family, "four steps", lambda rng: (moving(rng, 240, 4), rng.normal(size=240), None)
        yield family, "eight steps", lambda rng: (moving(rng, 320, 8), rng.normal(size=320), None)


@pytest.mark.slow
@pytest.mark.slow_cases(4)
@pytest.mark.parametrize(("family", "how", "make"), list(_settings()), ids=lambda x: x if isinstance(x, str) else "")
def test_level_over_all_groups(family, how, make):
    sets, any_group, differ, columns = 60, 0, 0, 0
    for seed in range(sets):
        rng = np.random.default_rng([20, seed])
        g, mean, of = make(rng)
        p = ndtr(mean)
        rows = {"clusters": of} if of is not None else {"horizon": {"four steps": 4, "eight steps": 8}[how]}
        case = normal_case(g, mean, **rows)
        if family == "events":
            case = Case.of((g > ndtri(1 - p)).astype(int), p, **rows).in_numpy
        n = len(case)
        of_cluster = rng.integers(0, 3, n if of is None else of.max() + 1)
        groups = {"row": rng.integers(0, 2, n), "cluster": of_cluster if of is None else of_cluster[of]}
        found = by_group(case, checked_groups(groups, n), Run(draws=99, rng=seed))
        any_group += bool(found.rejected)
        known = [d.pvalue for d in found.differences if d.pvalue is not None]
        differ, columns = differ + sum(p <= 0.05 for p in known), columns + len(known)
    assert any_group <= binom.ppf(0.9995, sets, 0.075)
    assert differ <= binom.ppf(0.9995, columns, 0.075)
