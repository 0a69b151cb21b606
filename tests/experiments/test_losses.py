"""The experiment on calibration losses: short trainings of the networks of its table."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "losses"

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run():
    for extra in ("torch", "jax", "sklearn", "matplotlib"):
        pytest.importorskip(extra)
    sys.path.insert(0, str(FOLDER))
    try:
        spec = importlib.util.spec_from_file_location("losses_run", FOLDER / "run.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    finally:
        sys.path.remove(str(FOLDER))
        sys.modules.pop("jax_network", None)


def test_every_network_learns(run, monkeypatch):
    monkeypatch.setattr(run, "PASSES", 30)  # penalties slow the first ones
    found = {label: run.scores(0, label) for label in run.NAMES}
    for label, (accuracy, log_score, *_) in found.items():
        assert accuracy > 0.2, label
        assert log_score < 2.3, label
    lines = list(run.lines_of({label: np.array([values, values]) for label, values in found.items()}))
    assert [line[0] for line in lines] == list(run.NAMES)
    assert lines[0][-2:] == ["", ""]
    assert lines[1][-1].endswith("± 0.00")


def test_a_penalty_lowers_the_kernel_error_and_keeps_the_accuracy(run):
    alone, penalised = (
        np.mean([run.scores(seed, label) for seed in (7, 8)], axis=0) for label in (run.ALONE, "+ skce")
    )
    assert penalised[2] < alone[2]
    assert penalised[1] < alone[1]
    assert penalised[0] > alone[0] - 0.02


def test_the_drawing_has_a_line_a_network(run, monkeypatch, tmp_path):
    monkeypatch.setattr(run, "PICTURE", tmp_path / "losses.png")
    run.draw({label: np.full((2, 4), 0.5) for label in run.NAMES})
    assert (tmp_path / "losses.png").stat().st_size > 10_000


def test_times_have_every_network_and_loss():
    pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("losses_times", FOLDER / "times.py")
    times = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(times)
    found = times.seconds("64-256-10", 1)
    assert set(found) == {"nothing", "witness", "skce", "mmce", "ckce"}
    assert min(found.values()) > 0
