"""The house: floors, rooms entered by their doors, nothing in circles, files of one idea, a light import."""

import ast
import importlib
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import kernelcal
from kernelcal.cli.parser import COMMANDS

SOURCE = Path(kernelcal.__file__).parent
FLOORS = [
    {"surroundings"},
    {"defaults", "errors"},
    {"arrays"},
    {"randomness", "registry", "tables", "plots", "files"},
    {"predictions"},
    {"dependence"},
    {"covariates"},
    {"cases"},
    {"lenses"},
    {"binning"},
    {"datasets"},
    {"io"},
    {"kernels"},
    {"residuals"},
    {"pairs"},
    {"runs"},
    {"statistics"},
    {"inference"},
    {"ranks"},
    {"losses", "monitor", "recalibration"},
    {"explanation"},
    {"measures"},
    {"evaluation"},
    {"sketch"},
    {"comparison"},
    {"survival"},
    {"stream"},
    {"sklearn", "torchmetrics"},
    {"dispatch"},
    {"reporting"},
    {"testing"},
    {"cli"},
    {"__main__"},
]
HEIGHT = {name: height for height, names in enumerate(FLOORS) for name in names}
MOST_FILES = 13
EXTRAS = (
    "matplotlib",
    "jinja2",
    "narwhals",
    "pyarrow",
    "torch",
    "jax",
    "dask",
    "distributed",
    "sklearn",
    "pandas",
    "polars",
    "threadpoolctl",
    "ot",
    "numpyro",
)


def _name(path):
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {_name(path): path for path in sorted(SOURCE.rglob("*.py"))}
PACKAGES = {name for name, path in MODULES.items() if path.name == "__init__.py"}
ROOMS = sorted({path.parent for path in MODULES.values()})


def _statements(node):
    """All statements below one, without the expressions in them, which are most of a tree."""
    for part in ("body", "orelse", "handlers", "finalbody", "cases"):
        for statement in getattr(node, part, ()):
            yield statement
            yield from _statements(statement)


def _imported(path):
    """Modules and packages that a file imports, inside functions and for the type checker too."""
    for node in _statements(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "kernelcal":
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "kernelcal")


IMPORTS = {name: set(_imported(path)) - {name, "kernelcal"} for name, path in MODULES.items()}


def _floor(name):
    return name.split(".")[1]


@pytest.mark.parametrize("name", [name for name in MODULES if name != "kernelcal"])
def test_each_floor_imports_only_from_floors_below(name):
    assert _floor(name) in HEIGHT, f"{_floor(name)} is not on a floor: add it to FLOORS"
    for other in IMPORTS[name]:
        assert _floor(other) == _floor(name) or HEIGHT[_floor(other)] < HEIGHT[_floor(name)], (
            f"{name} imports upwards from {other}"
        )


@pytest.mark.parametrize("name", [name for name in MODULES if name != "kernelcal"])
def test_a_room_is_entered_by_its_door(name):
    """From outside a folder only its `__init__` is imported; what lies inside may use what stands further out."""
    own = name if name in PACKAGES else name.rpartition(".")[0]
    for other in IMPORTS[name] - PACKAGES:
        room = other.rpartition(".")[0]
        assert f"{own}.".startswith(f"{room}."), f"{name} goes round the door of {room}: import from {room}"


def test_nothing_goes_in_circles():
    """Rooms count as what they export, so that rooms of one floor import one way as well."""
    waiting, done = dict(IMPORTS), set()
    while ready := [name for name, others in waiting.items() if others <= done]:
        done |= set(ready)
        for name in ready:
            del waiting[name]
    assert not waiting, " -> ".join(_circle(waiting))


def _circle(waiting):
    """Walk along imports of what waits until a module comes again."""
    way = [min(waiting)]
    while way[-1] not in way[:-1]:
        way.append(min(other for other in waiting[way[-1]] if other in waiting))
    return way[way.index(way[-1]) :]


def test_no_module_is_forgotten():
    """What registers itself when it is imported must be imported by something, or be typed."""
    typed = {f"kernelcal.cli.commands.{module}" for _, module, _ in COMMANDS}
    used = set().union(typed, *IMPORTS.values()) | {
        "kernelcal",
        "kernelcal.cli",
        "kernelcal.__main__",
        "kernelcal.cli.__main__",
        "kernelcal.cli.commands",
        "kernelcal.ranks",
        "kernelcal.testing",
        "kernelcal.losses",
        "kernelcal.sklearn",
        "kernelcal.survival",
        "kernelcal.torchmetrics",
    }
    assert set(MODULES) <= used, sorted(set(MODULES) - used)


@pytest.mark.parametrize("room", ROOMS, ids=lambda path: str(path.relative_to(SOURCE.parent)))
def test_rooms_are_small_and_say_what_lives_there(room):
    files = list(room.glob("*.py"))
    assert len(files) <= MOST_FILES, f"{room} has {len(files)} files"
    assert len(room.relative_to(SOURCE).parts) <= 2, "rooms are at most two levels deep"
    assert ast.get_docstring(ast.parse((room / "__init__.py").read_text()))


@pytest.mark.parametrize("path", MODULES.values(), ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_file_holds_one_idea(path):
    text = path.read_text()
    assert len(text.splitlines()) <= 450
    assert ast.get_docstring(ast.parse(text))


def test_names_of_packages_hide_no_module():
    """`package.name` is the module or something else, whatever was imported before: never one of two."""
    for name in PACKAGES:
        package = importlib.import_module(name)
        for exported in package.__all__:
            inner = f"{name}.{exported}"
            assert inner not in MODULES or getattr(package, exported) is importlib.import_module(inner), inner


def test_no_name_of_a_door_is_a_file_of_its_room():
    """Python puts a file that is imported in the place of the name; a name is itself, whatever was imported first."""
    for name in sorted(PACKAGES):
        for node in _statements(ast.parse(MODULES[name].read_text())):
            for alias in node.names if isinstance(node, ast.ImportFrom) and node.module != name else ():
                assert f"{name}.{alias.asname or alias.name}" not in MODULES, f"{name} lists {alias.name}"


def test_import_brings_no_extra_and_no_heavy_part_of_scipy():
    code = (
        "import sys, kernelcal; "
        f"print([m for m in {(*EXTRAS, 'scipy.stats', 'scipy.spatial', 'scipy.sparse')!r} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


@pytest.mark.slow
def test_packages_for_some_are_imported_when_they_are_asked_for():
    code = "import sys, kernelcal as kc; print('kernelcal.testing' in sys.modules, kc.testing.check_kernel.__name__)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == ["False", "check_kernel"]
    with pytest.raises(AttributeError, match="module 'kernelcal' has no attribute 'nonsense'"):
        _ = kernelcal.nonsense


def test_public_names():
    for name in sorted(PACKAGES):
        package = importlib.import_module(name)
        assert len(set(package.__all__)) == len(package.__all__)
        for exported in package.__all__:
            assert hasattr(package, exported), f"{name}.{exported}"
    for name in kernelcal.__all__:
        documented = getattr(kernelcal, name).__doc__
        assert documented
        assert len(documented) > 40, name


def test_one_word_a_thing():
    """No two classes have one name."""
    places = {}
    for name in MODULES:
        if name.endswith("__main__"):
            continue
        for thing in vars(importlib.import_module(name)).values():
            if inspect.isclass(thing) and thing.__module__ == name and not thing.__name__.startswith("_"):
                places.setdefault(thing.__name__, []).append(name)
    assert not {word: where for word, where in places.items() if len(where) > 1}
