"""Pictures that commands draw: refused before the work where they could not be drawn, written whole after it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelcal.cli.ending import say
from kernelcal.files import refuse_place, written_whole
from kernelcal.plots import pyplot

__all__ = ["refuse_picture", "write_picture"]


_PICTURES = (".png", ".svg", ".pdf")


def refuse_picture(place: Path | None, option: str = "--plot", *, example: str = "result") -> None:
    """Refuse a picture that could not be drawn or written, before the work and not after it; None asks for none."""
    if place is not None:
        refuse_place(place, suffixes=_PICTURES, what=f"{option} draws a picture", example=example)
        pyplot()


def write_picture(figure: Any, place: Path, *, to_errors: bool) -> None:
    """Write a picture, whole or not at all, close it and say where it is."""
    try:
        with written_whole(place) as unfinished:
            figure.savefig(unfinished, format=place.suffix[1:].lower())
    finally:
        pyplot().close(figure)
    say(f"wrote {place}", to_errors=to_errors)
