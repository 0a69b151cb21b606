"""The files of the recipes, typed in word by word: clean, typed, light and on their floor; each is checked."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kernelcal import testing

ROOT = Path(__file__).parents[2]


def load(path):
    spec = importlib.util.spec_from_file_location(f"loaded_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


recipes = load(ROOT / "docs" / "recipes" / "conftest.py")
FILES = [(page, name) for page in recipes.PAGES for name in recipes.files_of(page)]
every_file = pytest.mark.parametrize(("page", "name"), FILES, ids=lambda x: getattr(x, "stem", x))


@pytest.fixture(scope="module")
def architecture():
    return load(ROOT / "tests" / "test_architecture.py")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("recipes")
    recipes.written(where)
    return where


def test_every_page_has_files_and_checks_them():
    assert len(recipes.PAGES) == 13
    asked = {
        check for page in recipes.PAGES for check in re.findall(r"^>>> (check_\w+)\(", page.read_text(), re.MULTILINE)
    }
    assert asked == set(testing.__all__)
    for page in recipes.PAGES:
        assert recipes.files_of(page), page
        for name in recipes.files_of(page):
            assert re.search(rf"^>>> (from|import) {Path(name).stem}\b", page.read_text(), re.MULTILINE), name
    names = [name for _, name in FILES]
    assert len(set(names)) == len(names)


def test_the_index_lists_every_page_and_every_check():
    index = (ROOT / "docs" / "recipes" / "index.rst").read_text()
    for page in recipes.PAGES:
        assert f"   {page.stem}\n" in index
    for check in testing.__all__:
        assert f"kernelcal.testing.{check}>" in index


def test_files_are_clean(folder):
    pytest.importorskip("ruff")
    settings = ["--config", str(ROOT / "pyproject.toml"), "--config", f"src = ['{ROOT / 'src'}']"]
    for command in (["check", "--quiet"], ["format", "--check", "--quiet", "--diff"]):
        out = subprocess.run(
            [sys.executable, "-m", "ruff", *command, *settings, "."], cwd=folder, capture_output=True, text=True
        )
        assert out.returncode == 0, out.stdout + out.stderr


@pytest.mark.slow
def test_files_are_typed(folder, tmp_path):
    settings = ["--config-file", str(ROOT / "pyproject.toml"), "--cache-dir", str(tmp_path)]
    names = [name for _, name in FILES]
    environment = os.environ | {"MYPYPATH": str(ROOT / "src")}
    out = subprocess.run(
        [sys.executable, "-m", "mypy", *settings, *names],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert out.returncode == 0, out.stdout + out.stderr


@pytest.mark.slow
def test_files_bring_no_extra(folder, architecture):
    modules = ", ".join(Path(name).stem for _, name in FILES)
    code = f"import sys, {modules}; print([m for m in {architecture.EXTRAS!r} if m in sys.modules])"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    out = subprocess.run([sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert out.stdout.strip() == "[]"


@every_file
def test_files_import_from_the_floors_of_the_rooms_that_they_would_join(page, name, architecture):
    text = page.read_text()
    contribution = text[text.index("To contribute it") :]
    rooms = re.findall(r"``src/kernelcal/([a-z_]+)(?:/|\.py)", contribution)
    assert rooms, "say where a contribution goes: ``src/kernelcal/...``"
    highest = max(architecture.HEIGHT[room] for room in rooms)
    for node in ast.walk(ast.parse(recipes.files_of(page)[name])):
        if isinstance(node, ast.ImportFrom) and node.module.startswith("kernelcal."):
            other = node.module.split(".")[1]
            assert other in rooms or architecture.HEIGHT[other] < highest, f"{name} would import upwards from {other}"


@every_file
def test_files_import_public_names_only(page, name):
    for node in ast.walk(ast.parse(recipes.files_of(page)[name])):
        if not isinstance(node, ast.ImportFrom) or not node.module.startswith("kernelcal"):
            continue
        assert node.module.count(".") == 1, f"{name} imports from {node.module}: packages are imported whole"
        package = __import__(node.module, fromlist=["__all__"])
        for alias in node.names:
            assert alias.name in package.__all__, f"{node.module}.{alias.name} is not public"
