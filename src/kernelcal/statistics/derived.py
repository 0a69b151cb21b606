"""Statistics made of something else: of any function, and of another statistic that is asked simpler questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.lenses import Lens
from kernelcal.predictions import ClassPredictions, Predictions, Quantiles
from kernelcal.statistics.base import Estimate, Prepared, Statistic

__all__ = ["CallableStatistic", "Through"]


@dataclass(frozen=True)
class CallableStatistic(Statistic):
    """Any function ``f(y, predictions) -> number`` as a statistic; it is called once a draw.

    Parameters
    ----------
    function : callable
        Called with targets of shape (n,), integers for classes (or (n, d) for vectors), and the predictions.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import CallableStatistic
    >>> gap = CallableStatistic(lambda y, p: abs(y.mean() - 0.5))
    >>> kc.calibration_test([1] * 20, [0.5] * 20, statistic=gap, draws=99).pvalue
    0.01
    """

    function: Callable[[np.ndarray, Predictions], Any]

    def estimated(self, case: Case) -> Estimate:
        """Refused: the function itself is the estimate."""
        raise InputError(
            f"a function is its own estimate: call {_name_of(self.function)}(y, predictions), or pass it to "
            "kernelcal.calibration_test(y, predictions, statistic=...)"
        )

    def prepare(self, predictions: Predictions, weights: np.ndarray | None = None) -> Prepared:
        """Nothing is known about a function: every draw calls it."""
        if weights is not None:
            raise InputError("a function takes no weights from the test: use them inside the function")
        if isinstance(predictions, Quantiles):
            raise InputError(
                "quantile forecasts do not say how outcomes are distributed between their levels, so that none can be "
                "drawn for a function: use the default test, kernelcal.SKCE() or kernelcal.CKCE(), which look at the "
                "levels alone, or pass predictions of a whole distribution"
            )
        return _Called(self.function, predictions)


class _Called(Prepared):
    def __init__(self, function: Callable[..., Any], predictions: Predictions) -> None:
        self.function, self.predictions = function, predictions
        self.names = (_name_of(function),)
        self.engine = "one call a draw"
        self.bytes_per_draw = 16 * len(predictions)

    def values(self, targets: np.ndarray) -> np.ndarray:
        return np.array([[self._number(_as_labels(row))] for row in targets])

    def _number(self, targets: np.ndarray) -> float:
        value = self.function(targets, self.predictions)
        try:
            return float(value)
        except (TypeError, ValueError):
            raise InputError(
                f"the statistic {self.names[0]!r} must return one number, got {type(value).__name__} {value!r:.60}"
            ) from None


def _name_of(function: Callable[..., Any]) -> str:
    return str(getattr(function, "__name__", type(function).__name__))


def _as_labels(targets: np.ndarray) -> np.ndarray:
    """Class labels are drawn in the smallest type; a function may count on ordinary integers."""
    return targets.astype(np.int64) if targets.dtype.kind in "iu" else targets


@dataclass(frozen=True)
class Through(Statistic):
    """One statistic of several simpler questions about the same labels.

    Parameters
    ----------
    statistic : Statistic
        What is computed for every question.
    lenses : sequence of Lens
        The questions.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.statistics import Through
    >>> y, p = kc.datasets.m2(3).sample(60, rng=0)
    >>> kc.calibration_test(y, p, statistic=Through(kc.SKCE(), [kc.TopLabel(), kc.OneClass(0)]), draws=99).pvalue
    0.01
    """

    statistic: Statistic
    lenses: Sequence[Lens]

    def prepare(self, predictions: ClassPredictions, weights: np.ndarray | None = None) -> Prepared:
        """Prepare the statistic for every question."""
        return _PreparedThrough(self, predictions, weights)

    def resolved(self, predictions: ClassPredictions) -> Statistic:
        """Fix what is chosen from the predictions, where there is one question."""
        if len(self.lenses) != 1:
            return self
        return Through(self.statistic.resolved(self.lenses[0].view(predictions).predictions), self.lenses)


class _PreparedThrough(Prepared):
    def __init__(self, through: Through, predictions: ClassPredictions, weights: np.ndarray | None) -> None:
        self.views = [lens.view(predictions) for lens in through.lenses]
        self.parts = [through.statistic.prepare(view.predictions, weights) for view in self.views]
        several = len(self.views) > 1
        pairs = list(zip(self.views, self.parts, strict=True))
        self.names = tuple(
            f"{view.predictions.question}: {name}" if several else name for view, part in pairs for name in part.names
        )
        self.engine = self.parts[0].engine
        self.notes = tuple(dict.fromkeys(note for part in self.parts for note in part.notes))
        self.bytes_per_draw = max(part.bytes_per_draw for part in self.parts) + 16 * len(predictions)

    def values(self, labels: np.ndarray) -> np.ndarray:
        pairs = zip(self.views, self.parts, strict=True)
        return np.hstack([part.values(view.relabel(labels)) for view, part in pairs])
