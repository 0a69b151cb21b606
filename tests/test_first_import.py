"""``import kernelcal`` loads nearly nothing: names and rooms are imported when they are asked for."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

import kernelcal as kc

SOURCE = Path(kc.__file__)


def _imported_for_type_checkers():
    """Names in the order of the file, with their rooms."""
    tree = ast.parse(SOURCE.read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    for node in block.body:
        room = node.module.removeprefix("kernelcal").lstrip(".")
        yield from ((alias.name, room) for alias in node.names)


def test_what_type_checkers_see_is_what_is_imported():
    seen = dict(_imported_for_type_checkers())
    assert sorted(seen) == sorted(kc.__all__)
    rooms = {name: room for name, room in seen.items() if room}
    assert rooms == kc._ROOM_OF
    for name, room in rooms.items():
        assert getattr(kc, name) is getattr(getattr(kc, room), name)
    assert {name for name in seen if name not in rooms} <= kc._ROOMS


def test_every_room_is_an_attribute_but_the_command_and_what_lies_below():
    found = {
        path.stem
        for path in SOURCE.parent.iterdir()
        if path.suffix == ".py" or (path.is_dir() and (path / "__init__.py").exists())
    }
    assert found - kc._ROOMS == {"__init__", "__main__", "cli", "files", "surroundings"}
    assert set(dir(kc)) >= {*kc.__all__, *kc._ROOMS, "__version__"}
    with pytest.raises(AttributeError, match="module 'kernelcal' has no attribute 'calibrate'"):
        kc.calibrate  # noqa: B018


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
    first = {room: name for name, room in kc._ROOM_OF.items()}.values()
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
