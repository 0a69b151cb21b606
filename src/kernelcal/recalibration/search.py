"""Search for a temperature between bounds, and what came of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

__all__ = ["AtBound", "Fit", "search"]

_STEP = 0.5 * math.log(10)  # of the grid of log T: two temperatures a decade


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
    """Minimise a loss over log T: a grid over the bounds, then Brent's method between the neighbours of its best."""
    from scipy.optimize import minimize_scalar  # imported when needed: the import of kernelcal stays light

    low, high = math.log(bounds[0]), math.log(bounds[1])
    grid = np.linspace(low, high, 1 + max(2, math.ceil((high - low) / _STEP)))
    losses = [loss(math.exp(theta)) for theta in grid]
    best = int(np.nanargmin(losses))
    around = (float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)]))
    found = minimize_scalar(lambda theta: loss(math.exp(theta)), bounds=around, method="bounded", options=_ACCURACY)
    steps = len(grid) + int(found.nfev)
    for edge, bound, which in ((low, bounds[0], "smallest"), (high, bounds[1], "largest")):
        if abs(found.x - edge) < 1e-4:
            return Fit(bound, False, steps, AtBound(bound, which, f"the {name} is best there").text)
    return Fit(math.exp(float(found.x)), bool(found.success), steps)


_ACCURACY = {"xatol": 1e-8}
