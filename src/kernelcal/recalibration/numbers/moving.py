"""A fitted map of predicted laws of one number, and the one that moves and stretches what lies on a line."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.cases import Case

__all__ = ["BOUND", "Affine", "NumberMap", "Unchanged", "numbers_of"]


BOUND = 20.0  # of logarithms, a search leaves them never
_WIDEST = 2.0  # power of the widths
_VALUES_OF_KINKED = 800  # of a loss with kinks, for its four numbers


def numbers_of(values: Any) -> np.ndarray:
    """Values as float64."""
    return np.asarray(values, dtype=np.float64)


class NumberMap(ABC):
    """A fitted map of predictions of numbers."""

    name: ClassVar[str]

    @classmethod
    @abstractmethod
    def fit(cls, case: Case, weights: np.ndarray, number: float) -> Self:
        """Fit to rows of weights with mean 1 that count as `number`."""

    @abstractmethod
    def __call__(self, predictions: Any) -> Any:
        """Return predictions."""

    @abstractmethod
    def in_words(self) -> str:
        """Say what it does."""

    def state(self) -> dict[str, Any]:
        """Return its numbers."""
        values = asdict(self)  # type: ignore[call-overload]
        return {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in values.items()}

    @classmethod
    def of_state(cls, state: dict[str, Any]) -> Self:
        """Make it of its numbers."""
        return cls(**{key: np.array(v, dtype=float) if isinstance(v, list) else v for key, v in state.items()})


@dataclass(frozen=True)
class Unchanged(NumberMap):
    """The predictions as they are."""

    name: ClassVar[str] = "identity"

    @classmethod
    def fit(cls, case: Case, weights: np.ndarray, number: float) -> Self:
        """Return it."""
        return cls()

    def __call__(self, predictions: Any) -> Any:
        """Return them."""
        return predictions

    def in_words(self) -> str:
        """Say so."""
        return "left alone"


@dataclass(frozen=True)
class Affine(NumberMap):
    """``mu' = m + a s + b (mu - m)``, ``log sigma' = l + c + d (log sigma - l)``.

    m, l: means of mu and log sigma in the rows of the fit; s: root mean square of their residuals.
    """

    free: ClassVar[tuple[bool, bool]] = (True, True)  # whether b and d are fitted
    centre: float
    unit: float
    level: float
    shift: float
    slope: float
    stretch: float
    power: float
    df: float | None = None

    def _moved(self, place: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        logs = np.log(np.where(width > 0, width, np.exp(self.level)))
        factor = np.exp(np.clip(self.stretch + (self.power - 1) * (logs - self.level), -BOUND, BOUND))
        return self.centre + self.shift * self.unit + self.slope * (place - self.centre), factor

    def in_words(self) -> str:
        """Say what is moved by how much."""
        words = [f"places moved by {self.shift * self.unit:.4g}", f"widths times {np.exp(self.stretch):.3g}"]
        if type(self).free[0]:
            words += [f"slope of places {self.slope:.3g}", f"power of widths {self.power:.3g}"]
        return ", ".join(words + ([f"Student t with {self.df:g} degrees of freedom"] if self.df else []))

    @classmethod
    def _fitted(
        cls,
        place: np.ndarray,
        width: np.ndarray,
        y: np.ndarray,
        weights: np.ndarray,
        number: float,
        loss: Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]],
        df: float | None = None,
        *,
        kinked: bool = False,
    ) -> Self:
        """Minimise a mean loss, which gives its values and slopes in place and in the logarithm of the factor."""
        from scipy.optimize import minimize  # imported when needed: the import of kernelcal stays light

        positive = width > 0
        logs = np.log(np.where(positive, width, 1.0))
        level = float(np.average(logs[positive], weights=weights[positive] + 1e-12)) if positive.any() else 0.0
        logs = np.where(positive, logs - level, 0.0)
        centre = float(np.average(place, weights=weights))
        unit = float(np.sqrt(np.average((y - place) ** 2, weights=weights))) or 1.0
        free = np.array([True, cls.free[0], True, cls.free[1]])
        lows, highs = np.array([-BOUND, -BOUND, -BOUND, 0.0]), np.array([BOUND, BOUND, BOUND, _WIDEST])

        def objective(some: np.ndarray) -> tuple[float, np.ndarray]:
            theta = np.array([0.0, 1.0, 0.0, 1.0])
            theta[free] = some
            a, b, c, d = theta
            moved = centre + a * unit + b * (place - centre)
            value, by_place, by_log = loss(moved, np.clip(c + (d - 1) * logs, -BOUND, BOUND))
            by_place, by_log = weights * by_place / len(y), weights * by_log / len(y)
            slopes = [by_place.sum() * unit, by_place @ (place - centre), by_log.sum(), by_log @ logs]
            ridge = np.array([0.0, 2 * (b - 1), 0.0, 2 * (d - 1)]) / number
            total = float(weights @ value / len(y)) + ((b - 1) ** 2 + (d - 1) ** 2) / number
            return total, (np.array(slopes) + ridge)[free]

        begin = np.array([0.0, 1.0, 0.0, 1.0])[free]
        bounds = list(zip(lows[free], highs[free], strict=True))
        found = minimize(objective, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 300}).x
        if kinked:  # a search by slopes stops at a kink, one by values alone goes on
            fine = {"xatol": 1e-5, "fatol": 1e-9, "maxfev": _VALUES_OF_KINKED}
            found = minimize(
                lambda some: objective(some)[0], found, method="Nelder-Mead", bounds=bounds, options=fine
            ).x
        theta = np.array([0.0, 1.0, 0.0, 1.0])
        theta[free] = found
        a, b, c, d = (float(t) for t in theta)
        return cls(centre, unit, level, a, b, c, d, df)
