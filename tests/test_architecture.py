"""The house: floors import downwards only, and importing kernelcal is light."""

import ast
import graphlib
import subprocess
import sys
from pathlib import Path

import pytest

import kernelcal

SOURCE = Path(kernelcal.__file__).parent
FLOORS = [
    {"defaults", "errors", "arrays"},
    {"randomness", "registry", "tables", "plots"},
    {"predictions"},
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
    {"recalibration"},
    {"explain"},
    {"evaluate"},
    {"sketch"},
    {"compare"},
    {"stream"},
    {"dispatch"},
    {"report"},
    {"testing"},
    {"cli"},
]
HEIGHT = {name: height for height, names in enumerate(FLOORS) for name in names}
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


def _floor(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def _imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kernelcal."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.ImportFrom) and node.module == "kernelcal":
            yield from (a.name for a in node.names if a.name != "__version__")
        elif isinstance(node, ast.Import):
            yield from (a.name.split(".")[1] for a in node.names if a.name.startswith("kernelcal."))


MODULES = [p for p in sorted(SOURCE.rglob("*.py")) if _floor(p) != "__init__"]


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_each_floor_imports_only_from_floors_below(path):
    own = _floor(path)
    assert own in HEIGHT, f"{own} is not on a floor: add it to FLOORS"
    for other in _imports(path):
        assert other == own or HEIGHT[other] < HEIGHT[own], f"{path} imports upwards from {other}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_modules_are_at_most_two_levels_deep_and_short(path):
    assert len(path.relative_to(SOURCE).parts) <= 3
    assert len(path.read_text().splitlines()) < 400


def test_import_brings_no_extra_and_no_heavy_part_of_scipy():
    code = (
        "import sys, kernelcal; "
        f"print([m for m in {(*EXTRAS, 'scipy.stats', 'scipy.spatial', 'scipy.sparse')!r} if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_public_names():
    assert len(set(kernelcal.__all__)) == len(kernelcal.__all__)
    for name in kernelcal.__all__:
        documented = getattr(kernelcal, name).__doc__
        assert documented
        assert len(documented) > 40, name


def _modules_imported(path):
    """Modules of this package that a module imports, those for type checkers alone included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("kernelcal"):
            place = SOURCE.joinpath(*node.module.split(".")[1:])
            yield place.with_suffix(".py")
            yield from (place / f"{alias.name}.py" for alias in node.names)


def test_no_modules_import_each_other_in_a_circle():
    """Packages' own __init__ files are left out: they gather what stands below them."""
    modules = {path for path in MODULES if path.name != "__init__.py"}
    graph = {path: modules & set(_modules_imported(path)) for path in modules}
    try:
        tuple(graphlib.TopologicalSorter(graph).static_order())
    except graphlib.CycleError as circle:
        pytest.fail(" -> ".join(str(path.relative_to(SOURCE)) for path in circle.args[1]))
