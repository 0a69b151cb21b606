"""Shared subjects: backends, naive second implementations, and where reference data lie."""

from __future__ import annotations

import gc
import inspect
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import hypothesis
import numpy as np
import pytest

# the same examples in every run: a test that fails fails for everybody
hypothesis.settings.register_profile("fixed", derandomize=True, deadline=None, max_examples=100)
hypothesis.settings.load_profile("fixed")

DATA = Path(__file__).resolve().parent / "data"
BESIDE = str(DATA.parents[2] / "shared")


def stay_inside(event, arguments):
    """Audit hook: what is read beside the repository is missing on the next machine."""
    if event in ("open", "os.listdir", "os.scandir") and str(arguments[0]).startswith(BESIDE):
        raise RuntimeError(f"a test reads {arguments[0]}: what tests need lies in tests/data (its README.md)")


sys.addaudithook(stay_inside)


@pytest.fixture(scope="module", autouse=True)
def forget_compiled_programs(request):
    """JAX keeps every program that it has compiled: gigabytes, by the end of all tests in one process."""
    yield
    if "jax" in sys.modules and re.search(r"\b(jax|backend)\b", inspect.getsource(request.module)):
        sys.modules["jax"].clear_caches()
        gc.collect()
        gc.freeze()  # what is left are modules that came meanwhile


@pytest.fixture(scope="session")
def julia():
    """Values of the Julia packages and of the papers."""
    return json.loads((DATA / "reference" / "julia_facts.json").read_text())


@pytest.fixture(scope="session")
def data_folder():
    """Real predictions with outcomes, and reference values; README.md there says where each is from."""
    return DATA


@pytest.fixture
def unrendered(monkeypatch):
    """Pages whose pictures are drawn but not written as SVG, which is most of the work: for tests of what pages say."""
    from kernelcal.reporting.pictures import svg

    blank = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1 1"/>'
    monkeypatch.setattr(svg, "_parsed", lambda figure, name: ElementTree.fromstring(blank))


def _backend(name):
    if name == "numpy":
        return lambda x: np.asarray(x)
    if name == "torch":
        torch = pytest.importorskip("torch")
        return lambda x: torch.tensor(np.asarray(x))
    if name == "jax":
        jax = pytest.importorskip("jax")
        jax.config.update("jax_enable_x64", True)
        return lambda x: jax.numpy.asarray(np.asarray(x))
    strict = pytest.importorskip("array_api_strict")
    return lambda x: strict.asarray(np.asarray(x))


@pytest.fixture(params=["numpy", "torch", "jax", "array_api_strict"])
def backend(request):
    """A function that moves a NumPy array to a library."""
    return _backend(request.param)


@pytest.fixture
def naive():
    """Ten-line dense implementations, written apart from the package."""

    def distance(p, name):
        d = p[:, None, :] - p[None, :, :]
        if name == "Euclidean":
            return np.sqrt((d**2).sum(-1))
        if name == "TotalVariation":
            return 0.5 * np.abs(d).sum(-1)
        r = np.sqrt(p)
        return np.sqrt(((r[:, None, :] - r[None, :, :]) ** 2).sum(-1) / 2)

    def off_diagonal(k, p, y, a=None):
        m = p.shape[1]
        a = np.eye(m) if a is None else a
        h = np.empty_like(k)
        for i in range(len(p)):
            for j in range(len(p)):
                h[i, j] = k[i, j] * (a[y[i], y[j]] - p[i] @ a[:, y[j]] - a[y[i]] @ p[j] + p[i] @ a @ p[j])
        return h

    def unbiased(k, p, y, a=None):
        h = off_diagonal(k, p, y, a)
        n = len(p)
        return (h.sum() - np.trace(h)) / (n * (n - 1))

    def biased(k, p, y, a=None):
        return off_diagonal(k, p, y, a).mean()

    return SimpleNamespace(distance=distance, unbiased=unbiased, biased=biased)


def dirichlet_data(n, m, seed=0, concentration=0.5, duplicates=True):
    """Predictions with exact duplicates and near-duplicates, the hard case for distances, and labels."""
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.full(m, concentration), n)
    if duplicates and n >= 8:
        p[1] = p[0]
        p[3] = p[2]
        p[5] = p[4] + 1e-9 * (np.eye(m)[0] - np.eye(m)[1]) * (p[4][1] > 1e-8)
        p[6] = np.eye(m)[0]
        p[7] = np.eye(m)[0]
    return p, rng.integers(0, m, n)


@pytest.fixture
def make_data():
    return dirichlet_data
