"""Statistics: small frozen objects called with data; what depends on the predictions alone can be prepared."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.kernels import Integrator, Kernel, QuantileLevels
from kernelcal.lenses import Lens
from kernelcal.predictions import ClassPredictions, Predictions, Quantiles, Samples
from kernelcal.statistics.estimate import Estimate

__all__ = [
    "CallableStatistic",
    "Estimate",
    "Merge",
    "Prepared",
    "Statistic",
    "Through",
    "Together",
    "interpolation_notes",
    "target_notes",
]


@dataclass(frozen=True)
class Merge:
    """How several statistics become one p-value: which are ranked together, and what each group weighs.

    Parameters
    ----------
    groups : tuple of tuples of int
        Positions of statistics. Inside a group the smallest rank counts, and is ranked in turn; a statistic in no group
        is told and has no part in the p-value.
    weights : tuple of float
        Weight of every group: ranks are divided by them, so that a group of weight 2 is heard at twice the rank; but
        what no draw reaches, rank 1, is the same in all groups.
        Default: all alike.
    standardised : bool
        Whether values are on one scale already, by moments that no target changes: rows of one rank are then ordered by
        the values as they are, not by values that are standardised by all rows. The p-value then never falls when an
        observed value does, so that a test that is exact for larger values is conservative for these.

    Notes
    -----
    Groups and weights are fixed before targets are seen, or depend on the predictions alone: then the merged p-value is
    as exact as its members'.
    """

    groups: tuple[tuple[int, ...], ...]
    weights: tuple[float, ...] = ()
    standardised: bool = False

    def __post_init__(self) -> None:
        if not self.weights:
            object.__setattr__(self, "weights", (1.0,) * len(self.groups))
        flat = [k for group in self.groups for k in group]
        if not flat or not all(self.groups) or len(set(flat)) < len(flat):
            raise InputError(f"groups must hold every statistic once at most and one at least, got {self.groups!r}")
        if len(self.weights) != len(self.groups) or not all(0 < w < float("inf") for w in self.weights):
            raise InputError(f"weights must be a positive number for each of the groups, got {self.weights!r}")

    @classmethod
    def of_each(cls, number: int) -> Merge:
        """Return the merge of statistics that stand by themselves, all alike."""
        return cls(tuple((k,) for k in range(number)))


class Prepared(ABC):
    """Statistics of fixed predictions, ready for many sets of targets.

    Attributes
    ----------
    names : tuple of str
        One name a statistic.
    engine : str
        What computes them.
    bytes_per_draw : int
        Working memory of one more set of targets.
    notes : tuple of str
        What the reader of the result must know.
    merge : Merge or None
        How exact tests make one p-value of several statistics; None: each by itself, all alike.
    by_cells : bool
        Whether values look at the cells between the quantiles of `Quantiles` alone: exact tests then redraw cells.
    """

    names: tuple[str, ...]
    engine: str
    bytes_per_draw: int = 1024
    notes: tuple[str, ...] = ()
    merge: Merge | None = None
    by_cells: bool = False

    @abstractmethod
    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values for targets of shape (B, n): shape (B, statistics). Large values speak against calibration."""

    def flipped(self, targets: np.ndarray, signs: np.ndarray) -> np.ndarray | None:
        """Values of sums over rows whose signs change, for signs of shape (B, n): shape (B, sums); None without any.

        Beside sums of residuals they are looked at where rows are in clusters that differ by more than a shared part.
        """
        return None


class Together(Prepared):
    """Several prepared statistics of the same targets, side by side.

    Parameters
    ----------
    parts : sequence of Prepared
        Their names follow each other.
    merge : Merge, optional
        How they become one p-value; what it leaves out is told.
    """

    def __init__(self, parts: Sequence[Prepared], merge: Merge | None = None) -> None:
        self.parts, self.merge = tuple(parts), merge
        self.names = tuple(name for part in parts for name in part.names)
        self.engine = "; ".join(dict.fromkeys(part.engine for part in parts))
        self.bytes_per_draw = sum(part.bytes_per_draw for part in parts)
        self.by_cells = all(part.by_cells for part in parts)

    def values(self, targets: np.ndarray) -> np.ndarray:
        """Values of all of them, shape (B, statistics)."""
        return np.hstack([part.values(targets) for part in self.parts])


class Statistic(ABC):
    """A statistic that `calibration_test` can use: large values speak against calibration.

    Called with data it estimates. A subclass says what depends on the predictions alone, in `prepare`, and may say more
    of its estimate, in `estimated`.
    """

    def __call__(
        self, y: Any, predictions: Any, *, weights: Any = None, classes: Any = None, normalize: bool = False
    ) -> Estimate:
        """Estimate from targets and predictions.

        Parameters
        ----------
        y : array of shape (n,), or (n, d) for vectors
            Targets: class numbers 0 to m - 1, booleans, or labels named by `classes`; or numbers.
        predictions : Predictions or what `as_predictions` takes
            Predicted probabilities, or a family for numbers.
        weights : array of shape (n,), optional
            Case weights, not negative. Only their ratios matter; they are importances of single rows, not numbers of
            repetitions. Sums over pairs count a pair by the product of its weights.
        classes, normalize
            As for `as_predictions`.

        Returns
        -------
        Estimate
            ``float(...)`` gives the number.

        Raises
        ------
        InputError
            With the row and the remedy.
        """
        return self.estimated(Case.of(y, predictions, weights=weights, classes=classes, normalize=normalize))

    def estimated(self, case: Case) -> Estimate:
        """Estimate from what was checked already: the one value of what `prepare` returns."""
        batch = case.in_numpy.predictions
        statistic, notes = self.seeing(case.targets, batch)
        prepared = statistic.prepare(batch, case.weights)
        if len(prepared.names) > 1:
            raise InputError(_several(type(self).__name__, prepared.names))
        value = prepared.values(case.targets[None])[0, 0]
        estimator = getattr(self, "estimator", "plug-in")
        options = {} if batch.question is None else {"question": batch.question}
        notes = prepared.notes + notes
        return Estimate(value, prepared.names[0], estimator, len(case), prepared.engine, options, notes)

    @property
    def resident(self) -> bool:
        """Whether values for many sets of targets are made where the predictions lie (`Predictions.placed`).

        Statistics that do not say so are given NumPy arrays.
        """
        return False

    @abstractmethod
    def prepare(self, predictions: Any, weights: np.ndarray | None = None) -> Prepared:
        """Do what depends on the predictions (and case weights) alone, before any label is seen."""

    def seeing(self, targets: np.ndarray, predictions: Any) -> tuple[Statistic, tuple[str, ...]]:
        """Fix what only the observed targets tell, and say so; nothing, for statistics that exact tests rest on."""
        return self, ()

    def resolved(self, predictions: Any) -> Statistic:
        """Fix what is chosen from the predictions, such as a median lengthscale, for use with other rows."""
        return self

    def among(self, rows: np.ndarray) -> Statistic:
        """Return the same for some of the rows, where it knows anything of rows."""
        return self


@dataclass(frozen=True)
class CallableStatistic(Statistic):
    """Any function ``f(y, predictions) -> number`` as a statistic; it is called once a draw.

    Parameters
    ----------
    function : callable
        Called with targets of shape (n,), integers for classes (or (n, d) for vectors), and the predictions.
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


def _several(name: str, members: tuple[str, ...]) -> str:
    return (
        f"{name} is {len(members)} statistics ({', '.join(members)}) and has no single estimate: pass it to "
        "kernelcal.calibration_test(y, predictions, statistic=...), whose result lists them, or call one of them, such "
        "as kernelcal.skce"
    )


def _as_labels(targets: np.ndarray) -> np.ndarray:
    """Class labels are drawn in the smallest type; a function may count on ordinary integers."""
    return targets.astype(np.int64) if targets.dtype.kind in "iu" else targets


def interpolation_notes(predictions: Any, target_kernel: Kernel) -> tuple[str, ...]:
    """Say that a target kernel that was given asks quantile forecasts about what they did not forecast."""
    if not isinstance(predictions, Quantiles) or isinstance(target_kernel, QuantileLevels):
        return ()
    return (
        f"{target_kernel} compares outcomes with the law that is linear between the quantiles and has tails of its "
        "own, which was not forecast: true quantiles of curved laws are rejected. Without target_kernel the levels "
        "alone are asked",
    )


_MANY_DRAWS = 50  # of a row; below, they are far from the law that they come from


def target_notes(predictions: Predictions, integrator: Integrator | None) -> tuple[str, ...]:
    """Sentences for an estimate that takes expectations of a target kernel."""
    return _few_draws(predictions) + _approximate(integrator)


def _few_draws(predictions: Predictions) -> tuple[str, ...]:
    if not isinstance(predictions, Samples) or predictions.size >= _MANY_DRAWS:
        return ()
    return (
        f"with {predictions.size} draws a row the draws differ from the law behind them, and the error of a calibrated "
        "model is above 0; the swap test allows for it",
    )


def _approximate(integrator: Integrator | None) -> tuple[str, ...]:
    if integrator is None:
        return ()
    return (
        "an integrator was given: where no closed form exists the value has its error, which can exceed a small "
        "calibration error; see how it changes with the order or the size",
    )


@dataclass(frozen=True)
class Through(Statistic):
    """One statistic of several simpler questions about the same labels.

    Parameters
    ----------
    statistic : Statistic
        What is computed for every question.
    lenses : sequence of Lens
        The questions.
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
