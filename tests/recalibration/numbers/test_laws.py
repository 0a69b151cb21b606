"""Maps of laws beside a naive second implementation: the mean log loss with its ridge, minimised without slopes."""

import numpy as np
import pytest
from scipy import optimize, stats

import kernelcal as kc
from kernelcal.predictions import Laplace, StudentT
from kernelcal.recalibration import recalibrate

FAMILIES = {
    "normal": (kc.Normal, lambda z: stats.norm.logpdf(z)),
    "laplace": (Laplace, lambda z: stats.laplace.logpdf(z)),
    "student": (lambda m, s: StudentT(np.full(len(m), 4.0), m, s), lambda z: stats.t.logpdf(z, 4.0)),
}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize(
    ("family", "weighted"),
    [
        ("normal", False),
        *((family, True) for family in FAMILIES),
        *(pytest.param(family, False, marks=pytest.mark.slow) for family in FAMILIES if family != "normal"),
    ],
)
def test_places_and_widths_minimise_the_loss_with_its_ridge(family, weighted):
    rng = np.random.default_rng(5)
    n = 25
    m, s = 3 * rng.normal(size=n), rng.uniform(0.5, 3, n)
    y = 0.4 + 0.6 * m + 1.5 * s**0.5 * rng.normal(size=n)
    w = rng.uniform(0.3, 3, n) if weighted else np.ones(n)
    w = w / w.mean()
    kind, log_density = FAMILIES[family]
    made = recalibrate(y, kind(m, s), "places and widths", weights=w if weighted else None, test=False).fit.map
    centre, level = np.average(m, weights=w), np.average(np.log(s), weights=w)
    unit, number = np.sqrt(np.average((y - m) ** 2, weights=w)), w.sum() ** 2 / (w**2).sum()

    def loss(theta):
        a, b, c, d = theta
        place = centre + a * unit + b * (m - centre)
        width = np.exp(level + c + d * (np.log(s) - level))
        mean = -np.average(log_density((y - place) / width) - np.log(width), weights=w)
        return mean + ((b - 1) ** 2 + (d - 1) ** 2) / number

    found = np.array([made.shift, made.slope, made.stretch, made.power])
    options = {"xatol": 1e-9, "fatol": 1e-13, "maxiter": 20_000, "maxfev": 20_000}
    tries = []
    for begin in ([0.0, 1.0, 0.0, 1.0], [0.1, 0.7, 0.2, 0.5], [-0.1, 0.5, 0.3, 0.7]):
        for _ in range(3):  # it stops early, and goes on where it begins anew
            tries.append(optimize.minimize(loss, begin, method="Nelder-Mead", options=options))
            begin = tries[-1].x
    best = min(tries, key=lambda one: one.fun)
    assert 0 < found[3] < 2
    kinked = family == "laplace"
    assert loss(found) == pytest.approx(best.fun, abs=1e-4 if kinked else 2e-6)
    np.testing.assert_allclose(found, best.x, atol=5e-2 if kinked else 5e-3)
