"""``import kernelcal`` loads nearly nothing: names and rooms are imported when they are asked for."""

import ast
import builtins
import importlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import kernelcal as kc

SOURCE = Path(kc.__file__)


def test_what_is_listed_is_what_is_found():
    """Names that people and type checkers read in the file, in the block of what is imported when it is asked for."""
    block = next(node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.With))
    listed = {alias.name: node.module for node in block.body for alias in node.names}
    rooms = {name for name, module in listed.items() if module == "kernelcal"}
    assert sorted({*listed} - rooms | {"datasets"}) == sorted(kc.__all__)
    there = {path.stem for path in SOURCE.parent.iterdir() if not path.stem.startswith("_")}
    assert rooms == there - {"cli", "files", "py", "surroundings"}, "type checkers know rooms that are listed"
    for name in listed.keys() - rooms:
        assert getattr(kc, name) is getattr(importlib.import_module(listed[name]), name)


def test_every_room_is_an_attribute():
    rooms = {path.stem for path in SOURCE.parent.iterdir() if (path / "__init__.py").exists()}
    assert len(rooms) > 20
    assert set(dir(kc)) >= {*kc.__all__, *rooms, "__version__"}
    for room in rooms:
        assert getattr(kc, room) is importlib.import_module(f"kernelcal.{room}")
    with pytest.raises(AttributeError, match="module 'kernelcal' has no attribute 'calibrate'"):
        kc.calibrate  # noqa: B018
    for name in ("_nothing", "a.b", "__main__"):
        assert not hasattr(kc, name)
        assert name not in dir(kc)


def _modules_after(code):
    code = f"{code}\nimport json, sys; print(json.dumps([*sys.modules]))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_a_name_brings_the_files_that_it_needs_alone():
    modules = _modules_after("from kernelcal.predictions import Poisson")
    assert {"kernelcal.predictions", "kernelcal.predictions.counts.poisson"} <= modules
    assert "kernelcal.predictions.continuous" not in modules


_TABLES = """
import importlib, json, sys
from collections.abc import Mapping
from kernelcal.predictions import families
from kernelcal.surroundings import import_all

for door in sys.argv[1:]:
    import_all(door)
found = {f"{door}:families()": len(families()) for door in ["kernelcal.predictions"]}
for door in sys.argv[1:]:
    module = importlib.import_module(door)
    tables = {name: getattr(module, name) for name in module.__all__ if isinstance(getattr(module, name), Mapping)}
    found |= {f"{door}:{name}": len(table) for name, table in tables.items()}
print(json.dumps(found))
"""


@pytest.mark.slow
def test_who_asks_what_there_is_is_told_all():
    """Tables that files fill when they are imported: asked first, and by a process that has imported all files."""
    folders = [path.parent for path in sorted(SOURCE.parent.rglob("__init__.py"))]
    doors = [".".join(folder.relative_to(SOURCE.parents[1]).parts) for folder in folders]
    extras = {"kernelcal.sklearn", "kernelcal.torchmetrics", "kernelcal.losses"}
    everything = [sys.executable, "-c", _TABLES, *(door for door in doors if door not in extras)]
    found = json.loads(subprocess.run(everything, capture_output=True, text=True, check=True).stdout)
    assert {"READERS", "MEAN", "MEASURES", "CLASS_MAPS", "families()"} <= {table.partition(":")[2] for table in found}
    for table, number in found.items():
        door, _, name = table.partition(":")
        code = f"import {door} as door; print(len(door.{name}))"
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert int(run.stdout) == number > 0, table


@pytest.fixture
def rooms(tmp_path, monkeypatch):
    """Write rooms: what stands in the block of the door, and in the file inside."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(name, block, inside="value = __name__"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "inside.py").write_text(inside)
        indented = "\n    ".join(["with at_first_use(__name__):", *block])
        (tmp_path / name / "__init__.py").write_text(f"from kernelcal.surroundings import at_first_use\n{indented}\n")
        return name

    yield write
    for name in [name for name in sys.modules if name.partition(".")[0] in {path.name for path in tmp_path.iterdir()}]:
        del sys.modules[name]


def test_a_door_is_open_to_one_thread_and_the_usual_import_serves_all_others(rooms):
    """Meanwhile: two doors, one of them slow; imports by keyword, as `importlib.util.find_spec` has them."""
    wait = ["import threading, kernelcal.surroundings as place", "place.opened.set()", "place.done.wait(10)"]
    rooms("slow_door", [*wait, "from slow_door.inside import value"])
    rooms("quick_door", ["from quick_door.inside import value"])
    place, usual, found = kc.surroundings, builtins.__import__, {}
    place.opened, place.done = threading.Event(), threading.Event()

    def enter(name):
        found[name] = importlib.import_module(name).value

    threads = [threading.Thread(target=enter, args=(name,)) for name in ("slow_door", "quick_door")]
    try:
        threads[0].start()
        assert place.opened.wait(10)
        assert builtins.__import__ is not usual
        threads[1].start()
        assert __import__("json", fromlist=["dumps"]) is json
        assert importlib.util.find_spec("xml.etree.ElementTree") is not None
        import colorsys
    finally:
        place.done.set()
        for thread in threads:
            thread.join()
        del place.opened, place.done
    assert colorsys.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    assert found == {"slow_door": "slow_door.inside", "quick_door": "quick_door.inside"}
    assert builtins.__import__ is usual


def test_why_a_file_cannot_be_imported_is_said(rooms):
    """Where an old version of a dependency lacks something, it is not the name of the door that is missing."""
    door = importlib.import_module(rooms("old", ["from old.inside import value"], "import math; math.gone"))
    with pytest.raises(ImportError, match=r"old\.inside cannot be imported: module 'math' has no attribute 'gone'"):
        door.value  # noqa: B018
    with pytest.raises(ImportError, match=r"near lists names of \.inside: write the whole name of the module"):
        importlib.import_module(rooms("near", ["from .inside import value"]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_process_that_is_forked_can_enter(rooms, tmp_path):
    """Also while another thread has opened a door, which in the new process nobody would close."""
    rooms("long_door", ["import time; time.sleep(0.3)", "from long_door.inside import value"])
    rooms("own_door", ["from own_door.inside import value"])
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import importlib, os, threading, time\nimport kernelcal.surroundings\n"
        "threading.Thread(target=importlib.import_module, args=('long_door',)).start(); time.sleep(0.1)\n"
        "child = os.fork()\n"
        "if not child:\n    import own_door; own_door.value; os._exit(0)\n"
        "print(os.waitpid(child, 0)[1])\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert run.stdout.split() == ["0"]


_FIRST = """
import sys
import kernelcal
assert "numpy" not in sys.modules, "numpy is imported"
for name in sys.argv[1:]:
    for module in [module for module in sys.modules if module.split(".")[0] == "kernelcal"]:
        del sys.modules[module]
    import kernelcal
    getattr(kernelcal, name)
"""


@pytest.mark.slow
def test_nothing_is_loaded_and_any_name_can_be_the_first():
    first = {getattr(kc, name).__module__: name for name in kc.__all__ if name != "datasets"}.values()
    subprocess.run([sys.executable, "-c", _FIRST, *first], check=True)


_COMMAND = """
import json, sys
from kernelcal.cli import main
try:
    status = main(sys.argv[1:])
except SystemExit as end:
    status = end.code
print(json.dumps([status, sorted({".".join(name.split(".")[:2]) for name in sys.modules})]))
"""


def _rooms(*arguments):
    """What a command has imported: rooms of kernelcal and other packages."""
    run = subprocess.run([sys.executable, "-c", _COMMAND, *arguments], capture_output=True, text=True, check=True)
    status, names = json.loads(run.stdout.splitlines()[-1])
    assert not status
    return set(names)


@pytest.mark.parametrize("arguments", [("--version",), ("--help",)])
def test_what_is_no_command_is_answered_at_once(arguments):
    rooms = _rooms(*arguments)
    assert "numpy" not in rooms
    assert {room for room in rooms if room.startswith("kernelcal.")} <= {
        "kernelcal.cli",
        "kernelcal.errors",
        "kernelcal.surroundings",
    }


def test_evaluate_imports_no_room_of_other_commands(tmp_path):
    path = tmp_path / "rain.csv"
    path.write_text("y,p\n" + "1,0.7\n0,0.2\n" * 20)
    others = (
        "comparison",
        "measures",
        "monitor",
        "ranks",
        "recalibration",
        "reporting",
        "sketch",
        "stream",
        "survival",
    )
    rooms = _rooms("evaluate", str(path))
    assert "kernelcal.evaluation" in rooms
    assert not {f"kernelcal.{room}" for room in others} & rooms
    assert not {"scipy.stats", "pandas", "pyarrow", "matplotlib", "array_api_extra"} & rooms
