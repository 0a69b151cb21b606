"""A drawing as a piece of HTML: an SVG with text as text, in colours that follow the page into the dark."""

from __future__ import annotations

import io
import re
import xml.etree.ElementTree as ET
from typing import Any

__all__ = ["dark_colours", "inline_svg"]

_SVG, _LINK = "http://www.w3.org/2000/svg", "{http://www.w3.org/1999/xlink}href"
_DROPPED = {f"{{{_SVG}}}style", f"{{{_SVG}}}metadata", "{http://www.w3.org/2000/svg}title"}
_COLOUR = re.compile(r"#([0-9a-f]{6})\b")
_FONT = re.compile(r"font(?:-family)?: (?:[a-z]+ )*(?:([\d.]+)px)?[^;]*;?")
_PAPER, _INK = (24, 26, 31), (232, 230, 225)  # what white and black become
_LIGHTER = 0.35  # how far colours move towards white


def inline_svg(figure: Any, name: str, title: str, description: str) -> tuple[str, set[str]]:
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
        figure.savefig(file, format="svg", transparent=True, bbox_inches="tight", pad_inches=0.06, metadata=nothing)
    return ET.fromstring(file.getvalue())


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
