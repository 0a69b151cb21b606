"""Drawings of results, and text that is shown letter by letter; check_plot goes through every drawing."""

import importlib.util
import io
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.errors import InputError, MissingExtraError
from kernelcal.explanation import explain
from kernelcal.inference import class_reliability, reliability, simplex_calibration
from kernelcal.plots import literal

_spec = importlib.util.spec_from_file_location("plot_subjects_too", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)


def svg_texts(figure, plt):
    """Texts as a reader of the SVG sees them."""
    with plt.rc_context({"svg.fonttype": "none"}):
        file = io.StringIO()
        figure.savefig(file, format="svg")
    assert "<script" not in file.getvalue()
    root = ET.fromstring(file.getvalue())
    return ["".join(node.itertext()).strip() for node in root.iter("{http://www.w3.org/2000/svg}text")]


def test_matplotlib_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'kernelcal\[plot\]'"):
        subjects.curve()


@pytest.mark.parametrize(
    "name", ["plain", r"\$", "$$", "a\nb", "tab\there", "nul\x00", "\u202eright to left", "x" * 99]
)
def test_literal_text_is_one_line_and_no_formula(name):
    from matplotlib.cbook import is_math_text

    text = literal(name)
    assert not is_math_text(text)
    assert "\n" not in text
    assert text.replace(r"\$", "$").isprintable()
    assert len(text.replace(r"\$", "$")) <= 48


@pytest.mark.slow
def test_class_names_of_results_are_shown_letter_by_letter(plt):
    names = [r"$a_1$", "<script>alert(1)</script>", r"\beta^2"]
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 60)
    y = [names[k] for k in kc.Categorical(p).sample(rng=1)[0]]
    wise, triangle = class_reliability(y, p, classes=names, bins=3), simplex_calibration(y, p, classes=names)
    one = reliability(y, p, classes=names, question=kc.OneClass(names[0]), bins=3)
    figures = [wise.plot()[0].figure, triangle.plot().figure, one.plot().figure, one.plot_counts().figure]
    for figure, expected in zip(figures, (names, names, names[:1], names[:1]), strict=True):
        shown = svg_texts(figure, plt)
        assert all(any(name in text for text in shown) for name in expected), shown
    for result in (wise, triangle, one):
        assert "<script" not in result._repr_html_()


@pytest.mark.slow
def test_other_texts_are_marked_up_as_before(plt):
    ax = subjects.curve()
    ax.set_title("$x^2$")  # what the user writes is the user's
    ax.figure.canvas.draw()
    assert "$x^2$" not in svg_texts(ax.figure, plt)


def test_a_witness_of_one_probability_is_one_picture(plt):
    p = np.random.default_rng(0).uniform(size=120)
    found = explain(kc.Bernoulli(p**3).sample(rng=1)[0], p, draws=99)
    _, (left, right) = plt.subplots(1, 2)
    assert found.plot(right) is right
    assert not left.has_data()
    label = right.get_legend_handles_labels()[1]
    assert "smoothed gap outside the band" in label
    line = right.lines[0]
    assert np.allclose(line.get_ydata(), found.witness.gap[:, 0])
    shaded = [patch for patch in right.patches if patch.get_alpha()]
    assert len(shaded) == len(found.regions)


def test_a_witness_of_several_classes_is_a_panel(plt):
    p = np.random.default_rng(0).dirichlet([1, 1, 1], 120)
    y = kc.Categorical(p).sample(rng=1)[0]
    found = explain(y, p, draws=99)
    axes = found.plot()
    assert len(axes) == 3
    assert len(axes[0].figure.legends) == 1
    assert len(found.plot(number=2)) == 2
    _, given = plt.subplots(1, 2)
    assert list(found.plot(given)) == list(given)
    one = found.plot(component="2")
    assert one.get_title(loc="left").startswith("Where outcomes differ from predictions, class 2")
    with pytest.raises(InputError, match="no component '7': its components are 0, 1, 2"):
        found.witness.plot(component="7")


def test_a_witness_of_numbers_says_what_each_axis_means(plt):
    mean = np.random.default_rng(0).normal(size=80)
    found = explain(mean, kc.Normal(mean, 1.0), draws=99)
    shift, width = found.plot()
    assert shift.get_ylabel() != width.get_ylabel()
    assert "squared" in width.get_ylabel()


def test_vectors_have_no_witness_to_draw():
    mean = np.random.default_rng(0).normal(size=(40, 2))
    found = explain(mean, kc.MultivariateNormal.isotropic(mean, np.ones(40)), draws=99)
    with pytest.raises(InputError, match="explain a coordinate at a time"):
        found.plot()
