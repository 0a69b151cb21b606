"""Calibration in scikit-learn: scorers for `cross_val_score` and `GridSearchCV`, and a classifier that is repaired."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelcal.errors import InputError, MissingExtraError
from kernelcal.predictions import Bernoulli, Categorical, Normal
from kernelcal.statistics import (
    accuracy,
    brier_score,
    ckce,
    crps,
    ece,
    jkce,
    log_score,
    mce,
    mmce,
    negative_log_likelihood,
    skce,
    ucme,
)

if TYPE_CHECKING:  # scikit-learn is imported when this is asked for
    from kernelcal.sklearn.recalibrators import Recalibrator

__all__ = ["CalibrationScorer", "Recalibrator", "predictions_of", "scorer"]


_FUNCTIONS: dict[str, Any] = {
    "skce": skce,
    "ckce": ckce,
    "jkce": jkce,
    "ucme": ucme,
    "ece": ece,
    "mce": mce,
    "mmce": mmce,
    "log_score": log_score,
    "brier_score": brier_score,
    "accuracy": accuracy,
    "crps": crps,
    "negative_log_likelihood": negative_log_likelihood,
}
_NO_CLASSES = (crps, negative_log_likelihood)


def scorer(statistic: str | Callable[..., Any] = "skce", **options: Any) -> CalibrationScorer:
    """Make a scorer of scikit-learn from an error, a score, or a function of yours.

    Parameters
    ----------
    statistic : str or callable
        ``"skce"``, ``"ckce"``, ``"jkce"``, ``"ucme"``, ``"ece"``, ``"mce"``, ``"mmce"``, ``"log_score"``,
        ``"brier_score"``, ``"accuracy"``; for regressors also ``"crps"`` and ``"negative_log_likelihood"``. Or a
        function ``f(y, predictions)`` that returns a number, with a parameter ``weights`` if it is to be given sample
        weights; its `y` are numbers of classes.
    **options
        For the statistic, such as ``bins=10`` or ``prediction_kernel=kernelcal.Laplacian(0.2)``; and
        ``greater_is_better``, which is False for everything but the accuracy: the score is then the negative value, as
        scikit-learn has it.

    Returns
    -------
    CalibrationScorer
        Called as ``scorer(estimator, X, y, sample_weight=None)``.

    Raises
    ------
    InputError
        For a name or an option that is not known, at once and not at the first fold.
    MissingExtraError
        Without scikit-learn, the extra ``sklearn``.

    Notes
    -----
    An error of calibration alone rewards models that say nothing: prefer a proper score (``"log_score"``,
    ``"brier_score"``) to choose a model, and look at both. Errors need one lengthscale for all folds to be comparable:
    give a kernel with a number, ``prediction_kernel=kernelcal.Laplacian(0.2)``.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import GridSearchCV, cross_val_score
    >>> from kernelcal.sklearn import scorer
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2))
    >>> y = np.where(rng.random(200) < 1 / (1 + np.exp(-x[:, 0])), "rain", "dry")
    >>> cross_val_score(LogisticRegression(), x, y, scoring=scorer("ece", bins=5), cv=3).shape
    (3,)
    >>> both = {"log": scorer("log_score"), "skce": scorer("skce", prediction_kernel=kc.Laplacian(0.2))}
    >>> search = GridSearchCV(LogisticRegression(), {"C": [0.01, 1.0]}, scoring=both, refit="log").fit(x, y)
    >>> sorted(name for name in search.cv_results_ if name.startswith("mean_test"))
    ['mean_test_log', 'mean_test_skce']
    """
    return CalibrationScorer(statistic, **options)


class CalibrationScorer:
    """A scorer that asks the estimator which classes its columns are; `scorer` describes its options.

    With metadata routing (``sklearn.set_config(enable_metadata_routing=True)``) sample weights come through
    ``cross_val_score(..., params={"sample_weight": w})`` once ``set_score_request(sample_weight=True)`` was called, as
    for scorers of scikit-learn itself.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from kernelcal.sklearn import CalibrationScorer, scorer
    >>> x, y = np.arange(20.0)[:, None], np.arange(20) // 10
    >>> score = scorer("skce")
    >>> isinstance(score, CalibrationScorer), score(LogisticRegression().fit(x, y), x, y) > -1
    (True, True)
    """

    def __init__(self, statistic: str | Callable[..., Any], **options: Any) -> None:
        _module()
        if isinstance(statistic, str) and statistic not in _FUNCTIONS:
            raise InputError(
                f"unknown statistic {statistic!r}: {', '.join(_FUNCTIONS)}, or a function (y, predictions)"
            )
        if not isinstance(statistic, str) and not callable(statistic):
            raise InputError(f"statistic must be a name or a function (y, predictions), got {statistic!r}")
        self._function = _FUNCTIONS[statistic] if isinstance(statistic, str) else statistic
        self._name = statistic if isinstance(statistic, str) else getattr(statistic, "__name__", repr(statistic))
        better = options.pop("greater_is_better", self._function is accuracy)
        if not isinstance(better, bool | np.bool_):
            raise InputError(f"greater_is_better must be True or False, got {better!r}")
        self._sign = 1.0 if better else -1.0
        self._options = options
        self._request: dict[str, bool | str | None] = {"sample_weight": None}
        _refuse_unknown(self._function, options)

    def __call__(self, estimator: Any, X: Any, y: Any = None, *, sample_weight: Any = None) -> float:
        """Score a fitted estimator on some rows.

        Parameters
        ----------
        estimator : estimator of scikit-learn
            A classifier with ``predict_proba``, or a regressor whose ``predict`` takes ``return_std=True``.
        X : array of shape (n, features)
            Rows.
        y : array of shape (n,)
            Their targets: labels of any type.
        sample_weight : array of shape (n,), optional
            Case weights.

        Returns
        -------
        float
            The value, negative where smaller is better.

        Raises
        ------
        InputError
            For an estimator that predicts no distribution, and a label that it never saw.
        """
        targets, predictions = predictions_of(estimator, X, y)
        weights = {} if sample_weight is None else {"weights": np.asarray(sample_weight)}
        return self._sign * float(self._function(targets, predictions, **weights, **self._options))

    def set_score_request(self, *, sample_weight: bool | str | None = None) -> CalibrationScorer:
        """Say whether sample weights are wanted, where scikit-learn routes metadata; returns itself."""
        self._request = {"sample_weight": sample_weight}
        return self

    def get_metadata_routing(self) -> Any:
        """Return what scikit-learn is to hand on."""
        request = _module().utils.metadata_routing.MetadataRequest(owner=self)
        for name, alias in self._request.items():
            request.score.add_request(param=name, alias=alias)
        return request

    def __repr__(self) -> str:
        sign = "" if self._sign > 0 else "negative "
        options = "".join(f", {name}={value!r}" for name, value in self._options.items())
        return f"scorer({self._name!r}{options}) of kernelcal, {sign}value"


def predictions_of(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    """Return targets and predictions of a fitted estimator, as the functions of kernelcal take them.

    Parameters
    ----------
    estimator, X, y
        As for `CalibrationScorer`.

    Returns
    -------
    tuple of array and Predictions
        Class numbers and `Bernoulli` of the second class, or `Categorical`; or targets and `Normal`.

    Raises
    ------
    InputError
        For an estimator that predicts no distribution, and a label that it never saw.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from kernelcal.sklearn import predictions_of
    >>> x, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["no", "no", "yes", "yes"])
    >>> targets, p = predictions_of(LogisticRegression().fit(x, y), x, y)
    >>> targets, type(p).__name__
    (array([0, 0, 1, 1]), 'Bernoulli')
    """
    if hasattr(estimator, "predict_proba"):
        return _of_classes(estimator, X, y)
    try:
        mean, std = estimator.predict(X, return_std=True)
    except TypeError:
        raise InputError(
            f"{type(estimator).__name__} predicts points, which have no calibration: take a classifier with "
            "predict_proba, or a regressor whose predict takes return_std=True (GaussianProcessRegressor, "
            "BayesianRidge)"
        ) from None
    return np.asarray(y), Normal(mean, std)


def _of_classes(estimator: Any, X: Any, y: Any) -> tuple[Any, Any]:
    p, classes = estimator.predict_proba(X), getattr(estimator, "classes_", None)
    if isinstance(p, list) or np.ndim(p) != 2 or classes is None or len(classes) != p.shape[1]:
        raise InputError(
            f"{type(estimator).__name__} predicts several outputs, or no class for each column of predict_proba: score "
            "one output at a time"
        )
    labels = np.asarray(classes)
    place = {label: k for k, label in enumerate(labels.tolist())}
    given = np.asarray(y).ravel().tolist()
    unseen = next((label for label in given if label not in place), None)
    if unseen is not None:
        raise InputError(
            f"label {unseen!r} was not among the classes that the estimator was fitted on ({_some(labels)}): take "
            "folds with every class, StratifiedKFold"
        )
    targets = np.array([place[label] for label in given], dtype=np.int64)
    return targets, Bernoulli(p[:, 1]) if len(labels) == 2 else Categorical(p)


def _some(labels: np.ndarray) -> str:
    shown = ", ".join(map(repr, labels[:5].tolist()))
    return f"{shown}, ..." if len(labels) > 5 else shown


def _refuse_unknown(function: Callable[..., Any], options: dict[str, Any]) -> None:
    """Try options of our own functions on three rows, so that a wrong one is refused at once."""
    if function not in _FUNCTIONS.values():
        return
    some: Any = Bernoulli([0.2, 0.6, 0.4, 0.7]) if function not in _NO_CLASSES else Normal([0.0] * 4, [1.0] * 4)
    try:
        partial(function, **options)([0, 1, 0, 1], some)
    except TypeError as error:
        raise InputError(f"{function.__name__}: {error}") from None


def _module() -> Any:
    try:
        import sklearn.utils.metadata_routing
    except ImportError:
        raise MissingExtraError("scikit-learn", "sklearn", "a scorer") from None
    return sklearn


def __getattr__(name: str) -> Any:
    """Import the estimator, and with it scikit-learn, when it is asked for."""
    if name == "Recalibrator":
        from kernelcal.sklearn.recalibrators import Recalibrator

        return Recalibrator
    raise AttributeError(f"module 'kernelcal.sklearn' has no attribute {name!r}")
