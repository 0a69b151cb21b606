"""The table of what other packages do: names exist, and what is said to be lacking is not there."""

import csv
import importlib.metadata
import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACE = ROOT / "experiments" / "peers" / "features.py"


@pytest.fixture(scope="module")
def features():
    spec = importlib.util.spec_from_file_location("peers_features_under_test", PLACE)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[spec.name]


def test_the_table_is_that_of_the_script(features):
    with features.TABLE.open(newline="") as stream:
        assert list(csv.reader(stream)) == features.cells()


def test_every_name_of_ours_exists(features):
    for extra in ("torch", "torchmetrics", "sklearn"):
        pytest.importorskip(extra)
    assert features.wrong_cells("kernelcal") == []


@pytest.mark.slow  # others take seconds to import
@pytest.mark.parametrize(
    "package",
    [
        "scikit-learn",
        "torchmetrics",
        "netcal",
        "probmetrics",
        "probcal",
        "relplot",
        "MAPIE",
        "uncertainty-toolbox",
        "scoringrules",
        "sbi",
        "SurvivalEVAL",
        "river",
    ],
)
def test_cells_of_packages_that_are_here(features, package):
    assert package in features.CHECKED
    try:
        here = importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip(f"{package} is not installed")
    if here != features.CHECKED[package]:
        pytest.skip(f"{package} {here} is here, {features.CHECKED[package]} was checked")
    assert features.wrong_cells(package) == []


def test_what_is_wrong_is_seen(features, monkeypatch):
    """A name that does not exist, and a thing that is there and was not said."""
    monkeypatch.setitem(features.PACKAGES, "probe", ("json",))
    probe = (
        features.Feature("to be found", r"^dumps$"),
        features.Feature("no such thing", r"^x$", {"probe": "json.no_such_thing"}),
        features.Feature("a module", r"^y$", {"probe": "~json.decoder"}),
    )
    monkeypatch.setattr(features, "FEATURES", probe)
    assert features.wrong_cells("probe") == [
        "to be found: probe is said to lack it, and has dumps",
        "no such thing: probe has no json.no_such_thing",
    ]
