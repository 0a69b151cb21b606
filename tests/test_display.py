"""Every result shows itself in a notebook: one HTML fragment, in which names are text and never markup."""

import dataclasses
import functools
import importlib
import inspect
import json
import pkgutil
import typing
from html.parser import HTMLParser

import numpy as np
import pytest

import kernelcal as kc
from kernelcal import tables
from kernelcal.cases import Case
from kernelcal.explanation import explain
from kernelcal.inference import bounded_error, class_reliability, exact_null, known_null, simplex_calibration
from kernelcal.predictions import UnnormalizedDensity
from kernelcal.reporting import report
from kernelcal.runs import Run
from kernelcal.sketch import Sketch
from kernelcal.statistics import brier_decomposition, pinball_loss, pit_histogram, quantile_calibration
from kernelcal.stream import evaluate_files

HOSTILE = ("<script>alert('x')</script>", "<img src=x onerror=alert(1)>", '"><b>&amp;</b>')
TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "p", "em"}


def every_module():
    for found in pkgutil.walk_packages(kc.__path__, "kernelcal."):
        if "__main__" not in found.name:
            yield importlib.import_module(found.name)


INPUTS = {"Case", "Grouping", "Locations", "Outcome", "Samples", "Spread"}  # what functions return to be passed on
PACKAGES = ("", ".inference", ".statistics", ".explanation", ".comparison", ".reporting", ".sketch")


def returned_classes():
    """Dataclasses that public functions return."""
    for package in PACKAGES:
        module = importlib.import_module(f"kernelcal{package}")
        for function in filter(inspect.isfunction, (getattr(module, name) for name in module.__all__)):
            kind = typing.get_type_hints(function).get("return")
            if dataclasses.is_dataclass(kind) and kind.__name__ not in INPUTS:
                yield kind


@functools.cache
def result_classes():
    """What has `to_dict` is a result, and what a public function returns."""
    own = [c for m in every_module() for c in vars(m).values() if inspect.isclass(c) and c.__module__ == m.__name__]
    named = {c for c in own if hasattr(c, "to_dict") and c.__name__[0] != "_"}
    return sorted({*named, *returned_classes()}, key=lambda c: c.__name__)


class Shown(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.open, self.words = set(), [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.open.append(tag)
        assert not [name for name, _ in attributes if name.startswith("on")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        self.words.append(text)


def parts_of(value, seen):
    """A result and all results that it holds."""
    if isinstance(value, tuple(result_classes())) and type(value).__module__.startswith("kernelcal."):
        seen.setdefault(type(value), value)
        for field in dataclasses.fields(value) if dataclasses.is_dataclass(value) else ():
            parts_of(getattr(value, field.name), seen)
    elif isinstance(value, tuple | list):
        for item in value:
            parts_of(item, seen)


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """One of every kind of result, with hostile names wherever a name can be given."""
    pytest.importorskip("jinja2")
    torch = pytest.importorskip("torch")
    rng, names = np.random.default_rng(0), list(HOSTILE)
    p = rng.dirichlet([1, 1, 1], 60)
    q = p**3 / (p**3).sum(axis=1, keepdims=True)
    k = kc.Categorical(p).sample(rng)[0]
    y, event = np.array(names, dtype=object)[k], (k == 2).astype(int)
    mean = rng.normal(size=60)
    t, normal = mean + rng.normal(size=60), kc.Normal(mean, 0.5)
    density = UnnormalizedDensity(
        lambda y, m: -((y - m) ** 2), mean, draws=mean[:, None] + rng.normal(size=(60, 9)), gradient=_slope
    )
    quantiles = kc.Quantiles(mean[:, None] + [-0.7, 0.0, 0.7], [0.25, 0.5, 0.75])
    tied = kc.Quantiles(np.tile([-1.0, 0.0, 1.0], (60, 1)), [0.25, 0.5, 0.75])
    prepared = kc.SKCE().prepare(kc.Categorical(p))
    fast = {"draws": 99, "classes": names}
    results = [
        kc.evaluate(y, q, **fast),
        kc.evaluate(t, normal, draws=99),
        kc.evaluate(t, density, draws=99),
        kc.evaluate(t, quantiles, draws=99),
        kc.compare(np.round(t), dict.fromkeys(HOSTILE[:2], tied), draws=99),
        Sketch(kc.Laplacian(0.2), engine=kc.RandomFourier(16), draws=19).update(event, q[:, 2]).result(),
        kc.compare(y, {HOSTILE[0]: p, HOSTILE[1]: q}, within=0.1, **fast),
        explain(y, q, groups={HOSTILE[0]: [HOSTILE[1], HOSTILE[2]] * 30}, classes=names),
        explain(event, q[:, 2], given={HOSTILE[0]: mean, HOSTILE[1]: [HOSTILE[0], HOSTILE[2]] * 30}, draws=99),
        class_reliability(y, q, **fast),
        simplex_calibration(y, q, **fast),
        brier_decomposition(event, q[:, 2], kc.UniformBins(5)),
        pinball_loss(t, normal),
        pit_histogram(t, normal, draws=99),
        quantile_calibration(t, normal),
        exact_null(prepared, Case(k, kc.Categorical(p)), Run(draws=19)),
        known_null(prepared),
        bounded_error(k, p),
        report(y, {HOSTILE[0]: q}, date="2026-01-02", **fast),
        kc.skce(k, torch.tensor(q, requires_grad=True), prediction_kernel=kc.Laplacian(0.5)),
        kc.measures.skill(t, normal, groups={HOSTILE[0]: [HOSTILE[1], HOSTILE[2]] * 30}),
        *_of_fields(rng, event, q[:, 2], t, normal),
        _streamed(tmp_path_factory.mktemp("table") / "events.csv", event, q[:, 2]),
    ]
    seen = {}
    for result in results:
        parts_of(result, seen)
    return seen


def _of_fields(rng, event, p, t, normal):
    """What measures, ranks, survival, maps and the monitor return."""
    from kernelcal.reporting import recalibration_page, survival_page
    from kernelcal.survival import evaluate as survival

    names = {HOSTILE[0]: [HOSTILE[1], HOSTILE[2]] * 30}
    named = {"names": list(HOSTILE[:2]), "draws": 99}
    found = kc.recalibration.recalibrate(event, p, draws=99)
    ranked = kc.ranks.rank_test(rng.integers(0, 10, (60, 2)), 9, **named)
    times = (rng.exponential(size=60), rng.random(60) < 0.7)
    survived = survival(times, kc.predictions.Weibull(np.ones(60), np.ones(60)), groups=names, draws=99)
    return [
        kc.measures.measure(event, p, "oe", groups=names, draws=99),
        kc.measures.clinical_table(event, p, groups=names, draws=99),
        kc.measures.calibration_curve(event, p, draws=99),
        kc.measures.risk_coverage(event, p, draws=99),
        ranked,
        ranked.ecdf(HOSTILE[0]),
        survived,
        survival_page(survived, title=HOSTILE[0]),
        found,
        found.check(1 - event, 1 - p, draws=99),
        recalibration_page(found, title=HOSTILE[0]),
        kc.monitor.Monitor().update(event, p, key=HOSTILE[0]),
    ]


def _streamed(path, event, p):
    np.savetxt(path, np.column_stack([event, p]), delimiter=",", header="y,p", comments="")
    return evaluate_files(path, draws=19)


def _slope(y, m):
    return -2 * (y - m)


BASES = ("Coverage", "Estimate")  # results are of their subclasses


def test_every_result_class_is_among_those_looked_at(found):
    concrete = [c for c in result_classes() if not inspect.isabstract(c) and c.__name__ not in BASES]
    assert len(concrete) >= 25
    assert {c.__name__ for c in concrete} == {c.__name__ for c in found}


@pytest.mark.parametrize("kind", result_classes(), ids=lambda c: c.__name__)
def test_every_result_class_shows_itself(kind):
    assert hasattr(kind, "_repr_html_"), f"{kind.__name__}: let it inherit from kernelcal.tables.Shown"


def test_it_is_a_table_and_names_in_it_are_text(found):
    hostile = 0
    for kind, result in found.items():
        page = Shown(result._repr_html_())
        assert "table" in page.tags, kind
        assert page.tags <= TAGS, kind
        assert page.open == [], kind
        hostile += any(name in "".join(page.words) for name in HOSTILE)
    assert hostile >= 8


def test_text_and_notebook_begin_alike(found):
    whole = [r for kind, r in found.items() if kind.__repr__ is tables.Shown.__repr__]
    assert len(whole) >= 12
    for result in whole:
        title = repr(result).splitlines()[0]
        assert "".join(Shown(result._repr_html_()).words).startswith(title)


def test_every_result_has_a_summary_and_plain_values(found):
    for result in found.values():
        assert result.summary() == "\n\n".join(table.text() for table in result._tables())
        plain = json.loads(json.dumps(result.to_dict()))
        assert isinstance(plain, dict)
        assert plain, type(result).__name__
