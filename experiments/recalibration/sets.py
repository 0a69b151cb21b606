"""Predictions to repair: data that packages ship or make, and models of scikit-learn that were fitted to a third."""

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
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from sklearn import datasets

__all__ = ["class_predictions", "number_predictions"]

MOST = 2400  # rows of a set: a third trains, up to 500 calibrate, the rest tests
LEVELS = (0.1, 0.25, 0.5, 0.75, 0.9)


def class_sets():
    """Name, features, labels: five real sets, of statsmodels where it is installed, and five made ones."""
    for load in (datasets.load_breast_cancer, datasets.load_digits):
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


def class_predictions(split):
    """Set, model, probabilities and labels of the rows that the model has not seen, in random order."""
    for name, x, y in class_sets():
        order = np.random.default_rng(split).permutation(len(y))[:MOST]
        third = min(len(order) // 3, 600)
        train, rest = order[:third], order[third:]
        for model, made in classifiers(split).items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fitted = made.fit(x[train], y[train])
            yield name, model, np.asarray(fitted.predict_proba(x[rest]), dtype=float), np.asarray(y[rest])


def number_predictions(split):
    """Set, model, kind, predictions as arrays, outcomes."""
    sets = {
        "diabetes": datasets.load_diabetes(return_X_y=True),
        "friedman 1": datasets.make_friedman1(1500, noise=2.0, random_state=106),
        "friedman 2": datasets.make_friedman2(1500, noise=80.0, random_state=107),
        "friedman 3": datasets.make_friedman3(1500, noise=0.2, random_state=108),
    }
    for name, (x, y) in sets.items():
        order = np.random.default_rng(split).permutation(len(y))
        train, rest = order[: len(y) // 3], order[len(y) // 3 :]
        boosted = GradientBoostingRegressor(n_estimators=60, random_state=split).fit(x[train], y[train])
        width = np.std(y[train] - boosted.predict(x[train]))
        yield name, "boosting", "normal", (boosted.predict(x[rest]), np.full(len(rest), width)), y[rest]
        forest = RandomForestRegressor(60, min_samples_leaf=2, random_state=split).fit(x[train], y[train])
        trees = np.stack([tree.predict(x[rest]) for tree in forest.estimators_], axis=1)
        yield name, "forest", "normal", (trees.mean(axis=1), trees.std(axis=1) + 1e-6 * y.std()), y[rest]
        yield name, "forest", "members", (trees[:, :30],), y[rest]
        quantiles = [
            GradientBoostingRegressor(loss="quantile", alpha=level, n_estimators=40, random_state=split)
            .fit(x[train], y[train])
            .predict(x[rest])
            for level in LEVELS
        ]
        yield name, "quantile boosting", "quantiles", (np.sort(np.stack(quantiles, axis=1), axis=1),), y[rest]
