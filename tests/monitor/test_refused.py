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
