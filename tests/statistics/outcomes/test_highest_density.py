"""Coverage of highest-density regions: by hand, by quadrature, by simulation, and against central intervals."""

import json

import numpy as np
import pytest
from scipy import stats

from kernelcal.errors import InputError
from kernelcal.predictions import (
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
    UnnormalizedDensity,
)
from kernelcal.statistics import central_coverage, highest_density_coverage
from kernelcal.statistics.outcomes import highest_density

SURE = 0.9999  # confidence of intervals that a right result leaves once in ten thousand cases


def agrees(result):
    return np.all((result.low <= result.expected) & (result.expected <= result.high))


def bimodal(n, rng):
    """Mixtures of two normal distributions, apart by 4 to 6 standard deviations."""
    gap = rng.uniform(4, 6, size=n)
    return Mixture([0.3, 0.7], [Normal(np.zeros(n), 1.0), Normal(gap, np.full(n, 0.5))])


def vectors(n, rng, d=3):
    root = rng.normal(size=(n, d, d))
    return MultivariateNormal(rng.normal(size=(n, d)), root @ root.transpose(0, 2, 1) + 0.1 * np.eye(d))


# ---- levels of outcomes


def test_levels_by_hand():
    assert Normal([1.0, 1.0], [2.0, 2.0]).density_level(np.array([3.0, -3.0])) == pytest.approx(
        [0.682689, 0.9545], 1e-5
    )
    assert Laplace([1.0, 0.0], [2.0, 1.0]).density_level(np.array([3.0, 0.0])) == pytest.approx([1 - np.exp(-1), 0.0])
    # two numbers: 1 - exp(-r^2 / 2); one number: as the normal distribution
    y = np.array([[2.0, 2.0]])
    assert IsotropicNormal([[0.0, 0.0]], 2.0).density_level(y) == pytest.approx([1 - np.exp(-1)])
    assert DiagonalNormal([[0.0, 1.0]], [[2.0, 1.0]]).density_level(y) == pytest.approx([1 - np.exp(-1)])
    assert IsotropicNormal([[1.0]], 2.0).density_level(np.array([[3.0]])) == pytest.approx([0.682689], 1e-5)
    # covariance [[2, 1], [1, 2]] has the inverse [[2, -1], [-1, 2]] / 3, so that (1, 1) has distance^2 2/3
    full = MultivariateNormal([[0.0, 0.0]], [[2.0, 1.0], [1.0, 2.0]])
    assert full.density_level(np.array([[1.0, 1.0]])) == pytest.approx([1 - np.exp(-1 / 3)])


def test_small_levels_keep_their_digits():
    tiny = np.array([1e-20])
    assert Normal([0.0], 1.0).density_level(tiny) == pytest.approx(1e-20 * np.sqrt(2 / np.pi), rel=1e-12)
    assert Laplace([0.0], 1.0).density_level(tiny) == pytest.approx(1e-20, rel=1e-12)


@pytest.mark.parametrize("seed", [0, 1])
def test_levels_of_vectors_are_shares_of_denser_draws(seed):
    rng = np.random.default_rng(seed)
    batch, size = vectors(20, rng), 20_000
    y = batch.sample(rng)[0]
    share = (batch.log_prob(batch.sample(rng, size)) > batch.log_prob(y)).mean(axis=0)
    level = batch.density_level(y)
    assert np.all(np.abs(share - level) < 4.5 * np.sqrt(level * (1 - level) / size) + 1e-3)
    assert np.ptp(level) > 0.5


def test_a_family_has_one_method():
    class Flat(Normal):
        def density_level(self, y):
            return np.full(len(y), 0.6)

    result = highest_density_coverage([0.0, 0.0], Flat(np.zeros(2), 1.0), levels=[0.5, 0.6, 0.7])
    assert result.shares.tolist() == [0, 0, 1]  # the level of an outcome inside is smaller


# ---- shares and expected shares


@pytest.mark.parametrize("family", [Normal, Laplace])
def test_regions_of_symmetric_distributions_with_one_mode_are_central_intervals(family):
    rng = np.random.default_rng(0)
    batch = family(rng.normal(size=300), rng.exponential(size=300) + 0.1)
    y = batch.mean + 1.4 * (batch.sample(rng)[0] - batch.mean)
    cs = np.linspace(0.01, 0.99, 50)
    dense, central = highest_density_coverage(y, batch, levels=cs), central_coverage(y, batch, levels=cs)
    for name in ("levels", "shares", "expected", "low", "high"):
        assert getattr(dense, name) == pytest.approx(getattr(central, name))
    assert np.ptp(dense.shares) > 0.8


def test_counts_by_hand():
    # Poisson(3): .224 at 2 and at 3, .168 at 4, .149 at 1, .101 at 5, .050 at 0 and at 6
    y = [0, 1, 2, 3, 4, 5]
    result = highest_density_coverage(y, Poisson(np.full(6, 3.0)), levels=[0.1, 0.44, 0.5, 0.77, 0.86])
    p = stats.poisson(3).pmf
    assert result.shares == pytest.approx(np.array([2, 2, 3, 5, 5]) / 6)  # equal probabilities: both or none
    holds = [p(2) + p(3), p(2) + p(3), p(2) + p(3) + p(4)]
    assert result.expected == pytest.approx([*holds, sum(p(k) for k in range(1, 6)), sum(p(k) for k in range(1, 6))])
    assert result.notes == ()


def test_counts_whose_sums_are_the_level_reach_it():
    # geometric: 1/2, 1/4, 1/8, ...
    batch = NegativeBinomial(np.ones(4), 1.0)
    result = highest_density_coverage([0, 1, 2, 3], batch, levels=[0.5, 0.75, 0.875])
    assert result.expected == pytest.approx([0.5, 0.75, 0.875])
    assert result.shares == pytest.approx([0.25, 0.5, 0.75])


def test_sums_of_counts_agree_with_a_plain_loop():
    rng = np.random.default_rng(1)
    rates = rng.exponential(size=(2, 30)) * 6
    batch = Mixture([0.4, 0.6], [Poisson(rates[0]), NegativeBinomial(rates[1] + 10, 3.0)])
    y, cs = rng.integers(0, 40, size=30), np.array([0.2, 0.5, 0.9])
    result = highest_density_coverage(y, batch, levels=cs)
    p = np.exp(batch.log_prob(np.arange(400)[:, None] * np.ones(30)))
    level = np.array([[p[p[:, i] > p[k, i] * (1 + 1e-9), i].sum() for i in range(30)] for k in range(400)])
    for k, c in enumerate(cs):
        assert result.expected[k] == pytest.approx((p * (level < c)).sum() / 30)
        assert result.shares[k] == np.mean(level[y, np.arange(30)] < c)


def test_blocks_of_counts_change_nothing(monkeypatch):
    rng = np.random.default_rng(2)
    batch = Poisson(rng.exponential(size=50) * 5)
    y = batch.sample(rng)[0]
    whole = highest_density_coverage(y, batch).to_dict()
    monkeypatch.setattr("kernelcal.statistics.outcomes.highest_density._CELLS", 200)
    assert highest_density_coverage(y, batch).to_dict() == whole


def test_an_outcome_far_outside_is_in_no_region():
    assert highest_density_coverage([500, 0], Poisson([0.0, 0.0])).shares == pytest.approx([0.5] * 3)


@pytest.mark.slow
@pytest.mark.parametrize("draws", [400, 4000])
def test_regions_of_two_modes_agree_with_quadrature(draws):
    rng = np.random.default_rng(5)
    n, c = 60, 0.6
    batch = bimodal(n, rng)
    y = rng.uniform(-3, 8, size=n)
    z = np.linspace(-10, 15, 50_001)[:, None]
    density, own = np.exp(batch.log_prob(z * np.ones(n))), np.exp(batch.log_prob(y))
    level = (density * (density > own)).sum(axis=0) * (z[1, 0] - z[0, 0])
    error = 4.5 * np.sqrt(c * (1 - c) / draws)
    clear = np.abs(level - c) > error
    result = highest_density_coverage(y[clear], batch[clear], levels=[c], draws=draws)
    assert clear.sum() > 40
    assert result.shares[0] == pytest.approx(np.mean(level[clear] < c))
    # a valley between the modes is outside the region and inside the central interval
    assert central_coverage(np.full(n, 2.2), batch, levels=[0.9]).shares[0] > 0.9
    assert highest_density_coverage(np.full(n, 2.2), batch, levels=[0.9], draws=draws).shares[0] < 0.5


def test_draws_of_vectors_agree_with_the_closed_form():
    rng = np.random.default_rng(6)
    batch, cs = vectors(200, rng), np.array([0.2, 0.5, 0.8])
    y = batch.sample(rng)[0]
    level = batch.density_level(y)
    drawn = highest_density.drawn_regions(batch, y, cs, 2000, np.random.default_rng(0))
    for k, c in enumerate(cs):
        clear = np.abs(level - c) > 4.5 * np.sqrt(c * (1 - c) / 2000)
        assert clear.mean() > 0.8
        assert np.array_equal(drawn.inside[k][clear], (level < c)[clear])


# ---- calibrated predictions


def calibrated(rng, n=4000):
    rates = rng.exponential(size=n) * 4
    yield Normal(rng.normal(size=n), rng.exponential(size=n) + 0.1)
    yield Laplace(rng.normal(size=n), rng.exponential(size=n) + 0.1)
    yield vectors(n, rng)
    yield Poisson(rates)
    yield NegativeBinomial(rates, 0.7)
    yield Mixture([0.5, 0.5], [Poisson(rates), Poisson(rates + 8)])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
def test_calibrated_predictions_have_the_expected_shares(seed):
    rng = np.random.default_rng(seed)
    for batch in calibrated(rng):
        result = highest_density_coverage(batch.sample(rng)[0], batch, confidence_level=SURE)
        assert agrees(result)
        assert result.verdict == ("agrees",) * 3
        assert np.all(result.expected > result.levels - 1e-9)  # calibrated models are conservative
        assert batch.counts == bool(np.any(result.expected > result.levels + 1e-3))


@pytest.mark.parametrize("draws", [1, 3, 9, 19, 100])
def test_ranks_have_exactly_the_expected_shares_at_every_number_of_draws(draws):
    rng = np.random.default_rng(7)
    n = 4000
    quantiles = Quantiles(np.sort(rng.normal(size=(n, 5)), axis=1), [0.1, 0.3, 0.5, 0.8, 0.9])  # steps: many are equal
    for batch in (bimodal(n, rng), quantiles):
        result = highest_density_coverage(batch.sample(rng)[0], batch, confidence_level=SURE, draws=draws)
        places = [min(np.ceil(c * (draws + 1) - 1e-9), draws) for c in result.levels]
        slack = 0.02 if isinstance(batch, Quantiles) else 1e-12  # steps: the order of equal densities moves the share
        assert result.expected == pytest.approx(np.array(places) / (draws + 1), abs=slack)
        assert agrees(result)
        assert f"among {draws:,} draws" in result.notes[0]
        short = [note for note in result.notes if note.startswith("regions of")]
        assert len(short) == sum(c * (draws + 1) > draws + 1e-9 for c in result.levels)
        assert isinstance(batch, Quantiles) == ("interpolation" in result.notes[-1])


def test_wide_counts_are_ranked_with_equal_ones_in_random_order(monkeypatch):
    rng = np.random.default_rng(8)
    batch = Poisson(np.full(4000, 0.4))
    y = batch.sample(rng)[0]
    monkeypatch.setattr(highest_density, "_WIDEST", 1)
    result = highest_density_coverage(y, batch, confidence_level=SURE, draws=19, levels=[0.2, 0.5, 0.9])
    assert result.expected == pytest.approx([0.2, 0.5, 0.9], abs=0.02)
    assert agrees(result)
    assert "ranked by its density among 19 draws" in result.notes[0]


def test_counts_of_ten_millions_take_draws():
    batch = Poisson([1e7, 1e7])
    result = highest_density_coverage([10_000_000, 10_050_000], batch)
    assert result.shares == pytest.approx([0.5] * 3)
    assert "1,000 draws" in result.notes[0]


def test_blocks_of_draws_change_nothing(monkeypatch):
    rng = np.random.default_rng(9)
    batch = bimodal(100, rng)
    y = batch.sample(rng)[0]
    cs = np.linspace(0.05, 0.95, 19)
    whole = highest_density_coverage(y, batch, draws=99, levels=cs).to_dict()
    monkeypatch.setattr(highest_density, "_NUMBERS", 1400)  # 7 rows at a time
    assert highest_density_coverage(y, batch, draws=99, levels=cs).to_dict() == whole
    assert highest_density_coverage(y, batch, draws=99, levels=cs, rng=1).to_dict() != whole


# ---- miscalibrated predictions


@pytest.mark.parametrize(("factor", "word"), [(0.6, "over-confident"), (1.6, "conservative"), (1.0, "agrees")])
def test_verdicts(factor, word):
    rng = np.random.default_rng(10)
    n = 500
    gap = rng.uniform(4, 6, size=n)
    true = Mixture([0.3, 0.7], [Normal(np.zeros(n), 1.0), Normal(gap, 0.5)])
    said = Mixture([0.3, 0.7], [Normal(np.zeros(n), factor), Normal(gap, 0.5 * factor)])
    result = highest_density_coverage(true.sample(rng)[0], said, confidence_level=0.999)
    assert result.verdict == (word,) * 3
    truth = vectors(n, rng)
    wrong = MultivariateNormal(truth.mean, truth.cov * factor**2)
    result = highest_density_coverage(truth.sample(rng)[0], wrong, confidence_level=0.999)
    assert result.verdict == (word,) * 3
    assert repr(result).splitlines()[3].endswith(f"expected 0.500: {word}")
    assert json.loads(json.dumps(result.to_dict()))["verdict"] == [word] * 3
    assert "Coverage of highest-density regions" in result._repr_html_()


def test_counts_are_judged_by_what_their_regions_hold():
    # every outcome in the most likely place: more than c and as much as the regions hold
    result = highest_density_coverage(np.zeros(200), Poisson(np.full(200, 1e-4)), levels=[0.5])
    assert (result.shares[0], result.verdict) == (1, ("agrees",))
    # Poisson(3): the region of 1/2 is 2, 3, 4 and holds .616; 55 % inside is more than 1/2 and too little
    few = highest_density_coverage([3] * 1100 + [9] * 900, Poisson(np.full(2000, 3.0)), levels=[0.5])
    assert few.low[0] > 0.5
    assert few.verdict == ("over-confident",)


def test_case_weights_have_no_verdict():
    result = highest_density_coverage([0.0, 9.0], Normal([0.0, 0.0], 1.0), levels=[0.5], weights=[3, 1])
    assert result.shares == pytest.approx([0.75])
    assert result.verdict == ("no interval",)
    assert "is not binomial" in result.notes[0]
    assert repr(result).splitlines()[3] == "50 %  0.750, expected 0.500"


# ---- draws with a density


def test_ranks_among_given_draws_by_hand():
    # densities fall with |z|: of 4 places, the outcomes have 1 (one draw is denser), 0 and 3
    draws = [[0.5, -2.0, 3.0], [1.0, 2.0, 3.0], [0.1, 0.2, 0.3]]
    result = highest_density_coverage(
        [1.0, 0.0, 9.0], Samples(draws), log_density=lambda z: -np.abs(z), levels=[0.25, 0.5, 0.75]
    )
    assert result.shares == pytest.approx([1 / 3, 2 / 3, 2 / 3])
    assert result.expected == pytest.approx([0.25, 0.5, 0.75])
    assert result.notes == ()


def test_given_draws_agree_with_their_model_and_are_not_drawn_anew():
    rng = np.random.default_rng(11)
    batch = vectors(2000, rng)
    y, draws = batch.sample(rng)[0], np.moveaxis(batch.sample(rng, 40), 0, 1)
    shift = rng.normal(size=2000) * 100  # the density is known up to a constant in every row
    options = {"log_density": lambda z: batch.log_prob(z) + shift, "confidence_level": SURE}
    result = highest_density_coverage(y, Samples(draws), **options)
    assert result.expected == pytest.approx(np.array([21, 37, 39]) / 41)
    assert agrees(result)
    assert highest_density_coverage(y, Samples(draws), rng=5, draws=3, **options).to_dict() == result.to_dict()
    above = (batch.log_prob(np.moveaxis(draws, 1, 0)) > batch.log_prob(y)).sum(axis=0)
    assert result.shares == pytest.approx([np.mean(above < m) for m in (21, 37, 39)])
    narrow = batch.mean + 1.5 * (y - batch.mean)
    assert highest_density_coverage(narrow, Samples(draws), **options).verdict == ("over-confident",) * 3


def test_equal_draws_and_missing_draws():
    rng = np.random.default_rng(12)
    values = rng.integers(0, 3, size=(4000, 10)).astype(float)
    weights = np.ones((4000, 9))
    weights[:2000, 4:] = 0  # four draws, nine draws
    result = highest_density_coverage(
        values[:, 0],
        Samples(values[:, 1:], weights),
        log_density=lambda z: -z,
        confidence_level=SURE,
        levels=[0.4, 0.8],
    )
    assert result.expected == pytest.approx([0.4, 0.8], abs=0.02)  # the order of equal densities moves the share
    assert agrees(result)
    few = highest_density_coverage([0.0], Samples([[1.0, 2.0]]), log_density=lambda z: -z, levels=[0.9])
    assert few.expected == pytest.approx([2 / 3])
    assert few.notes[0].startswith(
        "regions of 90 % need at least 9 draws, and there are fewer in 1 of 1 rows (at most 2)"
    )


def test_densities_of_zero():
    # outcome and all draws impossible: a random place; the outcome alone: outside
    def log_density(z):
        return np.where(z > 0, -z, -np.inf)

    outside = highest_density_coverage([-1.0], Samples([[1.0, 2.0, 3.0]]), log_density=log_density, levels=[0.75])
    assert outside.shares[0] == 0
    n = 2000
    nothing = highest_density_coverage(
        -np.ones(n), Samples(-np.ones((n, 3))), log_density=log_density, levels=[0.75], confidence_level=SURE
    )
    assert agrees(nothing)
    beyond = Quantiles([[0.0, 1.0, 3.0]], [0.1, 0.5, 0.9], tails="linear")
    assert highest_density_coverage([99.0], beyond).shares.tolist() == [0, 0, 0]


# ---- messages


def test_messages():
    draws = Samples([[0.0, 1.0, 2.0]])
    with pytest.raises(
        InputError, match=r"Samples has no density.*log_density=function.*central_coverage.*null='swap'"
    ):
        highest_density_coverage([0.0], draws)
    with pytest.raises(InputError, match="got Normal: leave it out where the family has a density"):
        highest_density_coverage([0.0], Normal([0.0], 1.0), log_density=lambda z: -z)
    with pytest.raises(InputError, match=r"must return one number a value, shape \(4, 1\).*got shape \(4,\)"):
        highest_density_coverage([0.0], draws, log_density=lambda z: -z[:, 0])
    with pytest.raises(InputError, match="log_density is nan at value 2 of row 0"):
        highest_density_coverage([0.0], draws, log_density=lambda z: np.where(z == 1, np.nan, z))
    with pytest.raises(InputError, match="only among equally likely draws"):
        highest_density_coverage([0.0], Samples([[0.0, 1.0]], weights=[[1, 2]]), log_density=lambda z: -z)
    with pytest.raises(InputError, match=r"confidence_level must lie between 0 and 1, such as 0\.95, got 95"):
        highest_density_coverage([0.0], Normal([0.0], 1.0), confidence_level=95)
    with pytest.raises(InputError, match="levels must be one or more numbers between 0 and 1"):
        highest_density_coverage([0.0], Normal([0.0], 1.0), levels=[90])
    with pytest.raises(InputError, match="draws must be a positive whole number, got 0"):
        highest_density_coverage([0.0], Normal([0.0], 1.0), draws=0)
    with pytest.raises(InputError, match="this needs predictions of numbers"):
        highest_density_coverage([0, 1], [[0.5, 0.5], [0.2, 0.8]])
    with pytest.raises(InputError, match="Samples has no density"):
        highest_density_coverage([0.0], Mixture(None, [draws, Normal([0.0], 1.0)]))
    with pytest.raises(InputError, match="row 0 has a point mass and no density"):
        highest_density_coverage([0.0], Quantiles([[0.0, 0.0, 1.0]], [0.2, 0.5, 0.9]))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_log_density_that_is_no_number_is_refused(value):
    y = np.zeros(5)
    batch = UnnormalizedDensity(
        lambda y, a: np.where(np.arange(5) == 3, value, 0.0),
        np.zeros(5),
        gradient=lambda y, a: a - y,
        sampler=lambda rng, a: rng.normal(size=5),
    )
    with pytest.raises(InputError, match=r"in row 3 is (nan|inf) at .*or -inf where the density is zero"):
        highest_density_coverage(y, batch)
