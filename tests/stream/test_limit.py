"""``--memory`` is a limit that is kept: work that is planned to take more goes in parts, or is refused before it."""

import os
import subprocess
import sys

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cli import main
from kernelcal.errors import InputError

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

_RUN = """
import sys
import pyarrow, pyarrow.csv, pyarrow.parquet, scipy.sparse, scipy.special
from kernelcal.cli import main

def status(name):
    return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith(name)) * 1024

before = status("VmRSS")
assert main(sys.argv[1:]) == 0
print((status("VmHWM") - before) / 1e6)
"""


def _table(n, m=10, suffix=".csv", folder=None):
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(m), n)
    frame = pd.DataFrame(p, columns=[f"p_{k}" for k in range(m)])
    frame["ward"] = np.arange(n) % 3
    frame["label"] = kc.Categorical(p).sample(rng)[0]
    path = folder / f"a{suffix}"
    frame.to_parquet(path) if suffix == ".parquet" else frame.to_csv(path, index=False)
    return path


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="the peak of memory is measured on Linux")
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_limit_of_memory_is_kept(tmp_path, suffix):
    path = _table(60_000, suffix=suffix, folder=tmp_path)
    command = [sys.executable, "-c", _RUN, "evaluate", str(path), "--draws", "499", "--memory", "300MB"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "more than --memory 300 MB): one pass" in done.stdout
    assert float(done.stdout.splitlines()[-1]) <= 300


@pytest.mark.slow
def test_what_is_planned_to_take_more_goes_in_parts(tmp_path, capsys):
    path = _table(60_000, folder=tmp_path)
    assert path.stat().st_size < 300e6 / 4  # so that it is read at once, and then found to take more
    assert main(["evaluate", str(path), "--draws", "499", "--memory", "300MB", "--seed", "1"]) == 0
    out = capsys.readouterr().out
    assert "plan for 60,000 rows (planned to take " in out
    assert " MB at once, more than --memory 300 MB): one pass: random Fourier features" in out
    found = kc.evaluate(path, draws=499, memory=300_000_000, rng=1)
    assert found.title == "Calibration, from one pass"
    assert kc.evaluate(path, draws=19, memory=2 * 10**9).title == "Calibration of class predictions"
    assert main(["evaluate", str(path), "--draws", "19", "--memory", "2GB"]) == 0
    assert "\nCalibration of class predictions\n" in capsys.readouterr().out


def _small(folder):
    path = folder / "small.csv"
    np.savetxt(path, [[0.9, 1], [0.2, 0], [0.6, 1]] * 20, delimiter=",", header="p,y", comments="")
    return path


@pytest.mark.parametrize(
    ("make", "limit", "rows"),
    [
        pytest.param(
            lambda folder: _table(20_000, folder=folder),
            "1MB",
            "one pass over 20,000 rows takes about 2",
            id="large",
            marks=pytest.mark.slow,
        ),
        pytest.param(_small, "5MB", "to take 5", id="small"),
    ],
)
def test_a_limit_that_nothing_keeps_is_refused_with_the_least_that_works(make, limit, rows, tmp_path, capsys):
    path = make(tmp_path)
    assert main(["evaluate", str(path), "--memory", limit]) == 2
    captured = capsys.readouterr()
    assert "p-value" not in captured.out
    assert rows in captured.err
    least = captured.err.split("the least that works is --memory ")[1].split(";")[0]
    with pytest.raises(InputError, match=f"the least that works is --memory {least}; fewer --draws or "):
        kc.evaluate(path, memory=int(limit[:-2]) * 10**6)
    assert main(["evaluate", str(path), "--memory", least, "--draws", "19"]) == 0


@pytest.mark.slow
def test_what_cannot_go_in_parts_is_refused_before_the_work(tmp_path, capsys):
    path = _table(60_000, folder=tmp_path)
    with np.load(_npz(path), allow_pickle=False) as arrays:
        assert set(arrays) == {"y", "p"}
    assert main(["evaluate", str(path.with_suffix(".npz")), "--draws", "499", "--memory", "300MB"]) == 2
    err = capsys.readouterr().err
    assert "planned to take " in err
    assert "more than --memory 300 MB, and such files are not read in parts: fewer --draws, a coarser --lens" in err
    with pytest.raises(InputError, match="and such a file is not read in parts: fewer draws, or a larger memory"):
        kc.evaluate(path.with_suffix(".npz"), draws=499, memory=3 * 10**8)
    assert main(["evaluate", str(path), "--memory", "100MB", "--weights", "ward"]) == 2
    assert "--weights cannot be said of files read in one pass" in capsys.readouterr().err


def _npz(path):
    frame = pd.read_csv(path)
    p = frame.filter(like="p_").to_numpy()
    np.savez(path.with_suffix(".npz"), y=frame["label"].to_numpy(), p=p)
    return path.with_suffix(".npz")
