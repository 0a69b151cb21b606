"""What tables of forecasts know of their rows: which overlap, what is taken, and what is said where nothing holds."""

import re
from itertools import combinations

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.io.columns.hubs import Hub

LEVELS = (0.1, 0.5, 0.9)
FIRST, DAY = np.datetime64("2024-01-06"), np.timedelta64(1, "D")


def hub_table(dates, leads, places, *, step=7, wave=1.0, seed=0, made="reference_date"):
    """A hubverse table and its outcomes: the truth is predicted but for a wave that moves all places together."""
    rng = np.random.default_rng(seed)
    days = dates * step + max(leads) * 7 + 1
    waves = np.repeat(rng.normal(size=days // step + 9), step) * wave
    outcome = {(d, k): waves[d] + rng.normal(size=1)[0] for d in range(-7, days) for k in range(places)}
    z = np.array([-1.281552, 0.0, 1.281552]) * np.sqrt(1 + wave**2)
    lines = [
        f"{FIRST + t * step * DAY},{lead},{FIRST + (t * step + 7 * lead) * DAY},p{k},quantile,{level},{value:.6f}"
        f",{outcome[t * step + 7 * lead, k]:.6f}"
        for t in range(dates)
        for lead in leads
        for k in range(places)
        for level, value in zip(LEVELS, z, strict=True)
    ]
    return "\n".join([f"{made},horizon,target_end_date,location,output_type,output_type_id,value,observed", *lines])


def test_forecasts_overlap_by_the_naive_count():
    rng = np.random.default_rng(0)
    for _ in range(50):
        made = 7.0 * rng.integers(0, 12, 20)
        due = made + 7.0 * rng.integers(-1, 4, 20)
        clusters = np.unique(rng.choice([made // 7, made // 28, due // 7, made // 70], axis=0), return_inverse=True)[1]
        hub = Hub(("m", "d"), (), made, due, np.zeros(20, dtype=int))
        spans = list(zip(np.minimum(made, due), due, clusters, strict=True))
        meet = any(a[0] <= b[1] and b[0] <= a[1] for a, b in combinations(spans, 2) if a[2] != b[2])
        of = {g: [s for s in spans if s[2] == g] for g in clusters}
        hulls = [(min(s[0] for s in some), max(s[1] for s in some)) for some in of.values()]
        assert hub.apart(clusters) == (not any(a[0] <= b[1] and b[0] <= a[1] for a, b in combinations(hulls, 2)))
        assert not (hub.apart(clusters) and meet)
        steps = 1  # the naive count: a forecast made so many steps later knows the outcome
        while any(m + steps * hub.step <= d for m, d in zip(made, due, strict=True)):
            steps += 1
        assert hub.horizon == steps


@pytest.mark.parametrize(
    ("lead", "horizon"), [(-1, 1), (0, 1), (1, 2), (3, 4)]
)  # the reference date is that of the outcome of horizon 0, which is not known then
def test_one_series_of_one_lead_has_its_times_and_horizon(save, load, lead, horizon):
    data = load(save(hub_table(40, [lead], 1)), target="observed")
    assert set(data.dependence) == {"time", "horizon"}
    assert data.dependence["horizon"] == horizon
    assert (np.diff(data.dependence["time"]) == 1).all()
    assert data.predictions.notes == ()
    said = f"--time target_end_date --horizon {horizon} was taken"
    assert said in data.description
    assert ("--horizon 1 takes them as not overlapping" in data.description) == (horizon > 1)
    case = Case.of(data.y, data.predictions, **data.dependence)
    assert case.rows.horizon == horizon


def test_rows_of_one_date_are_clusters_where_one_is_known_before_the_next(save, load):
    data = load(save(hub_table(12, [0], 6)), target="observed")
    assert set(data.dependence) == {"clusters"}
    assert (data.dependence["clusters"] == np.repeat(np.arange(12), 6)).all()
    assert "; forecasts made on one date share what happens then: --clusters reference_date (12 dates) was taken" in (
        data.description
    )
    wide_apart = load(save(hub_table(8, [0, 1, 2], 3, step=28)), target="observed")
    assert (wide_apart.dependence["clusters"] == np.repeat(np.arange(8), 9)).all()


def test_draws_are_clusters_too(save, load):
    data = load(save(hub_table(12, [0], 6).replace("quantile,", "sample,")), target="observed")
    assert (data.dependence["clusters"] == np.repeat(np.arange(12), 6)).all()
    null = kc.calibration_test(data.y, data.predictions, draws=99, **data.dependence).null
    assert null.startswith("at most one row a cluster, 6 times the smallest p-value")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        (hub_table(1, [0, 1, 2], 8), "24 forecasts of 8 series made on 1 date depend on what happened after it"),
        (
            hub_table(7, [0], 8),
            "56 forecasts of 8 series made on 7 dates, up to 1 step of 7 days ahead, overlap in time",
        ),
        (
            hub_table(7, [0], 8),
            "take --clusters reference_date, whose test may be refused for so few dates, or one series",
        ),
        (hub_table(40, [2], 3), "up to 3 steps of 7 days ahead, overlap in time or share dates"),
        (
            hub_table(40, [2], 3),
            "take dates 3 steps apart, --where reference_date=... for each, which are taken as clusters, or one series "
            "at one horizon, --where location=..., whose overlap is allowed for",
        ),
        (
            hub_table(40, [0, 2], 3),
            "take the shortest horizon alone, --where horizon=..., whose dates are taken as clusters, or dates 3 steps",
        ),
        (hub_table(6, [3], 1), "take more dates, or a shorter horizon"),
    ],
)
def test_what_nothing_allows_for_is_said_with_what_can_be_done(save, load, table, words):
    data = load(save(table), target="observed")
    assert data.dependence == {}
    assert words in data.predictions.notes[-1]
    assert data.predictions.notes[-1] in kc.evaluate(data.y, data.predictions, draws=99).notes


def test_dates_that_are_apart_are_taken_as_the_sentence_says(save, load):
    apart = [f"reference_date={FIRST + 7 * t * DAY}" for t in range(0, 40, 3)]
    data = load(save(hub_table(40, [0, 2], 3)), target="observed", where=apart)
    assert (data.dependence["clusters"] == np.repeat(np.arange(14), 6)).all()
    assert data.predictions.notes == ()


def test_the_users_word_is_taken_and_its_doubts_are_said(save, load):
    path = save(hub_table(40, [2], 3))
    data = load(path, target="observed", clusters="location")
    assert set(data.dependence) == {"clusters"}
    assert data.predictions.notes[-1].startswith(
        "clusters are taken as independent of each other, and these are forecast"
    )
    data = load(path, target="observed", horizon="horizon")
    assert data.dependence["horizon"] == 3
    assert len(np.unique(data.dependence["series"])) == 3
    assert data.predictions.notes[-1].startswith("series are taken as independent of each other")
    one = load(path, target="observed", where=["location=p0"], horizon=1)
    assert one.dependence["horizon"] == 1
    assert one.predictions.notes[-1] == "horizon 1 was said, and the dates say that forecasts overlap over 3 steps"
    early = load(save(hub_table(40, [0], 3)), target="observed", clusters="target_end_date")
    assert early.predictions.notes == ()
    single = load(save(hub_table(1, [0, 1], 8)), target="observed", horizon=1)
    assert single.dependence == {"horizon": 1}
    assert "made on 1 date depend on what happened after it" in single.predictions.notes[-1]


def test_what_is_of_independent_rows_leaves_them_as_they_are_and_says_so(save, load):
    path, draws = save(hub_table(12, [0], 6)), save(hub_table(12, [0], 6).replace("quantile,", "sample,"), "b.csv")
    for asked in ({"groups": "location"}, {"given": "location"}):
        assert set(load(path, target="observed", **asked).dependence) == {"clusters"}
    for data in (load(path, target="observed", unasked=False), load(draws, target="observed", given="location")):
        assert data.dependence == {}
        assert data.predictions.notes[-1].endswith("can be far too small: --clusters reference_date allows for it")


def test_tables_without_dates_know_nothing(save, load):
    text = hub_table(12, [0], 6)
    for other in (text.replace("reference_date", "made"), text.replace("2024-01-06", "soon")):
        data = load(save(other), target="observed")
        assert data.dependence == {}
        assert data.predictions.notes == ()


def test_dates_without_marks_are_dates(save, load):
    text = re.sub(r"(20\d\d)-(\d\d)-(\d\d)", r"\1\2\3", hub_table(12, [0], 6))
    data = load(save(text), target="observed")
    assert (data.dependence["clusters"] == np.repeat(np.arange(12), 6)).all()
    assert "(12 dates) was taken" in data.description


def test_one_row_a_forecast(save, load):
    """Dates of other tables are known by the same names."""
    lines = [f"{FIRST + 7 * t * DAY},{FIRST + 7 * t * DAY},p{k},0,1,{(t * k) % 3}" for t in range(12) for k in range(4)]
    data = load(save("\n".join(["forecast_date,target_end_date,location,mean,std,y", *lines])))
    assert set(data.dependence) == {"clusters"}
    assert "--clusters forecast_date (12 dates) was taken" in data.description


def test_the_flusight_table_says_that_it_was_made_on_one_date(load, data_folder):
    folder = data_folder / "flusight"
    table = folder / "2024-01-06-FluSight-baseline.csv"
    data = load(table, truth=folder / "target-hospital-admissions_2024-04-27.csv")
    assert data.dependence == {}
    assert data.predictions.notes[-1].startswith(
        "60 forecasts of 12 series made on 1 date depend on what happened after"
    )


@pytest.mark.slow
def test_dates_as_clusters_hold_the_level_where_places_move_together(save, load):
    """200 tables of 20 dates and 8 places: p at most 5 % in at most .095 of them (binomial bound), naively in half."""
    rejected = np.zeros(2)
    for seed in range(200):
        data = load(save(hub_table(20, [0], 8, seed=seed)), target="observed")
        for k, said in enumerate(({}, data.dependence)):
            case = kc.calibration_test(data.y, data.predictions, draws=99, rng=seed, **said)
            rejected[k] += case.pvalue <= 0.05
    assert rejected[1] <= 19, rejected
    assert rejected[0] >= 60, rejected
