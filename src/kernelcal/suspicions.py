"""Input that can be used but looks like a mistake: say so beside the result, with the likely cause."""

from __future__ import annotations

import math

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.predictions import (
    ClassPredictions,
    DiagonalNormal,
    IsotropicNormal,
    Normal,
)
from kernelcal.statistics.class_scores import accuracy_of

__all__ = ["class_suspicions", "number_suspicions"]

_ROWS = 20  # with fewer rows such things happen by chance
_NATS = 5.0  # log-likelihood ratio, which a right model reaches with probability exp(-5) at most (Markov)
_NEAR = 1.3  # factor within which a mean square is as good as right; with few residuals three standard errors


def class_suspicions(case: Case) -> tuple[str, ...]:
    """Sentences about mistakes that are often made: the wrong column, hard predictions, predicted labels as targets."""
    batch = case.predictions
    if len(batch) < _ROWS:
        return ()
    share = accuracy_of(case)
    found = []
    if batch.n_classes == 2 and share < 0.2:
        found.append(
            f"the more probable class is right in {share:.1%} of the rows only, the other one in {1 - share:.1%}: is "
            "this the probability of the other class, or are the classes in the wrong order?"
        )
    if _hard(batch):
        found.append(
            "all predictions are 0 or 1: if these are predicted labels, pass the predicted probabilities; labels "
            "alone say nothing about calibration"
        )
    elif share == 1:
        found.append("the target is the most probable class in every row: is it the predicted, not the true label?")
    return tuple(found)


def _hard(batch: ClassPredictions) -> bool:
    p = to_numpy(batch.probabilities)
    return bool(np.all((p == 0) | (p == 1)))


def number_suspicions(case: Case) -> tuple[str, ...]:
    """Sentences about mistakes with numbers: a variance as standard deviation, means as targets."""
    y, predictions = case.targets, case.predictions
    mean, std = (to_numpy(x).astype(np.float64) for x in (predictions.mean, predictions.std))
    if np.array_equal(y, mean):
        return ("the target equals the predicted mean in every row: is it the predicted, not the observed value?",)
    if isinstance(predictions, Normal | DiagonalNormal | IsotropicNormal):
        return _variances(y - mean, std)
    return ()


def _variances(residual: np.ndarray, std: np.ndarray) -> tuple[str, ...]:
    """Compare the likelihood of the spreads as given, as variances, and as standard deviations that were squared."""
    given, root, square = _Reading(residual, std), _Reading(residual, np.sqrt(std)), _Reading(residual, std**2)
    found = f"the squared standardised residuals average {given.mean_square:.3g}, where 1 is expected"
    if root.explains(given):
        return (
            f"{found}, and {root.mean_square:.3g} if the standard deviations are taken as variances: were variances "
            "passed as std? Pass std=numpy.sqrt(variance) (command line: --variance NAME)",
        )
    if square.explains(given):
        return (
            f"{found}, and {square.mean_square:.3g} if the variances are taken as standard deviations: were standard "
            "deviations passed as variances? (command line: --std NAME)",
        )
    return ()


class _Reading:
    """What the spreads may mean: the mean square of the residuals in their units, and the log-likelihood."""

    def __init__(self, residual: np.ndarray, std: np.ndarray) -> None:
        squares = (residual / std) ** 2
        self.mean_square = float(np.mean(squares))
        self.near = max(math.log(_NEAR), 3 * math.sqrt(2 / squares.size))
        self.log_likelihood = float(-np.sum(np.log(std) + squares / 2))

    def explains(self, given: _Reading) -> bool:
        """Tell whether this reading fits, and much better: if the given one is right, with probability < exp(-5)."""
        near = math.exp(-self.near) <= self.mean_square <= math.exp(self.near)
        return near and self.log_likelihood > given.log_likelihood + _NATS
