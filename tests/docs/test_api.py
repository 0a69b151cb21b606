"""Every name of the reference has an example that runs, and names beside it that one may want instead."""

import importlib
import inspect
import re
import sys
from operator import attrgetter
from pathlib import Path

import pytest

import kernelcal

pytest.importorskip("sklearn")
pytest.importorskip("torchmetrics")

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "api" / "index.rst").read_text(encoding="utf-8")


def documented():
    """Names of the reference, without "kernelcal.", and what they stand for."""
    module, found = "", {}
    for line in PAGE.splitlines():
        module = (re.match(r"\.\. currentmodule:: (\S+)", line) or [0, module])[1]
        name = re.match(r"   ([A-Za-z_][\w.]*)$", line)
        if name:
            full = f"{module}.{name[1]}".removeprefix("kernelcal").removeprefix(".")
            importlib.import_module(module)
            found[full] = attrgetter(full)(kernelcal)
    return found


@pytest.fixture(scope="module")
def related():
    sys.path.insert(0, str(DOCS))
    try:
        yield importlib.import_module("related")
    finally:
        sys.path.remove(str(DOCS))
        sys.modules.pop("related", None)


def test_no_name_is_without_an_example():
    """In its docstring, or on the page of the reference itself where its file is full."""
    shown = "\n".join(line for line in PAGE.splitlines() if line.startswith(">>> "))
    without = [
        name
        for name, thing in documented().items()
        if ">>> " not in (inspect.getdoc(thing) or "") and not re.search(rf"\b{name.split('.')[-1]}\b", shown)
    ]
    assert without == [], "write an example into the docstring (numpydoc, section Examples, last)"


def test_no_name_is_without_see_also(related):
    without = [
        name
        for name, thing in documented().items()
        if not related.related().get(name) and "See Also" not in (inspect.getdoc(thing) or "")
    ]
    assert without == [], "write the name into a line of docs/api/related.txt, beside what it belongs to"


def test_what_see_also_names_is_documented(related):
    names = documented()
    assert len(names) > 400
    assert sorted(set(related.related()) - set(names)) == []
    for name in names:
        assert 5 < len(related.summary(name)) < 240, name


def test_the_section_stands_where_numpydoc_looks(related):
    lines = ["First line.", "", "Parameters", "----------", "x : int", "", "Notes", "-----", "More."]
    related.add_see_also(None, "function", "kernelcal.skce", None, None, lines)
    assert lines[5:8] == ["", "See Also", "--------"]
    assert lines[8].startswith("kernelcal.SKCE : Squared kernel calibration error")
    assert lines[-3:] == ["Notes", "-----", "More."]
    assert lines[lines.index("Notes") - 1] == ""
    short = ["First line.", ""]
    related.add_see_also(None, "class", "kernelcal.SKCE", None, None, short)
    assert short[:3] == ["First line.", "", "See Also"]
    own = ["First line.", "", "See Also", "--------", "kernelcal.ece"]
    related.add_see_also(None, "function", "kernelcal.skce", None, None, own)
    assert len(own) == 5
