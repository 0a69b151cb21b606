"""Scorers in the tools of scikit-learn: the values are those of the functions, whatever the labels are called."""

import numpy as np
import pytest

sklearn = pytest.importorskip("sklearn")
from sklearn.datasets import make_classification  # noqa: E402
from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: E402
from sklearn.gaussian_process.kernels import RBF, WhiteKernel  # noqa: E402
from sklearn.linear_model import BayesianRidge, LinearRegression, LogisticRegression  # noqa: E402
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score, cross_validate  # noqa: E402
from sklearn.naive_bayes import GaussianNB  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

import kernelcal as kc  # noqa: E402
from kernelcal.errors import InputError  # noqa: E402
from kernelcal.sklearn import predictions_of, scorer  # noqa: E402

X, NUMBERS = make_classification(200, 6, n_informative=4, n_classes=3, random_state=0)
WORDS = np.array(["zebra", "ant", "mouse"])[NUMBERS]  # their alphabetical order is another one
BINARY = np.where(NUMBERS > 0, "yes", "no")
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2, 200)
NAMES = ("skce", "ckce", "jkce", "ece", "mce", "mmce", "log_score", "brier_score", "accuracy")
FOLDS = StratifiedKFold(3)


def by_hand(name, y, weights=None, **options):
    """Values of the functions on the folds, with columns put into an order of our own."""
    found, sign = [], 1 if name == "accuracy" else -1
    for train, test in FOLDS.split(X, y):
        model = GaussianNB().fit(X[train], y[train])
        classes = sorted(set(y))
        p = model.predict_proba(X[test])
        labels = np.array([classes.index(label) for label in y[test]])
        predictions = p[:, 1] if len(classes) == 2 else p
        more = {} if weights is None else {"weights": weights[test]}
        found.append(sign * float(getattr(kc, name)(labels, predictions, **more, **options)))
    return found


@pytest.mark.parametrize("y", [NUMBERS, WORDS, BINARY, NUMBERS > 0], ids=["numbers", "words", "two words", "booleans"])
@pytest.mark.parametrize("name", NAMES)
def test_values_are_those_of_the_functions(name, y):
    found = cross_val_score(GaussianNB(), X, y, scoring=scorer(name), cv=FOLDS)
    np.testing.assert_allclose(found, by_hand(name, y), rtol=1e-12)


def test_options_reach_the_statistic():
    made = scorer("ece", bins=4, norm="max")
    np.testing.assert_allclose(
        cross_val_score(GaussianNB(), X, WORDS, scoring=made, cv=FOLDS), by_hand("ece", WORDS, bins=4, norm="max")
    )
    assert repr(made) == "scorer('ece', bins=4, norm='max') of kernelcal, negative value"


@pytest.mark.slow
def test_a_better_calibrated_model_has_the_larger_score():
    rng = np.random.default_rng(1)
    x = np.repeat(rng.normal(size=(2000, 1)), 4, axis=1)  # naive Bayes counts one clue four times
    y = np.where(rng.random(2000) < 1 / (1 + np.exp(-x[:, 0])), "b", "a")
    for name in ("skce", "ckce", "ece", "log_score", "brier_score"):
        models = GaussianNB(), LogisticRegression()
        naive, right = (cross_val_score(model, x, y, scoring=scorer(name), cv=3).mean() for model in models)
        assert naive < right, name


def test_grid_search_with_words_pipelines_and_several_scorers():
    several = {"log": scorer("log_score"), "skce": scorer(prediction_kernel=kc.Laplacian(0.2))}
    model = make_pipeline(StandardScaler(), LogisticRegression())
    grid = {"logisticregression__C": [1e-3, 1.0]}
    search = GridSearchCV(model, grid, scoring=several, refit="log", cv=FOLDS, error_score="raise").fit(X, WORDS)
    assert search.best_params_ == {"logisticregression__C": 1.0}
    assert np.isfinite(search.cv_results_["mean_test_skce"]).all()
    assert search.score(X, WORDS) == several["log"](search.best_estimator_, X, WORDS)


def test_sample_weights_by_metadata_routing():
    with sklearn.config_context(enable_metadata_routing=True):
        made = scorer("brier_score").set_score_request(sample_weight=True)
        params = {"sample_weight": WEIGHTS}
        blind = GaussianNB().set_fit_request(sample_weight=False)
        found = cross_val_score(blind, X, WORDS, scoring=made, cv=FOLDS, params=params, error_score="raise")
        np.testing.assert_allclose(found, by_hand("brier_score", WORDS, WEIGHTS))
        renamed = scorer("brier_score").set_score_request(sample_weight="importance")
        params = {"importance": WEIGHTS}
        again = cross_validate(blind, X, WORDS, scoring={"b": renamed}, cv=FOLDS, params=params)
        np.testing.assert_allclose(again["test_b"], found)
        model = LogisticRegression().set_fit_request(sample_weight=True)
        search = GridSearchCV(model, {"C": [0.1, 1.0]}, scoring=made, cv=FOLDS, error_score="raise")
        search.fit(X, WORDS, sample_weight=WEIGHTS)
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert not np.allclose(found, by_hand("brier_score", WORDS))


@pytest.mark.parametrize("name", NAMES)
def test_sample_weights_by_hand(name):
    model = GaussianNB().fit(X, WORDS)
    sign = 1 if name == "accuracy" else -1
    labels = np.searchsorted(model.classes_, WORDS)
    expected = sign * float(getattr(kc, name)(labels, model.predict_proba(X), weights=WEIGHTS))
    assert scorer(name)(model, X, WORDS, sample_weight=WEIGHTS) == pytest.approx(expected, rel=1e-12)


def test_a_fold_without_a_class_is_no_matter_but_a_label_never_seen_is():
    train = np.flatnonzero(WORDS != "zebra")
    model = GaussianNB().fit(X, WORDS)
    assert np.isfinite(scorer("ece")(model, X[train], WORDS[train]))
    narrow = GaussianNB().fit(X[train], WORDS[train])
    with pytest.raises(InputError, match=r"label 'zebra' was not among .*'ant', 'mouse'.*StratifiedKFold"):
        scorer("ece")(narrow, X, WORDS)


def test_regressors_that_say_how_sure_they_are():
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=(80, 1))
    y = np.sin(x[:, 0]) + 0.3 * rng.normal(size=80)
    for model in (GaussianProcessRegressor(RBF() + WhiteKernel(0.1)), BayesianRidge()):
        for name in ("crps", "negative_log_likelihood", "skce"):
            assert np.isfinite(
                cross_val_score(model, x, y, scoring=scorer(name), cv=KFold(3), error_score="raise")
            ).all()
    model = BayesianRidge().fit(x, y)
    mean, std = model.predict(x, return_std=True)
    assert scorer("crps")(model, x, y) == pytest.approx(-float(kc.crps(y, kc.Normal(mean, std))))
    with pytest.raises(InputError, match="LinearRegression predicts points, which have no calibration"):
        scorer("crps")(LinearRegression().fit(x, y), x, y)


def test_functions_of_ones_own():
    def surprise(y, predictions):
        return kc.log_score(y, predictions) - 1

    found = cross_val_score(GaussianNB(), X, WORDS, scoring=scorer(surprise, greater_is_better=True), cv=FOLDS)
    np.testing.assert_allclose(-(found + 1), by_hand("log_score", WORDS))


@pytest.mark.parametrize(
    ("statistic", "options", "text"),
    [
        ("auc", {}, "unknown statistic 'auc': skce, ckce"),
        (3, {}, "statistic must be a name or a function"),
        ("ece", {"bin": 3}, "ece has no option 'bin'; its options are question, bins"),
        ("ece", {"bins": -1}, "bins"),
        ("ece", {"greater_is_better": "no"}, "greater_is_better must be True or False"),
    ],
)
def test_what_is_refused_at_once(statistic, options, text):
    with pytest.raises(InputError, match=text):
        scorer(statistic, **options)


def test_predictions_of_an_estimator_serve_everything_else():
    y, predictions = predictions_of(GaussianNB().fit(X, WORDS), X, WORDS)
    assert kc.evaluate(y, predictions, draws=19).n == 200
