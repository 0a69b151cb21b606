"""How long a value takes to compute, for tables that say so."""

from __future__ import annotations

import time

import numpy as np


def fastest(function, *arguments):
    """Value of a function as a number, and the seconds of the fastest of five calls."""
    best, value = np.inf, np.nan
    for _ in range(5):
        start = time.perf_counter()
        value = float(function(*arguments))
        best = min(best, time.perf_counter() - start)
    return value, best
