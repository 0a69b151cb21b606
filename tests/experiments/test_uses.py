"""The uses of the monitor, one short stream of each."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "experiments" / "monitor"

if not FOLDER.exists():  # an installed package has no experiments
    pytest.skip("the experiments are not here", allow_module_level=True)


@pytest.fixture
def uses(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    monkeypatch.delitem(sys.modules, "settings", raising=False)
    spec = importlib.util.spec_from_file_location("uses", FOLDER / "uses.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    sys.modules.pop("settings", None)


def test_what_people_do_raises_no_alarm_and_what_breaks_the_bound_does(uses, monkeypatch):
    monkeypatch.setattr(uses, "ROWS", 150)
    monkeypatch.setattr(uses, "DAY", 50)
    assert sum(use(np.random.default_rng(1)) for use in uses.KEPT.values()) <= 1
    monkeypatch.setattr(uses, "ROWS", 1000)
    assert uses.sorted_by_outcome(np.random.default_rng(1))
    assert uses.late_if_it_happened(np.random.default_rng(1))
