"""Every drawing against a stored picture: lines, areas and points as pixels, letters as text.

Letters are compared apart, since they look different with every version of FreeType.
KERNELCAL_WRITE_IMAGES=1 python -m pytest tests/plots/test_images.py draws the stored ones anew.
"""

import importlib.util
import json
import os
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent / "images"
WRITE = os.environ.get("KERNELCAL_WRITE_IMAGES") == "1"
TOLERANCE = 1.5  # root mean square over pixels, of 255; a line moved by one pixel gives about 3

_spec = importlib.util.spec_from_file_location("plot_subjects", Path(__file__).with_name("subjects.py"))
subjects = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(subjects)


def texts_of(ax):
    """Letters: titles, labels, names, notes and the legend; numbers at ticks are matplotlib's own."""
    ticks = [label.get_text() for axis in (ax.xaxis, ax.yaxis) for label in axis.get_ticklabels()]
    names = [text for text in ticks if any(letter.isalpha() for letter in text)]
    notes = [text.get_text() for text in ax.texts]
    return [
        ax.get_title(loc="left"),
        ax.get_xlabel(),
        ax.get_ylabel(),
        *names,
        *notes,
        *(text.get_text() for legend in [ax.get_legend()] if legend for text in legend.get_texts()),
    ]


def without_letters(figure):
    from matplotlib.legend import Legend
    from matplotlib.text import Text

    for legend in figure.findobj(Legend):
        legend.remove()
    for text in figure.findobj(Text):
        text.set_visible(False)


@pytest.mark.parametrize("name", subjects.SUBJECTS)
def test_pictures_are_those_that_were_looked_at(name, plt, tmp_path):
    from matplotlib.testing.compare import compare_images

    figure = plt.figure(figsize=(5, 4), dpi=50)
    ax = figure.add_axes((0.15, 0.15, 0.7, 0.75))
    subjects.SUBJECTS[name](ax)
    texts = texts_of(ax)
    without_letters(figure)
    stored, letters = FOLDER / f"{name}.png", FOLDER / f"{name}.json"
    drawn = stored if WRITE else tmp_path / f"{name}.png"
    figure.savefig(drawn, dpi=50, metadata={"Software": None})
    if WRITE:
        letters.write_text(json.dumps(texts, indent=1, ensure_ascii=False) + "\n")
    assert texts == json.loads(letters.read_text())
    expected = tmp_path / f"{name}-expected.png"  # differences are written beside it: not into the repository
    expected.write_bytes(stored.read_bytes())
    assert compare_images(str(expected), str(drawn), TOLERANCE) is None
    assert stored.stat().st_size < 30_000


def test_a_change_that_is_seen_fails(plt, tmp_path):
    from matplotlib.testing.compare import compare_images

    figure = plt.figure(figsize=(5, 4), dpi=50)
    ax = subjects.curve(figure.add_axes((0.15, 0.15, 0.7, 0.75)))
    line = ax.lines[0]
    line.set_ydata([0.97 * y for y in line.get_ydata()])
    without_letters(figure)
    drawn, expected = tmp_path / "curve.png", tmp_path / "curve-expected.png"
    figure.savefig(drawn, dpi=50)
    expected.write_bytes((FOLDER / "curve.png").read_bytes())
    assert compare_images(str(expected), str(drawn), TOLERANCE) is not None
