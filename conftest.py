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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """What is tried with JAX too is slow there: each case compiles programs of its own."""
    for item in items:
        if "jax" in item.name.partition("[")[2]:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish():
    """What packages and tests are stays to the end: garbage is sought elsewhere, and less often: JAX listens.

    Where JAX is not installed nothing is frozen: old versions of hypothesis look for who holds their random numbers,
    and what is frozen is not found.
    """
    if find_spec("jax") is not None:
        gc.freeze()
    gc.set_threshold(20_000, 10, 10)
