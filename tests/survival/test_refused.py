"""What is refused of times, events, curves and tables: each message says what was given, expected and to do."""

import csv

import numpy as np
import pytest

from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.predictions import Weibull
from kernelcal.survival import (
    Survival,
    SurvivalCurves,
    brier_at,
    concordance,
    evaluate,
    kaplan_meier,
    read_survival,
)

N = 12
TIME, EVENT = np.linspace(0.2, 2.0, N), np.arange(N) % 3 > 0
GRID = np.array([0.5, 1.0, 2.0])
CURVES = np.exp(-np.outer(np.ones(N), GRID))


def law():
    return Weibull(np.ones(N), np.ones(N))


def changed(values, value, at=3):
    found = np.array(values, dtype=float if isinstance(value, float) else object)
    found[at] = value
    return found


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"time": changed(TIME, np.nan)}, "the time in row 3 is nan, expected a finite number: leave such rows out"),
        ({"time": -TIME}, r"row 0 is -0.2, expected a duration from 0 on: of dates take the end less the entry \(12"),
        ({"time": ["a"] * N}, "the time must be numbers, one for each of the 12 rows, got"),
        ({"time": TIME[1:]}, r"the time has shape \(11,\), but there are predictions of 12 rows: one row a subject"),
        ({"event": ["yes"] * N}, r"got text such as 'yes': say which values are events, event=\(status == value\)"),
        ({"event": 2 * EVENT}, r"expected 1 where it was seen and 0 where it was not: say which values are events"),
        ({"time": EVENT, "event": TIME}, r"were time and event swapped\? The order is \(time, event\)"),
        ({"clusters": [None] * N}, "clusters: row 0 is missing"),
        ({"clusters": changed(np.arange(N) // 2, np.nan)}, "clusters: row 3 is missing"),
        ({"clusters": np.arange(3)}, "clusters must hold one value for each of the 12 rows"),
        ({"censoring_time": TIME / 2}, "no time before that of the event: it is when the row would have been censored"),
    ],
)
def test_what_was_seen(given, words):
    with pytest.raises(InputError, match=words):
        Survival(**{"law": law(), "time": TIME, "event": EVENT, **given})


@pytest.mark.parametrize(
    ("times", "survival", "words"),
    [
        (["a", "b", "c"], CURVES, "times of survival curves must be numbers"),
        (GRID, [["x"] * 3] * N, "survival of survival curves must be numbers"),
        (GRID[::-1], CURVES, r"increasing, got \[2.  1.  0.5\]: sort times and columns of the survival together"),
        (GRID, np.where(np.eye(N, 3) > 0, np.nan, CURVES), r"row 0 has no survival at time 0.5 \(missing\): leave"),
    ],
)
def test_curves(times, survival, words):
    with pytest.raises(InputError, match=words):
        SurvivalCurves(times, survival)


def test_a_frame_whose_index_is_no_time():
    pd = pytest.importorskip("pandas")
    with pytest.raises(InputError, match="times, the index of the frame, of survival curves must be numbers"):
        evaluate((TIME, EVENT), pd.DataFrame(CURVES.T, index=list("abc")))


@pytest.mark.parametrize("horizons", ["x", ["a"], [None], object()])
def test_horizons_that_are_no_times(horizons):
    with pytest.raises(InputError, match="horizons must be positive times such as"):
        evaluate((TIME, EVENT), law(), horizons=horizons)


@pytest.mark.parametrize("time", ["x", -1, np.nan, 0])
def test_a_picture_at_no_time(time):
    with pytest.raises(InputError, match="horizons must be positive times such as"):
        evaluate((TIME, EVENT), law(), draws=19).plot_horizon(time)


@pytest.mark.parametrize("n", [0, 1])
def test_too_few_rows(n):
    with pytest.raises(InputError, match=f"2 rows or more, better 50 with an event, got {n}"):
        evaluate((TIME[:n], EVENT[:n]), Weibull(np.ones(n), np.ones(n)))


def written(folder, **columns):
    base = {"time": TIME, "event": EVENT.astype(int), **{f"S_{t:g}": CURVES[:, k] for k, t in enumerate(GRID)}}
    table = {**base, **columns}
    with open(folder / "t.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(table)
        rows.writerows(zip(*table.values(), strict=True))
    return str(folder / "t.csv")


@pytest.mark.parametrize(
    ("said", "columns", "words"),
    [
        (
            ["--times", "1,x"],
            {},
            "--times names the times of the columns of predictions, such as 1,5,10, got '1,x'",
        ),
        (["--times", "time"], {}, "the column of the observed times is --duration"),
        (["--risk", "S_*"], {}, "the risk of row 0 falls from 0.606531 in S_0.5 to 0.367879 in S_1"),
        (
            ["--risk", "S_*"],
            {"S_1": np.full(N, 40.0)},
            "row 0, column S_1 is 40, expected a risk from 0 to 1: divide percentages",
        ),
        (["--survival", "S_1,S_1"], {}, "column S_1 is named twice among the predictions"),
        (["--parameters", "a,b"], {}, "--parameters a,b are those of a family: say which, such as --family weibull"),
        (["--family", "weibull", "--survival", "S_*"], {}, "--family says what the predictions are, and so does"),
        ([], {"event": changed(EVENT, np.nan)}, "row 3, column event: whether the event was seen is missing (1 such"),
        (["--clusters", "id"], {"id": ["a", "", *"abcdefghij"]}, "clusters: row 1 is missing"),
    ],
)
def test_tables(said, columns, words, tmp_path, capsys):
    assert main(["survival", written(tmp_path, **columns), *said]) == 2
    assert words in capsys.readouterr().err


def test_empty_cells_are_censored_where_the_value_of_events_is_said(tmp_path, capsys):
    path = written(tmp_path, event=["dead", ""] * (N // 2))
    assert main(["survival", path, "--event", "event=dead", "--draws", "19"]) == 0
    assert "12, 6 with an event" in capsys.readouterr().out


def test_a_gate_is_a_level(tmp_path):
    with pytest.raises(SystemExit) as ended:
        main(["survival", written(tmp_path), "--fail-below", "3"])
    assert ended.value.code == 2


def test_no_option_is_named_that_the_command_lacks(tmp_path, capsys):
    assert main(["survival", written(tmp_path, time=changed(TIME.astype(object), "x"))]) == 2
    told = capsys.readouterr().err
    assert "'x' is not a number: mend such cells, or leave the rows out of the file" in told
    assert "--drop-missing" not in told


FIGURES = {
    "kaplan_meier": lambda time, event, more: kaplan_meier(time, event, more).survival,
    "concordance": concordance,
    "brier_at": lambda time, event, more: brier_at(1.0, more, time, event),
}


@pytest.mark.parametrize("name", FIGURES)
def test_figures_take_events_as_numbers_and_lists(name):
    risk = np.linspace(0.9, 0.1, N) ** 2
    expected = FIGURES[name](TIME, EVENT, risk)
    for event in (EVENT.astype(int), EVENT.astype(float), EVENT.tolist()):
        assert np.array_equal(FIGURES[name](TIME.tolist(), event, risk.tolist()), expected)


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize(
    ("time", "event", "words"),
    [
        (TIME, EVENT[1:], r"hold one value a row, got \(12,\), \(11,\) and \(12,\)"),
        (TIME, EVENT * 2, "say which values are events"),
        (TIME, ["yes"] * N, "say which values are events"),
        (["x"] * N, EVENT, "must be numbers, one a row, got"),
        (changed(TIME, np.nan), EVENT, r"row 3 has a time or .* that is missing \(NaN\): leave such rows out"),
    ],
)
def test_figures_of_what_was_not_seen(name, time, event, words):
    with pytest.raises(InputError, match=words):
        FIGURES[name](time, event, np.full(N, 0.5))


@pytest.mark.parametrize("path", [None, 7, ["a.csv"]])
def test_what_is_no_path_is_refused(path):
    with pytest.raises(InputError, match=r"read_survival reads one file: pass its path, got "):
        read_survival(path)
