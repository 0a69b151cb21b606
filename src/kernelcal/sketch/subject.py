"""What a sketch is about: the kind of predictions and of targets, the same in every part of the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

from kernelcal.errors import InputError
from kernelcal.inference.calibration import draws_in
from kernelcal.kernels import Kernel, Spectral
from kernelcal.kernels.plain import kernel_from_plain, kernel_to_plain
from kernelcal.predictions import Bernoulli, ClassPredictions, Predictions
from kernelcal.sketch.settings import Settings, default_target, refuse_median
from kernelcal.statistics import ECE
from kernelcal.statistics.questions import usual_questions

__all__ = ["Subject"]

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
    """

    family: str
    event_shape: tuple[int, ...]
    classes: tuple[str, ...] | None
    columns: int
    question: str | None
    binned: tuple[tuple[str, str], ...]
    target_kernel: Kernel
    second_moments: bool

    @classmethod
    def of(cls, batch: Predictions, settings: Settings) -> Self:
        """What a batch is about."""
        target = default_target(settings.target_kernel, batch)
        _refuse_families(batch, target)
        batch = batch[:1]
        for kernel in (settings.prediction_kernel, target):
            kernel.map_leaves(refuse_median)
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
        )

    @property
    def of_classes(self) -> bool:
        """Whether classes are predicted."""
        return bool(self.binned)

    def plain(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        own = {**vars(self), "target_kernel": kernel_to_plain(self.target_kernel)}
        own |= {"event_shape": list(self.event_shape), "binned": [list(pair) for pair in self.binned]}
        return {**own, "classes": None if self.classes is None else list(self.classes)}

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Self:
        """Return the subject that was written."""
        own = {**plain, "target_kernel": kernel_from_plain(plain["target_kernel"])}
        own |= {"event_shape": tuple(plain["event_shape"]), "binned": tuple(map(tuple, plain["binned"]))}
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
    if not isinstance(batch, ClassPredictions) and not isinstance(target_kernel, Spectral):
        raise InputError(
            f"a sketch needs residuals with features, which {target_kernel} between numbers does not give: pass "
            "target_kernel=kernelcal.kernels.Spectral(kernel)"
        )
