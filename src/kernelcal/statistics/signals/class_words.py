"""What may be said of slope and bias of class predictions: nothing that a recalibration fit would contradict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.dependence import MeanLaw
from kernelcal.pairs import threaded_map
from kernelcal.predictions import ClassPredictions
from kernelcal.statistics.signals.clear import beyond_errors, clear_of_zero, sums_with_errors

__all__ = ["ClassWords", "Recalibrated", "bias_in_words", "recalibrated"]


_ROWS = 4096
_STEPS, _HALVINGS, _ENOUGH = 25, 12, 1e-6
_PRIOR = np.array([4.0, 8.0])  # standard deviations of slope and intercepts about 1 and 0: data without an end have one


@dataclass(frozen=True)
class Recalibrated:
    """Slope of log probabilities beside intercepts of classes.

    Attributes
    ----------
    slope : float
        Factor a of the log probabilities: below 1 predictions are too sharp.
    error : float
        Its standard error: the larger one of that of the model and that of the observed rows.
    """

    slope: float
    error: float


def recalibrated(
    predictions: ClassPredictions,
    labels: np.ndarray,
    weights: np.ndarray | None,
    classes: np.ndarray,
    law: MeanLaw | None = None,
) -> Recalibrated:
    """Fit ``P(Y = k) = softmax_k(a log p + b)`` by maximum likelihood.

    Parameters
    ----------
    predictions : ClassPredictions
        Predictions in NumPy. Rows whose label was impossible take no part.
    labels : numpy.ndarray of shape (n,)
        What happened.
    weights : numpy.ndarray of shape (n,), optional
        Case weights.
    classes : numpy.ndarray of int
        Classes with an intercept b_k, fewer than m; the others have 0.
    law : MeanLaw, optional
        Law of means of rows that depend on each other, for the standard error.

    Returns
    -------
    Recalibrated

    Notes
    -----
    Normal priors of standard deviation 4 about a = 1, and 8 about b = 0, keep the fit finite where labels are
    separated. Cost: some 6 passes of O(n m + n J^2) for J intercepts.
    """
    fit = _Fit(predictions, labels, weights, classes)
    theta = np.zeros(1 + len(classes))
    theta[0] = 1.0
    found = fit.at(theta)
    for _ in range(_STEPS):
        value, gradient, information = found[:3]
        step = np.linalg.solve(information, gradient)
        for _ in range(_HALVINGS):
            trial = fit.at(theta + step)
            if trial[0] >= value:
                break
            step = step / 2
        else:
            break
        theta, found = theta + step, trial
        gradient = found[1]
        if float(gradient @ step) < _ENOUGH and float(np.abs(step).max()) < _ENOUGH:
            break
    _, _, information, modelled, observed = found
    inverse = np.linalg.inv(information)[0]
    error = np.sqrt(max(inverse @ modelled @ inverse, inverse @ observed @ inverse))
    if law is not None:
        error = max(error, sums_with_errors([fit.influences(theta, inverse)], law)[1][0])
    return Recalibrated(float(theta[0]), float(error))


class _Fit:
    """Likelihood of slope and intercepts, with its derivatives."""

    def __init__(
        self, predictions: ClassPredictions, labels: np.ndarray, weights: np.ndarray | None, classes: np.ndarray
    ) -> None:
        self.predictions, self.labels, self.classes = predictions, labels, classes
        self.weights, self.unweighted = np.ones(len(labels)) if weights is None else weights, weights is None
        self.parts = row_slices(len(labels), _ROWS, predictions.n_classes)
        self.logs = predictions.log_table(self.parts[0]) if len(self.parts) == 1 else None  # of few rows, for all steps
        self.column = np.full(predictions.n_classes, -1)  # of a class among the intercepts
        self.column[classes] = np.arange(len(classes))
        self.precision = 1 / _PRIOR[np.minimum(np.arange(1 + len(classes)), 1)] ** 2
        self.centre = np.zeros(1 + len(classes))
        self.centre[0] = 1.0

    def at(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Log likelihood, gradient, information, and the gradient's variance: as modelled, and as observed."""
        away, size = theta - self.centre, len(theta)
        value, gradient = -0.5 * float(self.precision @ away**2), -self.precision * away
        information, modelled, observed = np.diag(self.precision), np.zeros((size, size)), np.zeros((size, size))

        def of_rows(part: slice) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
            likelihood, score, shares, logged, inner, w = self._rows(theta, part)
            within = _within(shares, logged, inner, w)
            squared = within if self.unweighted else _within(shares, logged, inner, w**2)
            return float(w @ likelihood), w @ score, within, squared, (score * w[:, None] ** 2).T @ score

        many = len(self.parts) > 1
        found = threaded_map(of_rows, self.parts, None) if many else map(of_rows, self.parts)
        for own, slope, within, squared, seen in found:
            value += own
            gradient += slope
            information += within
            modelled += squared
            observed += seen
        return value, gradient, information, modelled, observed

    def influences(self, theta: np.ndarray, inverse: np.ndarray) -> np.ndarray:
        """What every row adds to the slope to the first order, shape (n,): 0 where the label was impossible."""
        found = np.zeros(len(self.labels))
        for part in self.parts:
            _, score, _, _, _, w = self._rows(theta, part)
            given = self.predictions.log_table(part) if self.logs is None else self.logs
            kept = np.isfinite(given[np.arange(len(given)), self.labels[part]])
            found[part][kept] = (score * w[:, None]) @ inverse
        return found

    def _rows(self, theta: np.ndarray, part: slice) -> tuple[np.ndarray, ...]:
        given = self.predictions.log_table(part) if self.logs is None else self.logs
        labels, w = self.labels[part], self.weights[part]
        kept = np.isfinite(given[np.arange(len(given)), labels])
        if not kept.all():
            given, labels, w = given[kept], labels[kept], w[kept]
        logs = given.astype(np.float64)  # a copy
        possible, rows = np.isfinite(logs), np.arange(len(logs))
        ruled_out = None if possible.all() else ~possible
        if ruled_out is not None:
            logs[ruled_out] = 0.0
        scores = theta[0] * logs
        scores += np.append(theta[1:], 0.0)[self.column]
        if ruled_out is not None:
            scores[ruled_out] = -np.inf
        scores -= scores.max(axis=1, keepdims=True)
        q = np.exp(scores)
        total = q.sum(axis=1, keepdims=True)
        q /= total
        logged = q * logs
        mean = logged.sum(axis=1)
        own = np.zeros((len(rows), len(self.classes) + 1))
        own[rows, self.column[labels]] = 1.0  # the last column holds the classes without an intercept
        score = np.column_stack([logs[rows, labels] - mean, own[:, :-1] - q[:, self.classes]])
        inner = np.stack([mean, np.multiply(logged, logs, out=logs).sum(axis=1)])
        likelihood = scores[rows, labels] - np.log(total[:, 0])
        return likelihood, score, q[:, self.classes], logged[:, self.classes], inner, w


def _within(shares: np.ndarray, logged: np.ndarray, inner: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Sum over rows of w times the covariance of (log p, indicators of classes) under the recalibrated predictions."""
    mean, square = inner
    size = 1 + shares.shape[1]
    found = np.empty((size, size))
    found[0, 0] = w @ (square - mean**2)
    found[0, 1:] = found[1:, 0] = w @ (logged - shares * mean[:, None])
    found[1:, 1:] = np.diag(w @ shares) - (shares * w[:, None]).T @ shares
    return found


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
        self.predictions, self.p, self.weights = predictions, predictions.table(), weights
        self.expected, self.variance = expected, variance
        self._fitted: tuple[np.ndarray, MeanLaw | None, Recalibrated] | None = None

    def clear(self, name: str, labels: np.ndarray, law: MeanLaw | None = None) -> bool:
        """Tell whether a slope is clearly not 1, or a count deviates by the spread of the observed rows too."""
        if name == "slope":
            fit = self.fit(labels, law)
            return bool(beyond_errors(np.array([fit.slope - 1]), np.array([fit.error]))[0])
        return bool(self._clear_counts(labels, law).any())

    def sentence(self, name: str, labels: np.ndarray, counts: np.ndarray, law: MeanLaw | None = None) -> str:
        """Say in which direction a signal deviates; counts are those of the classes."""
        if name == "slope":
            slope = self.fit(labels, law).slope
            return f"{'over' if slope < 1 else 'under'}-confident (slope {slope:.2g})"
        deviations = (counts - self.expected) / np.sqrt(self.variance + 1)
        if len(deviations) == 2:
            return self._one_class(1, deviations[1], counts[1])
        clear = self._clear_counts(labels, law)
        largest = np.argsort(-np.abs(deviations), kind="stable")[:_CLASSES_NAMED]
        first = largest[0]
        strong = [k for k in largest if k == first or (clear[k] and abs(deviations[k]) >= 0.5 * abs(deviations[first]))]
        return ", ".join(self._one_class(k, deviations[k], counts[k]) for k in strong)

    def fit(self, labels: np.ndarray, law: MeanLaw | None = None) -> Recalibrated:
        """Slope beside intercepts; asked again about the same labels, the same one."""
        if self._fitted is None or self._fitted[0] is not labels or self._fitted[1] is not law:
            classes = self._intercepts(labels)
            self._fitted = labels, law, recalibrated(self.predictions, labels, self.weights, classes, law)
        return self._fitted[2]

    def _intercepts(self, labels: np.ndarray) -> np.ndarray:
        """Classes with an intercept: all but the one that is expected most, or those that deviate most."""
        m = len(self.expected)
        counts = np.bincount(labels, self.weights, minlength=m)
        deviations = np.abs(counts - self.expected) / np.sqrt(self.variance + 1)
        deviations[int(self.expected.argmax())] = -1.0
        return np.sort(np.argsort(-deviations, kind="stable")[: min(m - 1, _INTERCEPTS)])

    def _clear_counts(self, labels: np.ndarray, law: MeanLaw | None) -> np.ndarray:
        """Whether the count of every class deviates by the spread of its residuals."""
        n, m = len(labels), len(self.expected)
        if law is not None:
            return self._clear_of_dependent(labels, law)
        sums, squares = np.zeros(m), np.zeros(m)
        for part in row_slices(n, _ROWS, m):
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

    def _clear_of_dependent(self, labels: np.ndarray, law: MeanLaw) -> np.ndarray:
        """Return the same of rows that depend on each other, class by class: no table of all residuals is held."""
        w, m = 1.0 if self.weights is None else self.weights, len(self.expected)
        every = range(m) if m > 2 else range(1, 2)
        columns = (w * ((labels == k) - self.p[:, k].astype(np.float64)) for k in every)
        clear = beyond_errors(*sums_with_errors(columns, law, len(every)))
        return clear if m > 2 else np.repeat(clear, 2)

    def _one_class(self, k: int, deviation: float, count: float) -> str:
        name, top = self.predictions.class_name(k), self.predictions.question == "top label"
        return bias_in_words(name, deviation, float(self.expected[k]), count, top=top)


def bias_in_words(name: Any, deviation: float, expected: float, observed: float, *, top: bool) -> str:
    """Say whether a class is predicted too often or too seldom; of a first choice (`top`) that is its confidence."""
    word = "over-predicted" if deviation < 0 else "under-predicted"
    said = f"class {name} is {word} ({expected:,.1f} expected, {observed:,.10g} observed)"
    return f"{'over' if deviation < 0 else 'under'}-confident: {said}" if top else said
