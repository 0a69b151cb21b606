"""Evaluations of predictions of numbers: every family, what the table says, suspicions."""

import json

import numpy as np
import pytest

import kernelcal as kc
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.evaluation.numbers import number_suspicions
from kernelcal.statistics.scores.numbers import crps, negative_log_likelihood

RNG = np.random.default_rng(0)
N = 300
MEAN, STD = RNG.normal(size=N), RNG.uniform(0.5, 2, N)
FAMILIES = {
    "normal": kc.Normal(MEAN, STD),
    "laplace": kc.Laplace(MEAN, STD),
    "mixture": kc.Mixture(None, [kc.Normal(MEAN, STD), kc.Normal(MEAN + 1, 2 * STD)]),
    "poisson": kc.Poisson(np.exp(MEAN)),
    "negative binomial": kc.NegativeBinomial(np.exp(MEAN), 2.0),
    "diagonal": kc.MultivariateNormal.diagonal(RNG.normal(size=(N, 3)), RNG.uniform(0.5, 2, (N, 3))),
    "isotropic": kc.MultivariateNormal.isotropic(RNG.normal(size=(N, 3)), STD),
    "full": kc.MultivariateNormal(RNG.normal(size=(N, 2)), np.array([[1.0, 0.5], [0.5, 2.0]])),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.slow) if name in ("diagonal", "isotropic") else name for name in FAMILIES],
)
@pytest.mark.slow
def test_every_family_is_evaluated(name):
    batch = FAMILIES[name]
    result = kc.evaluate(batch.sample(rng=1)[0], batch)
    assert result.pvalue > 0.001
    assert result.pit_pvalue > 0.001
    assert result.verdict.startswith("No evidence against calibration") == (result.pvalue > 0.05)  # 5 % of 9 families
    plain = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert plain["family"] == type(batch).__name__
    assert plain["coverage"][0]["levels"] == [0.5, 0.9, 0.95]
    text = result.summary()
    for word in ("negative log-likelihood", "CRPS", "coverage of 90% intervals", "PIT test", "SKCE", "verdict"):
        assert word in text
    assert "<table" in result._repr_html_()


@pytest.mark.slow
def test_draws_are_evaluated_by_swapping():
    draws = MEAN[:, None] + STD[:, None] * RNG.normal(size=(N, 20))
    result = kc.evaluate(MEAN + STD * RNG.normal(size=N), kc.Samples(draws))
    assert result.test.null == "exact, the outcome swapped with the draws"
    assert result.negative_log_likelihood is None
    assert "negative log-likelihood" not in result.summary()
    assert any("need at least 39 draws" in note for note in result.notes)


def test_figures_are_those_of_their_functions():
    y = MEAN + 1.5 * STD * np.random.default_rng(3).normal(size=N)
    result = kc.evaluate(y, FAMILIES["normal"])
    assert result.crps == crps(y, FAMILIES["normal"])
    assert result.negative_log_likelihood == negative_log_likelihood(y, FAMILIES["normal"])
    assert float(result.skce) == float(kc.skce(y, FAMILIES["normal"]))
    assert result.pvalue == kc.calibration_test(y, FAMILIES["normal"]).pvalue == 0.001
    assert "predictions too narrow (outcomes spread 1.5" in result.verdict
    z = (y - MEAN) / STD
    assert result.coverage[0].shares[0] == pytest.approx(np.mean(np.abs(z) <= 0.6744897501960817))


def test_weights_reach_the_figures():
    y, w = FAMILIES["normal"].sample(rng=2)[0], np.r_[np.zeros(100), np.ones(N - 100)]
    result = kc.evaluate(y, FAMILIES["normal"], weights=w)
    assert result.crps == pytest.approx(crps(y[100:], FAMILIES["normal"][100:]))
    assert float(result.skce) == pytest.approx(
        float(kc.skce(y, FAMILIES["normal"], weights=w)),
    )
    assert any("takes no case weights" in note for note in result.notes)


def test_many_rows_use_blocks(monkeypatch):
    from kernelcal.evaluation import estimates

    batch = FAMILIES["normal"]
    seconds = estimates.KernelError(Case.of(np.zeros(N), batch)).seconds
    monkeypatch.setattr(estimates, "_SECONDS", seconds / N * 50.5)
    result = kc.evaluate(batch.sample(rng=1)[0], batch)
    assert result.skce.options["block_size"] == 50


@pytest.mark.slow
def test_a_standard_deviation_that_is_a_variance():
    std = np.random.default_rng(0).uniform(0.1, 0.4, 200)
    y = std * np.random.default_rng(1).normal(size=200)
    notes = kc.evaluate(y, kc.Normal(np.zeros(200), std**2)).notes
    assert "if the standard deviations are taken as variances: were variances passed as std?" in notes[0]
    notes = kc.evaluate(y, kc.Normal(np.zeros(200), np.sqrt(std))).notes
    assert "were standard deviations passed as variances?" in notes[0]
    assert not any("variance" in note for note in kc.evaluate(y, kc.Normal(np.zeros(200), std)).notes)
    assert not any("variance" in note for note in kc.evaluate(y, kc.Normal(np.zeros(200), 5 * std)).notes)


def test_a_variance_is_noticed_where_the_mean_square_alone_does_not_tell():
    rng = np.random.default_rng(0)
    std = rng.uniform(0.5, 2, 400)
    y = std * rng.normal(size=400)
    given = kc.Normal(np.zeros(400), std**2)
    assert 0.5 < np.mean((y / std**2) ** 2) < 2
    assert any("were variances passed as std?" in note for note in number_suspicions(Case(y, given)))


@pytest.mark.slow
def test_a_right_model_is_rarely_suspected():
    """At most exp(-5) = 0.7 % of data sets for each of two readings; 2,000 data sets, binomial bound at 1e-4."""
    rng, fired = np.random.default_rng(0), 0
    for n in (2, 5, 20, 100):
        for _ in range(500):
            std = rng.uniform(0.3, 3, n)
            fired += bool(number_suspicions(Case(std * rng.normal(size=n), kc.Normal(np.zeros(n), std))))
    assert fired <= 48


def test_targets_that_are_the_predictions():
    note = kc.evaluate(MEAN, FAMILIES["normal"]).notes[0]
    assert "the target equals the predicted mean in every row" in note


def test_an_impossible_target_is_proof():
    values = np.tile([0.0, 1.0, 2.0, 3.0, 5.0], (30, 1))
    batch = kc.Quantiles(values, [0, 0.25, 0.5, 0.75, 1])
    y = batch.sample(rng=0)[0]
    assert kc.evaluate(y, batch).pvalue > 0.05
    y[7] = 9.0
    result = kc.evaluate(y, batch)
    assert result.pvalue <= 0.01
    assert result.test.impossible_rows == (7,)
    assert "row 7: the prediction had ruled out the target 9" in result.notes[0]


def test_one_row_is_refused():
    with pytest.raises(InputError, match="evaluate needs at least 2 rows"):
        kc.evaluate([1.0], kc.Normal([0.0], [1.0]))


@pytest.mark.parametrize("n", [2, 3])
def test_smallest_inputs(n):
    result = kc.evaluate(np.arange(n, dtype=float), kc.Normal(np.zeros(n), 1.0))
    assert 0 < result.pvalue <= 1


def test_torch_predictions_are_evaluated():
    torch = pytest.importorskip("torch")
    y = FAMILIES["normal"].sample(rng=1)[0]
    there = kc.evaluate(torch.tensor(y), kc.Normal(torch.tensor(MEAN), torch.tensor(STD)))
    assert there.pvalue == kc.evaluate(y, FAMILIES["normal"]).pvalue


@pytest.mark.slow
def test_ensembles_whose_members_agree():
    """No spread, not even by rounding: no astronomic number of standard deviations."""
    y = MEAN + STD
    result = kc.evaluate(y, kc.Samples(np.repeat(MEAN[:, None], 20, axis=1)))
    assert result.test.directions == ("outcomes differ from predictions that have no spread",)
    assert kc.Samples(np.repeat(MEAN[:, None], 20, axis=1)).std.max() == 0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda y: (np.where(np.arange(N) == 3, 1e200, y), kc.Normal(MEAN, STD)), r"the target in row 3 is 1e\+200"),
        (lambda y: (y, kc.Normal(MEAN, STD * 1e-300)), "the predicted standard deviation in row 0"),
        (lambda y: (y, kc.Normal(MEAN * 1e200, STD)), "the predicted mean in row 0"),
        (lambda y: (y + 1j, kc.Normal(MEAN, STD)), "targets must be labels or real numbers, got complex ones"),
    ],
)
def test_numbers_out_of_range_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        kc.evaluate(*make(FAMILIES["normal"].sample(rng=0)[0]))


def test_long_double_is_read_as_double():
    y = FAMILIES["normal"].sample(rng=0)[0]
    long = kc.evaluate(y.astype("g"), kc.Normal(MEAN.astype("g"), STD.astype("g")))
    assert long.pvalue == kc.evaluate(y, FAMILIES["normal"]).pvalue


def test_few_draws_are_said():
    y, draws = MEAN, kc.Samples(MEAN[:, None] + RNG.normal(size=(N, 5)))
    assert "with 5 draws a row" in kc.skce(y, draws).notes[-1]
    assert "null='swap' holds for any number of draws" in kc.calibration_test(y, draws, null="exact").notes[-1]
    with pytest.raises(InputError, match=r"got the class SKCE: pass SKCE\(\)"):
        kc.calibration_test(y, draws, statistic=kc.SKCE)


def test_weighted_draws_have_scores_but_no_test():
    rng = np.random.default_rng(0)
    batch = kc.Samples(MEAN[:, None] + rng.normal(size=(N, 60)), rng.uniform(size=(N, 60)))
    result = kc.evaluate(MEAN + rng.normal(size=N), batch)
    assert result.test is result.pvalue is result.interval is None
    assert result.pit == ()
    assert result.verdict == "Not tested."
    assert "there is no test: draws with unequal weights" in result.summary()
    assert json.loads(json.dumps(result.to_dict(), allow_nan=False))["pvalue"] is None
    assert result.crps > 0


@pytest.mark.slow
def test_the_settings_of_the_draws_reach_the_pit_test():
    y = MEAN + 2 * STD * np.random.default_rng(3).normal(size=N)
    assert kc.evaluate(y, FAMILIES["normal"], draws=199).pit_pvalue == 1 / 200
    calm = kc.evaluate(FAMILIES["normal"].sample(rng=1)[0], FAMILIES["normal"], early_stopping=False, draws=199)
    assert calm.pit[0].draws == 199
    vectors = kc.MultivariateNormal.diagonal(np.zeros((100, 30)), np.ones((100, 30)))
    y = vectors.sample(rng=0)[0]
    y[:, 7] *= 3
    assert kc.evaluate(y, vectors, draws=99).pit_pvalue <= 0.026
