"""Words for numbers: fifteen ways to be wrong with a known truth, over many families; no sentence says the opposite."""

import numpy as np
import pytest
from scipy import stats

import kernelcal as kc
from kernelcal.predictions import Beta, Gamma, Laplace, LogNormal, Mixture, Poisson, Samples, StudentT
from kernelcal.statistics import NumberSignals

N = 250
UP, DOWN, NARROW, WIDE = (
    "predictions shifted up",
    "predictions shifted down",
    "predictions too narrow",
    "predictions too wide",
)
HIGH_UP, HIGH_DOWN = "high predictions are shifted up", "high predictions are shifted down"
HIGH_NARROW, HIGH_WIDE = "high predictions are too narrow", "high predictions are too wide"
WIDE_UP, WIDE_DOWN = "wide predictions are shifted up", "wide predictions are shifted down"
WIDE_NARROW, WIDE_WIDE = "wide predictions are too narrow", "wide predictions are too wide"
BY = (HIGH_UP, HIGH_DOWN, WIDE_UP, WIDE_DOWN)
ALL = (UP, DOWN, NARROW, WIDE)

# normal scores of the outcomes by calibrated ones, location and scale; what must be said, what must not
KINDS = {
    "calibrated": (lambda z, m, s, r: z, (), (*ALL, *BY)),
    "higher": (lambda z, m, s, r: z + 0.6, (DOWN,), (UP, NARROW, WIDE)),
    "lower": (lambda z, m, s, r: z - 0.6, (UP,), (DOWN, NARROW, WIDE)),
    "far higher": (lambda z, m, s, r: z + 3, (DOWN,), (UP, NARROW, WIDE)),
    "spread more": (lambda z, m, s, r: 1.5 * z, (NARROW,), (UP, DOWN, WIDE)),
    "spread less": (lambda z, m, s, r: 0.6 * z, (WIDE,), (UP, DOWN, NARROW)),
    "higher, spread less": (lambda z, m, s, r: 0.6 * z + 0.8, (DOWN, WIDE), (UP, NARROW)),
    "lower, spread more": (lambda z, m, s, r: 1.6 * z - 1, (UP, NARROW), (DOWN, WIDE)),
    "higher where high": (lambda z, m, s, r: z + 0.6 * m, (HIGH_DOWN,), (HIGH_UP, WIDE)),
    "lower where high": (lambda z, m, s, r: z - 0.6 * m, (HIGH_UP,), (HIGH_DOWN, WIDE)),
    "higher where wide": (lambda z, m, s, r: z + 0.6 * s, (WIDE_DOWN,), (WIDE_UP, WIDE)),
    "spread more where high": (lambda z, m, s, r: z * np.exp(0.4 * m), (HIGH_NARROW,), (HIGH_WIDE, UP, DOWN)),
    "spread less where wide": (lambda z, m, s, r: z * np.exp(-0.4 * s), (WIDE_WIDE,), (WIDE_NARROW, UP, DOWN)),
    "skewed to the right": (lambda z, m, s, r: (r.gamma(1.5, size=N) - 1.5) / 1.5**0.5, (), (*BY, "to the left")),
    "two humps": (lambda z, m, s, r: np.where(r.random(N) < 0.5, 0.9, -0.9) + 0.4 * z, (), (*ALL[:3], *BY)),
}


def of_scores(law, z):
    """Outcomes at these normal scores of laws of scipy.stats, from the nearer tail."""
    return np.where(z < 0, law.ppf(stats.norm.cdf(z)), law.isf(stats.norm.sf(z)))


def normal(m, s, z, r):
    return kc.Normal(2 * m, np.exp(s)), 2 * m + np.exp(s) * z


def ensemble(m, s, z, r):
    width = np.exp(s / 2)
    return Samples(2 * m[:, None] + width[:, None] * r.normal(size=(N, 25))), 2 * m + width * z


def mixture(m, s, z, r):
    width = np.exp(s)
    parts = [kc.Normal(2 * m, width), kc.Normal(2 * m, width)]
    return Mixture(None, parts), 2 * m + width * z


def counts(m, s, z, r):
    rate = np.exp(4 + m)
    return Poisson(rate), of_scores(stats.poisson(rate), z)


def of(family, law):
    return lambda m, s, z, r: (family(m, s), of_scores(law(m, s), z))


FAMILIES = {
    "Normal": normal,
    "Laplace": of(lambda m, s: Laplace(m, np.exp(s)), lambda m, s: stats.laplace(m, np.exp(s))),
    "t without variance": of(
        lambda m, s: StudentT(np.full(N, 1.5), m, np.exp(s)), lambda m, s: stats.t(1.5, m, np.exp(s))
    ),
    "LogNormal": of(
        lambda m, s: LogNormal(m, np.exp(s / 2)), lambda m, s: stats.lognorm(np.exp(s / 2), scale=np.exp(m))
    ),
    "Gamma": of(
        lambda m, s: Gamma.from_mean(np.exp(m), std=np.exp(m + s / 2)),
        lambda m, s: stats.gamma(np.exp(-s), scale=np.exp(m + s)),
    ),
    "Beta": of(
        lambda m, s: Beta(10 * stats.norm.cdf(m), 10 * stats.norm.cdf(-m)),
        lambda m, s: stats.beta(10 * stats.norm.cdf(m), 10 * stats.norm.cdf(-m)),
    ),
    "Mixture": mixture,
    "Poisson": counts,
    "Samples": ensemble,
}
# kinds that need widths apart from locations, and laws whose location is not the one that scores depend on
LEFT_OUT = {
    ("Poisson", "far higher"),  # higher counts spread more
    ("Beta", "higher where wide"),
    ("Beta", "spread less where wide"),
    ("Poisson", "higher where wide"),
    ("Poisson", "spread less where wide"),
    ("Gamma", "higher where wide"),
    ("Gamma", "spread less where wide"),
    ("LogNormal", "higher where wide"),
    ("LogNormal", "spread less where wide"),
}
QUICK = ("Normal", "t without variance", "Samples")


def said(family, kind, seed=2):
    rng = np.random.default_rng([seed, *family.encode()])
    m, s = rng.normal(size=N), 0.7 * rng.normal(size=N)
    z = KINDS[kind][0](rng.normal(size=N), m, s / 0.7, rng)
    predictions, y = FAMILIES[family](m, s, z, rng)
    result = kc.calibration_test(y, predictions, draws=99)
    return result.pvalue, " | ".join(result.directions)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "family", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FAMILIES]
)
@pytest.mark.quick_cases(15)
def test_no_sentence_says_the_opposite(family, kind):
    if (family, kind) in LEFT_OUT:
        pytest.skip("this law has no such way to be wrong")
    _, needed, forbidden = KINDS[kind]
    pvalue, words = said(family, kind)
    assert (pvalue <= 0.05) == (kind != "calibrated")
    assert not [word for word in forbidden if word in words], words
    assert all(word in words for word in needed), words


def test_a_few_rows_are_named_as_such():
    rng = np.random.default_rng(1)
    mean, std = rng.normal(0, 2, 200), rng.uniform(0.5, 2, 200)
    y = mean + std * rng.normal(size=200)
    y[[3, 70]] += 5_000
    signals = NumberSignals().prepare(kc.Normal(mean, std))
    assert signals.sentence("bias", y) == (
        "outcomes lie far above the predictions in 2 of 200 rows, the others show no such shift"
    )
    assert signals.sentence("dispersion", y) == (
        "outcomes lie far outside the predictions in 2 of 200 rows, the others are no wider than predicted"
    )
    words = kc.calibration_test(y, kc.Normal(mean, std), draws=199).directions
    assert "2 of 200 rows" in words[0]


def test_the_median_stands_where_far_rows_make_the_mean():
    rng = np.random.default_rng(1)
    mean, std = rng.gamma(2, 3, 200), np.where(np.arange(200) % 4 == 0, 0.01, 3.0)
    y = mean + 0.5 + 3 * rng.normal(size=200)
    y[::4] = mean[::4] + rng.exponential(2, 50)
    signals = NumberSignals().prepare(kc.Normal(mean, std))
    middle = np.median((y - mean) / std)
    far = int((np.abs((y - mean) / std - middle) > 5).sum())
    assert signals.sentence("bias", y) == (
        f"predictions shifted down (outcomes are higher: {middle:.2g} standard deviations in the median; {far} of 200 "
        "rows lie far away)"
    )
    quartiles = np.subtract(*np.quantile((y - mean) / std, [0.75, 0.25])) / 1.3489795
    assert f"spread {quartiles:.2f} times" in signals.sentence("dispersion", y)


def test_laws_without_variance_have_no_standard_deviations():
    rng = np.random.default_rng(1)
    mean = rng.normal(size=400)
    heavy = StudentT(np.full(400, 1.5), mean, np.ones(400))
    signals = NumberSignals().prepare(heavy)
    up = mean + 1 + rng.standard_t(1.5, 400)
    share = stats.norm.cdf(stats.norm.ppf(stats.t.cdf(up - mean, 1.5)).mean())
    assert signals.sentence("bias", up) == (
        f"predictions shifted down (outcomes are higher: the typical one lies at the predicted {100 * share:.0f} % "
        "quantile, not at the median)"
    )
    narrow = mean + 0.5 * rng.standard_t(1.5, 400)
    low, high = np.quantile(narrow - mean, [0.25, 0.75]) / np.diff(stats.t.ppf([0.25, 0.75], 1.5))
    assert signals.sentence("dispersion", narrow) == (
        f"predictions too wide (outcomes spread {high - low:.2f} times as wide as predicted)"
    )


@pytest.mark.parametrize(
    ("scores", "end"),
    [
        (lambda r: (r.gamma(1.5, size=N) - 1.5) / 1.5**0.5, "(outcomes are skewed to the right of it)"),
        (lambda r: (1.5 - r.gamma(1.5, size=N)) / 1.5**0.5, "(outcomes are skewed to the left of it)"),
        (lambda r: np.where(r.random(N) < 0.5, 0.9, -0.9) + 0.4 * r.normal(size=N), "predicted, more between)"),
        (lambda r: r.standard_t(2.5, N) * 0.6, "predicted, fewer between)"),
    ],
)
def test_shapes(scores, end):
    rng = np.random.default_rng(0)
    signals = NumberSignals().prepare(kc.Normal(np.zeros(N), np.ones(N)))
    words = signals.sentence("PIT", scores(rng))
    assert words.startswith("no clear shift or wrong width: the shape of the predicted distributions is wrong")
    assert words.endswith(end)


@pytest.mark.parametrize("seed", range(6))
def test_a_width_is_named_where_its_figure_agrees(seed):
    """Of ensembles stretched about their own mean sums and spreads say different things of a width nearly right."""
    rng = np.random.default_rng(seed)
    mean, std = 3 * rng.normal(size=300), rng.uniform(0.5, 2, 300)
    draws = mean[:, None] + std[:, None] * rng.normal(size=(300, 20))
    draws += 0.63 * (draws - draws.mean(axis=1, keepdims=True))
    y = mean + 1.6 * std * rng.normal(size=300)
    words = NumberSignals().prepare(kc.predictions.Samples(draws)).sentence("dispersion", y)
    if "times as wide" in words:
        assert ("narrow" in words) == (float(words.partition("spread ")[2].split()[0]) > 1)
    else:
        assert "shape" in words


def _with_far_rows(family, slope):
    """Outcomes of three far rows, the others of a shift that grows with the mean by `slope`."""
    rng = np.random.default_rng(3)
    mean = rng.normal(size=300)
    outcomes = mean + slope * mean + rng.normal(size=300)
    outcomes[rng.choice(300, 3, replace=False)] = 5000.0
    if family == "draws":
        return outcomes, Samples(mean[:, None] + rng.normal(size=(300, 21)))
    return outcomes, kc.Normal(mean, np.ones(300))


@pytest.mark.parametrize("family", ["draws", "normal"])
@pytest.mark.parametrize("column", [1, 2])
def test_a_few_far_rows_are_no_difference_between_high_and_low_ones(family, column):
    outcomes, predictions = _with_far_rows(family, 0.0)
    signals = NumberSignals().prepare(predictions)
    names = [name for name in signals.directed if name.endswith(("location", "scale")[column - 1])]
    assert len(names) == 2
    if (family, column) == ("draws", 2):  # draws that happen to be wide are too wide compared with others, far or not
        names = [name for name in names if name.startswith("bias")]
    for name in names:
        said = signals.sentence(name, outcomes)
        assert said == "outcomes lie far from the predictions in 3 of 300 rows, the others show no such difference"


@pytest.mark.parametrize("family", ["draws", "normal"])
@pytest.mark.parametrize("slope", [-0.6, 0.6])
def test_what_the_other_rows_show_is_said_beside_far_ones(family, slope):
    outcomes, predictions = _with_far_rows(family, slope)
    signals = NumberSignals().prepare(predictions)
    (name,) = [name for name in signals.directed if name.startswith("bias") and name.endswith("location")]
    sums = signals.signed(outcomes[None])[0][0, 0, 1]
    said = signals.sentence(name, outcomes)
    if np.sign(sums) == np.sign(slope):
        assert said in (HIGH_DOWN + " compared with low ones", HIGH_UP + " compared with low ones")
        assert ("down" in said) == (slope > 0)
    else:  # the far rows turn the sign round: no word is better than the wrong one
        assert said.startswith("outcomes lie far from the predictions in 3 of 300 rows")
