"""What must be set before NumPy and JAX are imported, and which tests run."""

import gc
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

SETTINGS = {
    # arrays of the tests are small: a second thread of the linear algebra waits, and burns processor time
    **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    # programs that JAX compiled are kept from one run to the next
    "JAX_COMPILATION_CACHE_DIR": str(Path(__file__).resolve().parent / ".pytest_cache" / "jax"),
    "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
}
for name, value in SETTINGS.items():
    os.environ.setdefault(name, value)

# what is compiled is kept (.gitignore): else each worker and each command that a test starts compiles all of it again
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# examples that need an extra, here all the guide, are left out where it is not installed
EXAMPLES = {
    "docs": "torch",
    "src/kernelcal/losses": "torch",
    "src/kernelcal/plots": "matplotlib",
    "src/kernelcal/recalibration/main.py": "torch",
    "src/kernelcal/reporting": "jinja2",
    "src/kernelcal/sklearn": "sklearn",
    "src/kernelcal/stream": "pyarrow",
    "src/kernelcal/testing/plot.py": "matplotlib",
    "src/kernelcal/torchmetrics": "torchmetrics",
}
SLOW_PAGES = {"comparing_models", "engines", "gradients", "large_data", "simulation_based_inference"}
SLOW_PAGES |= {"numbers", "recalibrate", "report", "scores", "subgroups", "survival", "train"}
MAKERS = ("make_gallery", "make_notebooks", "make_pictures", "make_reports")
collect_ignore = ["docs/conf.py", "docs/related.py", "docs/gallery", *(f"docs/{maker}.py" for maker in MAKERS)]
LEFT_OUT = [place for place, extra in EXAMPLES.items() if find_spec(extra) is None]
collect_ignore += [place for place in LEFT_OUT if place.endswith(".py")]
collect_ignore_glob = [f"{place}/*" for place in LEFT_OUT if not place.endswith(".py")]


def pytest_configure(config):
    """A test that is named runs even if it is slow; tests of one file run in one process, and share what they made."""
    if config.option.markexpr == "not slow" and any("::" in argument for argument in config.args):
        config.option.markexpr = ""
    if getattr(config.option, "dist", "no") == "load":
        config.option.dist = "loadfile"


def pytest_addoption(parser):
    """Where the whole set runs elsewhere some cases of each test are enough: with other versions, for instance."""
    parser.addoption("--cases", type=int, metavar="N", help="of every test at most N of its cases, from all of them")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """What is tried with JAX too is slow there, as each case compiles programs of its own, and so are some pages.

    Of a test marked `quick_cases` so many cases are quick, which lie evenly among all of them, and the others slow; of
    one marked `slow_cases` so many of the slow cases stay with the slow tests, and the others are long.
    """
    tests, slow = {}, {}
    for item in items:
        if "jax" in item.name.partition("[")[2] or (item.path.suffix == ".rst" and item.path.stem in SLOW_PAGES):
            item.add_marker(pytest.mark.slow)
        if item.get_closest_marker("long") is not None:
            item.add_marker(pytest.mark.slow)  # what is long is left out where what is slow is
        which = tests if item.get_closest_marker("slow") is None else slow
        which.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for found, word, others in ((tests, "quick_cases", pytest.mark.slow), (slow, "slow_cases", pytest.mark.long)):
        for cases in found.values():
            marked = cases[0].get_closest_marker(word)
            for item in _others(cases, marked.args[0] if marked else None):
                item.add_marker(others)
    left_out = {id(item) for cases in tests.values() for item in _others(cases, config.option.cases)}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if id(item) in left_out])
        items[:] = [item for item in items if id(item) not in left_out]


def _others(cases, number):
    """All cases but so many, evenly spread from the first to the last."""
    if number is None or number >= len(cases):
        return []
    kept = {round(k * (len(cases) - 1) / max(number - 1, 1)) for k in range(number)}
    return [case for place, case in enumerate(cases) if place not in kept]


def pytest_collection_finish():
    """What packages and tests are stays to the end: garbage is sought elsewhere, and less often: JAX listens.

    Where JAX is not installed nothing is frozen: old versions of hypothesis look for who holds their random numbers,
    and what is frozen is not found.
    """
    if find_spec("jax") is not None:
        gc.freeze()
    gc.set_threshold(20_000, 10, 10)
