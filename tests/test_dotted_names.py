"""Every name that the package prints, in docs, docstrings, messages and pages, is one that a reader can type."""

import functools
import importlib
import inspect
import re
from pathlib import Path

import pytest

import kernelcal

SOURCE = Path(kernelcal.__file__).parent
ROOT = Path(__file__).resolve().parents[1]
DOTTED = re.compile(r"(?<![\w./-])(?:kernelcal|kc)(?:\.[A-Za-z_]\w*)+")
QUOTED = re.compile(r"(?<![\w`:])`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)`(?![\w`_])")
FILES = frozenset(
    ("csv", "tsv", "html", "json", "jsonl", "npz", "npy", "parquet", "py", "rst", "md", "toml", "txt", "png")
)
LIBRARIES = frozenset(("numpy", "scipy", "torch", "jax", "dask", "pandas", "polars", "matplotlib", "np", "plt", "xp"))


def resolve(dotted):
    """The object of a dotted name of the package, or None."""
    first, *rest = dotted.split(".")
    found, module = kernelcal, "kernelcal"
    assert first in ("kernelcal", "kc")
    for part in rest:
        if hasattr(found, part):
            found = getattr(found, part)
        elif inspect.ismodule(found):
            try:
                found = importlib.import_module(f"{found.__name__}.{part}")
            except ModuleNotFoundError:
                return None
        elif inspect.isclass(found) and part in getattr(found, "__annotations__", {}):
            return found
        else:
            return None
    return (module, found)


def texts():
    """Every text of the project that people read, by file."""
    readme = [ROOT / name for name in ("README.md", "CONTRIBUTING.md")]
    docs = [path for path in (ROOT / "docs").rglob("*.rst") if not {"_build", "generated"} & set(path.parts)]
    source = [path for path in SOURCE.rglob("*") if path.suffix in (".py", ".html")]
    return [path for path in (*readme, *docs, *source) if path.exists()]


@pytest.mark.parametrize("path", texts(), ids=lambda path: path.name if path.parent == ROOT else str(path)[-50:])
def test_dotted_names_resolve(path):
    for match in DOTTED.finditer(path.read_text()):
        name = match.group()
        if name.rsplit(".", 1)[-1] in FILES:
            continue
        assert resolve(name), f"{path.name}: {name} does not resolve"


PATH = re.compile(r"``([\w./-]+(?:\.py|/))``")
FOLDERS = ("", "src", "src/kernelcal", "docs")


@pytest.mark.parametrize("path", texts(), ids=lambda path: path.name if path.parent == ROOT else str(path)[-50:])
def test_files_that_are_named_exist(path):
    for name in PATH.findall(path.read_text()) if path.suffix in (".rst", ".md") else ():
        found = [ROOT / folder / name for folder in FOLDERS if (ROOT / folder / name).exists()]
        assert found, f"{path.name} names {name}, which is not there"


def documented():
    """Public classes and functions with their docstrings, those of methods too, once each."""
    seen = {}
    for path in sorted(SOURCE.rglob("__init__.py")):
        module = importlib.import_module(".".join(path.parent.relative_to(SOURCE.parent).parts))
        for name in module.__all__:
            thing = getattr(module, name)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                seen.setdefault(f"{thing.__module__}.{thing.__qualname__}", thing)
    return seen


@functools.cache
def public_names():
    """Names of packages, of what they export, and of the attributes and methods of these."""
    names = set()
    for package in map(importlib.import_module, PACKAGES):
        names |= {*package.__all__, package.__name__.rpartition(".")[2]}
        for cls in filter(inspect.isclass, (getattr(package, name) for name in package.__all__)):
            names |= {*dir(cls), *(n for base in cls.__mro__ for n in getattr(base, "__annotations__", {}))}
    return names


def known_names(thing):
    """Names that a docstring may quote: public ones, those of its module, and its own parameters."""
    names = public_names() | set(vars(importlib.import_module(thing.__module__)))
    classes = [thing] if inspect.isclass(thing) else []
    for function in (thing, getattr(thing, "__init__", None), *(v for c in classes for v in vars(c).values())):
        if callable(function):
            try:
                names |= set(inspect.signature(function).parameters)
            except (TypeError, ValueError):
                continue
    return names


PACKAGES = sorted(".".join(path.parent.relative_to(SOURCE.parent).parts) for path in SOURCE.rglob("__init__.py"))


@pytest.mark.parametrize("name", documented())
def test_names_quoted_in_docstrings_exist(name):
    thing = documented()[name]
    docs = [inspect.getdoc(thing) or ""]
    if inspect.isclass(thing):
        docs += [inspect.getdoc(v) or "" for k, v in vars(thing).items() if callable(v) and not k.startswith("__")]
    names = known_names(thing)
    for quoted in QUOTED.findall("\n".join(docs)):
        first, *rest = quoted.split(".")
        if first in LIBRARIES:
            continue
        if rest and first not in ("kernelcal", "kc") and resolve(f"kernelcal.{quoted}"):
            continue
        if first in ("kernelcal", "kc"):
            assert resolve(quoted), f"{name}: `{quoted}` does not resolve"
            continue
        assert first in names, f"{name}: `{quoted}` is nothing that a reader finds"


def test_the_check_bites():
    assert resolve("kernelcal.skce")
    assert resolve("kernelcal.evaluation.plan")
    assert resolve("kernelcal.evaluate.plan") is None
    assert resolve("kernelcal.nonsense") is None
    assert DOTTED.findall("use kernelcal.skce, kc.SKCE or ../kernelcal.toml") == ["kernelcal.skce", "kc.SKCE"]
    assert QUOTED.findall("the `SKCE` and ``code`` of :class:`x`") == ["SKCE"]


def test_the_top_is_documented():
    page = (ROOT / "docs" / "api" / "index.rst").read_text()
    listed = set(re.findall(r"^   (\w+)$", page, re.MULTILINE)) | set(re.findall(r"``kernelcal\.(\w+)``", page))
    assert set(kernelcal.__all__) <= listed, sorted(set(kernelcal.__all__) - listed)


ROOMS = ("measures", "ranks", "survival", "recalibration", "losses", "monitor", "sklearn", "torchmetrics", "testing")


@pytest.mark.parametrize("room", ROOMS)
def test_what_a_room_shows_by_an_example_is_documented(room):
    """Classes and functions that one may type: those whose docstring types them."""
    pytest.importorskip({"sklearn": "sklearn", "torchmetrics": "torchmetrics"}.get(room, "numpy"))
    page = (ROOT / "docs" / "api" / "index.rst").read_text()
    listed = set(re.findall(r"^   (\w+)$", page, re.MULTILINE))
    door = importlib.import_module(f"kernelcal.{room}")
    shown = {name: getattr(door, name) for name in door.__all__}
    typed = {name for name, one in shown.items() if callable(one) and ">>>" in (inspect.getdoc(one) or "")}
    assert typed
    assert typed <= listed, sorted(typed - listed)
