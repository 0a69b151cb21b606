"""The check of a drawing."""

from __future__ import annotations

import io
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

from kernelcal.errors import MissingExtraError
from kernelcal.testing.contract import claim, contract

__all__ = ["check_plot"]


_FORMULA = r"$x_1^2$"
_HOSTILE = (_FORMULA, r"a\$b_c", "<script>alert('x')</script>", r"\frac{1}{2}", "_hidden", "50 % & $5", "{^}~#")
_SVG_TEXT = "{http://www.w3.org/2000/svg}text"


def check_plot(
    draw: Callable[..., Any],
    *,
    legend: bool = True,
    widths: tuple[float, float] = (4, 7.5),
    heights: tuple[float, float] = (2, 6.5),
) -> None:
    """Check that a drawing keeps the contract of `kernelcal.plots`.

    It draws on the axes that it is given and returns them, or makes one figure; it changes no setting of matplotlib
    and leaves the current axes alone; text that comes from data is shown letter by letter; every artist with a label
    is in the legend, which has at least one.

    Parameters
    ----------
    draw : callable
        ``draw(ax=None, name="...")`` draws fixed numbers, with `name` as one of the texts that come from data: a class,
        a model, a question.
    legend : bool
        Whether artists are said in a legend; False for a drawing whose axes say it all.
    widths, heights : pair of float
        Inches between which a new figure lies.

    Raises
    ------
    AssertionError
        With the sentence of the contract that is broken.
    MissingExtraError
        If matplotlib is not installed.

    Notes
    -----
    Figures are made with pyplot and closed again; the backend is left as it is.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from kernelcal.plots import interval_plot
    >>> from kernelcal.testing import check_plot
    >>> def draw(ax=None, name="model"):
    ...     ends = [(0, 0.2), (0.1, 0.4), (0, 0.3)]
    ...     return interval_plot([name, "second", "third"], [0.1, 0.2, 0.1], ends, label="error", ax=ax)
    >>> check_plot(draw, legend=False)
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "check_plot") from None
    before: list[int] = plt.get_fignums()
    settings: dict[Any, Any] = dict(plt.rcParams)
    try:
        _check_given_axes(draw, plt)
        _check_new_figure(draw, plt, widths, heights)
        _check_settings(draw, plt, settings)
        for name in _HOSTILE:
            _check_text(draw, plt, name)
        if legend:
            _check_legend(draw)
    finally:
        for number in set(plt.get_fignums()) - set(before):
            plt.close(number)


def _check_given_axes(draw: Callable[..., Any], plt: Any) -> None:
    figure, (left, right) = plt.subplots(1, 2)
    count = len(plt.get_fignums())
    with contract(draw, "it draws on the axes that it is given, and returns them"):
        found = draw(ax=left)
        claim(found is left, f"it returned {found!r}")
        claim(left.has_data(), "nothing was drawn on them")
        claim(not right.has_data(), "it drew on other axes of the figure")
    with contract(draw, "with axes given it makes no figure, and leaves the current axes alone"):
        claim(len(plt.get_fignums()) == count, "there is one more figure")
        claim(plt.gcf() is figure and plt.gca() is right, "the current axes changed")
    plt.close(figure)


def _check_new_figure(draw: Callable[..., Any], plt: Any, widths: Any, heights: Any) -> None:
    before = set(plt.get_fignums())
    with contract(draw, "without axes it makes one figure, and returns its axes"):
        ax = draw()
        made = set(plt.get_fignums()) - before
        claim(hasattr(ax, "figure"), f"it returned {ax!r}: return the axes")
        claim(made == {ax.figure.number}, f"it made {len(made)} figures")
        claim(ax.has_data(), "nothing was drawn")
    with contract(draw, f"a new figure is {widths[0]} to {widths[1]} inches wide, {heights[0]} to {heights[1]} high"):
        width, height = ax.figure.get_size_inches()
        claim(widths[0] <= width <= widths[1] and heights[0] <= height <= heights[1], f"it is {width} x {height}")
    plt.close(ax.figure)


def _check_settings(draw: Callable[..., Any], plt: Any, before: dict[Any, Any]) -> None:
    with contract(draw, "it changes no setting: what differs from the user's settings is set on the artist"):
        ax = draw()
        ax.figure.canvas.draw()
        after = dict(plt.rcParams)
        changed = sorted(key for key in before if before[key] != after[key])
        plt.rcParams.update({key: before[key] for key in changed})
        claim(not changed, f"these changed: {', '.join(changed[:5])}")
    plt.close(ax.figure)


def _check_text(draw: Callable[..., Any], plt: Any, name: str) -> None:
    from matplotlib.text import Text

    with contract(draw, "text that comes from data is shown letter by letter: pass it through kernelcal.plots.literal"):
        ax = draw(name=name)
        with plt.rc_context({"svg.fonttype": "none"}):
            file = io.StringIO()
            ax.figure.savefig(file, format="svg")
        shown = ["".join(node.itertext()).strip() for node in ET.fromstring(file.getvalue()).iter(_SVG_TEXT)]
        claim(any(name in text for text in shown), f"{name!r} is not among {shown[:12]}")
        read = [text for text in ax.figure.findobj(Text) if text.get_parse_math() and _FORMULA in text.get_text()]
        claim(not read, f"{name!r} is drawn as a formula at {len(read)} places")
    plt.close(ax.figure)


def _check_legend(draw: Callable[..., Any]) -> None:
    with contract(draw, "what is drawn is said in a legend: every artist has a label that says what it is"):
        ax = draw()
        labels = ax.get_legend_handles_labels()[1]
        claim(labels, "no artist has a label")
        claim(ax.get_legend() is not None, f"there is no legend for {labels}")
        said = {text.get_text() for text in ax.get_legend().get_texts()}
        claim(said == set(labels), f"the legend says {sorted(said)}, the artists {sorted(set(labels))}")
