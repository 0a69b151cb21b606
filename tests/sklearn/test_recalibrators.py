"""The classifier that is repaired: the checks of scikit-learn, fits of all kinds, and what it predicts."""

import numpy as np
import pytest

from kernelcal.errors import InputError
from kernelcal.recalibration import recalibrate

pytest.importorskip("sklearn", minversion="1.7")

from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import check_estimator

from kernelcal.sklearn import Recalibrator


def data(k=3, n=600):
    x, y = make_classification(n, 8, n_informative=5, n_redundant=3, n_classes=k, random_state=0)
    return x, np.array(["no", "yes", "maybe"])[y]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
def test_the_checks_of_scikit_learn():
    same = "copies of a row fall into several folds, a weighted row into one, as in CalibratedClassifierCV"
    failing = {"check_sample_weight_equivalence_on_dense_data": same}
    found = check_estimator(Recalibrator(method="temperature"), expected_failed_checks=failing, on_fail=None)
    assert [one["check_name"] for one in found if one["status"] == "failed"] == []
    assert sum(one["status"] == "passed" for one in found) > 50


@pytest.mark.parametrize("k", [2, 3])
def test_the_map_is_that_of_left_out_predictions(k):
    x, y = data(k)
    model = Recalibrator(GaussianNB(), method="temperature").fit(x[:400], y[:400])
    p = cross_val_predict(GaussianNB(), x[:400], y[:400], cv=5, method="predict_proba")
    labels = np.unique(y, return_inverse=True)[1]
    expected = recalibrate(labels[:400], p if k > 2 else p[:, 1], "temperature", test=False)
    given = GaussianNB().fit(x[:400], y[:400]).predict_proba(x[400:])
    made = expected(given if k > 2 else given[:, 1])
    np.testing.assert_allclose(model.predict_proba(x[400:])[:, -1], made.probs[:, -1] if k > 2 else made.p, atol=1e-12)
    own = np.arange(200), labels[400:]
    assert -np.log(model.predict_proba(x[400:])[own]).mean() < -np.log(given[own]).mean()
    assert set(model.predict(x[400:])) <= set(y)


def test_fitted_models_stay_as_they_are():
    from sklearn.frozen import FrozenEstimator

    x, y = data()
    forest = RandomForestClassifier(20, random_state=0).fit(x[:300], y[:300])
    one = Recalibrator(forest, cv="prefit", method="temperature").fit(x[300:], y[300:])
    two = Recalibrator(FrozenEstimator(forest), method="temperature").fit(x[300:], y[300:])
    assert one.estimator_ is forest
    np.testing.assert_array_equal(one.predict_proba(x), two.predict_proba(x))
    labels = np.unique(y, return_inverse=True)[1]
    expected = recalibrate(labels[300:], forest.predict_proba(x[300:]), "temperature", test=False)
    np.testing.assert_allclose(one.predict_proba(x), expected(forest.predict_proba(x)).probs, atol=1e-12)


@pytest.mark.slow
def test_weights_searches_and_refusals():
    x, y = data(2, 200)
    counts = np.random.default_rng(0).integers(1, 3, 200).astype(float)
    weighted = Recalibrator(LogisticRegression(), method="temperature").fit(x, y, sample_weight=counts)
    assert not np.allclose(weighted.predict_proba(x), Recalibrator(method="temperature").fit(x, y).predict_proba(x))
    search = GridSearchCV(Recalibrator(LogisticRegression()), {"method": ["temperature", "platt"]}, cv=2)
    assert search.fit(x, y).best_params_["method"] in ("temperature", "platt")
    with pytest.raises(InputError, match="has no predict_proba"):
        Recalibrator(LinearSVC()).fit(x, y)
    with pytest.raises(InputError, match="cv is a number of folds"):
        Recalibrator(cv="all").fit(x, y)
    fitted = LogisticRegression().fit(x[:100], y[:100])
    with pytest.raises(InputError, match="does not know the label"):
        Recalibrator(fitted, cv="prefit").fit(x, np.where(np.arange(200) == 3, "other", y))
