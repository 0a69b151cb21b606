"""Which columns of a long table hold what: one line a quantile or a draw."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Layout"]


@dataclass(frozen=True)
class Layout:
    """A long table.

    Attributes
    ----------
    form : str
        quantiles or samples.
    value, key : str
        Columns of the values, and of their levels or of the names of the draws.
    apart : tuple of str
        Further columns that do not tell predictions apart.
    lines : numpy.ndarray or None
        Lines that hold such values; None for all.
    said : str
        What is said of the other lines.
    """

    form: str
    value: str
    key: str
    apart: tuple[str, ...] = ()
    lines: np.ndarray | None = None
    said: str = ""
