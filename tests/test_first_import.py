"""``import kernelcal`` loads nearly nothing: names and rooms are imported when they are asked for."""

import ast
import builtins
import importlib
import json
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import kernelcal as kc
from kernelcal.inference import INTERVAL_METHODS, NULL_LAWS, STATISTICS
from kernelcal.lenses import LENSES
from kernelcal.measures import MEASURES
from kernelcal.pairs import ENGINES
from kernelcal.predictions import families
from kernelcal.recalibration import CLASS_MAPS

SOURCE = Path(kc.__file__)


def test_what_is_listed_is_what_is_found():
    """Names that people and type checkers read in the file, in the block of what is imported when it is asked for."""
    block = next(node for node in ast.parse(SOURCE.read_text()).body if isinstance(node, ast.With))
    listed = {alias.name: node.module for node in block.body for alias in node.names}
    assert sorted(listed) == sorted(kc.__all__)
    for name, room in listed.items():
        assert getattr(kc, name) is getattr(importlib.import_module(room), name)


def test_every_room_is_an_attribute():
    rooms = {path.stem for path in SOURCE.parent.iterdir() if (path / "__init__.py").exists()}
    assert len(rooms) > 20
    assert set(dir(kc)) >= {*kc.__all__, *rooms, "__version__"}
    for room in rooms:
        assert getattr(kc, room) is importlib.import_module(f"kernelcal.{room}")
    with pytest.raises(AttributeError, match="module 'kernelcal' has no attribute 'calibrate'"):
        kc.calibrate  # noqa: B018
    with pytest.raises(AttributeError, match=r"module 'kernelcal\.kernels' has no attribute '_nothing'"):
        kc.kernels._nothing  # noqa: B018


def _modules_after(code):
    code = f"{code}\nimport json, sys; print(json.dumps([*sys.modules]))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout))


def test_a_name_brings_the_files_that_it_needs_alone():
    modules = _modules_after("from kernelcal.predictions import Poisson")
    assert {"kernelcal.predictions", "kernelcal.predictions.counts.poisson"} <= modules
    assert "kernelcal.predictions.continuous" not in modules


@pytest.mark.slow
def test_who_asks_what_there_is_is_told_all():
    """Tables that files fill when they are imported, asked by a process that has imported nothing else."""
    for code, table in {
        "from kernelcal.predictions import families; print(len(families()))": len(families()),
        "from kernelcal.recalibration import CLASS_MAPS; print(len(CLASS_MAPS))": len(CLASS_MAPS),
        "from kernelcal.measures import MEASURES; print(len(MEASURES))": len(MEASURES),
        "from kernelcal.inference import STATISTICS; print(len(STATISTICS))": len(STATISTICS),
        "from kernelcal.inference import NULL_LAWS; print(len(NULL_LAWS))": len(NULL_LAWS),
        "from kernelcal.inference import INTERVAL_METHODS; print(len(INTERVAL_METHODS))": len(INTERVAL_METHODS),
        "from kernelcal.pairs import ENGINES; print(len(ENGINES))": len(ENGINES),
        "from kernelcal.lenses import LENSES; print(len(LENSES))": len(LENSES),
    }.items():
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert int(run.stdout) == table > 2, code


def test_doors_that_open_at_once_leave_the_usual_import(tmp_path, monkeypatch):
    """Two threads at two doors, one of which is slow: the one never sees what the other has noted."""
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("slow_door", "quick_door"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "inside.py").write_text("import time\ntime.sleep(0.05)\nvalue = __name__\n")
        (tmp_path / name / "__init__.py").write_text(
            "import time\nfrom kernelcal.surroundings import at_first_use\n"
            f"with at_first_use(__name__):\n    time.sleep(0.05)\n    from {name}.inside import value\n"
        )
    usual, found = builtins.__import__, {}

    def enter(name):
        found[name] = importlib.import_module(name).value

    threads = [threading.Thread(target=enter, args=(name,)) for name in ("slow_door", "quick_door")]
    for thread in threads:
        thread.start()
    import colorsys  # in this thread, meanwhile

    for thread in threads:
        thread.join()
    assert colorsys.rgb_to_hsv(0, 0, 0) == (0, 0, 0)
    assert found == {"slow_door": "slow_door.inside", "quick_door": "quick_door.inside"}
    assert builtins.__import__ is usual


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
