"""Small data of every kind that a report takes, with hostile names wherever a name can be given."""

import numpy as np

import kernelcal as kc
from kernelcal.predictions import UnnormalizedDensity

HOSTILE = (
    "<script>alert('x')</script>",
    '"><img src=x onerror=alert(1)>',
    r"$x_1^2$ \frac{1}{2}",
    "{{ 7 * 7 }} {% raw %}",
    "</style></svg><b>bold</b>",
)
DRAWS = 99


def binary():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=150)
    return rng.random(150) < p**2, p, {"groups": {"site": rng.choice(["north", "south"], 150)}}


def classes():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 150)
    names = list(HOSTILE[:3])
    y = np.array(names, dtype=object)[kc.Categorical(p).sample(rng)[0]]
    sharper = p**2 / (p**2).sum(axis=1, keepdims=True)
    groups = {HOSTILE[3]: rng.choice(list(HOSTILE[:2]), 150), HOSTILE[4]: rng.integers(0, 2, 150)}
    return y, {HOSTILE[0]: sharper}, {"classes": names, "groups": groups}


def several():
    y, one, options = classes()
    (sharper,) = one.values()
    return y, {HOSTILE[0]: sharper, HOSTILE[2]: np.sqrt(sharper) / np.sqrt(sharper).sum(1, keepdims=True)}, options


def _mean():
    rng = np.random.default_rng(1)
    mean = rng.normal(size=120)
    return rng, mean, mean + rng.normal(size=120)


def normal():
    rng, mean, y = _mean()
    return y, kc.Normal(mean, 0.5), {"groups": rng.choice(["a", "b"], 120)}


def samples():
    rng, mean, y = _mean()
    return y, kc.Samples(mean[:, None] + 0.5 * rng.normal(size=(120, 9))), {}


def weighted_draws():
    rng, mean, y = _mean()
    weights = np.tile(np.linspace(0.1, 1, 9), (120, 1))
    return y, kc.Samples(mean[:, None] + 0.5 * rng.normal(size=(120, 9)), weights / weights.sum(1, keepdims=True)), {}


def quantiles():
    _, mean, y = _mean()
    return y, kc.Quantiles(mean[:, None] + np.array([-1.6, -0.7, 0, 0.7, 1.6]), [0.05, 0.25, 0.5, 0.75, 0.95]), {}


def counts():
    rng = np.random.default_rng(2)
    rate = rng.uniform(1, 9, 120)
    return rng.poisson(rate), kc.Poisson(rate), {}


def vectors():
    rng = np.random.default_rng(3)
    mean = rng.normal(size=(80, 2))
    return mean + rng.normal(size=(80, 2)), kc.MultivariateNormal.isotropic(mean, np.full(80, 0.5)), {}


def scores():
    rng, mean, y = _mean()
    drawn = mean[:, None] + rng.normal(size=(120, 9))
    return (
        y,
        UnnormalizedDensity(lambda y, m: -((y - m) ** 2), mean, draws=drawn, gradient=lambda y, m: 2 * (m - y)),
        {},
    )


def weighted():
    y, p, _ = binary()
    return y, p, {"weights": np.linspace(0, 2, 150)}


def through_a_lens():
    y, one, options = classes()
    return y, one, {**options, "lens": kc.TopLabel()}


def calibrated():
    rng = np.random.default_rng(4)
    p = rng.uniform(size=300)
    return rng.random(300) < p, p, {}


def survival(factor=1.0, **options):
    """An evaluation of times to an event, half of them censored."""
    from kernelcal.survival import evaluate

    rng = np.random.default_rng(1)
    scale = np.exp(rng.normal(scale=0.5, size=90))
    times, ends = scale * rng.weibull(1.5, 90), rng.uniform(0.5, 3.0, 90)
    y = np.minimum(times, ends), times <= ends
    law = kc.predictions.Weibull(scale * factor, 1.5)
    return evaluate(y, law, censoring_time=ends, horizons=(0.6,), draws=39, **options)


SUBJECTS = {
    f.__name__: f
    for f in (
        binary,
        calibrated,
        classes,
        counts,
        normal,
        quantiles,
        samples,
        scores,
        several,
        through_a_lens,
        vectors,
        weighted,
        weighted_draws,
    )
}
