"""Scripts of experiments, imported from where they lie; an installed package has none, and none of these tests."""

import importlib.util
from pathlib import Path

import pytest

EXPERIMENTS = Path(__file__).resolve().parents[2] / "experiments"
collect_ignore_glob = [] if EXPERIMENTS.exists() else ["test_*.py"]


@pytest.fixture(scope="session")
def load():
    """Return what imports a script of a folder, by a name of its own: all of them are called run.py."""

    def loaded(place):
        spec = importlib.util.spec_from_file_location(place.replace("/", "_").removesuffix(".py"), EXPERIMENTS / place)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return loaded
