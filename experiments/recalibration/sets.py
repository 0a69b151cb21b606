"""Predictions to repair: data that packages ship or make, and models that were fitted to a third of the rows.

Of iris and wine, which are too small for that, predictions are out of fold.
"""

from __future__ import annotations

import importlib
import warnings

import numpy as np
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn import datasets

__all__ = ["class_predictions", "number_predictions"]

MOST = 5000  # rows of a set: a third or 600 train, up to 2,000 calibrate, the rest tests
SMALL = 200  # rows up to which predictions are out of fold
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)


def class_sets():
    """Name, features, labels: seven real sets, of statsmodels where it is installed, and five made ones."""
    for load in (datasets.load_breast_cancer, datasets.load_digits, datasets.load_iris, datasets.load_wine):
        yield load.__name__.removeprefix("load_"), *load(return_X_y=True)
    for name, target, answer in (
        ("fair", "affairs", lambda y: (y > 0).astype(int)),
        ("anes96", "vote", lambda y: y.astype(int)),
        ("anes96", "PID", lambda y: y.astype(int)),
    ):
        try:
            frame = importlib.import_module(f"statsmodels.datasets.{name}").load_pandas().data
        except ImportError:
            print(f"statsmodels is not installed: {name} is left out")
            continue
        left_out = [target, "PID", "vote"] if target == "vote" else [target, "vote"]
        x = frame.drop(columns=[column for column in left_out if column in frame])
        yield f"{name} {target}", x.to_numpy(float), answer(frame[target].to_numpy(float))
    make = datasets.make_classification
    yield "made, 2 classes", *make(MOST, 20, n_informative=5, flip_y=0.1, class_sep=0.7, random_state=101)
    yield "made, 4 classes", *make(MOST, 20, n_informative=8, n_classes=4, flip_y=0.05, random_state=102)
    yield "moons", *datasets.make_moons(MOST, noise=0.4, random_state=103)
    yield "gaussian quantiles", *datasets.make_gaussian_quantiles(n_samples=MOST, n_features=5, random_state=104)
    x, y = datasets.make_hastie_10_2(MOST, random_state=105)
    yield "hastie", x, (y > 0).astype(int)


class Decisions:
    """A support vector classifier whose margins are taken for logits, as they should not be."""

    def __init__(self, seed):
        self.model = make_pipeline(StandardScaler(), SVC(decision_function_shape="ovr", random_state=seed))

    def fit(self, x, y):
        self.model.fit(x, y)
        return self

    def predict_proba(self, x):
        margins = self.model.decision_function(x)
        scores = np.column_stack([np.zeros(len(x)), margins]) if margins.ndim == 1 else margins
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        return powers / powers.sum(axis=1, keepdims=True)


def classifiers(seed):
    """Six classifiers by name."""
    return {
        "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
        "forest": RandomForestClassifier(60, min_samples_leaf=2, random_state=seed),
        "naive Bayes": GaussianNB(),
        "SVC margins": Decisions(seed),
        "boosting": GradientBoostingClassifier(n_estimators=25, random_state=seed),
        "network": make_pipeline(StandardScaler(), MLPClassifier((30,), max_iter=150, random_state=seed)),
    }


class OutOfFold:
    """Probabilities of every row by a model that was fitted to four other fifths."""

    def __init__(self, model, seed):
        self.model, self.seed = model, seed

    def of(self, x, y):
        folds, p = StratifiedKFold(5, shuffle=True, random_state=self.seed), np.empty((len(y), y.max() + 1))
        for fit, held in folds.split(x, y):
            p[held] = self.model.fit(x[fit], y[fit]).predict_proba(x[held])
        return p


def class_predictions(split):
    """Set, model, probabilities and labels of the rows that the model has not seen, in random order."""
    for name, x, y in class_sets():
        order = np.random.default_rng(split).permutation(len(y))[:MOST]
        third = min(len(order) // 3, 600)
        train, rest = order[:third], order[third:]
        for model, made in classifiers(split).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                if len(y) <= SMALL:
                    yield name, model, OutOfFold(made, split).of(x[order], y[order]), np.asarray(y[order])
                    continue
                fitted = made.fit(x[train], y[train])
            yield name, model, np.asarray(fitted.predict_proba(x[rest]), dtype=float), np.asarray(y[rest])


def ngboost_normal(x, y, rest, seed):
    """Normal laws of NGBoost; None where it is not installed."""
    try:
        from ngboost import NGBRegressor
    except ImportError as error:
        return print(f"ngboost is left out: {error}")
    law = NGBRegressor(n_estimators=200, verbose=False, random_state=seed).fit(x, y).pred_dist(rest).params
    return np.asarray(law["loc"]), np.asarray(law["scale"])


def forest_quantiles(x, y, rest, seed):
    """Quantiles of a quantile forest; None where it is not installed."""
    try:
        from quantile_forest import RandomForestQuantileRegressor
    except ImportError as error:
        return print(f"quantile-forest is left out: {error}")
    forest = RandomForestQuantileRegressor(100, min_samples_leaf=5, random_state=seed).fit(x, y)
    return (np.asarray(forest.predict(rest, quantiles=list(LEVELS))),)


def number_sets():
    """Features and outcomes by name: one real set, three of Friedman, and two whose noise is not normal or not even."""
    x, rng = np.random.default_rng(109).normal(size=(MOST, 6)), np.random.default_rng(110)
    uneven = x[:, 0] + np.abs(x[:, 1]) + np.exp(0.6 * x[:, 2] - 0.5) * rng.normal(size=MOST)
    heavy = x[:, 0] * x[:, 1] + x[:, 2] + 0.5 * rng.standard_t(3, size=MOST)
    return {
        "diabetes": datasets.load_diabetes(return_X_y=True),
        "friedman 1": datasets.make_friedman1(MOST, noise=2.0, random_state=106),
        "friedman 2": datasets.make_friedman2(MOST, noise=80.0, random_state=107),
        "friedman 3": datasets.make_friedman3(MOST, noise=0.2, random_state=108),
        "uneven noise": (x, uneven),
        "heavy tails": (x, heavy),
    }


def number_predictions(split):
    """Set, model, kind, predictions as arrays, outcomes."""
    for name, (x, y) in number_sets().items():
        order = np.random.default_rng(split).permutation(len(y))
        train, rest = np.split(order, [min(len(y) // 3, 600)])
        fit, outcomes = (x[train], y[train]), y[rest]
        boosted = GradientBoostingRegressor(n_estimators=60, random_state=split).fit(*fit)
        width = np.std(y[train] - boosted.predict(x[train]))
        yield name, "boosting", "normal", (boosted.predict(x[rest]), np.full(len(rest), width)), outcomes
        forest = RandomForestRegressor(60, min_samples_leaf=2, random_state=split).fit(*fit)
        trees = np.stack([tree.predict(x[rest]) for tree in forest.estimators_], axis=1)
        yield name, "forest", "normal", (trees.mean(axis=1), trees.std(axis=1) + 1e-6 * y.std()), outcomes
        yield name, "forest", "members", (trees[:, :30],), outcomes
        quantiles = [
            GradientBoostingRegressor(loss="quantile", alpha=level, n_estimators=40, random_state=split)
            .fit(*fit)
            .predict(x[rest])
            for level in LEVELS
        ]
        yield name, "quantile boosting", "quantiles", (np.sort(np.stack(quantiles, axis=1), axis=1),), outcomes
        for model, kind, made in (
            ("NGBoost", "normal", ngboost_normal(*fit, x[rest], split)),
            ("quantile forest", "quantiles", forest_quantiles(*fit, x[rest], split)),
        ):
            if made is not None:
                yield name, model, kind, made, outcomes
