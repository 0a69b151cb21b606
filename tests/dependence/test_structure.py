"""What is said of dependent rows: pairs, thinned rows, and what is refused with a cure."""

import datetime

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.dependence import Dependence


def test_labels_of_any_kind_are_clusters():
    rows = Dependence.of(5, clusters=["b", "a", "b", 1, "1"])
    assert rows.groups == 4
    assert rows.clusters[0] == rows.clusters[2]
    assert len({*rows.clusters.tolist()}) == 4


@pytest.mark.parametrize("lag", [1, 2, 3])
def test_pairs_are_those_of_a_loop(lag):
    rng = np.random.default_rng(0)
    series = rng.integers(0, 3, 40)
    time = np.empty(40, dtype=int)
    for k in range(3):
        where = np.flatnonzero(series == k)
        time[where] = rng.choice(30, len(where), replace=False)
    rows = Dependence.of(40, time=time, horizon=4, series=series)
    earlier, later = rows.pairs(lag)
    wanted = {(i, j) for i in range(40) for j in range(40) if series[i] == series[j] and time[j] - time[i] == lag}
    assert set(zip(earlier.tolist(), later.tolist(), strict=True)) == wanted


def test_thinned_rows_do_not_overlap():
    series = np.repeat([0, 1], 25)
    rows = Dependence.of(50, horizon=4, series=series)
    assert sorted(np.concatenate(rows.thinned).tolist()) == list(range(50))
    for subset in rows.thinned:
        for k in range(2):
            assert (np.diff(rows.time[subset][series[subset] == k]) >= 4).all()


def test_dates_are_steps_of_their_smallest_distance():
    start = datetime.date(2026, 1, 5)
    dates = [start + datetime.timedelta(weeks=k) for k in (3, 0, 1, 7)]
    assert Dependence.of(4, time=dates, horizon=2).time.tolist() == [3, 0, 1, 7]
    assert Dependence.of(4, time=[str(date) for date in dates], horizon=2).time.tolist() == [3, 0, 1, 7]
    assert Dependence.of(4, time=[0.75, 0.0, 0.25, 1.75], horizon=2).time.tolist() == [3, 0, 1, 7]


@pytest.mark.parametrize(
    ("times", "steps"),
    [
        (np.array(["2026-01-01", "2026-02-01", "2026-04-01", "2027-01-01"], dtype="M8[D]"), [0, 1, 3, 12]),
        (["2024-01-31", "2024-02-29", "2024-03-31", "2025-02-28"], [0, 1, 2, 13]),
        (np.array(["2020", "2021", "2023", "2030"], dtype="M8[Y]"), [0, 1, 3, 10]),
        ([0, 2, 5, 7], [0, 2, 5, 7]),  # the step is 1, which no two rows have between them
        (np.array([0, 2, 4, 10], dtype="m8[h]"), [0, 1, 2, 5]),
    ],
)
def test_months_and_gaps_are_regular(times, steps):
    assert Dependence.of(4, time=times, horizon=2).time.tolist() == steps


def test_some_rows_are_the_same_rows():
    rows = Dependence.of(6, clusters=list("aabbcc"))[np.array([2, 3, 5])]
    assert rows.clusters.tolist() == [0, 0, 1]
    assert len(rows) == 3


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"clusters": [1, 2], "horizon": 2}, "give one of the two"),
        ({"clusters": [1, 1, 1, 1]}, "all 4 rows have one label"),
        ({"clusters": [1, 2]}, r"one value for each of the 4 rows, got shape \(2,\)"),
        ({"clusters": "site"}, "one value for each of the 4 rows, got 'site'"),
        ({"clusters": [1, None, 2, 2]}, "row 1 is missing"),
        ({"clusters": [1, np.nan, 2, 2]}, "row 1 is missing"),
        ({"clusters": [[1], [1], [2], [2]]}, r"row 0 is \[1\], a list: expected a label"),
        ({"series": ["a", {"b": 1}, "a", "a"], "horizon": 2}, "row 1 is {'b': 1}, a dict: expected a label"),
        ({"clusters": [1, 1, np.array([1, 2]), 2]}, r"row 2 is array\(\[1, 2\]\), a ndarray: expected a label"),
        ({"time": np.arange(4) * 1j, "horizon": 2}, "time must be numbers or dates"),
        ({"series": [1, 1, 2, 2]}, "say horizon= too"),
        ({"horizon": 0}, "whole number of steps, 1 or more, got 0"),
        ({"horizon": 1.5}, "whole number of steps, 1 or more, got 1.5"),
        ({"horizon": 4}, "no two forecasts are apart"),
        ({"time": [1, 2, 2, 3], "horizon": 2}, "row 1 and row 2 have the same time, 2: say series="),
        ({"time": [0, 1, 2.5, 4], "horizon": 2}, r"in steps of 1, .*row 2 \(2.5\) lies 2.5 steps after"),
        (
            {"time": np.array(["2026-01-01", "2026-01-02", "2029-01-02", "2030-01-01"], dtype="M8[D]"), "horizon": 2},
            "days",
        ),
        ({"time": [0.0, np.inf, 1.0, 2.0], "horizon": 2}, "row 1 is inf"),
        ({"time": ["spring", "summer", "autumn", "winter"], "horizon": 2}, "numbers or dates, got 'spring'"),
        ({"time": [1, 2, 3, 4], "series": [1, 2, 3, 4], "horizon": 2}, "every series has one row"),
    ],
)
def test_what_cannot_be_is_refused(said, words):
    with pytest.raises(kc.InputError, match=words):
        Dependence.of(4, **said)


@pytest.mark.parametrize("name", ["clusters", "series", "time"])
def test_a_missing_value_of_pandas_is_missing(name):
    pandas = pytest.importorskip("pandas")
    said = {name: pandas.Series(["2026-01-01", None, "2026-01-03", "2026-01-04"], dtype="string")}
    for values in (said, {name: [*said[name]]}):
        with pytest.raises(kc.InputError, match=rf"{name}: row 1 is missing \(1 of 4\)"):
            Dependence.of(4, **values, **({} if name == "clusters" else {"horizon": 2}))


def test_times_with_a_zone_are_taken_in_utc():
    summer = datetime.timezone(datetime.timedelta(hours=2))
    hours = [datetime.datetime(2026, 3, 29, hour, tzinfo=datetime.UTC) for hour in range(3)]
    times = [*hours, datetime.datetime(2026, 3, 29, 5, tzinfo=summer)]
    assert Dependence.of(4, time=times, horizon=2).time.tolist() == [0, 1, 2, 3]
    assert Dependence.of(4, time=[time.isoformat() for time in times], horizon=2).time.tolist() == [0, 1, 2, 3]
