"""Everything public keeps its contract: the checks go through all of it, and nothing public is left out."""

import importlib.util
import inspect
from inspect import isabstract
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal import testing
from kernelcal.binning import Binning
from kernelcal.inference import INTERVAL_METHODS, NULL_LAWS, NullLaw
from kernelcal.kernels import Coordinatewise, Kernel, Laplacian, Linear, Matern32, Metric
from kernelcal.kernels.embeddings.closed_forms import CROSS, MEAN
from kernelcal.lenses import Lens
from kernelcal.pairs import Engine
from kernelcal.predictions import DiagonalNormal, IsotropicNormal, Laplace, MultivariateNormal, Normal
from kernelcal.predictions.base import families
from kernelcal.statistics import Statistic


def load(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


subjects = load(Path(__file__).with_name("subjects.py"))
drawings = load(Path(__file__).parents[1] / "plots" / "subjects.py")
every = pytest.mark.parametrize
pytestmark = pytest.mark.filterwarnings("ignore:.*not known to be positive definite:kernelcal.errors.KernelcalWarning")


@every("name", subjects.families())
@pytest.mark.slow
def test_every_family(name):
    if importlib.util.find_spec("jax"):
        import jax

        jax.config.update("jax_enable_x64", True)
    testing.check_family(subjects.families()[name], libraries=subjects.ALL)


@every("name", subjects.KERNELS)
def test_every_kernel(name):
    kernel, options = subjects.KERNELS[name]
    testing.check_kernel(kernel, **options)


@every("name", subjects.METRICS)
def test_every_metric(name):
    metric, batch, options = subjects.METRICS[name]
    if "mixtures" in name:
        pytest.importorskip("ot")
    testing.check_metric(metric, predictions=subjects.compared()[batch] if batch else None, **options)


@every("name", subjects.STATISTICS_CHECKED)
@pytest.mark.quick_cases(1)
def test_every_statistic(name):
    statistic, options = subjects.STATISTICS_CHECKED[name]
    testing.check_statistic(statistic, **options)


@every(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow) if name == "smece of classes" else name
        for name in subjects.measures()
    ],
)
@pytest.mark.slow
def test_every_measure(name):
    measure, options = subjects.measures()[name]
    testing.check_measure(measure, **options)


@every(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name == "consistency" else name for name in subjects.LAWS]
)
@pytest.mark.quick_cases(1)
def test_every_null_law(name):
    law, options = subjects.LAWS[name]
    testing.check_null_law(law, **options)


@pytest.mark.quick_cases(2)
@every("name", subjects.METHODS)
def test_every_interval_method(name):
    method, options = subjects.METHODS[name]
    testing.check_interval_method(method, **options)


@every("name", subjects.ENGINES)
def test_every_engine(name):
    engine, options = subjects.ENGINES[name]
    testing.check_engine(engine, **options)


@every("name", subjects.LENSES)
def test_every_lens(name):
    testing.check_lens(subjects.LENSES[name])


@every("name", subjects.BINNINGS)
def test_every_binning(name):
    binning, options = subjects.BINNINGS[name]
    testing.check_binning(binning, **options)


@every("suffix", subjects.READERS)
@pytest.mark.quick_cases(5)
def test_every_reader(suffix):
    if suffix in subjects.NEEDS:
        pytest.importorskip(subjects.NEEDS[suffix])
    write, options = subjects.READERS[suffix]
    testing.check_reader(suffix, write, **options)


@every("name", drawings.SUBJECTS)
@pytest.mark.slow
def test_every_drawing(name):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    testing.check_plot(drawings.SUBJECTS[name], legend=name != "intervals")


CENTRES, SCALES = np.array([0.0, 0.4, -1.3, 5.0]), np.array([1.0, 0.3, 2.5, 0.7])
VECTORS = np.array([[0.0, 0.4], [1.0, -0.2], [-2.0, 0.1], [0.1, 0.2]])
SPREADS = np.array([[1.0, 0.3], [0.6, 2.0], [0.2, 0.2], [1.5, 1.0]])
ROOTS = np.array([[[1.0, 0.0], [0.5, 0.8]], [[0.4, 0], [-0.3, 1.1]], [[2.0, 0], [1.9, 0.1]], [[0.7, 0], [0, 0.7]]])
BATCHES = {
    Normal: Normal(CENTRES, SCALES),
    Laplace: Laplace(CENTRES, SCALES),
    DiagonalNormal: DiagonalNormal(VECTORS, SPREADS),
    IsotropicNormal: IsotropicNormal(VECTORS, SPREADS[:, 0]),
    MultivariateNormal: MultivariateNormal(VECTORS, ROOTS @ ROOTS.transpose(0, 2, 1)),
}
OURS = [(kernel, family) for kernel, family in MEAN if kernel.__module__.startswith("kernelcal.")]
PAIRS = [(k, a, b) for k, a, b in CROSS if a is not b and k.__module__.startswith("kernelcal.")]


def label(value):
    return getattr(value, "__name__", type(value).__name__)


@pytest.mark.quick_cases(7)
@every(("kernel", "family"), OURS, ids=label)
@every("lengthscale", [0.2, 1.0, 4.0])
def test_every_closed_form(kernel, family, lengthscale):
    testing.check_closed_form(kernel(lengthscale), BATCHES[family])


@pytest.mark.quick_cases(3)
@every(("kernel", "left", "right"), PAIRS, ids=label)
def test_every_closed_form_of_two_families(kernel, left, right):
    testing.check_closed_form(kernel(0.8), BATCHES[left], other=BATCHES[right])


@pytest.mark.quick_cases(2)
@every(
    ("kernel", "batch", "rtol"),
    [
        (Linear(), BATCHES[Normal], 1e-7),
        (Linear(), BATCHES[MultivariateNormal], 1e-7),
        (Coordinatewise(Laplacian(0.7)), BATCHES[DiagonalNormal], 3e-3),
        (Coordinatewise(Matern32(0.7)), BATCHES[IsotropicNormal], 1e-3),
        (kc.Gaussian(0.7) + 0.5 * kc.Laplacian(1.0), kc.Mixture([0.3, 0.7], [BATCHES[Normal], BATCHES[Normal]]), 2e-3),
    ],
    ids=label,
)
def test_what_follows_from_closed_forms(kernel, batch, rtol):
    testing.check_closed_form(kernel, batch, rtol=rtol)


# nothing is left out

MEASURES = subjects.measures()


def below(base):
    """Concrete public classes of kernelcal below a base."""
    for found in base.__subclasses__():
        yield from below(found)
        public = not found.__name__.startswith("_") and found.__module__.startswith("kernelcal.")
        if public and not isabstract(found):
            yield found


@every(
    ("base", "table", "exempt"),
    [
        (Kernel, [kernel for kernel, _ in subjects.KERNELS.values()], subjects.NO_KERNEL),
        (Metric, [metric for metric, _, _ in subjects.METRICS.values()], subjects.NO_METRIC),
        (Statistic, [one for one, _ in (subjects.STATISTICS_CHECKED | MEASURES).values()], subjects.NO_STATISTIC),
        (NullLaw, [law for law, _ in subjects.LAWS.values()], subjects.NO_LAW),
        (Engine, [engine for engine, _ in subjects.ENGINES.values()], subjects.NO_ENGINE),
        (Lens, list(subjects.LENSES.values()), {}),
        (Binning, [binning for binning, _ in subjects.BINNINGS.values()], {}),
    ],
    ids=label,
)
def test_every_public_class_has_a_subject(base, table, exempt):
    known = {type(subject).__name__ for subject in table} | set(exempt)
    missing = {found.__name__ for found in below(base)} - known
    assert not missing, f"add subjects to tests/testing/subjects.py for {', '.join(sorted(missing))}"
    assert not set(exempt) & {type(subject).__name__ for subject in table}
    assert set(exempt) <= {found.__name__ for found in below(base)}


def test_every_family_has_a_subject():
    known = {type(batch).__name__ for batch in subjects.families().values()} | set(subjects.NO_FAMILY)
    missing = {family.__name__ for family in families()} - known
    assert not missing, f"add subjects to tests/testing/subjects.py for {', '.join(sorted(missing))}"
    assert set(subjects.NO_FAMILY) <= {family.__name__ for family in families()}


def test_everything_that_is_registered_has_a_subject():
    assert set(subjects.LAWS) == set(NULL_LAWS)
    assert set(subjects.METHODS) == set(INTERVAL_METHODS)
    assert set(kc.measures.MEASURES) <= set(MEASURES) | set(subjects.NO_MEASURE)
    assert set(kc.io.readers()) == set(subjects.READERS) | set(subjects.NO_READER)
    drawn = {name.removesuffix("_plot") for name in kc.plots.__all__ if name.endswith("_plot")}
    called = {name.removesuffix("_places").removesuffix("s") for name in drawings.SUBJECTS}
    assert {name.removesuffix("s") for name in drawn} <= called


@every("kernel", sorted({kernel.__name__ for kernel, _, _ in CROSS}))
def test_every_mean_has_a_cross(kernel):
    means = {family for k, family in MEAN if k.__name__ == kernel}
    assert means == {a for k, a, b in CROSS if a is b and k.__name__ == kernel}


# the checks themselves


def test_checks_are_public_and_documented():
    for name in testing.__all__:
        check = getattr(testing, name)
        assert "Raises\n------\nAssertionError" in inspect.getdoc(check)
        assert ">>> from kernelcal.testing import" in check.__doc__
        assert check.__module__.startswith("kernelcal.testing.")


@pytest.mark.slow
def test_checks_need_neither_pytest_nor_an_extra():
    import subprocess
    import sys

    code = (
        "import sys, kernelcal.testing; "
        "heavy = ('pytest', 'torch', 'jax', 'matplotlib', 'array_api_strict', 'scipy.stats'); "
        "print([m for m in heavy if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"


def test_a_library_that_is_none_is_said():
    with pytest.raises(
        AssertionError, match=r"libraries names 'tensorflow', which is none of 'array_api_strict', 'torch'"
    ):
        testing.check_kernel(kc.Laplacian(1.0), libraries=["tensorflow"])


def test_a_missing_library_is_left_out(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    testing.check_kernel(kc.Laplacian(1.0), libraries=subjects.ALL)


def test_a_missing_matplotlib_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(
        kc.errors.MissingExtraError, match=r"check_plot needs the package 'matplotlib'.*kernelcal\[plot\]"
    ):
        testing.check_plot(drawings.SUBJECTS["curve"])
