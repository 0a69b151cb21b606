"""A picture of the page: drawn without a screen, its legend and its title in HTML, where they wrap on a phone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernelcal.errors import MissingExtraError
from kernelcal.report.svg import inline_svg

__all__ = ["Drawing", "LegendEntry", "Picture", "drawn"]


@dataclass(frozen=True)
class Drawing:
    """What is to be drawn.

    Attributes
    ----------
    title, caption, description : str
        Above and below the picture, and instead of it for those who do not see it.
    draw : callable
        Draws on the axes that it is given.
    size : (float, float)
        Inches; small ones have larger letters on the page.
    small : bool
        One of several of a kind, side by side.
    kind : str
        What small pictures of one kind have in common.
    """

    title: str
    caption: str
    description: str
    draw: Callable[[Any], Any]
    size: tuple[float, float] = (4.4, 3.4)
    small: bool = False
    kind: str = ""


@dataclass(frozen=True)
class LegendEntry:
    """A mark and what it means: ``line``, ``dashes``, ``area`` or ``dot``, and its colour without ``#``."""

    mark: str
    colour: str
    text: str


@dataclass(frozen=True)
class Picture:
    """What has been drawn."""

    title: str
    caption: str
    svg: str
    legend: tuple[LegendEntry, ...]
    colours: frozenset[str]
    small: bool
    kind: str


def drawn(drawing: Drawing, name: str) -> Picture:
    """Draw, and take the legend and the title out of the drawing."""
    figure, ax = _axes(drawing.size)
    drawing.draw(ax)
    legend = tuple(_entries(ax))
    if ax.get_legend() is not None:
        ax.get_legend().remove()
    ax.set_title("", loc="left")
    svg, colours = inline_svg(figure, name, drawing.title, drawing.description)
    known = frozenset(colours | {entry.colour for entry in legend})
    return Picture(drawing.title, drawing.caption, svg, legend, known, drawing.small, drawing.kind)


def _axes(size: tuple[float, float]) -> tuple[Any, Any]:
    """A figure that no window and no list of figures knows."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "a report") from None
    figure = Figure(figsize=size)  # what stands outside is taken in when it is saved
    return figure, figure.add_subplot()


def _entries(ax: Any) -> list[LegendEntry]:
    found: dict[str, LegendEntry] = {}
    for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
        mark, colour = _look(handle)
        found[label] = LegendEntry(mark, _hex(colour), label.replace(r"\$", "$"))
    return list(found.values())


def _look(handle: Any) -> tuple[str, Any]:
    """Shape and colour of what a legend shows."""
    if hasattr(handle, "patches"):  # bars
        return "area", handle.patches[0].get_facecolor() if len(handle.patches) else "0.8"
    if hasattr(handle, "get_linestyle") and hasattr(handle, "get_marker"):
        if handle.get_linestyle() in ("None", "none", "", " "):
            return ("diamond" if handle.get_marker() == "D" else "dot"), handle.get_color()
        return ("dashes" if handle.get_linestyle() == "--" else "line"), handle.get_color()
    if hasattr(handle, "get_segments"):
        return "line", handle.get_color()[0]
    if type(handle).__name__ in ("PathCollection", "Quiver"):  # points, arrows
        return "dot", handle.get_facecolor()[0]
    filled = not hasattr(handle, "get_fill") or handle.get_fill()
    colour = handle.get_facecolor() if filled else handle.get_edgecolor()
    dashed = not filled and handle.get_linestyle() in ("--", "dashed")
    return ("area" if filled else "dashes" if dashed else "line"), colour[0] if getattr(
        colour, "ndim", 1
    ) > 1 else colour


def _hex(colour: Any) -> str:
    from matplotlib.colors import to_hex

    return to_hex(colour)[1:]
