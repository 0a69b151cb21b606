"""``kernelcal evaluate`` of files in parts, and that nothing half-written is left."""

import argparse
import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kernelcal.cli import main
from kernelcal.cli.streaming import size
from kernelcal.files import written_whole
from kernelcal.sketch import Sketch

pd = pytest.importorskip("pandas")
_spec = importlib.util.spec_from_file_location("stream_subjects_four", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)
class_table, cut = subjects.class_table, subjects.cut


@pytest.fixture
def data(tmp_path):
    return cut(class_table(900)[0], tmp_path / "d", [300])


IN_PARTS = ("--one-pass",)


def run(capsys, *arguments):
    status = main(["evaluate", *map(str, arguments), "--predictions", "p_*", "--draws", "99"])
    return status, *capsys.readouterr()


def test_small_files_are_read_at_once_and_large_ones_in_parts(capsys, data):
    path = data / "part000.parquet"
    status, out, _ = run(capsys, path)
    assert (status, "Calibration of class predictions" in out, "plan for" in out) == (0, True, False)
    status, out, _ = run(capsys, path, *IN_PARTS)
    lines = out.splitlines()
    assert status == 0
    assert lines[0].startswith(f"read {path}: 300 rows; target label; predictions p_cat to p_owl (3 columns)")
    assert lines[1].startswith("plan for 300 rows (--one-pass): one pass: random Fourier features, 256 frequencies; ")
    assert lines[2] == "Calibration, from one pass"


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("--pool-groups", "many", "a whole number from 0"),  # 0 is refused with both bounds: test_groups
        ("--first-row", "-1", "the number of a row, from 0"),
        ("--features", "0", "a whole number from 1"),
        ("--seed", "1.5", "a whole number from 0"),
        ("--draws", "all", "a whole number such as 999"),
    ],
)
def test_numbers_of_options_are_refused_in_words_of_their_own(capsys, option, value, expected):
    with pytest.raises(SystemExit):
        main(["evaluate", "table.csv", f"{option}={value}"])
    assert capsys.readouterr().err.splitlines()[-1].endswith(f"{option}: expected {expected}, got {value!r}")


@pytest.mark.slow
def test_a_folder_and_a_glob_are_one_table_and_several_names_are_not(capsys, data):
    for given in (data, data / "*.parquet"):
        status, out, _ = run(capsys, given, "--json")
        assert (status, json.loads(out)["n"], "plan" in json.loads(out)) == (0, 900, False)  # small: all at once
        assert json.loads(out)["read"].startswith(f"read {data}/part000.parquet, {data}/part001.parquet: 900 rows;")
        status, out, _ = run(capsys, given, "--json", *IN_PARTS)
        assert (status, json.loads(out)["n"], "plan" in json.loads(out)) == (0, 900, True)
    files = sorted(data.iterdir())
    assert [r["n"] for r in json.loads(run(capsys, *files, "--json")[1])] == [300, 600]
    assert json.loads(run(capsys, *files, "--json", "--together")[1])["n"] == 900


def test_a_plan_of_parts_and_features_that_are_told(capsys, data):
    status, out, _ = run(capsys, data, "--plan", "--engine", "fourier", "--features", "40", *IN_PARTS)
    assert status == 0
    assert "Plan: 900 rows of Categorical, 3 columns, up to " in out
    assert "stop early" not in out
    assert "one pass  random Fourier features, 40 frequencies" in out
    assert "p-value" not in out
    found = json.loads(run(capsys, data, "--json", "--engine", "fourier", "--features", "40", *IN_PARTS)[1])
    assert found["skce"]["engine"] == "one pass, random Fourier features, 40 frequencies"
    assert found["plan"]["draws"] == 99
    status, _, error = run(capsys, data, "--engine", "nystrom", *IN_PARTS)
    assert status == 2
    assert "--engine nystrom needs all rows at once, and these are read in parts: say --engine fourier, or" in error


def test_json_has_what_a_pipeline_needs(capsys, data):
    status, out, _ = run(capsys, data, "--json", "--fail-below", "1", "--lens", "top-label", "--seed", "3", *IN_PARTS)
    report = json.loads(out)
    assert status == 1
    assert report["read"].startswith("read ")
    assert report["question"] == "top label"
    assert report["plan"]["why"] == "--one-pass"
    assert {"pvalue", "skce", "skce_root", "test", "verdict", "accuracy", "ece"} <= set(report)


def test_small_files_together_say_which_row_is_wrong(capsys, data):
    frame = pd.read_parquet(data / "part001.parquet")
    frame.loc[7, "p_dog"] = 1.5
    frame.to_parquet(data / "part001.parquet", index=False)
    status, _, error = run(capsys, data)
    assert status == 2
    assert f"{data}/part001.parquet, row group 0: row 7" in error


@pytest.mark.slow
def test_small_files_together_are_evaluated_as_one(capsys, tmp_path):
    table = class_table(900)[0]
    one, parts = tmp_path / "one.csv", cut(table, tmp_path / "d", [300, 800], kind="csv")
    table.to_csv(one, index=False)
    found = [json.loads(run(capsys, given, "--json")[1]) for given in (one, parts)]
    for report in found:
        del report["seconds"], report["read"]
    assert found[0] == found[1]


@pytest.mark.slow
def test_save_keeps_the_sums(capsys, data, tmp_path):
    path = tmp_path / "sums.npz"
    status, out, _ = run(capsys, data / "part000.parquet", "--save", path, "--json")
    assert (status, json.loads(out)["pvalue"]) == (0, Sketch.load(path).result().pvalue)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["d", "sums.npz"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--save", "x.txt"], "--save keeps sums in an npz file: its name ends in .npz, got x.txt"),
        (["--save", "none/x.npz"], "there is no folder none: make it first, or name another"),
        (["--dask", "here"], "--dask here: the address of a scheduler is expected, such as tcp://"),
        (["--weights", "p_cat", "--together", *IN_PARTS], "--weights cannot be said of files read in one pass"),
    ],
)
def test_what_cannot_be_done_is_said_before_the_work(capsys, data, arguments, message):
    status, out, err = run(capsys, data / "part000.parquet", *arguments)
    assert (status, out) == (2, "")
    assert message in err


def test_one_file_for_the_sums_of_several_tables_is_refused(capsys, data, tmp_path):
    status, _, err = run(capsys, *sorted(data.iterdir()), "--save", tmp_path / "x.npz")
    assert status == 2
    assert err.endswith("x.npz keeps the sums of one table, got 2: say --together if they are one\n")


def test_sizes():
    assert [size(text) for text in ("256MiB", "2 GB", "1k", "17", "1.5kib")] == [2**28, 2 * 10**9, 1000, 17, 1536]
    with pytest.raises(argparse.ArgumentTypeError, match="expected a size such as 256MiB, 2GB or 1000000"):
        size("much")


BUSY = """
import sys, time
from kernelcal.stream import adding
from kernelcal.stream import main as passes
def slowly(*arguments, own=adding.sum_rows):
    for rows in own(*arguments):
        print("at work", flush=True)
        time.sleep(0.2)
        yield rows
passes.sum_rows = slowly
from kernelcal.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), pytest.param(signal.SIGKILL, -signal.SIGKILL, marks=pytest.mark.slow)]
)
def test_a_run_that_is_stopped_leaves_the_old_file_as_it_was(data, tmp_path, number, status):
    old = tmp_path / "sums.npz"
    old.write_bytes(b"of yesterday")
    command = [sys.executable, "-c", BUSY, "evaluate", str(data), "--predictions", "p_*", "--save", str(old)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while process.stdout.readline() != "at work\n":
            assert process.poll() is None
        process.send_signal(number)
        _, err = process.communicate()
    assert process.returncode == status
    assert err == ("kernelcal: interrupted\n" if number == signal.SIGINT else "")
    assert old.read_bytes() == b"of yesterday"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["d", "sums.npz"]


SAVING = """
import os, sys, time
import numpy as np
from kernelcal.sketch import Sketch
sketch = Sketch.like(np.linspace(0.1, 0.9, 50), draws=9).update([0, 1], [0.5, 0.4])
def waiting(number):
    print("written, not moved", flush=True)
    time.sleep(60)
os.fsync = waiting
sketch.save(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGKILL])
def test_a_kill_while_the_file_is_written_leaves_the_old_one(tmp_path, number):
    old = tmp_path / "sums.npz"
    old.write_bytes(b"of yesterday")
    with subprocess.Popen(
        [sys.executable, "-c", SAVING, str(old)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout.readline() == "written, not moved\n"
        process.send_signal(number)
        process.wait()
    assert process.returncode != 0
    assert old.read_bytes() == b"of yesterday"
    others = [path.suffix for path in tmp_path.iterdir() if path != old]
    assert others == ([] if number == signal.SIGINT else [".part"])  # a name that nothing reads
    with written_whole(old) as unfinished:  # the next run takes it away
        unfinished.write_bytes(b"of today")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("sums.npz", b"of today")]
