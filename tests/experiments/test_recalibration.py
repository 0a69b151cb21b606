"""A short run of the experiment on recalibration: scores, ranks, and what it costs where nothing is wrong."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "recalibration"

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)
pytest.importorskip("sklearn", minversion="1.6")


@pytest.fixture(scope="module")
def experiment():
    place = list(sys.path)
    sys.path.insert(0, str(FOLDER))
    spec = importlib.util.spec_from_file_location("recalibration_run", FOLDER / "run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.path[:] = place
    for name in ("methods", "sets"):
        sys.modules.pop(name, None)


def test_ranks_are_those_of_the_scores(experiment):
    lines = []
    for model, losses in (("a", (0.5, 0.3, 0.4)), ("b", (0.5, 0.6, 0.4))):
        for n in experiment.SIZES:
            for classes in (2, 3):
                for method, loss in zip(("identity", "kernelcal auto", "other"), losses, strict=True):
                    lines.append(["set", model, classes, 0, n, method, str(loss), str(loss)])
    head, table = experiment.ranks(lines)
    first = {row[3]: dict(zip(head, row, strict=True)) for row in table[:3]}
    assert first["kernelcal auto"]["mean rank, log score"] == "2.00"
    assert first["other"]["mean rank, log score"] == "1.50"
    assert first["other"]["pool better on %"] == "50"
    assert first["kernelcal auto"]["worst loss against identity, nats"] == "0.100"


def test_the_pool_costs_little_where_nothing_is_wrong(experiment, monkeypatch):
    monkeypatch.setattr(experiment, "SIZES", (100,))
    _, lines = experiment.of_null(3)
    assert [line[0] for line in lines] == [2, 3, 5]
    assert all(float(line[3]) < 30 for line in lines)


def test_scores(experiment):
    p, y = np.array([[0.2, 0.8], [1.0, 0.0]]), np.array([1, 1])
    assert experiment.log_score(p, y) == pytest.approx((-np.log(0.8) - np.log(1e-6)) / 2)
    assert experiment.brier(p, y) == pytest.approx((0.08 + 2) / 2)
