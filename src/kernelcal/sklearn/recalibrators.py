"""A classifier of scikit-learn whose probabilities are recalibrated by what other rows have shown."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.predictions import Bernoulli, Categorical
from kernelcal.recalibration import Recalibration, recalibrate

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import check_cv
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data
except ImportError:  # the class below says what is missing when one is made

    class _Absent:
        """Stands in for the classes of scikit-learn where that is not installed."""

        def __new__(cls, *_: Any, **__: Any) -> Self:
            raise MissingExtraError("scikit-learn 1.6", "sklearn", "an estimator") from None

    class _AbsentToo:
        """The same, for the second base."""

    ClassifierMixin, BaseEstimator = _AbsentToo, _Absent


__all__ = ["Recalibrator"]


class Recalibrator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A classifier of scikit-learn with recalibrated probabilities.

    Parameters
    ----------
    estimator : classifier with ``predict_proba``, optional
        The model. It is fitted to all rows, and the map to its predictions of rows that were left out of fits to the
        others; a logistic regression where none is given. A fitted model that shall stay as it is goes with
        ``cv="prefit"``, or as ``sklearn.frozen.FrozenEstimator``: the rows of `fit` are then rows that it was not
        trained on.
    method : str
        As for `kernelcal.recalibration.recalibrate`.
    cv : int, splitter of scikit-learn or "prefit"
        How rows are left out.
    rng : int
        Seed of the folds of the map.

    Attributes
    ----------
    classes_ : numpy.ndarray
        Labels, in the order of the columns of ``predict_proba``.
    estimator_ : estimator
        The fitted model.
    recalibration_ : kernelcal.recalibration.Recalibration
        The map, without a test: what it does for rows it has not seen is told by its method `check`.

    Notes
    -----
    In rows of one cluster (a patient, a question) leave clusters out together: ``cv=list(GroupKFold(5).split(X, y,
    groups))``; the folds of the map itself are of rows.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from kernelcal.sklearn import Recalibrator
    >>> x, y = load_breast_cancer(return_X_y=True)
    >>> model = Recalibrator(GaussianNB()).fit(x[:400], y[:400])
    >>> check = model.recalibration_.check(y[400:], model.estimator_.predict_proba(x[400:])[:, 1])
    >>> before, after = check.scores["log score"]
    >>> after < before
    True
    """

    def __init__(self, estimator: Any = None, *, method: str = "auto", cv: Any = 5, rng: Any = 0) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.rng = rng

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model and the map.

        Raises
        ------
        InputError
            For a model without ``predict_proba``, and fewer rows than a map takes.
        """
        model = LogisticRegression() if self.estimator is None else self.estimator
        if not hasattr(model, "predict_proba"):
            raise InputError(
                f"{type(model).__name__} has no predict_proba: a map takes probabilities; of margins make them first"
            )
        ready = self._is_ready(model)
        if self.estimator is None:
            X, y = validate_data(self, X, y)
        check_classification_targets(y)
        labels = np.asarray(y).ravel()
        weights = None if sample_weight is None else np.asarray(sample_weight, dtype=float)
        self.classes_, numbers = np.unique(labels, return_inverse=True)
        if ready:
            self.estimator_ = model
            self.classes_ = np.asarray(model.classes_)
            numbers = _places(labels, self.classes_)
            p = model.predict_proba(X)
        elif len(self.classes_) < 2:
            raise InputError(f"y has one class, {labels[0]!r}: a classifier takes two or more")
        else:
            p = self._left_out(model, X, labels, weights)
            self.estimator_ = _fitted(clone(model), X, labels, weights)
        if hasattr(self.estimator_, "n_features_in_"):
            self.n_features_in_ = self.estimator_.n_features_in_
        if hasattr(self.estimator_, "feature_names_in_"):
            self.feature_names_in_ = self.estimator_.feature_names_in_
        seen = np.isfinite(p).all(axis=1)
        given = None if weights is None else weights[seen]
        self.recalibration_: Recalibration = recalibrate(
            numbers[seen], _batch(p[seen]), self.method, weights=given, test=False, rng=self.rng
        )
        return self

    def _is_ready(self, model: Any) -> bool:
        if isinstance(self.cv, str) and self.cv != "prefit":
            raise InputError(f"cv is a number of folds, a splitter of scikit-learn or 'prefit', got {self.cv!r}")
        ready = isinstance(self.cv, str) or type(model).__name__ == "FrozenEstimator"
        if ready:
            check_is_fitted(model)
        return ready

    def _left_out(self, model: Any, X: Any, labels: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Predictions of rows by fits to the others, a class that those lack with probability 0."""
        from sklearn.utils import _safe_indexing  # as its own estimators take rows of arrays and frames

        p = np.full((len(labels), len(self.classes_)), np.nan)
        for fit, held in check_cv(self._folds(labels), labels, classifier=True).split(X, labels):
            own = None if weights is None else weights[fit]
            made = _fitted(clone(model), _safe_indexing(X, fit), labels[fit], own)
            part = np.zeros((len(held), len(self.classes_)))
            part[:, _places(made.classes_, self.classes_)] = made.predict_proba(_safe_indexing(X, held))
            p[held] = part
        return p

    def _folds(self, labels: np.ndarray) -> Any:
        if not isinstance(self.cv, int | np.integer):
            return self.cv
        fewest = int(np.unique(labels, return_counts=True)[1].min())
        return max(2, min(self.cv, fewest))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return recalibrated probabilities, shape (n, k)."""
        check_is_fitted(self, "recalibration_")
        if self.estimator is None:
            X = validate_data(self, X, reset=False)
        made = self.recalibration_(_batch(np.asarray(self.estimator_.predict_proba(X))))
        return np.stack([1 - made.p, made.p], axis=1) if isinstance(made, Bernoulli) else np.asarray(made.probs)

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable label of every row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])


def _fitted(model: Any, X: Any, y: np.ndarray, weights: np.ndarray | None) -> Any:
    if weights is None:
        return model.fit(X, y)
    if not has_fit_parameter(model, "sample_weight"):
        raise InputError(f"{type(model).__name__}.fit takes no sample_weight: leave the weights out")
    return model.fit(X, y, sample_weight=weights)


def _places(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Numbers of labels among classes, which need not be sorted."""
    order = np.argsort(classes)
    place = order[np.searchsorted(classes, labels, sorter=order).clip(0, len(classes) - 1)]
    unseen = np.flatnonzero(np.asarray(classes)[place] != labels)
    if len(unseen):
        raise InputError(f"row {int(unseen[0])}: the model does not know the label {labels[unseen[0]]!r}")
    return np.asarray(place)


def _batch(p: np.ndarray) -> Any:
    p = np.asarray(p, dtype=np.float64)
    p = p / p.sum(axis=1, keepdims=True)
    return Bernoulli(p[:, 1].clip(0, 1)) if p.shape[1] == 2 else Categorical(p)
