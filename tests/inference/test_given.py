"""Calibration given columns: exact, family-wise over places, said in words, and what is refused."""

import datetime
import json

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.errors import InputError
from kernelcal.inference.test.place_family import FamilyOfPlaces

N = 900


def logistic(x):
    return 1 / (1 + np.exp(-x))


def columns(rng, n=N):
    """A mixed frame: numbers with ties, categories, booleans, dates, missing values."""
    site = rng.choice(["a", "b", "c"], n).astype(object)
    site[rng.random(n) < 0.1] = None
    return {
        "age": rng.integers(18, 90, n),
        "site": site,
        "smoker": rng.random(n) < 0.3,
        "day": np.datetime64("2024-01-01") + rng.integers(0, 365, n),
    }


def binary(rng, given, shift):
    logit = rng.normal(size=len(shift))
    return (rng.random(len(shift)) < logistic(logit + shift)).astype(int), logistic(logit)


def shifted(rng, given, shift):
    mean = rng.normal(size=len(shift))
    return mean + shift + rng.normal(size=len(shift)), kc.Normal(mean, np.ones(len(shift)))


def of_cells(rng, given, shift):
    y, normal = shifted(rng, given, shift)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    return y, kc.Quantiles(normal.mean[:, None] + stats.norm.ppf(levels), levels)


def of_draws(rng, given, shift):
    y, normal = shifted(rng, given, shift)
    return y, kc.Samples(normal.mean[:, None] + rng.normal(size=(len(y), 25)))


def wide(rng, given, shift):
    mean = rng.normal(size=len(shift))
    return mean + np.exp(shift / 2) * rng.normal(size=len(shift)), kc.Normal(mean, np.ones(len(shift)))


def classes(rng, given, shift):
    logits = rng.normal(size=(len(shift), 3))
    true = logits + shift[:, None] * [0, 0, 1]
    p, q = (np.exp(x) / np.exp(x).sum(axis=1, keepdims=True) for x in (logits, true))
    y = (rng.random(len(p))[:, None] > q.cumsum(axis=1)).sum(axis=1)
    return y, kc.Categorical(p, classes=("ant", "bee", "cat"))


def sure(rng, given, shift):
    """The first choice is right more, or less often than stated; no class is favoured."""
    p = rng.dirichlet(np.ones(3), len(shift))
    top = p.argmax(axis=1)
    hit = rng.random(len(p)) < np.clip(p.max(axis=1) + shift / 5, 0.02, 0.98)
    other = (top + rng.integers(1, 3, len(p))) % 3
    return np.where(hit, top, other), p


def high(given):
    return given["age"] > 72


def later(given):
    return (given["day"] - np.datetime64("2024-07-01")).astype(float) / 180


def ends(given):
    return ((given["age"] - 54) / 20.0) ** 2 - 1


def site(given):
    return given["site"] == "b"


def both(given):
    return high(given) & site(given)


KINDS = {
    "a category": (binary, site, 1.3, "where site is b, events are more frequent than predicted (0.", "rarer"),
    "a range": (binary, high, 1.5, "where age is high (above 7", "rarer"),
    "a date": (
        binary,
        later,
        0.9,
        "the later day is, the more frequent are events against what was predicted",
        "rarer",
    ),
    "both ends": (
        binary,
        ends,
        0.8,
        "at both ends of age, compared with its middle, events are more frequent",
        "rarer",
    ),
    "two columns": (binary, both, 3.0, "where age is high (above 7", "rarer"),
    "missing": (binary, lambda x: x["site"] == None, 2.2, "where site is missing, events are more frequent", "rarer"),  # noqa: E711
    "a boolean": (binary, lambda x: x["smoker"], 1.3, "where smoker is True, events are more frequent", "rarer"),
    "a class": (
        classes,
        site,
        1.2,
        "where site is b, class cat is more frequent than predicted (0.",
        "class cat is rarer",
    ),
    "first choice": (
        sure,
        site,
        1.0,
        "where site is b, the first choice is right more often than stated (0.",
        "less often",
    ),
    "a shift": (shifted, site, 0.4, "where site is b, outcomes are higher than predicted (by 0.", "lower"),
    "a width": (wide, site, 0.6, "where site is b, outcomes spread wider than predicted (1.", "less wide"),
    "draws": (of_draws, site, 0.5, "where site is b, outcomes are higher than predicted (by 0.", "lower"),
    "quantiles": (
        of_cells,
        site,
        0.6,
        "where site is b, outcomes lie above the quantiles more often than claimed",
        "below",
    ),
}


BOTH_SIGNS = ("a category", "a range", "both ends", "a shift", "quantiles")


@pytest.mark.parametrize(
    ("kind", "sign"),
    [
        *((kind, 1) for kind in KINDS),
        *((kind, -1) if kind in BOTH_SIGNS else pytest.param(kind, -1, marks=pytest.mark.slow) for kind in KINDS),
    ],
)
@pytest.mark.quick_cases(1)
def test_the_strongest_place_is_said_in_words(kind, sign):
    made, effect, size, words, other = KINDS[kind]
    rng = np.random.default_rng(7)
    given = columns(rng)
    y, predictions = made(rng, given, sign * size * effect(given).astype(float))
    result = kc.calibration_test(y, predictions, given=given, draws=499)
    assert result.pvalue <= 0.05
    # two seasons at one site may beat a trend over all days by chance
    first = next(text for text in result.given.sentences if kind != "a date" or text.startswith("the later"))
    if sign == 1:
        assert words in first
        assert not any(word in first for word in ("rarer", "lower than", "less"))
    else:
        assert words.split(", ")[0] in first
        assert other in first
    if kind == "two columns":
        assert "and site is b" in first
    assert first in result.directions
    assert f"over all {result.given.places:,} places)" in first


@pytest.mark.slow
def test_places_that_only_show_an_error_of_all_rows_are_said_to_be_no_exception():
    rng = np.random.default_rng(3)
    given = columns(rng)
    y, p = binary(rng, given, np.full(N, 0.8))
    result = kc.calibration_test(y, p, given=given)
    places = [found for found in result.given.rejected if not found.where.startswith(("trend", "curve"))]
    assert len(places) > 20
    assert sum(not found.specific for found in places) > 0.8 * len(places)
    assert all("; elsewhere 0." in found.sentence for found in places if found.rows < N / 2)
    assert len(result.given.sentences) <= 2
    assert "class 1 is under-predicted" in " ".join(result.directions)


@pytest.mark.slow
def test_a_shift_is_not_said_to_be_a_width_too():
    rng = np.random.default_rng(4)
    given = columns(rng)
    y, normal = shifted(rng, given, 0.8 * later(given))
    found = kc.calibration_test(y, normal, given=given).given
    assert found.sentences[0].startswith(
        "the later day is, the higher are outcomes against the predictions (lower half -0."
    )
    assert not any("spread" in sentence for sentence in found.sentences)


@pytest.mark.slow
def test_errors_without_a_place_are_said_to_be_somewhere():
    rng = np.random.default_rng(21)
    n = 1000
    angle = rng.normal(size=(n, 3))
    inside = np.sign(angle).prod(axis=1)  # three columns together, no two of them
    y, p = binary(rng, None, 1.1 * inside)
    result = kc.calibration_test(y, p, given=angle)
    assert not result.given.sentences
    assert result.given.pvalue <= 0.01
    assert "errors depend on the columns that are given, and no single column" in " ".join(result.directions)


@pytest.mark.parametrize("tail", [(0, 1), (0.5,)])
def test_p_values_over_all_places_are_those_of_loops(tail):
    rng = np.random.default_rng(0)
    largest = np.round(rng.gamma(2, size=(59, len(tail))), 1)  # ties
    family = FamilyOfPlaces(largest)
    for kind in range(len(tail)):
        for value in (0.0, 1.3, 2.5, 4.4, 99.0):
            rank = 1 + sum(largest[b, kind] >= value for b in range(59))
            count = 0
            for b in range(59):
                own = min(sum(largest[c, k] >= largest[b, k] for c in range(59)) for k in range(len(tail)))
                count += own <= rank
            assert family.pvalues(np.array([value]), kind)[0] == (1 + count) / 60
    critical = family.critical(0.1)
    above = np.nextafter(critical + 1e-6, np.inf)
    assert family.pvalues(np.array([critical]), 0)[0] > 0.1
    assert family.pvalues(np.array([np.sort(largest[:, 0])[-1]]), 0)[0] <= 0.1 or critical == largest[:, 0].max()
    assert family.pvalues(np.array([above + 0.1]), 0)[0] <= 0.1
    assert (FamilyOfPlaces(largest, stopped_early=True).pvalues(np.array([99.0]), 0) == 0.2).all()


SETTINGS = {
    "rare events": lambda rng, n: (kc.as_predictions(rng.beta(1, 60, n)), None),
    "tied predictions": lambda rng, n: (kc.as_predictions(rng.choice([0.1, 0.5, 0.8], n)), None),
    "weights": lambda rng, n: (kc.as_predictions(rng.uniform(size=n)), rng.gamma(1.0, size=n)),
    "classes": lambda rng, n: (kc.Categorical(rng.dirichlet(np.ones(4), n)), rng.uniform(0.2, 2, n)),
    "numbers": lambda rng, n: (kc.Normal(rng.normal(size=n), rng.uniform(0.5, 2, n)), None),
    "counts": lambda rng, n: (kc.Poisson(rng.gamma(1.0, 2.0, n)), None),
}


@pytest.mark.slow
@pytest.mark.slow_cases(3)
@pytest.mark.parametrize("setting", SETTINGS)
def test_level_given_mixed_columns(setting):
    """The p-value and the places that are named keep their level; outcomes are drawn by NumPy."""
    sets, n, rejected, named = 160, 60, 0, 0
    for k in range(sets):
        rng = np.random.default_rng([k, 21])
        predictions, weights = SETTINGS[setting](rng, n)
        if isinstance(predictions, kc.Normal):
            y = predictions.mean + predictions.std * rng.normal(size=n)
        elif isinstance(predictions, kc.Poisson):
            y = rng.poisson(predictions.mean).astype(float)
        else:
            p = np.asarray(predictions.probabilities)
            y = (rng.random(n)[:, None] > p.cumsum(axis=1)).sum(axis=1).clip(max=p.shape[1] - 1)
        result = kc.calibration_test(y, predictions, given=columns(rng, n), weights=weights, draws=39, rng=k)
        rejected += result.pvalue <= 0.05
        named += bool(result.given.rejected)
    assert stats.binom.cdf(rejected, sets, 0.05) < 0.999
    assert stats.binom.cdf(named - 1, sets, 0.05) < 0.999
    if setting in ("weights", "classes", "numbers"):
        assert stats.binom.sf(rejected, sets, 0.05) < 0.999


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["draws", "quantiles"])
def test_level_of_draws_and_of_quantiles(kind):
    sets, n, rejected = 120, 60, 0
    for k in range(sets):
        rng = np.random.default_rng([k, 22])
        given = columns(rng, n)
        y, predictions = (of_draws if kind == "draws" else of_cells)(rng, given, np.zeros(n))
        if kind == "quantiles":
            y = np.round(y, 1)  # outcomes may equal quantiles: conservative
        result = kc.calibration_test(y, predictions, given=given, draws=39, rng=k)
        rejected += result.pvalue <= 0.05 or bool(result.given.rejected and result.given.pvalue <= 0.025)
    assert stats.binom.cdf(rejected - 1, sets, 0.075) < 0.999


@pytest.mark.slow
def test_columns_that_matter_not_leave_power():
    sets, with_x, without = 80, 0, 0
    for k in range(sets):
        rng = np.random.default_rng([k, 23])
        logit = rng.normal(size=400)
        y = (rng.random(400) < logistic(0.7 * logit)).astype(int)
        with_x += kc.calibration_test(y, logistic(logit), given=rng.normal(size=(400, 3)), draws=199).rejected
        without += kc.calibration_test(y, logistic(logit), draws=199).rejected
    assert without > 0.45 * sets
    assert with_x >= without - 0.08 * sets


@pytest.mark.slow
@pytest.mark.parametrize(("d", "power"), [(2, 0.96), (10, 0.87)])
def test_errors_that_cancel_over_a_column_are_found(d, power):
    """Power as measured in 200 sets (``docs/tables/given.csv``), within what chance does to 40."""
    sets, with_x, without = 40, 0, 0
    for k in range(sets):
        rng = np.random.default_rng([k, 24])
        x, logit = rng.normal(size=(400, d)), rng.normal(size=400)
        y = (rng.random(400) < logistic(logit + 0.7 * np.sign(x[:, 0]))).astype(int)
        with_x += kc.calibration_test(y, logistic(logit), given=x, draws=199).rejected
        without += kc.calibration_test(y, logistic(logit), draws=199).rejected
    assert with_x >= stats.binom.ppf(0.001, sets, power)
    assert without < 0.35 * sets


@pytest.mark.slow
def test_the_same_places_are_found_by_evaluate_and_explain():
    rng = np.random.default_rng(9)
    given = columns(rng, 500)
    y, p = binary(rng, given, 1.5 * site(given))
    test = kc.calibration_test(y, p, given=given)
    evaluation, why = kc.evaluate(y, p, given=given), kc.explain(y, p, given=given)
    assert evaluation.test.given.sentences == test.given.sentences == why.given.sentences
    assert why.findings[-1] == test.given.sentences[-1]
    assert test.given.sentences[0] in evaluation.verdict
    for result in (test, evaluation, why):
        assert "Given the columns" in result.summary()
        assert "Given the columns" in result._repr_html_()
        found = json.loads(json.dumps(result.to_dict(), allow_nan=False))
        shown = found["test"]["given"] if result is evaluation else found["given"]
        assert shown["sentences"] == list(test.given.sentences)
        assert shown["findings"][0]["where"] == test.given.findings[0].where
    assert kc.calibration_test(y, p).to_dict().keys() == {k for k in test.to_dict() if k != "given"}


def test_numbers_of_a_finding_are_those_of_its_rows():
    rng = np.random.default_rng(9)
    given = columns(rng, 500)
    weights = rng.uniform(0.5, 2, 500)
    y, p = binary(rng, given, 1.5 * site(given))
    found = next(
        f for f in kc.calibration_test(y, p, given=given, weights=weights).given.findings if f.where == "site is b"
    )
    rows = site(given)
    assert found.rows == rows.sum()
    assert found.observed == pytest.approx(np.average(y[rows], weights=weights[rows]))
    assert found.predicted == pytest.approx(np.average(p[rows], weights=weights[rows]))
    assert found.elsewhere == pytest.approx(
        (np.average(y[~rows], weights=weights[~rows]), np.average(p[~rows], weights=weights[~rows]))
    )
    assert found.gap == pytest.approx(found.observed - found.predicted)
    assert "finding" in found.summary()


def test_rows_of_weight_zero_have_no_say():
    rng = np.random.default_rng(10)
    given = columns(rng, 300)
    y, p = binary(rng, given, 1.2 * site(given))
    weights = np.where(np.arange(300) < 250, 1.0, 0.0)
    moved = {**given, "age": np.where(weights > 0, given["age"], 10**6)}
    first, second = (kc.calibration_test(y, p, given=x, weights=weights, draws=99) for x in (given, moved))
    values = [[m.value for m in r.members if "columns" in m.name] for r in (first, second)]
    assert values[0] == pytest.approx(values[1])


@pytest.mark.slow
def test_profiles_have_the_gap_of_every_range_and_a_band():
    rng = np.random.default_rng(9)
    given = columns(rng)
    y, p = binary(rng, given, 1.5 * site(given))
    found = kc.calibration_test(y, p, given=given).given
    profile = found.profile("site")
    assert found.profiles[0] is profile
    k = profile.labels.index("b")
    assert profile.gap[k] == pytest.approx((y - p)[site(given)].mean())
    assert profile.outside.tolist() == [label == "b" for label in profile.labels]
    assert (profile.low < 0).all()
    assert (profile.high > 0).all()
    age = found.profile("age")
    assert len(age.edges) == len(age.gap) + 1 == 9
    inside = (given["age"] > age.edges[3]) & (given["age"] <= age.edges[4])
    assert age.gap[3] == pytest.approx((y - p)[inside].mean())
    assert "95 % band" in age.summary()
    with pytest.raises(InputError, match="there is no column 'weight': the columns are 'age', 'site'"):
        found.profile("weight")


def test_draws_that_stopped_early_name_no_place():
    rng = np.random.default_rng(1)
    given = columns(rng, 200)
    y, p = binary(rng, given, np.zeros(200))
    result = kc.calibration_test(y, p, given=given)
    assert result.stopped_early
    assert min(found.pvalue for found in result.given.findings) >= 0.2
    assert "need all of them" in result.given.notes[-1]
    assert (
        not kc.calibration_test(y, p, given=given, early_stopping=False).given.notes[-1].startswith("the draws stopped")
    )


@pytest.mark.slow
def test_values_of_many_draws_are_made_again_where_they_were_not_kept(monkeypatch):
    from kernelcal.inference.laws import exact

    rng = np.random.default_rng(2)
    given = columns(rng, 200)
    for made in (binary, of_draws):
        y, predictions = made(rng, given, 1.0 * site(given))
        kept = kc.calibration_test(y, predictions, given=given, draws=99)
        with monkeypatch.context() as patch:
            patch.setattr(exact, "_KEPT", 0)
            again = kc.calibration_test(y, predictions, given=given, draws=99)
        assert [f.pvalue for f in again.given.findings] == [f.pvalue for f in kept.given.findings]
        assert again.given.pvalue == kept.given.pvalue


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lens": kc.ClassWise()}, "given takes one question: use lens=kernelcal.OneClass(label) or no lens"),
        ({"statistic": "skce"}, "given joins columns to the default family of statistics, got statistic=SKCE"),
        ({"statistic": "pit"}, "got statistic=UniformPIT"),
        ({"null": "saddlepoint", "statistic": "skce"}, "got statistic=SKCE"),
        ({"null": "cme"}, "given needs outcomes that are redrawn, null='exact'"),
    ],
)
def test_what_does_not_go_with_columns_is_refused(options, words):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 50)
    y = rng.integers(3, size=50)
    if options.get("statistic") == "pit":
        y, p = rng.normal(size=50), kc.Normal(np.zeros(50), np.ones(50))
    with pytest.raises(InputError) as error:
        kc.calibration_test(y, p, given=rng.normal(size=50), **options)
    assert words in str(error.value)


def test_densities_known_by_their_scores_are_refused():
    y = np.random.default_rng(0).normal(size=50)
    score = kc.predictions.Score(lambda x: -x, kc.Normal(np.zeros(50), np.ones(50)).mean)
    with pytest.raises(InputError, match="given needs outcomes that can be redrawn"):
        kc.evaluate(y, score, given=y[::-1])


@pytest.mark.slow
def test_a_lens_asks_its_question_given_the_columns():
    rng = np.random.default_rng(7)
    given = columns(rng)
    y, p = sure(rng, given, -1.0 * site(given))
    result = kc.calibration_test(y, p, given=given, lens=kc.TopLabel())
    assert result.given.sentences[0].startswith("where site is b, the first choice is right less often than stated (0.")


def test_a_date_is_written_as_one():
    rng = np.random.default_rng(7)
    n = 400
    day = [datetime.date(2024, 1, 1) + datetime.timedelta(days=k) for k in range(n)]
    y, p = binary(rng, None, np.where(np.arange(n) >= 300, 1.6, 0.0))
    found = kc.calibration_test(y, p, given={"day": day}).given
    assert any("day is late (after 2024-10-26)" in f.where for f in found.findings)
    assert found.profile("day").dates


def test_events_too_rare_for_any_place_are_said_to_be_so():
    rng = np.random.default_rng(5)
    found = kc.calibration_test(np.zeros(200, int), np.full(200, 0.001), given=rng.normal(size=200), draws=99).given
    assert (found.places, found.findings, found.profiles) == (0, (), ())
    assert "no place of the columns has rows, and uncertain events, enough" in found.summary()
    with pytest.raises(InputError, match="there are too few rows in every range and category"):
        found.plot()


@pytest.mark.slow
def test_columns_of_vectors_and_of_single_classes():
    rng = np.random.default_rng(5)
    n = 300
    given = {"site": rng.choice(["a", "b"], n)}
    mean = rng.normal(size=(n, 2))
    y = mean + rng.normal(size=(n, 2)) + np.where(given["site"] == "b", 1.0, 0.0)[:, None] * [0, 1]
    result = kc.calibration_test(y, kc.DiagonalNormal(mean, np.ones((n, 2))), given=given)
    assert result.given.sentences[0].startswith("where site is b, component 1 of the outcomes is higher than predicted")


def test_the_figures_of_a_trend_are_those_of_its_upper_half():
    rng = np.random.default_rng(5)
    x, p = rng.normal(size=800), rng.uniform(0.2, 0.8, 800)
    y = rng.random(800) < np.clip(p + 0.1 * x, 0, 1)
    result = kc.calibration_test(y, p, given={"x": x}).given
    (trend,) = (found for found in result.findings if found.where == "trend of x, upper half")
    above = x > np.median(x)
    assert trend.rows == above.sum() == 400
    assert (trend.observed, trend.predicted) == pytest.approx((y[above].mean(), p[above].mean()))
    assert trend.elsewhere == pytest.approx((y[~above].mean(), p[~above].mean()))


@pytest.mark.quick_cases(5)
@pytest.mark.parametrize("levels", [[0, 1, 2], [0, 0, 0, 1, 2], [0, 1, 2, 2, 2], [0, 0, 0, 0, 1, 5, 5, 5]])
@pytest.mark.parametrize("weighted", [False, True])
def test_columns_of_few_levels_have_trends_with_two_sides(levels, weighted):
    """Of three levels both ends may be more than half of the rows, or rows without weight all on one side."""
    for seed in range(8):
        rng = np.random.default_rng(seed)
        x, p = rng.choice(levels, 24), rng.choice([0.1, 0.5, 0.9], 24)
        y = (rng.random(24) < p).astype(int)
        weights = np.where(rng.random(24) < 0.3, 0.0, 1.0) if weighted else None
        result = kc.calibration_test(y, p, given={"x": x}, weights=weights, draws=99).given
        for found in result.findings:
            if found.where.startswith(("trend", "curve")):
                assert found.elsewhere is not None
                assert 0 < found.rows < 24


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numbers", "counts", "quantiles"])
def test_a_wrong_width_is_not_called_a_shift(kind):
    """Where outcomes spread twice as wide, chance moves the mean of some place far, in predicted units."""
    shifts = 0
    for seed in range(12):
        rng = np.random.default_rng([9, seed])
        m, given = rng.normal(size=400), {"x": rng.normal(size=400), "site": rng.choice(["a", "b", "c"], 400)}
        if kind == "counts":
            rate = np.exp(0.5 * m + 1)
            y, batch = rng.negative_binomial(2, 2 / (2 + rate)), kc.Poisson(rate)
        else:
            y, batch = m + 2 * rng.normal(size=400), kc.Normal(m, 1.0)
        if kind == "quantiles":
            batch = kc.Quantiles(m[:, None] + np.array([-1.2816, 0.0, 1.2816]), [0.1, 0.5, 0.9])
        found = kc.calibration_test(y, batch, given=given, draws=199).given
        words = ("higher", "lower", "above the quantiles", "below the quantiles")
        shifts += any(word in sentence.split(" (")[0] for sentence in found.sentences for word in words)
    assert shifts <= 1


def test_a_shift_is_said_beside_a_wrong_width():
    rng = np.random.default_rng(3)
    x, m = rng.normal(size=600), rng.normal(size=600)
    y = m + 1.5 * rng.normal(size=600) + np.where(x > 0, 0.8, -0.8)
    found = kc.calibration_test(y, kc.Normal(m, 1.0), given={"x": x}, draws=199).given
    assert found.sentences[0].startswith("the higher x is, the higher are outcomes against the predictions")
    far = kc.calibration_test(-y, kc.Normal(-m, 1.0), given={"x": x}, draws=199).given
    assert far.sentences[0].startswith("the higher x is, the lower are outcomes against the predictions")
