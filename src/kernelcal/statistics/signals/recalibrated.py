"""Which slope and intercepts would recalibrate class predictions, and how surely: a logistic fit by Newton steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.predictions import ClassPredictions

__all__ = ["Recalibrated", "recalibrated"]


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
    predictions: ClassPredictions, labels: np.ndarray, weights: np.ndarray | None, classes: np.ndarray
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
    value, gradient, information, _, _ = fit.at(theta)
    for _ in range(_STEPS):
        step = np.linalg.solve(information, gradient)
        for _ in range(_HALVINGS):
            trial = fit.at(theta + step)
            if trial[0] >= value:
                break
            step = step / 2
        else:
            break
        theta = theta + step
        value, gradient, information = trial[:3]
        if float(gradient @ step) < _ENOUGH and float(np.abs(step).max()) < _ENOUGH:
            break
    _, _, information, modelled, observed = fit.at(theta)
    inverse = np.linalg.inv(information)[0]
    error = np.sqrt(max(inverse @ modelled @ inverse, inverse @ observed @ inverse))
    return Recalibrated(float(theta[0]), float(error))


class _Fit:
    """Likelihood of slope and intercepts, with its derivatives."""

    def __init__(
        self, predictions: ClassPredictions, labels: np.ndarray, weights: np.ndarray | None, classes: np.ndarray
    ) -> None:
        self.predictions, self.labels, self.classes = predictions, labels, classes
        self.weights = np.ones(len(labels)) if weights is None else weights
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
        for part in row_slices(len(self.labels), _ROWS):
            likelihood, score, q, inner, w = self._rows(theta, part)
            value += float(w @ likelihood)
            gradient += w @ score
            information += _within(q, inner, w)
            modelled += _within(q, inner, w**2)
            observed += (score * w[:, None] ** 2).T @ score
        return value, gradient, information, modelled, observed

    def _rows(self, theta: np.ndarray, part: slice) -> tuple[np.ndarray, ...]:
        given, labels, w = to_numpy(self.predictions[part].log_probabilities), self.labels[part], self.weights[part]
        kept = np.isfinite(given[np.arange(len(given)), labels])
        given, labels, w = given[kept].astype(np.float64), labels[kept], w[kept]
        possible, rows = np.isfinite(given), np.arange(len(given))
        logs = np.where(possible, given, 0.0)
        intercepts = np.append(theta[1:], 0.0)[self.column]
        scores = np.where(possible, theta[0] * logs + intercepts, -np.inf)
        scores -= scores.max(axis=1, keepdims=True)
        q = np.exp(scores)
        total = q.sum(axis=1, keepdims=True)
        q /= total
        mean = (q * logs).sum(axis=1)
        own = np.zeros((len(rows), len(self.classes) + 1))
        own[rows, self.column[labels]] = 1.0  # the last column holds the classes without an intercept
        score = np.column_stack([logs[rows, labels] - mean, own[:, :-1] - q[:, self.classes]])
        inner = np.stack([mean, (q * logs**2).sum(axis=1)])
        likelihood = scores[rows, labels] - np.log(total[:, 0])
        return likelihood, score, np.dstack([q[:, self.classes], (q * logs)[:, self.classes]]), inner, w


def _within(q: np.ndarray, inner: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Sum over rows of w times the covariance of (log p, indicators of classes) under the recalibrated predictions."""
    shares, logged = q[..., 0], q[..., 1]
    mean, square = inner
    size = 1 + shares.shape[1]
    found = np.empty((size, size))
    found[0, 0] = w @ (square - mean**2)
    found[0, 1:] = found[1:, 0] = w @ (logged - shares * mean[:, None])
    found[1:, 1:] = np.diag(w @ shares) - (shares * w[:, None]).T @ shares
    return found
