"""Maps of families of laws: their places and widths by the log score, and heavier tails."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import Laplace, LogNormal, Normal, StudentT
from kernelcal.recalibration.numbers.moving import Affine, numbers_of

__all__ = ["Heavy3", "Heavy5", "Heavy10", "Law", "ShiftedLaw", "served_law"]


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

        return _Unit(numbers_of(predictions.mean), numbers_of(predictions.std), same, normal, "normal")
    if isinstance(predictions, StudentT):
        df = np.broadcast_to(numbers_of(predictions.df), (len(predictions),))
        return _Unit(
            numbers_of(predictions.loc),
            numbers_of(predictions.scale),
            same,
            lambda m, s, _: StudentT(df, m, s),
            "student",
            df,
        )
    if isinstance(predictions, Laplace):
        place, width = numbers_of(predictions.loc), numbers_of(predictions.scale)
        return _Unit(place, width, same, lambda m, s, _: Laplace(m, s), "laplace")
    if isinstance(predictions, LogNormal):
        place, width = numbers_of(predictions.mu), numbers_of(predictions.sigma)
        return _Unit(place, width, _log, lambda m, s, _: LogNormal(m, s), "normal")
    raise InputError(
        f"predictions of {type(predictions).__name__} have no map yet: Normal, StudentT, Laplace, LogNormal, Samples "
        "and Quantiles have; pass draws, kernelcal.predictions.Samples(predictions.sample(rng, 99).T), or "
        "TemperatureScaling().fit(y, predictions) where the family has temperatures"
    )


def _log(y: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(y)


def served_law(predictions: Any) -> None:
    """Refuse families that have no map."""
    _unit_of(predictions)


@dataclass(frozen=True)
class Law(Affine):
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

        return cls._fitted(
            unit.place[kept], unit.width[kept], y, w, number, loss, cls.tail, kinked=unit.law == "laplace"
        )

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
