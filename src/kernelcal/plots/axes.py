"""Where to draw: matplotlib is asked for when it is needed, and no global setting is touched."""

from __future__ import annotations

from typing import Any

from kernelcal.errors import MissingExtraError

__all__ = ["axes_or_new", "pyplot"]


def pyplot() -> Any:
    """Return matplotlib.pyplot, or say which extra brings it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError("matplotlib", "plot", "drawing") from None
    return plt


def axes_or_new(ax: Any, width: float, height: float) -> Any:
    """Return the axes as given, or those of a new figure of this size in inches."""
    if ax is not None:
        return ax
    _, ax = pyplot().subplots(figsize=(width, height), layout="constrained")
    return ax
