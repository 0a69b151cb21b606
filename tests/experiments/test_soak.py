"""The soak of files, short: kills and damages, and that a loss would be seen."""

import csv
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "monitor"

if sys.platform == "win32":
    pytest.skip("processes fork", allow_module_level=True)


@pytest.fixture(scope="module")
def soak(load):
    return load("monitor/soak.py")


@pytest.mark.slow
@pytest.mark.parametrize("what", ["monitor", "sketch"])
def test_nothing_is_lost_and_nothing_counts_twice(what, tmp_path):
    """In an interpreter of its own: processes that fork want no threads of other tests."""
    size = ["--rows", "1200", "--days", "4", "--stretches", "2", "--kills", "2"]
    command = [sys.executable, str(FOLDER / "soak.py"), "--part", what, *size, "--output", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1,200 rows" in done.stdout
    with next(tmp_path.rglob(f"soak_{what}.csv")).open(newline="") as stream:
        line = next(csv.DictReader(stream))
    expected = {"rows": "1200", "days": "4", "damaged files": "2", "refused": "2", "wrong": "0"}
    assert {name: line[name] for name in expected} == expected


def test_every_damage_is_one(soak, tmp_path):
    state, old, rng = tmp_path / "state.npz", tmp_path / "old.npz", np.random.default_rng(0)
    soak.take(old, 0, 1, 60)
    soak.take(state, 0, 2, 60)
    text = state.read_bytes()
    for damage in soak.DAMAGES[:4]:
        state.write_bytes(text)
        soak.hurt(state, damage, rng, {})
        with pytest.raises(InputError, match=r"damaged|version 0"):
            kc.Monitor.load(state)
    soak.hurt(state, "an old one", rng, {"an old one": old})
    soak.take(state, 0, 2, 60)  # what is missing is taken again
    assert state.read_bytes() == text
    assert Path(f"{state}.before").read_bytes() == old.read_bytes()


def test_a_loss_is_seen(soak, tmp_path):
    """A loop that takes a day twice, or leaves one out, ends with another state."""
    whole, twice, short = (tmp_path / f"{name}.npz" for name in ("whole", "twice", "short"))
    soak.take(whole, 0, 3, 50)
    for place, days in ((twice, (0, 1, 1, 2)), (short, (0, 2))):
        monitor = kc.Monitor()
        for at, k in enumerate(days):
            monitor.update(*soak.day(0, k, 50), key=f"{soak.name_of(k)}{'again' if at == 2 else ''}")
        monitor.save(place)
        assert place.read_bytes() != whole.read_bytes()
