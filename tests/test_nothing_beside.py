"""The tests pass in a clone with nothing beside it: whatever they read lies inside, and licensed."""

import ast
import re
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
ROOT = TESTS.parent
BESIDE = ROOT.parent / "shared"
FOLDERS = ("tests", "docs", "src", "examples")
CODE = sorted(
    path
    for folder in FOLDERS
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".rst") and "_build" not in path.parts and path.name not in ("cut.py", "make_reports.py")
)


def highest_parent(path):
    """Largest k of `parents[k]` in a file."""
    return max((int(k) for k in re.findall(r"parents\[(\d+)\]", path.read_text())), default=0)


@pytest.mark.slow
def test_no_test_leaves_the_repository():
    """No path climbs above the root, and none names the folder beside it."""
    assert len(CODE) > 100
    climbing = [path for path in CODE if highest_parent(path) >= len(path.relative_to(ROOT).parts)]
    assert [path.name for path in climbing] == ["conftest.py"]  # it forbids the folder beside
    for path in CODE:
        text = path.read_text()
        if path.suffix == ".py" and path not in (Path(__file__), *climbing) and "shared" in text:
            words = {node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant)}
            assert "shared" not in words, path


def test_the_folder_beside_cannot_be_read():
    with pytest.raises(RuntimeError, match=r"a test reads .*: what tests need lies in tests/data"):
        open(BESIDE / "cases.json")  # noqa: SIM115
    with pytest.raises(RuntimeError, match=r"a test reads"):
        list(BESIDE.iterdir())


def test_every_file_of_the_data_is_described_small_and_licensed(data_folder):
    described = (data_folder / "README.md").read_text()
    for path in data_folder.rglob("*"):
        if path.is_file() and "__pycache__" not in path.parts:
            assert path.stat().st_size < 150_000, path
            top = path.relative_to(data_folder).parts[0]
            assert top in ("README.md", "cut.py", "licences") or f"`{top}" in described, path
    rows = [line.split(" | ") for line in described.splitlines() if line.startswith("| `")]
    assert len(rows) == 10
    assert {row[-1].removesuffix(" |").split(": ")[-1] for row in rows} == {
        "MIT",
        "Apache-2.0",
        "CC-BY-4.0",
        "BSD-3-Clause",
    }
    for name in ("MIT", "Apache-2.0"):
        assert (data_folder / "licences" / f"{name}.txt").exists()
    assert {path.name for path in data_folder.iterdir()}.isdisjoint({"cifar10_networks", "py3langid_gettext"})


def test_the_rule_of_the_cut(data_folder, tmp_path):
    """A small collection is cut row by row; what is written twice has the same bytes."""
    import importlib.util

    import numpy as np

    spec = importlib.util.spec_from_file_location("cut", data_folder / "cut.py")
    cut = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cut)
    table = tmp_path / "nfl_games.csv"
    lines = [f"{k},{0.5 if k == 6 else k % 2}\n" for k in range(9)]
    table.write_text("".join(["row,prob1_outcome\n", *lines]))
    assert cut.thinned(table, 4).decode() == "".join(["row,prob1_outcome\n", *(lines[k] for k in (0, 4, 6, 8))])
    np.savez_compressed(tmp_path / "a.npz", p=np.arange(20).reshape(10, 2), y=np.arange(10))
    (tmp_path / "cut.npz").write_bytes(cut.thinned(tmp_path / "a.npz", 4))
    with np.load(tmp_path / "cut.npz") as file:
        assert file["p"].tolist() == [[0, 1], [8, 9], [16, 17]]
        assert file["y"].tolist() == [0, 4, 8]
    assert cut.thinned(tmp_path / "a.npz", 4) == (tmp_path / "cut.npz").read_bytes()
    assert "kernelcal" not in (data_folder / "cut.py").read_text()  # the cut needs NumPy alone
    assert sys.modules.get("cut") is None


CORE = {
    "numpy",
    "scipy",
    "array_api_compat",
    "array_api_extra",
    "array_api_strict",
    "hypothesis",
    "pytest",
    "kernelcal",
}


def imported(node):
    """Packages that a statement imports."""
    if isinstance(node, ast.Import):
        return {name.name.split(".")[0] for name in node.names}
    return {node.module.split(".")[0]} if isinstance(node, ast.ImportFrom) and node.module and not node.level else set()


def of_the_core(tree):
    """Names of the packages of extras that are imported before any line that looks whether they are there."""
    found, waiting = set(), [(tree.body, False)]
    while waiting:
        body, may_skip = waiting.pop()
        for statement in body:
            may_skip = may_skip or any(
                isinstance(node, ast.Attribute) and node.attr in ("importorskip", "skip", "skipif", "find_spec")
                for node in ast.walk(statement)
            )
            if not may_skip:
                found |= imported(statement) - CORE - sys.stdlib_module_names
            if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.If | ast.With | ast.Try | ast.For):
                waiting.append((statement.body, may_skip))
    return found


@pytest.mark.parametrize("path", sorted(TESTS.rglob("test_*.py")), ids=lambda path: path.stem)
def test_packages_of_extras_are_imported_where_the_test_may_be_skipped(path):
    beside = path.with_name("conftest.py")
    skipped = set(re.findall(r'importorskip\("(\w+)"\)', beside.read_text())) if beside.exists() else set()
    assert of_the_core(ast.parse(path.read_text())) <= skipped
