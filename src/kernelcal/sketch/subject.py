"""What a sketch is told, and what it is about: values that can be compared and written."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np

from kernelcal.binning import checked_count
from kernelcal.defaults import DRAWS_OF_A_PASS
from kernelcal.errors import InputError
from kernelcal.inference.test import draws_in
from kernelcal.kernels import (
    PIT,
    Dirac,
    Gaussian,
    Kernel,
    QuantileLevels,
    Spectral,
    Stationary,
    kernel_from_plain,
    kernel_to_plain,
    resolve,
    resolve_target,
)
from kernelcal.pairs import RandomFourier
from kernelcal.predictions import Bernoulli, ClassPredictions, Predictions, Quantiles, RealPredictions
from kernelcal.residuals import target_kernel_of
from kernelcal.runs import Run
from kernelcal.statistics import ECE
from kernelcal.statistics.binned import usual_questions

__all__ = ["Settings", "Subject", "refuse_different", "refuse_other_kind"]


_NUMBERS, _VECTORS = 16, 64  # frequencies of the default target kernel


@dataclass(frozen=True, kw_only=True, eq=False)
class Settings:
    """Settings of a sketch, described there."""

    prediction_kernel: Kernel
    target_kernel: Kernel | None = None
    engine: RandomFourier = field(default_factory=lambda: RandomFourier(256))
    draws: int = DRAWS_OF_A_PASS
    rng: int = 0
    bins: int = 15
    second_moments: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.engine, RandomFourier):
            raise InputError(
                "a sketch needs features of each row alone: engine=kernelcal.RandomFourier(256), got "
                f"{type(self.engine).__name__}"
            )
        for name, kernel in (("prediction_kernel", self.prediction_kernel), ("target_kernel", self.target_kernel)):
            if kernel is not None and not isinstance(kernel, Kernel):
                raise InputError(f"{name} must be a kernel such as kernelcal.Laplacian(0.2), got {kernel!r}")
        run = Run(draws=self.draws, rng=self.rng)
        run.seed("all parts of the data are given the same draws")
        engine = self.engine.rng
        if isinstance(engine, bool) or not isinstance(engine, int | np.integer) or engine < 0:
            raise InputError(
                f"engine.rng must be a whole number from 0, the same for all parts of the data, got {engine!r}"
            )
        if not isinstance(self.second_moments, bool | np.bool_):
            raise InputError(f"second_moments must be True or False, got {self.second_moments!r}")
        checked_count(self.bins, "bins", "15")
        self.plain()  # refuses at the start what could not be written at the end

    def resolved(self, predictions: Any) -> Self:
        """Fix what is chosen from predictions: median lengthscales, and the target kernel between numbers."""
        kernel, target = resolve(self.prediction_kernel, predictions)[0], self.target_kernel
        if isinstance(predictions, RealPredictions):
            target = resolve_target(_default_target(target, predictions), predictions)
        return replace(self, prediction_kernel=kernel, target_kernel=target)

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        target = None if self.target_kernel is None else kernel_to_plain(self.target_kernel)
        return {
            "prediction_kernel": kernel_to_plain(self.prediction_kernel),
            "target_kernel": target,
            "frequencies": int(self.engine.frequencies),
            "engine.rng": int(self.engine.rng),
            "draws": int(self.draws),
            "rng": int(self.rng),
            "bins": int(self.bins),
            "second_moments": bool(self.second_moments),
        }

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Self:
        """Return the settings that were written."""
        target = plain["target_kernel"]
        return cls(
            prediction_kernel=kernel_from_plain(plain["prediction_kernel"]),
            target_kernel=None if target is None else kernel_from_plain(target),
            engine=RandomFourier(plain["frequencies"], plain["engine.rng"]),
            **{name: plain[name] for name in ("draws", "rng", "bins", "second_moments")},
        )


def _default_target(kernel: Kernel | None, predictions: Any) -> Kernel:
    """Target kernel as given, or the one whose residuals have features."""
    if kernel is not None:
        return kernel
    if isinstance(predictions, Quantiles):
        return QuantileLevels()
    if isinstance(predictions, RealPredictions):
        kernel = target_kernel_of(None, predictions)
        if isinstance(kernel, PIT):
            return kernel
        return Spectral(Gaussian(), _VECTORS if predictions.event_shape else _NUMBERS)
    return Dirac()


def _refuse_median(kernel: Kernel) -> Kernel:
    """Refuse a lengthscale that is not a number: every part of the rows would choose its own."""
    if isinstance(kernel, Stationary) and isinstance(kernel.lengthscale, str):
        raise InputError(
            f"the lengthscale of {type(kernel).__name__} must be a number before the pass begins, so that all parts of "
            "the rows share it: Sketch.like(some_predictions, ...) chooses the median distance of these"
        )
    return kernel


def refuse_different(own: dict[str, Any], other: dict[str, Any], what: str) -> None:
    """Refuse two sets of plain values that are not equal, naming the first that differs."""
    for name, value in own.items():
        if value != other[name]:
            raise InputError(
                f"{what} differ in {name.replace('_', ' ')}: {value} and {other[name]}. Sums of different settings do "
                "not add up: make one sketch and give sketch.empty() to every part"
            )


def refuse_other_kind(own: Any, other: Any, kind: type) -> None:
    """Refuse what is no sketch, and sums of groups where they would be lost."""
    if not isinstance(other, kind):
        raise InputError(f"a sketch is merged with a sketch, got {type(other).__name__}")
    if hasattr(other, "columns") and not hasattr(own, "columns"):
        raise InputError(
            f"a sketch without groups is merged with one that holds groups "
            f"({', '.join(column.name for column in other.columns)}), which would be lost: give the same groups with "
            "all parts"
        )


_LARGEST = 1_500  # rows of a matrix of second moments


@dataclass(frozen=True, eq=False)
class Subject:
    """What the first batch says.

    Attributes
    ----------
    family : str
        Family of the predictions.
    event_shape : tuple of int
        Shape of a target.
    classes : tuple of str or None
        Names of the classes, quoted.
    columns : int
        Numbers that describe a prediction: of classes, their number.
    question : str or None
        What a lens has asked.
    binned : tuple of pairs of str
        Names of the binned errors, and what each asks.
    target_kernel : Kernel
        Kernel between targets.
    second_moments : bool
        Whether matrices of second moments are held.
    levels : tuple of float
        Levels of quantile forecasts.
    """

    family: str
    event_shape: tuple[int, ...]
    classes: tuple[str, ...] | None
    columns: int
    question: str | None
    binned: tuple[tuple[str, str], ...]
    target_kernel: Kernel
    second_moments: bool
    levels: tuple[float, ...] = ()

    @classmethod
    def of(cls, batch: Predictions, settings: Settings) -> Self:
        """What a batch is about."""
        target = _default_target(settings.target_kernel, batch)
        _refuse_families(batch, target)
        batch = batch[:1]
        for kernel in (settings.prediction_kernel, target):
            kernel.map_leaves(_refuse_median)
        names = batch.classes if isinstance(batch, ClassPredictions) else None
        classes = isinstance(batch, ClassPredictions)
        size = settings.engine.frequencies * (1 if isinstance(batch, Bernoulli) else batch.columns)
        return cls(
            family=type(batch).__name__,
            event_shape=batch.event_shape,
            classes=None if names is None else tuple(map(repr, names)),
            columns=batch.columns,
            question=batch.question,
            binned=_binned(batch) if isinstance(batch, ClassPredictions) else (),
            target_kernel=target,
            second_moments=classes and settings.second_moments and size <= _LARGEST,
            levels=tuple(batch.levels.tolist()) if isinstance(batch, Quantiles) else (),
        )

    @property
    def of_classes(self) -> bool:
        """Whether classes are predicted."""
        return bool(self.binned)

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        own = {**vars(self), "target_kernel": kernel_to_plain(self.target_kernel)}
        own |= {"event_shape": list(self.event_shape), "binned": [list(pair) for pair in self.binned]}
        own |= {"levels": list(self.levels)}
        return {**own, "classes": None if self.classes is None else list(self.classes)}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Return the subject that was written."""
        own = {**plain, "target_kernel": kernel_from_plain(plain["target_kernel"])}
        own |= {"event_shape": tuple(plain["event_shape"]), "binned": tuple(map(tuple, plain["binned"]))}
        own |= {"levels": tuple(plain["levels"])}
        return cls(**{**own, "classes": None if plain["classes"] is None else tuple(plain["classes"])})


def _binned(batch: ClassPredictions) -> tuple[tuple[str, str], ...]:
    prepared = [ECE(question=question).prepare(batch) for question in usual_questions(batch)]
    return tuple((ece.names[0], ece.parts[0].part.name) for ece in prepared)


def _refuse_families(batch: Predictions, target_kernel: Kernel) -> None:
    if not batch.drawable:
        raise InputError(
            f"a sketch draws targets from the predictions, and {type(batch).__name__} cannot be drawn from: use "
            "kernelcal.calibration_test"
        )
    if draws_in(batch):
        raise InputError(
            "draws are not the law that they come from, so a sketch has no exact test of Samples: use "
            "calibration_test(..., null='swap') on parts of the rows"
        )
    if not isinstance(batch, ClassPredictions) and not isinstance(target_kernel, PIT | QuantileLevels | Spectral):
        raise InputError(
            f"a sketch needs residuals with features, which {target_kernel} between numbers does not give: pass "
            "target_kernel=kernelcal.kernels.PIT() or Spectral(kernel)"
        )
