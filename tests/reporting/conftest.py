"""One page of every subject, made once, with a fixed date."""

import functools
import importlib.util
from pathlib import Path

import pytest

_spec = importlib.util.spec_from_file_location("report_subjects", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)


@functools.cache
def _made(name):
    from kernelcal.reporting import report

    y, predictions, options = subjects.SUBJECTS[name]()
    title = subjects.HOSTILE[0] if name in ("classes", "several") else "Calibration report"
    return report(y, predictions, draws=subjects.DRAWS, date="2026-01-02", title=title, **options)


@pytest.fixture(scope="session")
def made():
    """A function from the name of a subject to its report."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    return _made


SLOW = ("binary", "samples", "quantiles", "counts", "vectors", "weighted", "through_a_lens")


@pytest.fixture(params=[pytest.param(s, marks=pytest.mark.slow) if s in SLOW else s for s in subjects.SUBJECTS])
def subject(request):
    return request.param


@pytest.fixture(scope="session")
def hostile():
    return subjects.HOSTILE
