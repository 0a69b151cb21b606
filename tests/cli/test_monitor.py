"""``kernelcal monitor``: a file a day, a state between the days, alarms as exit statuses, and no day twice or lost."""

import json
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.files import in_turn


def written(path, rng, n=120, slope=1.0):
    p = rng.uniform(0.02, 0.98, n)
    y = rng.random(n) < p**slope / (p**slope + (1 - p) ** slope)
    path.write_text("y,p\n" + "".join(f"{int(a)},{b!r}\n" for a, b in zip(y, p.tolist(), strict=True)))


@pytest.fixture(scope="module")
def days(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("days"), np.random.default_rng(3)
    for day in range(1, 6):
        written(folder / f"day{day}.csv", rng, slope=1.0 if day < 3 else 0.25)
    (folder / "broken.csv").write_text("y,p\n1,0.4\n0,1.7\n")
    (folder / "weighted.csv").write_text("y,p,w\n1,0.4,2\n0,0.7,1\n")
    (folder / "three.csv").write_text("y,a,b,c\na,0.2,0.3,0.5\nb,0.1,0.5,0.4\nc,0.4,0.4,0.2\n")
    return folder


@pytest.fixture
def run(days, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(days)

    def run(line):
        status = main(f"monitor {line} --state {tmp_path / 'state.npz'}".split())
        return status, *capsys.readouterr()

    return run


def test_a_line_a_day_and_a_verdict(run, tmp_path):
    status, out, _ = run("day1.csv day2.csv")
    assert status == 0
    assert "read day1.csv: 120 rows; target y" in out
    assert "day1.csv: 120 rows, e-value" in out
    assert out.count("no alarm") == 2
    assert "No alarm after 240 rows" in out
    assert kc.Monitor.load(tmp_path / "state.npz").rows == 240
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state.npz", "state.npz.before"]
    assert kc.Monitor.load(tmp_path / "state.npz.before").keys == {"day1.csv"}


def test_a_day_twice_counts_once(run, tmp_path):
    run("day1.csv")
    before = (tmp_path / "state.npz").read_bytes()
    status, out, _ = run("day1.csv")
    assert status == 0
    assert "day1.csv: taken before, nothing changed" in out
    assert (tmp_path / "state.npz").read_bytes() == before
    status, _, err = run("day2.csv --key day1.csv")  # such as a file that has one name every day
    assert status == 2
    assert "'day1.csv' was taken before, with other rows" in err
    assert (tmp_path / "state.npz").read_bytes() == before
    assert run("day1.csv --key again")[1].count("120 rows") == 1


def test_a_day_that_cannot_be_read_changes_nothing(run, tmp_path):
    run("day1.csv")
    before = (tmp_path / "state.npz").read_bytes()
    for name, word in (("broken.csv", "1.7"), ("absent.csv", "absent.csv"), ("three.csv", "begin another one")):
        status, _, err = run(name)
        assert status == 2
        assert word in err
        assert (tmp_path / "state.npz").read_bytes() == before
    status, out, _ = run("day2.csv broken.csv day3.csv")  # what came before is kept, what comes after is for next time
    assert status == 2
    assert "day2.csv: 120 rows" in out
    assert kc.Monitor.load(tmp_path / "state.npz").keys == {"day1.csv", "day2.csv"}


@pytest.mark.parametrize("damage", ["empty", "cut off", "a bit", "a sketch"])
def test_a_damaged_state_has_a_way_back(run, tmp_path, damage):
    """The state of before the last batch is kept; what came since is given again, and all numbers are as they were."""
    run("day1.csv day2.csv day3.csv")
    state, text = tmp_path / "state.npz", (tmp_path / "state.npz").read_bytes()
    if damage == "a sketch":
        kc.Sketch(prediction_kernel=kc.Laplacian(0.2)).save(state)
    else:
        cut = 0 if damage == "empty" else len(text) // 2
        state.write_bytes(text[:cut] + (bytes([text[cut] ^ 4]) + text[cut + 1 :] if damage == "a bit" else b""))
    hurt = state.read_bytes()
    status, _, err = run("day4.csv")
    assert status == 2
    assert f"{state}.before is whole, with 240 rows, the last of day2.csv: copy it to {state}" in err
    assert state.read_bytes() == hurt
    state.write_bytes((tmp_path / "state.npz.before").read_bytes())
    assert run("day1.csv day2.csv day3.csv")[1].count("taken before") == 2
    assert state.read_bytes() == text


def test_a_state_that_is_gone_is_not_begun_anew_in_silence(run, tmp_path):
    run("day1.csv day2.csv")
    (tmp_path / "state.npz").unlink()
    status, _, err = run("day3.csv")
    assert status == 2
    assert "state.npz is gone." in err
    assert "state.npz.before is whole, with 120 rows, the last of day1.csv: copy it to" in err
    assert "To begin anew, remove it" in err
    assert not (tmp_path / "state.npz").exists()
    (tmp_path / "state.npz.before").unlink()
    assert run("day3.csv")[0] in (0, 1)


def test_where_the_backup_is_damaged_too_all_files_make_the_same_state(run, days, tmp_path):
    run("day1.csv day2.csv")
    state, text = tmp_path / "state.npz", (tmp_path / "state.npz").read_bytes()
    for place in (state, tmp_path / "state.npz.before"):
        place.write_bytes(b"")
    status, _, err = run("day3.csv")
    assert (status, f"no whole {state}.before either. Name another --state" in err) == (2, True)
    assert main(["report", "--state", str(state)]) == 2
    other = tmp_path / "other.npz"
    assert main(["monitor", "day1.csv", "day2.csv", "--state", str(other)]) == 0
    assert other.read_bytes() == text


def test_an_alarm_is_the_exit_status_one_from_then_on(run):
    assert run("day1.csv")[0] == 0
    status, out, _ = run("day3.csv day4.csv day5.csv")
    assert status == 1
    assert "over-confident" in out
    assert run("")[0] == 1  # the state alone
    assert run("--fail-on ever")[0] == 1
    assert run("--fail-on none")[0] == 0


@pytest.mark.parametrize(("which", "status"), [("ever", 0), ("drift", 1), ("any", 1), ("none", 0)])
def test_either_alarm_can_be_the_one_that_fails(run, which, status):
    """With a run length of ten rows drift is in alarm at once, and the e-value is not."""
    assert run(f"day1.csv --run-length 10 --fail-on {which}")[0] == status


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ("--alpha 0.01", "begun with --alpha 0.05, got 0.01"),
        ("--run-length 50", "begun with --run-length 100000, got 50"),
        ("--horizon 2", "begun with --horizon 1, got 2"),
        ("--seed 7", "begun with --seed 0, got 7"),
        ("--lens top-label", "began with the lens none"),
    ],
)
def test_other_options_than_those_of_the_state_are_refused(run, options, word):
    run("day1.csv")
    status, _, err = run(f"day2.csv {options}")
    assert status == 2
    assert word in err
    assert run("day2.csv --alpha 0.05 --seed 0")[0] == 0


def test_what_is_missing_or_wrong_is_said(run, tmp_path):
    status, _, err = run("")
    assert (status, "there is no such state yet" in err) == (2, True)
    status, _, err = run("day1.csv day2.csv --key monday")
    assert (status, "--key names one batch, got 2 files" in err) == (2, True)
    status, _, err = run("weighted.csv --weights w")
    assert (status, "leave --weights out" in err) == (2, True)
    (tmp_path / "state.npz").write_bytes(b"of somebody else")
    status, _, err = run("day1.csv")
    assert (status, "is not a monitor, or it is damaged" in err) == (2, True)
    assert main(["monitor", "day1.csv", "--state", str(tmp_path / "state.csv")]) == 2


def test_json_and_a_picture(run, tmp_path):
    status, out, _ = run("day1.csv day2.csv --json")
    told = json.loads(out)
    assert status == 0
    assert [batch["key"] for batch in told["batches"]] == ["day1.csv", "day2.csv"]
    assert told["rows"] == 240
    pytest.importorskip("matplotlib")
    _, _, err = run(f"day4.csv --plot {tmp_path / 'history.png'}")
    assert "wrote" in err
    assert (tmp_path / "history.png").stat().st_size > 1000


def test_a_page_of_the_history(run, tmp_path, capsys):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    run("day1.csv day2.csv day3.csv day4.csv --alpha 0.01")
    place, page = str(tmp_path / "state.npz"), tmp_path / "history.html"
    assert main(["report", "--state", place, "-o", str(page), "--title", "Rain <1 mm>"]) == 0
    assert f"wrote {page}" in capsys.readouterr().out
    text, monitor = page.read_text(encoding="utf-8"), kc.Monitor.load(place)
    assert "<h1>Rain &lt;1 mm&gt;</h1>" in text
    assert "<svg" in text
    assert "http" not in text.split("</style>")[1].split("<svg")[0]
    for row, (key, rows, _, _) in zip(text.split('<th scope="row">')[1:], monitor.history, strict=True):
        name, alarm, number = row.replace("</td>", "").split("<td>")[:3]
        assert (name, number) == (f"{key}</th>", f"{rows:,}")
        assert ("drift" in alarm) == (monitor.drift_alarm.key == key)
        assert ("ever" in alarm) == (monitor.alarm.key == key)
    assert monitor.direction in text
    assert "to 100 with probability 0.01 at most" in text
    assert "kernelcal report --state" in text
    assert "in batches from day1.csv to day4.csv" in text


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("report", "needs a file of predictions, or --state FILE"),
        ("report day1.csv --state state.npz", "leave out the files"),
        ("report --state absent.npz", "there is no such file"),
        ("report --state empty.npz", "has seen no rows"),
        ("report --state empty.npz -o page.pdf", "a report is a page"),
    ],
)
def test_pages_that_cannot_be_made(line, word, tmp_path, monkeypatch, capsys):
    pytest.importorskip("jinja2")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    kc.Monitor().save("empty.npz")
    assert main(line.split()) == 2
    assert word in capsys.readouterr().err


def test_rows_of_one_subject_are_noted(run, days):
    """Four rows of each patient with one outcome."""
    rng = np.random.default_rng(1)
    p = np.repeat(rng.uniform(0.1, 0.9, 100), 4)
    y = np.repeat(rng.random(100), 4) < p
    rows = [f"{int(a)},{b:.3f},{k // 4}" for k, (a, b) in enumerate(zip(y, p, strict=True))]
    (days / "patients.csv").write_text("\n".join(["y,p,patient", *rows]) + "\n")
    _, _, err = run("patients.csv --predictions p")
    assert "note: patients.csv: rows of one patient deviate alike" in err
    assert "watch one row of each subject" in err
    assert "--clusters" not in err


SAVING = """
import sys
from kernelcal.monitor import Monitor
old, new, place = sys.argv[1:]
both = [Monitor.load(old), Monitor.load(new)]
print("at work", flush=True)
while True:
    for one in both:
        one.save(place)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kills", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_a_kill_leaves_the_state_of_before_or_after(tmp_path, kills):
    rng = np.random.default_rng(0)
    made, p = kc.Monitor(), rng.uniform(size=200)
    made.update(rng.random(200) < p, p, key="old").save(tmp_path / "old.npz")
    made.update(rng.random(200) < p, p, key="new").save(tmp_path / "new.npz")
    made.save(tmp_path / "state.npz")
    found = set()
    for k in range(kills):
        command = [sys.executable, "-c", SAVING, *(str(tmp_path / f"{name}.npz") for name in ("old", "new", "state"))]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout.readline() == "at work\n"
            time.sleep(0.003 * (k + 1))
            process.send_signal(signal.SIGKILL)
        found.add(len(kc.Monitor.load(tmp_path / "state.npz").keys))
    assert found <= {1, 2}
    made.save(tmp_path / "state.npz")  # and the rest of the killed is swept away
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.npz", "old.npz", "state.npz"]


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_two_at_once_take_turns(days, tmp_path, monkeypatch):
    """The second waits until the first has read, added and written, and adds to that."""
    monkeypatch.chdir(days)
    state, done = tmp_path / "state.npz", []
    command = ["monitor", "day2.csv", "--state", str(state)]
    with in_turn(state):
        second = threading.Thread(target=lambda: done.append(main(command)))
        second.start()
        second.join(0.3)
        assert not done
        assert not state.exists()
        p = np.full(10, 0.5)
        kc.Monitor().update(p > 1, p, key="day1.csv").save(state)
    second.join()
    assert done[0] in (0, 2)
    assert "day1.csv" in kc.Monitor.load(state).keys


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such locks")
def test_no_day_is_lost_when_processes_write_at_once(days, tmp_path):
    state = tmp_path / "state.npz"
    begun = [
        subprocess.Popen(
            [sys.executable, "-m", "kernelcal", "monitor", f"day{day}.csv", "--state", str(state), "--fail-on", "none"],
            cwd=days,
            stdout=subprocess.DEVNULL,
        )
        for day in range(1, 6)
    ]
    assert [one.wait() for one in begun] == [0] * 5
    assert kc.Monitor.load(state).keys == {f"day{day}.csv" for day in range(1, 6)}
