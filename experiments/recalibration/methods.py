"""Ways to repair probabilities, ours and those of other packages: ``f(p, y, others) -> probabilities of others``."""

from __future__ import annotations

import contextlib
import importlib
import io
import warnings

import numpy as np

from kernelcal.recalibration import recalibrate

__all__ = ["methods"]


def ours(method):
    """Our maps by the name of the method."""

    def repair(p, y, others):
        if p.shape[1] == 2:
            q = recalibrate(y, p[:, 1], method, test=False)(others[:, 1]).p
            return np.stack([1 - q, q], axis=1)
        return recalibrate(y, p, method, test=False)(others).probs

    return repair


def by_scikit_learn(method):
    """Calibrate a model that hands through what it is given."""
    from sklearn.base import BaseEstimator, ClassifierMixin
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator

    class HandsThrough(ClassifierMixin, BaseEstimator):
        def fit(self, x, y=None):
            self.classes_ = np.arange(x.shape[1])
            return self

        def predict_proba(self, x):
            return x

        def predict(self, x):
            return x.argmax(axis=1)

    def repair(p, y, others):
        frozen = FrozenEstimator(HandsThrough().fit(p))
        return CalibratedClassifierCV(frozen, method=method, cv=2).fit(p, y).predict_proba(others)

    return repair


def by_probmetrics(module, name):
    def repair(p, y, others):
        made = module.get_calibrator(name)
        return np.asarray(made.fit(p, y).predict_proba(others))

    return repair


def by_netcal(module, name):
    def repair(p, y, others):
        made = getattr(module, name)()
        if p.shape[1] > 2:
            made.fit(p, y)
            return np.asarray(made.transform(others))
        made.fit(p[:, 1], y)
        q = np.asarray(made.transform(others[:, 1])).ravel()
        return np.stack([1 - q, q], axis=1)

    return repair


def by_betacal(module):
    def repair(p, y, others):
        q = np.asarray(module.BetaCalibration(parameters="abm").fit(p[:, 1:], y).predict(others[:, 1:]))
        return np.stack([1 - q, q], axis=1)

    return repair


def by_venn_abers(module):
    def repair(p, y, others):
        return np.asarray(module.VennAbersCalibrator().predict_proba(p_cal=p, y_cal=y, p_test=others))

    return repair


def methods(classes):
    """Methods that serve so many classes; packages that are not installed are left out and named."""
    found = {"identity": lambda p, y, others: others, "kernelcal auto": ours("auto")}
    found["kernelcal temperature"] = ours("temperature")
    found["scikit-learn Platt"] = by_scikit_learn("sigmoid")
    found["scikit-learn isotonic"] = by_scikit_learn("isotonic")
    for package, names in (
        ("probmetrics.calibrators", ["svs", "sms"] if classes > 2 else ["svs", "quadratic-scaling"]),
        ("netcal.scaling", ["TemperatureScaling"] if classes > 2 else ["TemperatureScaling", "LogisticCalibration"]),
        ("betacal", [] if classes > 2 else ["beta"]),
        ("venn_abers", ["Venn-Abers"]),
    ):
        short = package.split(".")[0]
        try:
            with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
                warnings.simplefilter("ignore")
                module = importlib.import_module(package)
        except ImportError as error:
            print(f"{short} is left out: {error}")
            continue
        for name in names:
            made = {
                "probmetrics": lambda m, n: by_probmetrics(m, n),
                "netcal": lambda m, n: by_netcal(m, n),
                "betacal": lambda m, n: by_betacal(m),
                "venn_abers": lambda m, n: by_venn_abers(m),
            }[short](module, name)
            found[f"{short} {name}"] = made
    return found
