"""The page of a monitor holds what every page holds, and names in it are text."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from kernelcal.monitor import Monitor

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")

_spec = importlib.util.spec_from_file_location("pages_of_all", Path(__file__).with_name("test_page.py"))
pages = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(pages)


def test_the_page_of_a_monitor(tmp_path, hostile):
    from kernelcal.reporting import history_page

    rng, monitor = np.random.default_rng(0), Monitor()
    for key in (*hostile, "last"):
        p = rng.uniform(size=50)
        monitor.update(rng.random(50) < p**3, p, key=key)
    html = history_page(monitor, tmp_path / "page.html", title=hostile[0]).read_text(encoding="utf-8")
    page = pages.Page(html)
    found = SimpleNamespace(to_html=lambda: html, verdict=SimpleNamespace(tone="against"))
    for check in pages.CHECKS[:-1]:
        check(page, found)
    for word in (*hostile, "The predictions are not what they claim", "Both alarms after every batch", "numpy"):
        assert word in page.text, word
    assert "To repeat it" in page.text
    assert "<script" not in html
