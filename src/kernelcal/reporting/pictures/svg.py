"""Drawings as SVG: drawn without a screen, with legends in HTML that wrap on a phone, and colours for the dark."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernelcal.errors import MissingExtraError

__all__ = ["Drawing", "LegendEntry", "Picture", "dark_colours", "drawn"]


_SVG, _LINK = "http://www.w3.org/2000/svg", "{http://www.w3.org/1999/xlink}href"

_DROPPED = {f"{{{_SVG}}}style", f"{{{_SVG}}}metadata", "{http://www.w3.org/2000/svg}title"}

_COLOUR = re.compile(r"#([0-9a-f]{6})\b")

_FONT = re.compile(r"font(?:-family)?: (?:[a-z]+ )*(?:([\d.]+)px)?[^;]*;?")

_PAPER, _INK = (24, 26, 31), (232, 230, 225)  # what white and black become

_DPI = 72  # of matplotlib's SVG

_LIGHTER = 0.35  # how far colours move towards white


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
    svg, colours = _inline_svg(figure, name, drawing.title, drawing.description)
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
    if hasattr(handle, "has_yerr"):  # points with their intervals
        return "dot", handle.lines[0].get_color()
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


def _inline_svg(figure: Any, name: str, title: str, description: str) -> tuple[str, set[str]]:
    """SVG of a figure with a title and a description for those who do not see it, and the colours in it.

    Identifiers begin with `name`, since many pictures share one page.
    """
    root = _parsed(figure, name)
    _renamed(root, name)
    root.attrib = {"viewBox": root.attrib["viewBox"], "role": "img", "aria-labelledby": f"{name}-title {name}-text"}
    for number, (tag, text) in enumerate((("title", title), ("desc", description))):
        words = ET.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{'title' if tag == 'title' else 'text'}"})
        words.text = text
        root.insert(number, words)
    colours: set[str] = set()
    for node in root.iter():
        if "style" in node.attrib:
            node.attrib["style"] = _styled(node.attrib["style"], colours)
    ET.register_namespace("", _SVG)
    return ET.tostring(root, encoding="unicode"), colours


def _parsed(figure: Any, name: str) -> ET.Element:
    """What matplotlib writes: text stays text, and the same drawing has the same identifiers on every day."""
    from matplotlib import rc_context

    file = io.StringIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": name}):
        nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
        taken = _taken(figure)
        figure.savefig(file, format="svg", transparent=True, bbox_inches=taken, dpi=_DPI, metadata=nothing)
    return ET.fromstring(file.getvalue())


def _taken(figure: Any) -> Any:
    """What all marks and words take, and a little more: as "tight" finds it, without drawing everything for that."""
    from matplotlib.backends.backend_svg import RendererSVG

    figure.dpi = _DPI
    renderer: Any = RendererSVG
    width, height = _DPI * figure.get_size_inches()
    return figure.get_tightbbox(renderer(width, height, io.StringIO())).padded(0.06)


def _renamed(root: ET.Element, name: str) -> None:
    """Give identifiers a prefix, keep those that are referred to, and drop what belongs to a whole page."""
    for parent in list(root.iter()):
        for child in [c for c in parent if c.tag in _DROPPED]:
            parent.remove(child)
    for node in root.iter():
        target = node.attrib.pop(_LINK, None)
        if target is not None:
            node.attrib["href"] = f"#{name}-{target[1:]}"
        if "clip-path" in node.attrib:
            node.attrib["clip-path"] = node.attrib["clip-path"].replace("url(#", f"url(#{name}-")
        if "id" in node.attrib:
            node.attrib["id"] = f"{name}-{node.attrib['id']}"


def _styled(style: str, colours: set[str]) -> str:
    """Colours become variables that the page sets in the dark; letters are in the font of the page."""
    colours.update(_COLOUR.findall(style))
    return _COLOUR.sub(r"var(--c-\1,#\1)", _FONT.sub(lambda m: f"font-size:{m[1]}px;" if m[1] else "", style))


def dark_colours(colours: set[str]) -> list[tuple[str, str]]:
    """For every colour the one that has its place on dark paper: greys turned over, others lighter."""
    return [(colour, _dark(tuple(bytes.fromhex(colour)))) for colour in sorted(colours)]


def _dark(rgb: tuple[int, ...]) -> str:
    if max(rgb) - min(rgb) < 12:
        share = sum(rgb) / (3 * 255)
        mixed = [ink + share * (paper - ink) for paper, ink in zip(_PAPER, _INK, strict=True)]
    else:
        mixed = [value + _LIGHTER * (255 - value) for value in rgb]
    return "#" + "".join(f"{round(value):02x}" for value in mixed)
