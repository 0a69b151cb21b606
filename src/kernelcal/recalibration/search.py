"""Search for a temperature between bounds, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["AtBound", "Fit", "search"]

_STEP = 0.25 * math.log(10)  # of the grid of log T: four temperatures a decade
_ACCURACY = {"xatol": 1e-8}


@dataclass(frozen=True)
class Fit:
    """A temperature, whether the search ended inside the bounds, its steps, and a warning or nothing."""

    temperature: float
    converged: bool
    iterations: int
    warning: str = ""


@dataclass(frozen=True)
class AtBound:
    """A temperature that ran to a bound."""

    bound: float
    which: str
    why: str

    @property
    def text(self) -> str:
        """Sentence for the warning."""
        return (
            f"the temperature ran to its bound {self.bound:g}, the {self.which} that is tried, and did not converge: "
            f"{self.why}. TemperatureScaling(bounds=...) moves the bounds"
        )


def search(loss: Callable[[float], float], bounds: tuple[float, float], name: str) -> Fit:
    """Minimise a loss over log T: downhill from T = 1 on a grid, then Brent's method between the neighbours.

    The minimum next to T = 1 is wanted, not the least of all: a calibration error is small again where predictions
    become equal probabilities, since these are calibrated too if the classes are equally frequent.
    """
    from scipy.optimize import minimize_scalar  # imported when needed: the import of kernelcal stays light

    low, high = math.log(bounds[0]), math.log(bounds[1])
    grid = np.linspace(low, high, 1 + max(2, math.ceil((high - low) / _STEP)))
    best, steps = _downhill(lambda k: loss(math.exp(grid[k])), int(np.abs(grid).argmin()), len(grid) - 1)
    around = (float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)]))
    found = minimize_scalar(lambda theta: loss(math.exp(theta)), bounds=around, method="bounded", options=_ACCURACY)
    for edge, bound, which in ((low, bounds[0], "smallest"), (high, bounds[1], "largest")):
        if abs(found.x - edge) < 1e-4:
            return Fit(bound, False, steps + int(found.nfev), AtBound(bound, which, f"the {name} falls up to it").text)
    return Fit(math.exp(float(found.x)), bool(found.success), steps + int(found.nfev))


def _downhill(loss: Callable[[int], float], start: int, last: int) -> tuple[int, int]:
    """Walk from a grid point to a lower neighbour until there is none: the last point, and how many were tried."""
    tried = {start: loss(start)}
    while True:
        around = [k for k in (start - 1, start + 1) if 0 <= k <= last]
        tried.update({k: loss(k) for k in around if k not in tried})
        best = min((start, *around), key=lambda k: tried[k])
        if best == start:
            return start, len(tried)
        start = best
