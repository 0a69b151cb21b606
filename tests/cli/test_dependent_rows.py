"""Rows that depend on each other, on the command line and with paths: each option in each layout of files."""

import json
import subprocess
import sys

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.errors import InputError

RNG = np.random.default_rng(5)
N = 120
PATIENT, WARD = np.repeat(np.arange(30), 4), np.tile([1, 2], 60)
P = np.round(RNG.uniform(0.05, 0.95, N), 6)
Y = (RNG.random(N) < P).astype(int)
DAY = np.datetime64("2024-01-01") + np.arange(N)
MEAN = np.round(RNG.normal(size=N), 6)
OUTCOME = np.round(MEAN + RNG.normal(size=N), 6)
CLASSES = {"p": P, "y": Y, "patient": [f"id {k}" for k in PATIENT], "ward": WARD}
NUMBERS = {"mean": MEAN, "std": np.ones(N), "y": OUTCOME, "day": DAY, "lead": np.full(N, 3), "site": WARD}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def text(columns, mark=","):
    return (
        "\n".join([mark.join(columns), *(mark.join(map(str, row)) for row in zip(*columns.values(), strict=True))])
        + "\n"
    )


def saved(folder, columns, kind):
    """Write the columns as a file of a kind; returns what the command is given."""
    path = folder / f"rows{kind}"
    plain = {name: np.asarray(values).astype(str) if name == "day" else values for name, values in columns.items()}
    if kind in (".csv", ".tsv"):
        path.write_text(text(columns, "\t" if kind == ".tsv" else ","))
    elif kind == ".jsonl":
        rows = zip(*(np.asarray(values).tolist() for values in plain.values()), strict=True)
        path.write_text("\n".join(json.dumps(dict(zip(plain, row, strict=True))) for row in rows) + "\n")
    elif kind == ".npz":
        np.savez(path, **plain)
    elif kind == ".parquet":
        pytest.importorskip("pyarrow")
        import pandas

        pandas.DataFrame(columns).to_parquet(path)
    else:
        path = folder / "parts"
        path.mkdir()
        for k in range(3):
            rows = {name: np.asarray(values)[40 * k : 40 * k + 40] for name, values in columns.items()}
            (path / f"part{k}.csv").write_text(text(rows))
    return str(path)


def run(capsys, *arguments):
    status = main([*map(str, arguments), "--draws", "99"])
    out, err = capsys.readouterr()
    return status, out, err


def answered(capsys, *arguments):
    status, out, err = run(capsys, *arguments, "--json")
    assert status == 0, err
    found = json.loads(out)
    return found, found.get("test", found)


KINDS = [".csv", ".tsv", ".jsonl", ".npz", ".parquet", "folder"]


@pytest.mark.quick_cases(5)
@pytest.mark.parametrize("kind", KINDS)
def test_clusters_in_every_layout(here, capsys, kind):
    if kind == "folder":
        pytest.importorskip("pyarrow")
    path = saved(here, CLASSES, kind)
    found, test = answered(capsys, "evaluate", path, "--clusters", "patient")
    own = kc.evaluate(Y, P, clusters=PATIENT, draws=99)
    assert test["pvalue"] == own.pvalue
    assert test["null"] == own.test.null == "targets redrawn from the predictions, dependent inside 30 clusters"
    assert "; 30 clusters of patient" in found["read"]
    assert kc.evaluate(path, clusters="patient", draws=99).pvalue == own.pvalue


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.quick_cases(1)
def test_horizon_time_and_series_in_every_layout(here, capsys, kind):
    if kind == "folder":
        pytest.importorskip("pyarrow")
    path = saved(here, NUMBERS, kind)
    found, test = answered(capsys, "evaluate", path, "--horizon", "3", "--time", "day", "--series", "site")
    own = kc.evaluate(OUTCOME, kc.Normal(MEAN, np.ones(N)), horizon=3, time=DAY, series=WARD, draws=99)
    assert test["pvalue"] == own.pvalue
    assert test["null"] == own.test.null == "targets redrawn from the predictions, dependent up to 2 steps"
    assert found["read"].endswith("; series site (2); time day; horizon 3")
    assert kc.evaluate(path, horizon=3, time="day", series=["site"], draws=99).pvalue == own.pvalue
    assert answered(capsys, "evaluate", path, "--horizon", "lead", "--time", "day", "--series", "site")[1] == test


def test_columns_of_clusters_are_no_predictions_and_their_combinations_are_clusters(here, capsys):
    path = saved(here, CLASSES, ".csv")
    found, test = answered(capsys, "test", path, "--predictions", "p*", "--clusters", "patient,ward")
    labels = [f"{a} {b}" for a, b in zip(PATIENT, WARD, strict=True)]
    assert test["pvalue"] == kc.calibration_test(Y, P, clusters=labels, draws=99).pvalue
    assert "; 60 clusters of patient and ward" in found["read"]


def test_long_tables(here, capsys):
    levels = [0.1, 0.5, 0.9]
    lines = [
        f"{day},{site},{level},{mean + shift:.6f},{y}"
        for day, site, mean, y in zip(DAY, WARD, MEAN, OUTCOME, strict=True)
        for level, shift in zip(levels, (-1.281552, 0, 1.281552), strict=True)
    ]
    (here / "long.csv").write_text("\n".join(["day,site,level,value,y", *lines]) + "\n")
    quantiles = kc.Quantiles(np.round(MEAN[:, None] + np.array([-1.281552, 0, 1.281552]), 6), levels)
    for asked, said in (
        (["--horizon", "3", "--time", "day", "--series", "site"], {"horizon": 3, "time": DAY, "series": WARD}),
        (["--clusters", "site,day"], {"clusters": np.arange(N)}),
    ):
        found, test = answered(capsys, "evaluate", "long.csv", "--long", *asked)
        assert test["pvalue"] == kc.evaluate(OUTCOME, quantiles, **said, draws=99).pvalue, found["read"]
    err = run(capsys, "evaluate", "long.csv", "--long", "--clusters", "place")[2]
    assert "--clusters place: the columns that tell predictions apart are day, site" in err


def test_rows_that_are_left_out_take_their_labels_with_them(here, capsys):
    columns = {**CLASSES, "patient": [*CLASSES["patient"][:-1], ""], "y": [*map(str, Y[:-2]), "", "1"]}
    path = saved(here, columns, ".csv")
    err = run(capsys, "evaluate", path, "--clusters", "patient", "--drop-target", "", "--where", "ward=2")[2]
    assert "--clusters patient: row 119 says nothing (1 row in all): fill it in, a label of its own if a row" in err
    found, test = answered(capsys, "evaluate", path, "--clusters", "patient", "--drop-missing")
    assert "dropped 2 rows with missing values" in found["read"]
    assert test["pvalue"] == kc.evaluate(Y[:-2], P[:-2], clusters=PATIENT[:-2], draws=99).pvalue
    mine = WARD == 2
    found, test = answered(capsys, "evaluate", path, "--clusters", "patient", "--drop-missing", "--where", "ward=2")
    mine[-1] = False
    assert test["pvalue"] == kc.evaluate(Y[mine], P[mine], clusters=PATIENT[mine], draws=99).pvalue


@pytest.mark.slow
def test_a_report_and_its_command(here, capsys):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    path = saved(here, CLASSES, ".csv")
    assert run(capsys, "report", path, "--clusters", "patient", "-o", "page.html")[0] == 0
    page = (here / "page.html").read_text(encoding="utf-8")
    assert "dependent inside 30 clusters" in page
    assert "--clusters patient" in page


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("--clusters patients", "there is no column 'patients'. The columns are p, y, patient, ward"),
        ("--clusters y", "--clusters y: this is the target: name a column that was known before the outcome"),
        ("--horizon 0", "--horizon is the whole number of steps that a forecast looks ahead, 1 or more, or a column"),
        ("--horizon 1.5", "a column that says it, got '1.5'"),
        ("--horizon lead", "there is no column 'lead'"),
        (
            "--horizon ward",
            "--horizon ward: the column holds 2 horizons (1, 2), and forecasts of one series at several",
        ),
        (
            "--horizon patient --where patient='id 1'",
            "the column says 'id 1', and the steps that a forecast looks ahead",
        ),
        ("--horizon 2 --time patient", "--time patient: 'id 0' is no time: numbers of steps or ISO dates"),
        ("--horizon 2 --time ward,patient", "--time takes one column, got ward, patient"),
        ("--horizon 2 --time ward", "row 0 and row 2 have the same time, 1.0: say --series, which series each row"),
        ("--series ward", "say --horizon too"),
        ("--clusters patient --horizon 2", "--clusters says that rows with one label depend on each other"),
        ("--clusters patient --save sums.npz", "how strongly rows depend on each other is learned from all of them"),
        ("--horizon 2 --memory 1kB", "--horizon cannot be said of files read in one pass"),
    ],
)
def test_what_cannot_be_had_is_refused_with_the_cure(here, capsys, asked, words):
    import shlex

    pytest.importorskip("pyarrow")
    path = saved(here, CLASSES, ".csv")
    status, _, err = run(capsys, "evaluate", path, *shlex.split(asked))
    assert status == 2
    assert words in err


def test_paths_take_names_and_no_arrays(here):
    path = saved(here, CLASSES, ".csv")
    with pytest.raises(InputError, match=r"clusters= names columns of files and tables, got ndarray of shape \(120,\)"):
        kc.evaluate(path, clusters=PATIENT)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(CLASSES)
    assert kc.evaluate(frame, "p", target="y", clusters="patient", draws=99).pvalue == (
        kc.evaluate(path, clusters="patient", draws=99).pvalue
    )


def test_what_is_refused_has_the_names_of_options(here, capsys):
    path = saved(here, CLASSES, ".csv")
    err = run(capsys, "test", path, "--clusters", "patient", "--null", "saddlepoint")[2]
    assert "--null is for independent rows, and --clusters, --time, --horizon or --series say that they depend" in err


def test_paths_name_the_row_of_the_file(here):
    columns = {**NUMBERS, "y": ["", *OUTCOME[1:]], "day": [*DAY[:5], *DAY[4:-1]]}
    path = saved(here, columns, ".csv")
    with pytest.raises(InputError, match=r"rows\.csv: time: row 4 and row 5 have the same time.*say series="):
        kc.evaluate(path, horizon=3, time="day", drop_missing=True)


def test_a_comparison_knows_which_rows_depend(here, capsys):
    path = saved(here, {**CLASSES, "q": np.round(P**1.3, 6)}, ".csv")
    (here / "other.csv").write_text(text({**CLASSES, "p": np.round(P**1.3, 6)}))
    found, _ = answered(capsys, "compare", path, "other.csv", "--clusters", "patient")
    own = kc.compare(Y, {"rows": P, "other": np.round(P**1.3, 6)}, clusters=PATIENT, draws=99)
    assert [d["pvalue"] for d in found["differences"]] == [d.pvalue for d in own.differences]
    assert "; 30 clusters of patient" in found["read"]["rows"]


@pytest.mark.slow
def test_a_page_about_two_models_of_dependent_rows(here, capsys):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    path = saved(here, CLASSES, ".csv")
    (here / "other.csv").write_text(text({**CLASSES, "p": np.round(P**1.3, 6)}))
    assert run(capsys, "report", path, "other.csv", "--clusters", "patient", "-o", "page.html")[0] == 0
    assert "30 clusters" in (here / "page.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_rows_of_one_subject_that_deviate_alike_name_the_option(here, capsys):
    rng = np.random.default_rng(2)
    won = rng.random(30) < 0.5
    columns = {"p": np.full(N, 0.5) + rng.uniform(-0.1, 0.1, N), "y": np.repeat(won, 4).astype(int), "race_id": PATIENT}
    order = rng.permutation(N)
    path = saved(here, {name: np.asarray(values)[order] for name, values in columns.items()}, ".csv")
    words = "say --clusters race_id (clusters=) if it names what rows share"
    assert words in " ".join(run(capsys, "evaluate", path)[1].split())
    assert words in " ".join(run(capsys, "test", path)[1].split())
    assert words not in " ".join(run(capsys, "evaluate", path, "--clusters", "race_id")[1].split())
    (here / "other.csv").write_bytes((here / "rows.csv").read_bytes().replace(b"0.5", b"0.6"))
    assert words in " ".join(run(capsys, "compare", path, "other.csv")[1].split())
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    assert run(capsys, "report", path, "-o", "page.html")[0] == 0
    assert words in " ".join((here / "page.html").read_text(encoding="utf-8").split())
    assert any(words in note for note in kc.evaluate(path, draws=99).notes)


@pytest.mark.slow
def test_a_hub_table_made_on_one_date_says_so_in_every_command(here, capsys, data_folder):
    folder, path = data_folder / "flusight", here / "other.csv"
    table, truth = folder / "2024-01-06-FluSight-baseline.csv", folder / "target-hospital-admissions_2024-04-27.csv"
    path.write_bytes(table.read_bytes())
    words = "60 forecasts of 12 series made on 1 date depend on what happened after it, all of them, and a p-value that"
    for asked in (["evaluate", table], ["test", table], ["compare", table, path]):
        status, out, _ = run(capsys, *asked, "--truth", truth)
        assert status == 0
        assert words in " ".join(out.split())
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    for tables in ([table], [table, path]):
        assert run(capsys, "report", *tables, "--truth", truth, "-o", "page.html")[0] == 0
        assert words in " ".join((here / "page.html").read_text(encoding="utf-8").split())


def test_columns_of_subjects_that_cannot_be_read_do_no_harm(here, capsys):
    np.savez("a.npz", p=P, y=Y, patient=np.array([{}] * N, dtype=object), race=np.ones((N, 2)))
    assert run(capsys, "evaluate", "a.npz")[0] == 0
    assert run(capsys, "evaluate", "a.npz", "--clusters", "patient")[0] == 2


@pytest.mark.slow
def test_files_in_parts_say_where_neighbours_deviate_alike(here, capsys):
    pytest.importorskip("pyarrow")
    x = np.zeros(400)
    for t, step in enumerate(np.random.default_rng(3).normal(size=399), 1):
        x[t] = 0.9 * x[t - 1] + step * np.sqrt(0.19)
    path = saved(here, {"mean": np.zeros(400), "std": np.ones(400), "y": x}, ".csv")
    words = "neighbouring rows deviate alike (correlation 0.8"
    assert words in " ".join(run(capsys, "evaluate", path, "--one-pass")[1].split())
    assert any(words in note for note in kc.evaluate(path, sketch={}, draws=99).notes)


@pytest.mark.slow
def test_the_installed_command(here):
    path = saved(here, CLASSES, ".csv")
    command = [sys.executable, "-m", "kernelcal.cli", "evaluate", path, "--clusters", "patient", "--draws", "99"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "test of rows dependent inside 30 clusters" in found
