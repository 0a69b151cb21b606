"""See Also of every documented name, from docs/api/related.txt: the names of a line belong together.

Relations stand in one file and not in some four hundred docstrings, since each is one of several names: who adds a
name writes it into one line. A docstring may have a section of its own, which is kept.
"""

import functools
import inspect
import re
from operator import attrgetter
from pathlib import Path

import kernelcal

FILE = Path(__file__).parent / "api" / "related.txt"
LATER = ("Notes", "References", "Examples")  # sections that come after See Also
MOST = 8  # names a page


@functools.cache
def related():
    """Names by name, those of its first line first."""
    found = {}
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            names = line.split()
            for name in names:
                found.setdefault(name, {}).update(dict.fromkeys(other for other in names if other != name))
    return {name: tuple(others)[:MOST] for name, others in found.items()}


def summary(name):
    """First sentence of what it is, on one line."""
    words = " ".join((inspect.getdoc(attrgetter(name)(kernelcal)) or "").partition("\n\n")[0].split())
    first = re.split(r"(?<=[.?]) ", words)[0].rstrip(".:")
    return first if first.endswith("?") else f"{first}."


def lines_of(name):
    """The section, as numpydoc reads it."""
    others = related().get(name.removeprefix("kernelcal."), ())
    entries = [f"kernelcal.{other} : {summary(other)}" for other in others]
    return ["See Also", "--------", *entries, ""] if entries else []


def add_see_also(app, what, name, thing, options, lines):
    """Put the section where numpydoc expects it."""
    if "See Also" in lines or what not in ("class", "function", "exception"):
        return
    rules = (k for k, line in enumerate(lines[1:], 1) if line.startswith("---") and lines[k - 1] in LATER)
    place = next(rules, len(lines) + 1) - 1
    lines[place:place] = ([] if place == 0 or not lines[place - 1] else [""]) + lines_of(name)
