"""Sums in places and over pairs of rows, against loops that follow the formulae."""

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.covariates import Covariates
from kernelcal.statistics.covariates import PreparedAlike, PreparedPlaces, kernel_in, scores_of
from kernelcal.statistics.covariates.places import normal_of, sum_of

RNG = np.random.default_rng(5)
N = 120
GIVEN = {"age": np.round(RNG.normal(50, 12, N), 1), "site": RNG.choice(["a", "b", "c"], N)}
WEIGHTS = RNG.uniform(0.5, 2.0, N)


def prepared(predictions, weights=None, given=GIVEN):
    return PreparedPlaces(Covariates.of(given, N), scores_of(predictions, weights), weights)


def wilson_hilferty(z, g):
    return z if abs(g) < 1e-3 else 6 / g * (np.cbrt(g * z / 2 + 1) - 1) + g / 6


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["alike", "weighted"])
def test_sums_of_events_are_those_of_loops(weights):
    p = RNG.uniform(0.05, 0.6, N)
    y = (RNG.random(N) < p).astype(int)
    found = prepared(kc.as_predictions(p), weights)
    own = np.ones(N) if weights is None else weights
    normal = found.normal(y[None])[0, 0]
    seen = 0
    for k, place in enumerate(found.places):
        factor = np.ones(N) if place.trend is None else place.trend
        total = variance = third = mass = squares = 0.0
        for i in place.rows:
            w = own[i] * factor[i]
            total += w * (y[i] - p[i])
            variance += w**2 * p[i] * (1 - p[i])
            third += w**3 * p[i] * (1 - p[i]) * (1 - 2 * p[i])
            mass, squares = mass + own[i], squares + own[i] ** 2
        enough = mass**2 / squares >= 5 and variance >= (squares / mass) ** 2 if place.trend is None else True
        assert bool(found.looked_at[0, k]) == enough, place.where
        expected = wilson_hilferty(total / np.sqrt(variance), third / variance**1.5) if enough else 0.0
        assert normal[k] == pytest.approx(expected, abs=1e-9), place.where
        seen += enough
    assert found.number == seen > 30
    single, crossed = found.values(y[None])[0]
    assert single == pytest.approx(np.abs(normal[: found.single]).max())
    assert crossed == pytest.approx(np.abs(normal[found.single :]).max())


def test_places_are_the_ranges_and_categories_and_their_intersections():
    found = prepared(kc.as_predictions(np.full(N, 0.5)))
    age = GIVEN["age"]
    plain = {place.where: place for place in found.places if place.trend is None}
    high = next(p for name, p in plain.items() if name.startswith("age is high") and p.ranges == 2)
    assert set(high.rows) == set(np.flatnonzero(age > np.sort(age)[N // 2 - 1]))
    assert set(plain["site is b"].rows) == set(np.flatnonzero(GIVEN["site"] == "b"))
    both = plain[f"{high.where} and site is b"]
    assert set(both.rows) == set(high.rows) & set(plain["site is b"].rows)
    assert len({place.rows.tobytes() for place in plain.values()}) == len(plain)
    trends = [place for place in found.places if place.trend is not None]
    assert [place.curved for place in trends] == [False, True]
    for place in trends:  # at equal variances: no overall shift is in them, and no trend in the curve
        assert abs(place.trend.sum()) < 1e-9
    assert abs(trends[0].trend @ trends[1].trend) < 1e-9


def test_places_of_a_nested_column_are_looked_at_once():
    country = np.where(GIVEN["site"] == "a", "x", "y")
    names = [
        place.where for place in prepared(kc.as_predictions(np.full(N, 0.5)), given={**GIVEN, "land": country}).places
    ]
    assert "site is a and land is x" not in names  # the rows of site a, again
    assert "land is y" in names


def test_missing_values_and_rare_categories_are_places():
    site = [f"s{k % 15}" if k % 7 else None for k in range(N)]
    age = np.where(np.arange(N) % 3, GIVEN["age"], np.nan)
    found = prepared(kc.as_predictions(np.full(N, 0.5)), given={"age": age, "site": site})
    plain = {place.where: place for place in found.places}
    assert set(plain["age is missing"].rows) == set(range(0, N, 3))
    assert set(plain["site is missing"].rows) == set(range(0, N, 7))
    assert "site is another one of 15" in plain
    for place in found.places:
        if place.trend is not None:
            assert (place.trend[::3] == 0).all()


def test_squares_are_summed_about_the_mean_of_the_place():
    mu = RNG.normal(size=N)
    found = prepared(kc.Normal(mu, np.ones(N)), WEIGHTS)
    y = mu + RNG.normal(size=N)
    shifted = y + 3.0 * (GIVEN["site"] == "b")
    k = next(k for k, place in enumerate(found.places) if place.where == "site is b")
    normal, moved = (found.normal(v[None])[:, 0, k] for v in (y, shifted))
    assert moved[1] == pytest.approx(normal[1], abs=1e-9)  # a shift is no width
    assert moved[0] > normal[0] + 5
    rows, w = found.places[k].rows, WEIGHTS[found.places[k].rows]
    z = (y - mu)[rows]
    mean = (w * z).sum() / w.sum()
    expected, freedom = w.sum() - (w**2).sum() / w.sum(), w.sum() ** 2 / (w**2).sum() - 1
    ratio = (w * (z - mean) ** 2).sum() / expected
    assert normal[1] == pytest.approx(wilson_hilferty((ratio - 1) * np.sqrt(freedom / 2), np.sqrt(8 / freedom)))


def test_normal_quantiles_of_a_skewed_sum_and_back():
    from scipy import stats

    shape = 6.0  # a gamma law: skewness 2 / sqrt(shape)
    levels = np.array([0.001, 0.05, 0.5, 0.95, 0.999])
    z = (stats.gamma.ppf(levels, shape) - shape) / np.sqrt(shape)
    found = normal_of(z, np.full(5, 2 / np.sqrt(shape)))
    assert np.abs(found - stats.norm.ppf(levels)).max() < 0.07
    assert np.allclose([sum_of(v, 2 / np.sqrt(shape)) for v in found], z)
    assert sum_of(1.5, 0.0) == 1.5
    assert normal_of(z, np.full(5, -2 / np.sqrt(shape)))[2] == pytest.approx(
        -normal_of(-z, np.full(5, 2 / np.sqrt(shape)))[2]
    )


@pytest.mark.parametrize("kind", ["binary", "classes", "numbers"])
def test_kernels_in_x_are_those_of_loops(kind):
    n, rows = 40, np.arange(40)
    given = Covariates.of({name: column[:n] for name, column in GIVEN.items()}, n)
    if kind == "numbers":
        predictions, y = kc.Normal(np.zeros(n), np.ones(n)), RNG.normal(size=n)
        residuals = np.column_stack([y, (y**2 - 1) / np.sqrt(2)])
        variance = np.ones(n)
    else:
        p = RNG.dirichlet(np.ones(2 if kind == "binary" else 3), n)
        y = np.array([RNG.choice(p.shape[1], p=row) for row in p])
        predictions = kc.as_predictions(p[:, 1] if kind == "binary" else p)
        columns = [1] if kind == "binary" else [0, 1, 2]
        unit = [np.sqrt((p[:, k] * (1 - p[:, k])).mean()) for k in columns]
        residuals = np.column_stack([((y == k) - p[:, k]) / u for k, u in zip(columns, unit, strict=True)])
        variance = p[:, columns[0]] * (1 - p[:, columns[0]])
    w = WEIGHTS[:n]
    age = given.columns[0].standardised(w)

    def distance(i, j):
        return abs(age[i] - age[j]) + (GIVEN["site"][i] != GIVEN["site"][j])

    apart = [distance(i, j) for i in range(n) for j in range(i + 1, n)]
    scale = np.median([d for d in apart if d > 0])
    location = predictions.mean if kind == "numbers" else predictions.probabilities[:, 0]

    def alike(i, j):
        return np.exp(-abs(location[i] - location[j]))

    expected = 0.0
    for kernel in (lambda i, j: 1.0, alike):
        total = moment = 0.0
        for i in range(n):
            for j in range(n):
                if i != j:
                    k = np.exp(-4 * distance(i, j) / scale) * kernel(i, j)
                    total += w[i] * w[j] * k * (residuals[i] @ residuals[j])
                    moment += (w[i] * w[j] * k) ** 2 * variance[i] * variance[j]
        expected += total / np.sqrt(moment)
    between = lambda a, b: np.exp(-np.abs(location[a][:, None] - location[b][None]))  # noqa: E731
    found = PreparedAlike(kernel_in(given, w), between, scores_of(predictions, w), w)
    assert found.values(y[None])[0, 0] == pytest.approx(expected)
    assert np.allclose(kernel_in(given, w)(rows, rows).diagonal(), 1)


def test_features_of_many_rows_come_near_all_pairs(monkeypatch):
    from kernelcal.statistics.covariates import alike as module

    n = 500
    given = Covariates.of(RNG.normal(size=(n, 3)), n)
    p = RNG.uniform(0.2, 0.8, n)
    y = (RNG.random((50, n)) < p).astype(int)
    scores = scores_of(kc.as_predictions(p))
    exact = PreparedAlike(kernel_in(given), None, scores).values(y)[:, 0]
    monkeypatch.setattr(module, "_PAIRS", 100)
    features = PreparedAlike(kernel_in(given), None, scores)
    assert features.engine == "256 landmark rows in x"
    monkeypatch.setattr(module, "_PAIRS", 500 * 400)
    assert PreparedAlike(kernel_in(given), None, scores).engine == "400 landmark rows in x"
    assert np.corrcoef(exact, features.values(y)[:, 0])[0, 1] > 0.97


@pytest.mark.slow
def test_from_ten_columns_on_rows_are_alike_that_share_leaves():
    n = 300
    x = RNG.normal(size=(n, 10))
    given = Covariates.of({**{f"x{k}": x[:, k] for k in range(10)}, "site": RNG.choice(["a", "b"], n)}, n)
    rows = np.arange(n)
    k = kernel_in(given)(rows, rows)
    assert np.array_equal(k, k.T)
    assert (k.diagonal() == 1).all()
    assert np.linalg.eigvalsh(k)[0] > -1e-9
    near = np.abs(x[:, None] - x[None]).sum(axis=2)
    pairs = np.triu_indices(n, 1)
    assert np.corrcoef(near[pairs], np.cbrt(k[pairs]))[0, 1] < -0.4
    assert np.array_equal(k, kernel_in(given)(rows, rows))  # the trees are the same each time
