"""Power of tests of number predictions: eleven ways to be wrong, single valid tests, and the default family.

``python experiments/power/real_numbers.py SETS SEED``: the share of data sets rejected at 5 %, and what the family
loses to the best single test. ``ALTERNATIVES``, ``SINGLES`` and ``OTHERS`` are what ``run.py`` beside it reads.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri

import kernelcal as kc
from kernelcal.statistics import NumberSignals

ROWS, DRAWS, LEVEL = 200, 199, 0.05

Data = tuple[np.ndarray, Any]


def _of(
    outcomes: Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray], rng: np.random.Generator
) -> Data:
    """Predict N(mean, sd) with means N(0, 4) and standard deviations uniform from 0.5 to 2."""
    mean, sd = rng.normal(0, 2, ROWS), rng.uniform(0.5, 2, ROWS)
    return outcomes(rng, mean, sd), kc.Normal(mean, sd)


def _noise(rng: np.random.Generator) -> np.ndarray:
    return rng.normal(size=ROWS)


def _ripples(rng: np.random.Generator) -> np.ndarray:
    """Density proportional to phi(z) (1 + .95 cos(2 pi z))."""
    z = rng.normal(size=12 * ROWS)
    return z[rng.random(len(z)) < (1 + 0.95 * np.cos(2 * np.pi * z)) / 2][:ROWS]


def _humps(rng: np.random.Generator) -> np.ndarray:
    return np.where(rng.random(ROWS) < 0.5, 0.8, -0.8) + 0.6 * _noise(rng)


_OUTCOMES: dict[str, Callable[[np.random.Generator, np.ndarray, np.ndarray], np.ndarray]] = {
    "calibrated": lambda r, m, s: m + s * _noise(r),
    "sd x 1.2": lambda r, m, s: m + 1.2 * s * _noise(r),
    "sd x 0.85": lambda r, m, s: m + 0.85 * s * _noise(r),
    "shift 0.2 sd": lambda r, m, s: m + s * (0.2 + _noise(r)),
    "t3 of unit variance": lambda r, m, s: m + s * r.standard_t(3, ROWS) / np.sqrt(3),
    "centred gamma(2)": lambda r, m, s: m + s * (r.gamma(2, 1, ROWS) - 2) / np.sqrt(2),
    "bias 0.4 sd by sign of mean": lambda r, m, s: m + s * (0.4 * np.sign(m) + _noise(r)),
    "sd x 1.35 above, x 0.7 below 0": lambda r, m, s: m + s * np.where(m > 0, 1.35, 0.7) * _noise(r),
    "means shrunk by 0.8": lambda r, m, s: m / 0.8 + s * _noise(r),
    "one sd of 1.1": lambda r, m, s: m + 1.1 * _noise(r),
    "two humps": lambda r, m, s: m + s * _humps(r),
    "ripples, one sd apart": lambda r, m, s: m + s * _ripples(r),
}
ALTERNATIVES: dict[str, Callable[[np.random.Generator], Data]] = {
    name: partial(_of, outcomes) for name, outcomes in _OUTCOMES.items()
}


def _uniforms(y: np.ndarray, predictions: Any) -> np.ndarray:
    u = ndtr((y - predictions.mean) / predictions.std)
    return np.clip(u, 2.0**-54, 1 - 2.0**-53)


def _kolmogorov(u: np.ndarray) -> np.ndarray:
    n, ordered = u.shape[1], np.sort(u, axis=1)
    steps = np.arange(1, n + 1) / n
    return np.maximum(steps - ordered, ordered - steps + 1 / n).max(axis=1)


def _anderson_darling(u: np.ndarray) -> np.ndarray:
    ordered = np.sort(u, axis=1)
    odd = 2 * np.arange(1, u.shape[1] + 1) - 1
    return -(np.log(ordered) + np.log1p(-ordered[:, ::-1])) @ odd


def _berkowitz(u: np.ndarray) -> np.ndarray:
    """Likelihood ratio of normal scores with any mean and variance (Berkowitz 2001), without autocorrelation."""
    z = ndtri(u)
    variance = z.var(axis=1)
    return u.shape[1] * (variance + z.mean(axis=1) ** 2 - 1 - np.log(variance))


def _chi_square(u: np.ndarray) -> np.ndarray:
    counts = np.stack([((u * 10).astype(int) == k).sum(axis=1) for k in range(10)], axis=1)
    return ((counts - u.shape[1] / 10) ** 2).sum(axis=1)


@lru_cache(maxsize=32)
def _null(statistic: Callable[[np.ndarray], np.ndarray], draws: int = 4999) -> np.ndarray:
    """The law of a statistic of uniform numbers, which is that of every calibrated prediction."""
    rng = np.random.default_rng(20_261_129)
    return np.sort(np.concatenate([statistic(rng.random((500, ROWS))) for _ in range(0, draws, 500)]))


def _of_uniforms(statistic: Callable[[np.ndarray], np.ndarray], y: np.ndarray, predictions: Any, seed: int) -> float:
    null = _null(statistic)
    value = statistic(_uniforms(y, predictions)[None])[0]
    return float((1 + len(null) - np.searchsorted(null, value)) / (len(null) + 1))


def _signal(name: str, y: np.ndarray, predictions: Any, seed: int) -> float:
    prepared = NumberSignals().prepare(predictions)
    return _ranked(prepared.values, prepared.names.index(name), y, predictions, seed)


def _kernel(factor: float, y: np.ndarray, predictions: Any, seed: int) -> float:
    family = kc.DefaultFamily(factors=(factor,)).prepare(predictions)
    return _ranked(family.kernels.values, 0, y, predictions, seed)


def _axis(factor: float, y: np.ndarray, predictions: Any, seed: int) -> float:
    """The kernel of Widmann et al. (2021) on the axis of the targets."""
    target = kc.kernels.resolve_target(kc.kernels.Spectral(kc.Gaussian()), predictions)
    kernel = kc.kernels.resolve(kc.Laplacian(), predictions)[0]
    skce = kc.SKCE(prediction_kernel=kernel.with_lengthscale(kernel.scale * factor), target_kernel=target)
    return _ranked(skce.prepare(predictions).values, 0, y, predictions, seed)


def _ranked(
    values: Callable[[np.ndarray], np.ndarray], position: int, y: np.ndarray, predictions: Any, seed: int
) -> float:
    """Exact p-value by outcomes redrawn with NumPy."""
    rng = np.random.default_rng([seed, 7])
    drawn = predictions.mean + predictions.std * rng.normal(size=(DRAWS, ROWS))
    found = values(np.concatenate([y[None], drawn]))[:, position]
    return float((found >= found[0] - 1e-12 * abs(found[0])).mean())


SINGLES: dict[str, Callable[[np.ndarray, Any, int], float]] = {
    "Kolmogorov-Smirnov": partial(_of_uniforms, _kolmogorov),
    "Anderson-Darling": partial(_of_uniforms, _anderson_darling),
    "Berkowitz": partial(_of_uniforms, _berkowitz),
    "chi-square of PIT": partial(_of_uniforms, _chi_square),
    **{name: partial(_signal, name) for name in ("bias", "bias by location", "bias by scale")},
    **{name: partial(_signal, name) for name in ("dispersion", "dispersion by location", "dispersion by scale")},
    **{name: partial(_signal, name) for name in ("PIT", "PIT cells")},
    **{f"kernel at {factor:g}": partial(_kernel, factor) for factor in (0.125, 0.5, 2.0)},
}
OTHERS: dict[str, Callable[[np.ndarray, Any, int], float]] = {
    f"kernel on the axis of the targets at {factor:g}": partial(_axis, factor) for factor in (0.5, 2.0)
}


def default(y: np.ndarray, predictions: Any, seed: int) -> float:
    """P-value of the default family."""
    return kc.calibration_test(y, predictions, draws=DRAWS, rng=seed, early_stopping=False).pvalue


def shares(sets: int, seed: int) -> dict[str, dict[str, float]]:
    """Share of data sets rejected, of every alternative by every test."""
    tests = {**SINGLES, **OTHERS, "default family": default}
    found: dict[str, dict[str, float]] = {}
    for number, (name, alternative) in enumerate(ALTERNATIVES.items()):
        rejected = dict.fromkeys(tests, 0)
        for k in range(sets):
            y, predictions = alternative(np.random.default_rng([seed, number, k]))
            for test, pvalue in tests.items():
                rejected[test] += pvalue(y, predictions, k) <= LEVEL
        found[name] = {test: count / sets for test, count in rejected.items()}
        print(name, {test: round(share, 2) for test, share in found[name].items()}, flush=True)
    return found


def main(sets: int, seed: int) -> None:
    """Print the power of the best single test and of the family, and the loss."""
    found = shares(sets, seed)
    losses = []
    for name, row in found.items():
        best = max(SINGLES, key=row.__getitem__)
        loss = row[best] - row["default family"]
        losses += [loss] if name != "calibrated" else []
        print(f"{name:32} {best:24} {row[best]:.2f}  default {row['default family']:.2f}  loss {100 * loss:4.0f}")
    print(f"mean loss {100 * np.mean(losses):.1f} points, worst {100 * max(losses):.0f}, of {sets} data sets each")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
