"""Maps of predicted laws of one number: places and widths for families and ensembles, shifts of quantiles."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import Laplace, LogNormal, Normal, Quantiles, Samples, StudentT
from kernelcal.statistics import crps_rows_of

__all__ = ["NUMBER_MAPS", "NumberMap", "candidates_for", "loss_rows", "served"]


_TAILS = (10.0, 5.0, 3.0)  # degrees of freedom that normal predictions may get
_WIDEST = 2.0  # power of the widths
_BOUND = 20.0  # of logarithms, a search leaves them never


@dataclass(frozen=True)
class _Unit:
    """Where a family lies and how wide it is, on the axis where it moves and stretches."""

    place: np.ndarray
    width: np.ndarray
    outcome: Callable[[np.ndarray], np.ndarray]
    made: Callable[[np.ndarray, np.ndarray, float | None], Any]
    law: str  # normal, laplace or student
    df: np.ndarray | None = None


def _unit_of(predictions: Any) -> _Unit:
    def same(y: np.ndarray) -> np.ndarray:
        return y

    if isinstance(predictions, Normal):

        def normal(m: np.ndarray, s: np.ndarray, df: float | None) -> Any:
            return Normal(m, s) if df is None else StudentT(np.full(len(m), df), m, s)

        return _Unit(_array(predictions.mean), _array(predictions.std), same, normal, "normal")
    if isinstance(predictions, StudentT):
        df = np.broadcast_to(_array(predictions.df), (len(predictions),))
        return _Unit(
            _array(predictions.loc), _array(predictions.scale), same, lambda m, s, _: StudentT(df, m, s), "student", df
        )
    if isinstance(predictions, Laplace):
        place, width = _array(predictions.loc), _array(predictions.scale)
        return _Unit(place, width, same, lambda m, s, _: Laplace(m, s), "laplace")
    if isinstance(predictions, LogNormal):
        place, width = _array(predictions.mu), _array(predictions.sigma)
        return _Unit(place, width, _log, lambda m, s, _: LogNormal(m, s), "normal")
    raise InputError(
        f"predictions of {type(predictions).__name__} have no map yet: Normal, StudentT, Laplace, LogNormal, Samples "
        "and Quantiles have; pass draws, kernelcal.predictions.Samples(predictions.sample(rng, 99).T), or "
        "TemperatureScaling().fit(y, predictions) where the family has temperatures"
    )


def _array(values: Any) -> np.ndarray:
    return np.asarray(values, dtype=np.float64)


def _log(y: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(y)


def served(predictions: Any) -> None:
    """Refuse predictions that no map serves."""
    if isinstance(predictions, Samples | Quantiles):
        uneven = isinstance(predictions, Samples) and predictions.weights is not None
        if isinstance(predictions, Samples) and (predictions.event_shape or predictions.size < 2 or uneven):
            raise InputError(
                "maps of ensembles take two members or more of equal weight, of one number each: take one coordinate "
                "at a time, and draw members by their weights"
            )
        return
    _unit_of(predictions)


def loss_rows(case: Case) -> tuple[np.ndarray, np.ndarray]:
    """Return the loss of every row by which maps are chosen, and its CRPS, which no map may make worse.

    Laws: ``-log f(y)``, which the CRPS joins since tails can win it while most rows lose. Ensembles: the CRPS.
    Quantiles: the mean pinball loss.
    """
    batch = case.predictions
    if isinstance(batch, Samples):
        found = _crps_of_members(_array(batch.draws), case.targets)[0]
    elif isinstance(batch, Quantiles):
        y, q, levels = case.targets[:, None], _array(batch.values), batch.levels
        found = np.asarray(np.mean(np.maximum(levels * (y - q), (levels - 1) * (y - q)), axis=1))
    else:
        return -np.asarray(batch.log_prob(case.targets), dtype=np.float64), crps_rows_of(case)
    return found, found


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
class _Affine(NumberMap):
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
        factor = np.exp(np.clip(self.stretch + (self.power - 1) * (logs - self.level), -_BOUND, _BOUND))
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
        lows, highs = np.array([-_BOUND, -_BOUND, -_BOUND, 0.0]), np.array([_BOUND, _BOUND, _BOUND, _WIDEST])

        def objective(some: np.ndarray) -> tuple[float, np.ndarray]:
            theta = np.array([0.0, 1.0, 0.0, 1.0])
            theta[free] = some
            a, b, c, d = theta
            moved = centre + a * unit + b * (place - centre)
            value, by_place, by_log = loss(moved, np.clip(c + (d - 1) * logs, -_BOUND, _BOUND))
            by_place, by_log = weights * by_place / len(y), weights * by_log / len(y)
            slopes = [by_place.sum() * unit, by_place @ (place - centre), by_log.sum(), by_log @ logs]
            ridge = np.array([0.0, 2 * (b - 1), 0.0, 2 * (d - 1)]) / number
            total = float(weights @ value / len(y)) + ((b - 1) ** 2 + (d - 1) ** 2) / number
            return total, (np.array(slopes) + ridge)[free]

        begin = np.array([0.0, 1.0, 0.0, 1.0])[free]
        bounds = list(zip(lows[free], highs[free], strict=True))
        found = minimize(objective, begin, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 300}).x
        theta = np.array([0.0, 1.0, 0.0, 1.0])
        theta[free] = found
        a, b, c, d = (float(t) for t in theta)
        return cls(centre, unit, level, a, b, c, d, df)


@dataclass(frozen=True)
class Law(_Affine):
    """Places and widths of a family by the log score; normal laws may get the tails of Student's."""

    name: ClassVar[str] = "places and widths"
    tail: ClassVar[float | None] = None

    @classmethod
    def fit(cls, case: Case, weights: np.ndarray, number: float) -> Self:
        """Minimise the mean log loss."""
        unit = _unit_of(case.predictions)
        y = unit.outcome(case.targets.astype(np.float64))
        df = cls.tail if cls.tail is not None else unit.df
        kept = np.isfinite(y) & (weights > 0)
        base, dfs = np.log(unit.width[kept]), df[kept] if isinstance(df, np.ndarray) else df
        y, w = y[kept], weights[kept] / weights[kept].mean()

        def loss(place: np.ndarray, log_factor: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            logs = base + log_factor
            z = (y - place) * np.exp(-logs)
            value, psi = _surprise(z, unit.law, dfs)
            return value + logs, -psi * np.exp(-logs), 1 - z * psi

        return cls._fitted(unit.place[kept], unit.width[kept], y, w, number, loss, cls.tail)

    def __call__(self, predictions: Any) -> Any:
        """Return the family, moved and stretched."""
        unit = _unit_of(predictions)
        place, factor = self._moved(unit.place, unit.width)
        return replace(unit.made(place, unit.width * factor, self.df), notes=predictions.notes)


def _surprise(z: np.ndarray, law: str, df: Any) -> tuple[np.ndarray, np.ndarray]:
    """Minus the logarithm of the standard density at z, and its slope."""
    if df is not None:
        from scipy.special import gammaln  # as below

        norm = gammaln(df / 2) - gammaln((df + 1) / 2) + 0.5 * np.log(df * np.pi)
        return norm + (df + 1) / 2 * np.log1p(z * z / df), (df + 1) * z / (df + z * z)
    if law == "laplace":
        return np.abs(z) + np.log(2.0), np.sign(z)
    return 0.5 * z * z + 0.5 * np.log(2 * np.pi), z


class ShiftedLaw(Law):
    """One shift, and one factor of all widths."""

    name: ClassVar[str] = "one shift, one factor"
    free: ClassVar[tuple[bool, bool]] = (False, False)


class Heavy10(Law):
    """Student's law of 10 degrees of freedom."""

    name: ClassVar[str] = "Student t, 10"
    tail: ClassVar[float | None] = 10.0


class Heavy5(Law):
    """Of 5."""

    name: ClassVar[str] = "Student t, 5"
    tail: ClassVar[float | None] = 5.0


class Heavy3(Law):
    """Of 3."""

    name: ClassVar[str] = "Student t, 3"
    tail: ClassVar[float | None] = 3.0


def _crps_of_members(draws: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """CRPS of every ensemble as a distribution, and half the mean distance of its members, each with itself too.

    For members that stretch around their own mean this is the right one: at S members of the predicted law, the mean
    distance of different members would be smaller for a factor above 1, since their mean moves with them.
    """
    size = draws.shape[1]
    ordered = np.sort(draws, axis=1)
    half = ordered @ (2 * np.arange(size) - size + 1) / size**2
    return np.abs(draws - y[:, None]).mean(axis=1) - half, half


@dataclass(frozen=True)
class EnsembleMap(_Affine):
    """EnsembleMap of ensembles moved with their mean and stretched around it, by the CRPS."""

    name: ClassVar[str] = "places and widths"

    @classmethod
    def fit(cls, case: Case, weights: np.ndarray, number: float) -> Self:
        """Minimise the mean CRPS in units of the root mean square residual of the ensemble means."""
        draws, y = _array(case.predictions.draws), case.targets.astype(np.float64)
        place, width = _array(case.predictions.mean), _array(case.predictions.std)
        apart = draws - place[:, None]
        half = _crps_of_members(draws, y)[1]
        unit = float(np.sqrt(np.average((y - place) ** 2, weights=weights))) or 1.0

        def loss(moved: np.ndarray, log_factor: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            factor = np.exp(log_factor)
            off = moved[:, None] + factor[:, None] * apart - y[:, None]
            sign = np.sign(off)
            value = np.abs(off).mean(axis=1) - factor * half
            return value / unit, sign.mean(axis=1) / unit, factor * ((sign * apart).mean(axis=1) - half) / unit

        return cls._fitted(place, width, y, weights, number, loss)

    def __call__(self, predictions: Any) -> Any:
        """Return ensembles of as many members, with their weights."""
        draws, mean = _array(predictions.draws), _array(predictions.mean)
        place, factor = self._moved(mean, _array(predictions.std))
        return Samples(place[:, None] + factor[:, None] * (draws - mean[:, None]), notes=predictions.notes)


class ShiftedEnsemble(EnsembleMap):
    """One shift, and one factor of all widths."""

    name: ClassVar[str] = "one shift, one factor"
    free: ClassVar[tuple[bool, bool]] = (False, False)


@dataclass(frozen=True)
class Stretched(NumberMap):
    """Quantiles moved by one shift and stretched around their middle, by the pinball loss."""

    name: ClassVar[str] = "one shift, one factor"
    shift: float
    stretch: float

    @classmethod
    def fit(cls, case: Case, weights: np.ndarray, number: float) -> Self:
        """Minimise the mean pinball loss by shift and factor, with a ridge of 1 / n on its logarithm."""
        from scipy.optimize import minimize  # as above

        q, y, levels = _array(case.predictions.values), case.targets.astype(np.float64), case.predictions.levels
        middle = _middle(q, levels)
        unit = float(np.average(np.abs(y - middle), weights=weights)) or 1.0
        apart = q - middle[:, None]

        def objective(theta: np.ndarray) -> tuple[float, np.ndarray]:
            factor = np.exp(np.clip(theta[1], -_BOUND, _BOUND))
            off = y[:, None] - middle[:, None] - theta[0] * unit - factor * apart
            slope = np.where(off > 0, -levels, 1 - levels)  # in the quantile
            value = np.maximum(levels * off, (levels - 1) * off).mean(axis=1)
            by_shift = weights @ slope.mean(axis=1) * unit
            by_stretch = weights @ (slope * apart).mean(axis=1) * factor
            n = len(y)
            total = weights @ value / n / unit + theta[1] ** 2 / number
            return float(total), np.array([by_shift, by_stretch]) / n / unit + [0.0, 2 * theta[1] / number]

        bounds = [(-_BOUND, _BOUND)] * 2
        found = minimize(objective, np.zeros(2), jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 200}).x
        return cls(float(found[0] * unit), float(found[1]))

    def __call__(self, predictions: Any) -> Any:
        """Return quantiles of the same levels."""
        q = _array(predictions.values)
        middle = _middle(q, predictions.levels)[:, None]
        return replace(predictions, values=middle + self.shift + np.exp(self.stretch) * (q - middle))

    def in_words(self) -> str:
        """Say by how much."""
        return f"quantiles moved by {self.shift:.4g}, distances from the middle times {np.exp(self.stretch):.3g}"


@dataclass(frozen=True)
class Levels(NumberMap):
    """Every level moved by the quantile of its own errors, in units of the row's width: conformal, level by level."""

    name: ClassVar[str] = "every level"
    shifts: np.ndarray

    @classmethod
    def fit(cls, case: Case, weights: np.ndarray, number: float) -> Self:
        """Take weighted quantiles of the errors over the width of the row."""
        q, y, levels = _array(case.predictions.values), case.targets.astype(np.float64), case.predictions.levels
        errors = (y[:, None] - q) / _widths(q)[:, None]
        shifts = []
        for column, level in zip(errors.T, levels, strict=True):
            order = np.argsort(column)
            share = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
            shifts.append(np.interp(level, share, column[order]))
        return cls(np.array(shifts))

    def __call__(self, predictions: Any) -> Any:
        """Return quantiles of the same levels, sorted where they cross."""
        q = _array(predictions.values)
        return replace(predictions, values=np.sort(q + _widths(q)[:, None] * self.shifts, axis=1))

    def in_words(self) -> str:
        """Say by how much."""
        words = ", ".join(f"{shift:+.3g}" for shift in self.shifts[:9]) + ", ..." * (len(self.shifts) > 9)
        return f"levels moved by {words} widths of their rows"


def _middle(q: np.ndarray, levels: np.ndarray) -> np.ndarray:
    return np.array([np.interp(0.5, levels, row) for row in q])


def _widths(q: np.ndarray) -> np.ndarray:
    """Distance of the outermost quantiles; 1 where there is none."""
    width = q[:, -1] - q[:, 0]
    return np.where(width > 0, width, 1.0)


def candidates_for(predictions: Any) -> tuple[type[NumberMap], ...]:
    """Return maps that serve the predictions, the simplest first."""
    if isinstance(predictions, Samples):
        return Unchanged, ShiftedEnsemble, EnsembleMap
    if isinstance(predictions, Quantiles):
        return Unchanged, Stretched, Levels
    if isinstance(predictions, Normal):
        return Unchanged, ShiftedLaw, Law, Heavy10, Heavy5, Heavy3
    return Unchanged, ShiftedLaw, Law


NUMBER_MAPS: dict[str, type[NumberMap]] = {
    kind.__name__: kind
    for kind in (Unchanged, ShiftedLaw, Law, Heavy10, Heavy5, Heavy3, ShiftedEnsemble, EnsembleMap, Stretched, Levels)
}
