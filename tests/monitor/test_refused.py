"""What a monitor refuses: targets that are none, itself, and places that hold none."""

import numpy as np
import pytest

from kernelcal.cli import main
from kernelcal.errors import InputError
from kernelcal.monitor import Monitor

P = np.linspace(0.1, 0.9, 8)


@pytest.mark.parametrize("y", [None, {"a": 1}])
def test_targets_that_are_none(y):
    with pytest.raises(InputError, match="targets must be an array, a list or a column"):
        Monitor().update(y, P)


@pytest.mark.parametrize("how", ["after", "beside"])
def test_a_monitor_is_not_joined_with_itself(how):
    watched = Monitor().update(P > 0.5, P)
    with pytest.raises(InputError, match="joined with another one, got itself: rows would count twice"):
        watched.merge(watched, how)
    assert watched.rows == 8


def test_a_folder_holds_no_monitor(tmp_path, capsys):
    with pytest.raises(InputError, match="is a folder: name the file in it that a monitor was saved to"):
        Monitor.load(tmp_path)
    assert main(["report", "--state", str(tmp_path), "-o", str(tmp_path / "page.html")]) == 2
    assert "is a folder: name the file in it" in capsys.readouterr().err


def written(path, rows):
    path.write_text("y,p\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return str(path)


def test_a_file_that_is_refused_is_named(tmp_path, capsys):
    state = ["--state", str(tmp_path / "s.npz")]
    good = written(tmp_path / "monday.csv", ["1,0.4", "0,0.6"])
    bad = written(tmp_path / "tuesday.csv", ["1,0.4", "0,6.5"])
    assert main(["monitor", *state, good, bad]) == 2
    assert "tuesday.csv: row 1 is 6.5, outside [0, 1]" in capsys.readouterr().err
    assert Monitor.load(tmp_path / "s.npz").keys == {"monday.csv"}


@pytest.mark.parametrize(
    "option", [["--measures", "slope"], ["--groups", "site"], ["--json"], ["--fail-below", "0.5"], ["--alpha", "0.2"]]
)
def test_a_page_of_a_history_has_no_rows(option, tmp_path, capsys):
    Monitor().update(P > 0.5, P).save(tmp_path / "s.npz")
    assert main(["report", "--state", str(tmp_path / "s.npz"), "-o", str(tmp_path / "page.html"), *option]) == 2
    assert f"which holds no rows: leave out {option[0]}, or name the files" in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()
