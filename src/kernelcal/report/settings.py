"""What a page says about how it was made."""

from __future__ import annotations

import datetime
import os
import platform
from importlib.metadata import version
from typing import Any

from kernelcal import __version__

__all__ = ["day", "versions"]


def versions() -> list[tuple[str, str]]:
    """Programs that made the page."""
    packages = ("numpy", "scipy", "matplotlib", "jinja2")
    return [("kernelcal", __version__), ("Python", platform.python_version()), *((p, version(p)) for p in packages)]


def day(date: Any) -> str:
    """Date of the page: as given, else that of SOURCE_DATE_EPOCH, else today's, in UTC."""
    if date is not None:
        return date.isoformat() if isinstance(date, datetime.date) else str(date)
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    utc = datetime.UTC
    now = datetime.datetime.fromtimestamp(int(seconds), utc) if seconds.isdecimal() else datetime.datetime.now(utc)
    return now.date().isoformat()
