"""What may be said of slope and bias of class predictions: nothing that a recalibration fit would contradict."""

from __future__ import annotations

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.predictions import ClassPredictions
from kernelcal.statistics.signals.clear import beyond_errors, clear_of_zero
from kernelcal.statistics.signals.recalibrated import Recalibrated, recalibrated

__all__ = ["ClassWords"]


_ROWS = 4096
_CLASSES_NAMED = 3
_INTERCEPTS = 32  # of a fit: the classes whose counts deviate most


class ClassWords:
    """Sentences about one set of labels of fixed predictions.

    Over- and under-confidence are what the slope of a logistic recalibration says, ``softmax(a log p + b)``: the
    predictions are over-confident where a is clearly below 1, whatever intercepts b the classes have. A bias is told in
    counts. Of a first choice (`TopLabel`), whose probability is a confidence, the bias is the over-confidence.
    """

    def __init__(
        self,
        predictions: ClassPredictions,
        weights: np.ndarray | None,
        expected: np.ndarray,
        variance: np.ndarray,
    ) -> None:
        self.predictions, self.p, self.weights = predictions, to_numpy(predictions.probabilities), weights
        self.expected, self.variance = expected, variance
        self._fitted: tuple[np.ndarray, Recalibrated] | None = None

    def clear(self, name: str, labels: np.ndarray) -> bool:
        """Tell whether a slope is clearly not 1, or a count deviates by the spread of the observed rows too."""
        if name == "slope":
            fit = self.fit(labels)
            return bool(beyond_errors(np.array([fit.slope - 1]), np.array([fit.error]))[0])
        return bool(self._clear_counts(labels).any())

    def sentence(self, name: str, labels: np.ndarray, counts: np.ndarray) -> str:
        """Say in which direction a signal deviates; counts are those of the classes."""
        if name == "slope":
            slope = self.fit(labels).slope
            return f"{'over' if slope < 1 else 'under'}-confident (slope {slope:.2g})"
        deviations = (counts - self.expected) / np.sqrt(self.variance + 1)
        if len(deviations) == 2:
            return self._one_class(1, deviations[1], counts[1])
        clear = self._clear_counts(labels)
        largest = np.argsort(-np.abs(deviations), kind="stable")[:_CLASSES_NAMED]
        first = largest[0]
        strong = [k for k in largest if k == first or (clear[k] and abs(deviations[k]) >= 0.5 * abs(deviations[first]))]
        return ", ".join(self._one_class(k, deviations[k], counts[k]) for k in strong)

    def fit(self, labels: np.ndarray) -> Recalibrated:
        """Slope beside intercepts; asked again about the same labels, the same one."""
        if self._fitted is None or self._fitted[0] is not labels:
            self._fitted = labels, recalibrated(self.predictions, labels, self.weights, self._intercepts(labels))
        return self._fitted[1]

    def _intercepts(self, labels: np.ndarray) -> np.ndarray:
        """Classes with an intercept: all but the one that is expected most, or those that deviate most."""
        m = len(self.expected)
        counts = np.bincount(labels, self.weights, minlength=m)
        deviations = np.abs(counts - self.expected) / np.sqrt(self.variance + 1)
        deviations[int(self.expected.argmax())] = -1.0
        return np.sort(np.argsort(-deviations, kind="stable")[: min(m - 1, _INTERCEPTS)])

    def _clear_counts(self, labels: np.ndarray) -> np.ndarray:
        """Whether the count of every class deviates by the spread of its residuals."""
        n, m = len(labels), len(self.expected)
        sums, squares = np.zeros(m), np.zeros(m)
        for part in row_slices(n, _ROWS):
            p = self.p[part].astype(np.float64)
            w = np.ones(len(p)) if self.weights is None else self.weights[part]
            terms = -p
            terms[np.arange(len(p)), labels[part]] += 1
            terms *= w[:, None]
            sums += terms.sum(axis=0)
            squares += (terms**2).sum(axis=0)
        if m == 2:  # one tells all
            return np.repeat(clear_of_zero(sums[1:], squares[1:], n), 2)
        return clear_of_zero(sums, squares, n)

    def _one_class(self, k: int, deviation: float, count: float) -> str:
        word = "over-predicted" if deviation < 0 else "under-predicted"
        name, expected = self.predictions.class_name(k), self.expected[k]
        said = f"class {name} is {word} ({expected:,.1f} expected, {count:,.10g} observed)"
        if self.predictions.question != "top label":
            return said
        return f"{'over' if deviation < 0 else 'under'}-confident: {said}"
