"""Temperature scaling: closed forms and roots against fine grids, and what it keeps."""

import math

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.errors import InputError, KernelcalWarning
from kernelcal.predictions import (
    Bernoulli,
    Categorical,
    DiagonalNormal,
    IsotropicNormal,
    Laplace,
    Mixture,
    MultivariateNormal,
    NegativeBinomial,
    Normal,
    Poisson,
    Quantiles,
    Samples,
)
from kernelcal.recalibration import TemperatureScaling, tempered
from kernelcal.statistics import log_score
from kernelcal.statistics.scores.numbers import negative_log_likelihood


def classes(m=4, n=300, temperature=2.0, seed=0):
    """Labels of predictions that are over-confident by a temperature."""
    rng = np.random.default_rng(seed)
    true = rng.dirichlet(np.ones(m), n)
    labels = Categorical(true).sample(rng)[0]
    powers = true**temperature
    return labels, Categorical(powers / powers.sum(axis=1, keepdims=True))


def numbers(d=3, n=60, seed=1):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(n, d, d))
    return rng.normal(size=(n, d)), rng.exponential(size=(n, d)) + 0.2, root @ np.swapaxes(root, 1, 2) + np.eye(d), rng


def subjects():
    mean, std, cov, rng = numbers()
    y = mean + 1.7 * std * rng.normal(size=mean.shape)
    yield "normal", y[:, 0], Normal(mean[:, 0], std[:, 0])
    yield "laplace", y[:, 0], Laplace(mean[:, 0], std[:, 0])
    yield "full", y, MultivariateNormal(mean, cov)
    yield "diagonal", y, DiagonalNormal(mean, std)
    yield "isotropic", y, IsotropicNormal(mean, std[:, 0])
    yield "mixture", y[:, 0], Mixture([0.3, 0.7], [Normal(mean[:, 0], std[:, 0]), Laplace(mean[:, 1], 1.0)])
    labels, batch = classes()
    yield "categorical", labels, batch
    yield "bernoulli", (labels == 1).astype(int), Bernoulli(0.1 + 0.8 * batch.probs[:, 1])


SUBJECTS = {name: (y, batch) for name, y, batch in subjects()}


def loss(y, batch, weights=None):
    score = log_score if isinstance(batch, Bernoulli | Categorical) else negative_log_likelihood
    return score(y, batch, weights=weights)


# ---- predictions at a temperature


def test_classes_by_hand():
    assert tempered(Categorical([[0.8, 0.2, 0.0]]), 2.0).probs == pytest.approx(np.array([[2 / 3, 1 / 3, 0.0]]))
    assert tempered(Categorical([[0.8, 0.2, 0.0]]), 0.5).probs == pytest.approx(np.array([[16 / 17, 1 / 17, 0.0]]))
    assert tempered(Bernoulli([0.2, 0.0, 1.0, 0.5]), 2.0).p == pytest.approx([1 / 3, 0.0, 1.0, 0.5])
    assert tempered(Bernoulli([1e-300]), 1.5).p == pytest.approx([1e-200], rel=1e-12)


@pytest.mark.parametrize("name", [name for name in SUBJECTS if name != "mixture"])
@pytest.mark.parametrize("temperature", [0.4, 2.5])
def test_densities_are_powers(name, temperature):
    """log q - log p / T is the same for all targets of a row: the definition F.1 of the 2021 paper."""
    y, batch = SUBJECTS[name]
    hot, shift = tempered(batch, temperature), np.roll(y, 1, axis=0)
    constant = [hot.log_prob(t) - batch.log_prob(t) / temperature for t in (y, shift)]
    assert constant[0] == pytest.approx(constant[1], rel=1e-9, abs=1e-9)
    assert type(hot) is type(batch)


def test_full_covariances_keep_their_factor():
    batch = tempered(SUBJECTS["full"][1], 3.0)
    again = MultivariateNormal(batch.mean, batch.cov)
    assert batch.factor == pytest.approx(again.factor, rel=1e-12)
    assert batch[:2].std == pytest.approx(math.sqrt(3) * SUBJECTS["full"][1].std[:2])


def test_mixtures_are_tempered_by_component_and_say_so():
    batch = SUBJECTS["mixture"][1]
    hot = tempered(batch, 4.0)
    assert np.array_equal(hot.weights, batch.weights)
    assert hot.components[0].std == pytest.approx(2 * batch.components[0].std)
    assert hot.components[1].scale == pytest.approx(4 * batch.components[1].scale)
    assert any("every component of the mixture, with the weights unchanged" in note for note in hot.notes)
    assert len(tempered(hot, 2.0).notes) == len(hot.notes)


def test_names_questions_and_notes_stay():
    batch = Categorical([[0.8, 0.2]], classes=["cat", "dog"], notes=("rounded",), question="top label")
    hot = tempered(batch, 2.0)
    assert (hot.classes, hot.question, hot.notes) == (("cat", "dog"), "top label", ("rounded",))


def test_array_libraries_stay(backend):
    probs = np.array([[0.8, 0.15, 0.05], [0.2, 0.2, 0.6]])
    for make, name in ((Categorical, "probs"), (lambda p: Bernoulli(p[:, 0]), "p")):
        given, plain = make(backend(probs)), make(probs)
        found = getattr(tempered(given, 2.0), name)
        assert type(found) is type(getattr(given, name))
        assert np.asarray(found) == pytest.approx(getattr(tempered(plain, 2.0), name))
    normal = tempered(Normal(backend(np.zeros(2)), backend(np.ones(2))), 4.0)
    assert type(normal.std) is type(backend(np.ones(2)))


@pytest.mark.parametrize(
    "batch",
    [
        Poisson([1.0]),
        NegativeBinomial([1.0], 2.0),
        Samples([[1.0, 2.0]]),
        Quantiles([[0.0, 1.0]], [0.2, 0.8]),
        Mixture(None, [Poisson([1.0]), Poisson([2.0])]),
    ],
    ids=["poisson", "negative binomial", "samples", "quantiles", "mixture"],
)
def test_other_families_are_refused_with_the_list(batch):
    message = (
        rf"{type(batch).__name__} has no temperature: .*Bernoulli, .*Normal.* have it; a family .* method tempered\(\)"
        if not isinstance(batch, Mixture)
        else "Poisson has no temperature"
    )
    for call in (
        lambda: tempered(batch, 2.0),
        lambda: TemperatureScaling().fit([1.0], batch),
        lambda: TemperatureScaling("skce").fit([1.0], batch),
    ):
        with pytest.raises(InputError, match=message):
            call()


# ---- the fit


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.quick_cases(4)
def test_fits_against_a_fine_grid(name, weighted):
    y, batch = SUBJECTS[name]
    weights = np.random.default_rng(3).exponential(size=len(batch)) if weighted else None
    scaling = TemperatureScaling().fit(y, batch, weights=weights)
    grid = np.exp(np.linspace(-4, 4, 801))
    losses = np.array([loss(y, tempered(batch, t), weights) for t in grid])
    assert scaling.converged_
    assert abs(math.log(scaling.temperature_ / grid[losses.argmin()])) <= 0.0101
    assert loss(y, scaling.transform(batch), weights) <= losses.min() + 1e-12


@pytest.mark.parametrize("name", SUBJECTS)
def test_the_optimum_is_stationary(name):
    y, batch = SUBJECTS[name]
    t, step = TemperatureScaling().fit(y, batch).temperature_, 1e-4
    up, down = (loss(y, tempered(batch, t * math.exp(s))) for s in (step, -step))
    assert abs(up - down) / (2 * step) < 1e-6
    assert up > loss(y, tempered(batch, t)) < down


def test_closed_forms_by_hand():
    assert TemperatureScaling().fit([1.0, -3.0], Normal([0.0, 0.0], 1.0)).temperature_ == pytest.approx(5.0)
    assert TemperatureScaling().fit([1.0, -3.0], Laplace([0.0, 0.0], 2.0)).temperature_ == pytest.approx(1.0)
    vector = IsotropicNormal([[0.0, 0.0]], [2.0])
    scaling = TemperatureScaling().fit([[2.0, 6.0]], vector)
    assert scaling.temperature_ == pytest.approx((1 + 9) / 2)
    assert (scaling.converged_, scaling.n_iterations_) == (True, 0)
    assert TemperatureScaling().fit([1.0, -3.0], Normal([0, 0], 1.0), weights=[3, 1]).temperature_ == pytest.approx(3.0)


def test_one_row_of_two_classes_by_hand():
    # p = 3/4 for the label in 2 of 3 rows: 2/3 is best, and T = log 3 / log 2
    scaling = TemperatureScaling().fit([1, 1, 0], Bernoulli([0.75, 0.75, 0.75]))
    assert scaling.temperature_ == pytest.approx(math.log(3) / math.log(2), rel=1e-10)
    two = TemperatureScaling().fit([1, 1, 0], Categorical([[0.25, 0.75]] * 3))
    assert two.temperature_ == pytest.approx(scaling.temperature_, rel=1e-10)


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_true_temperature_is_found(temperature):
    y, batch = classes(n=20_000, temperature=temperature)
    assert TemperatureScaling().fit(y, batch).temperature_ == pytest.approx(temperature, rel=0.05)


def test_classes_of_probability_zero_stay_impossible():
    scaling = TemperatureScaling().fit([0, 0, 1], Categorical([[0.6, 0.4, 0.0]] * 3))
    assert scaling.temperature_ == pytest.approx(math.log(1.5) / math.log(2), rel=1e-9)
    assert scaling.transform(Categorical([[0.6, 0.4, 0.0]])).probs[0, 2] == 0
    batch = Categorical([[0.6, 0.4, 0.0], [0.5, 0.5, 0.0]], classes=["a", "b", "c"])
    with pytest.raises(
        InputError, match=r"row 1: the label c had a predicted probability of exactly 0 \(1 such rows\)"
    ):
        TemperatureScaling().fit(["a", "c"], batch)
    more = Categorical([[0.6, 0.4, 0.0]] * 4)
    weighted = TemperatureScaling().fit([0, 0, 1, 2], more, weights=[1, 1, 1, 0])
    assert weighted.temperature_ == pytest.approx(scaling.temperature_, rel=1e-9)


def test_fits_in_parts_are_the_same(monkeypatch):
    y, batch = classes()
    whole = TemperatureScaling().fit(y, batch).temperature_
    monkeypatch.setattr("kernelcal.recalibration.temperature._VALUES", 40)
    assert TemperatureScaling().fit(y, batch).temperature_ == pytest.approx(whole, rel=1e-12)


# ---- bounds


def test_perfect_separation_runs_to_the_bound_and_says_so():
    with pytest.warns(KernelcalWarning, match=r"ran to its bound 0\.001, the smallest .*perfect separation"):
        scaling = TemperatureScaling().fit([0, 1, 1], Bernoulli([0.3, 0.6, 0.9]))
    assert (scaling.temperature_, scaling.converged_) == (0.001, False)


def test_predictions_that_mislead_run_to_the_other_bound():
    with pytest.warns(KernelcalWarning, match=r"ran to its bound 50, the largest .* do no better than equal"):
        scaling = TemperatureScaling(bounds=(0.1, 50.0)).fit([1, 0, 0, 1], Bernoulli([0.3, 0.6, 0.9, 0.2]))
    assert (scaling.temperature_, scaling.converged_) == (50.0, False)


def test_a_bound_that_is_too_high_is_named():
    y, batch = classes(temperature=0.2)
    with pytest.warns(KernelcalWarning, match="far from as confident as they could be"):
        assert not TemperatureScaling(bounds=(0.9, 5.0)).fit(y, batch).converged_


def test_equal_probabilities_keep_their_temperature():
    with pytest.warns(KernelcalWarning, match="no temperature changes it: T = 1 is kept"):
        scaling = TemperatureScaling().fit([0, 1], Categorical([[0.5, 0.5, 0.0], [0.25] * 3 + [0.25]][:1] * 2))
    assert scaling.temperature_ == 1.0


def test_a_mixture_at_its_bound_warns():
    y, batch = SUBJECTS["mixture"]
    with pytest.warns(KernelcalWarning, match=r"ran to its bound 100, the smallest .* the log score falls up to it"):
        assert TemperatureScaling(bounds=(100.0, 1000.0)).fit(y, batch).temperature_ == 100


def test_predictions_that_are_the_targets_are_refused():
    with pytest.raises(InputError, match=r"the best temperature is 0, .* every target is its predicted mean exactly"):
        TemperatureScaling().fit([1.0, 2.0], Normal([1.0, 2.0], 1.0))


# ---- by the calibration error


@pytest.mark.slow
def test_the_kernel_error_is_minimised_with_fixed_kernels():
    y, batch = classes(n=150)
    scaling = TemperatureScaling("skce").fit(y, batch)
    fixed = kc.SKCE(estimator="biased").resolved(batch)
    grid = np.exp(np.linspace(-1.5, 2.0, 141))
    losses = [float(fixed(y, tempered(batch, t))) for t in grid]
    assert abs(math.log(scaling.temperature_ / grid[np.argmin(losses)])) <= 0.0251
    assert float(fixed(y, scaling.transform(batch))) <= min(losses) + 1e-12
    assert scaling.converged_
    assert 1.3 < scaling.temperature_ < 3.0


def test_equal_probabilities_are_no_cure():
    """With equally frequent classes the error falls again towards T to infinity: the minimum next to T = 1 is taken."""
    y, batch = classes(n=150)
    fixed = kc.SKCE(estimator="biased").resolved(batch)
    found = TemperatureScaling("skce").fit(y, batch).temperature_
    assert float(fixed(y, tempered(batch, 1000.0))) < float(fixed(y, tempered(batch, found)))
    assert found < 3.0


def test_other_kernels_and_class_names():
    y, batch = classes(n=150)
    named = Categorical(batch.probs, classes=[3, 1, 2, 0])
    labels = np.array([3, 1, 2, 0])[y]
    statistic = kc.SKCE(prediction_kernel=kc.Laplacian(0.3), estimator="biased")
    plain = TemperatureScaling(statistic).fit(y, batch)
    assert TemperatureScaling(statistic).fit(labels, named).temperature_ == plain.temperature_
    assert TemperatureScaling(statistic).fit_transform(labels, named).classes == (3, 1, 2, 0)
    weights = np.random.default_rng(0).exponential(size=150)
    assert TemperatureScaling(statistic).fit(y, batch, weights=weights).temperature_ != plain.temperature_


def test_the_kernel_error_of_numbers():
    rng = np.random.default_rng(2)
    mean, std = rng.normal(size=120), rng.exponential(size=120) + 0.5
    scaling = TemperatureScaling("skce").fit(mean + 2 * std * rng.normal(size=120), Normal(mean, std))
    assert scaling.converged_
    assert 2.0 < scaling.temperature_ < 8.0  # variances are four times as large as predicted


@pytest.mark.slow
def test_scaling_cures_what_the_test_sees():
    y, batch = classes(n=2000)
    fit, rest = np.arange(1000), np.arange(1000, 2000)
    assert kc.calibration_test(y[rest], batch[rest]).pvalue == 0.001
    better = TemperatureScaling().fit(y[fit], batch[fit]).transform(batch[rest])
    assert kc.calibration_test(y[rest], better).pvalue > 0.01
    z = stats.norm.rvs(size=2000, random_state=1) * 1.6
    cured = TemperatureScaling().fit(z[fit], Normal(np.zeros(1000), 1.0)).transform(Normal(np.zeros(1000), 1.0))
    assert cured.std[0] == pytest.approx(1.6, rel=0.1)


# ---- the manners of scikit-learn


def test_parameters_and_clone():
    scaling = TemperatureScaling("skce", bounds=(0.1, 10.0))
    assert scaling.get_params() == {"objective": "skce", "bounds": (0.1, 10.0)}
    assert repr(scaling) == "TemperatureScaling(objective='skce', bounds=(0.1, 10.0))"
    assert scaling.set_params(objective="log score") is scaling
    with pytest.raises(InputError, match="has no option 'temperature'; its options are objective, bounds"):
        scaling.set_params(temperature=2)
    clone = pytest.importorskip("sklearn.base").clone
    fitted = scaling.fit([1.0, -3.0], Normal([0.0, 0.0], 1.0))
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    assert not hasattr(copy, "temperature_")
    assert clone(TemperatureScaling(kc.SKCE(estimator="biased"))).objective.estimator == "biased"


def test_arrays_and_wrappers_are_taken():
    y, batch = classes()
    plain = TemperatureScaling().fit(y, batch)
    assert plain.fit(y, batch) is plain
    assert TemperatureScaling().fit(y, batch.probs).temperature_ == plain.temperature_
    assert type(plain.transform(batch.probs)) is Categorical
    logits = np.log(batch.probs)
    divided = plain.transform(kc.Logits(logits)).probs
    expected = kc.as_predictions(kc.Logits(logits / plain.temperature_)).probs
    assert divided == pytest.approx(expected, rel=1e-9)


def test_messages():
    with pytest.raises(InputError, match=r"has no temperature yet: call fit\(y, predictions\) first"):
        TemperatureScaling().transform([0.2, 0.3])
    with pytest.raises(InputError, match=r"objective must be 'log score', 'skce' or a kernelcal\.SKCE, got 'ece'"):
        TemperatureScaling("ece").fit([0, 1], [0.2, 0.7])
    for bounds in ((1.0, 1.0), (0.0, 2.0), (1.0, math.inf), 3, "ab"):
        with pytest.raises(InputError, match="bounds must be two temperatures, 0 < lowest < highest"):
            TemperatureScaling(bounds=bounds).fit([0, 1], [0.2, 0.7])
