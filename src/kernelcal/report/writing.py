"""A file that is there whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from kernelcal.errors import InputError

__all__ = ["refuse_path", "write_whole"]


def refuse_path(path: Path) -> None:
    """Refuse a file that could not be written, before the work and not after it."""
    if path.is_dir():
        raise InputError(f"{path} is a folder: name a file in it, such as {path / 'report.html'}")
    if not path.parent.is_dir():
        raise InputError(f"{path}: there is no folder {path.parent}: make it first, or name another")
    if path.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a report is a page: its name ends in .html, got {path}")


def write_whole(path: Path, text: str) -> None:
    """Write beside the place, and move there; what was there before stays until the new file is whole."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with unfinished.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)
