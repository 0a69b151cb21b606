"""What families of numbers say of their distributions, compared with each other and with draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions import Samples
from kernelcal.testing.contract import claim, close, contract, refused, tells_what_to_do

__all__ = ["answers_of_numbers", "check_numbers", "optional"]


_LEVELS = np.array([0.03, 0.1, 0.25, 0.5, 0.75, 0.9, 0.97])
_CHANCE = 1e-7  # with which a bound on means of draws fails a family that is right
_SPREADS = 5.6  # as many standard errors of a normal mean are passed with this chance


def optional(method: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """Answer of an optional method; None where the family refuses it, which it must do with the name of the method."""
    try:
        return call(*arguments)
    except InputError as error:
        tells_what_to_do(str(error))
        words = (*method.strip("_").split("_"), "row ")
        claim(
            any(word in str(error).lower() for word in words),
            f"the message names neither {method}() nor a row: {error}",
        )
        return None


def answers_of_numbers(p: Any, y: np.ndarray) -> dict[str, tuple[np.ndarray, int]]:
    """All that a batch says of itself and of some sets of targets: arrays, and the axis of the sample."""
    found: dict[str, tuple[np.ndarray, int]] = {}
    for name in ("mean", "std", "centre", "width"):
        found[name] = (to_numpy(getattr(p, name)), 0)
    found["impossible"] = (np.asarray(p.impossible(y)), 1)
    found["standardised"] = (np.asarray(p.standardised(y)), 1)
    calls: dict[str, tuple[Callable[..., Any], Any, int]] = {
        "characteristic": (p.characteristic, _frequencies(p, 1.0), 0),
        "log_prob": (p.log_prob, y, 1),
        "score": (p.score, y, 1),
        "cdf": (p.cdf, y, 1),
        "cdf_below": (p.cdf_below, y, 1),
        "quantile": (p.quantile, _LEVELS[:, None], 1),
    }
    for name, (call, argument, axis) in calls.items():
        try:
            found[name] = (to_numpy(call(argument)), axis)
        except InputError:
            continue
    return found


def _frequencies(p: Any, width: float) -> np.ndarray:
    return np.random.default_rng(2).normal(size=(6, p.dimension) if p.event_shape else 6) / width


def check_numbers(p: Any, draws: int) -> None:
    """Go through what a family of numbers says."""
    y = np.asarray(p.sample(2, draws), dtype=np.float64)
    _check_moments(p, y)
    _check_characteristic(p, y)
    if p.event_shape == ():
        _check_distribution(p, y)
    else:
        _check_marginals(p, y)
    _check_density(p, y)
    _check_score(p, y[:5])
    _check_scores_and_levels(p, y)
    with contract(p, "in_words(y) gives a text for every prediction and for every target"):
        for texts in p.in_words(y[0]):
            claim(len(texts) == len(p) and all(isinstance(text, str) for text in texts), f"it gives {texts!r:.80}")


def _check_moments(p: Any, y: np.ndarray) -> None:
    n, event = len(p), p.event_shape
    mean, std, centre, width = (
        to_numpy(getattr(p, name)).astype(np.float64) for name in ("mean", "std", "centre", "width")
    )
    with contract(p, "mean, std, centre and width have shape (n, *event_shape), and std and width are not negative"):
        for name, values in (("mean", mean), ("std", std), ("centre", centre), ("width", width)):
            claim(values.shape == (n, *event), f"{name} has shape {values.shape}, expected {(n, *event)}")
        claim(
            not (std < 0).any() and not (width < 0).any(), f"the least std is {std.min():.6g}, width {width.min():.6g}"
        )
    with contract(p, "centre and width are finite, also where there is no mean or no standard deviation"):
        claim(np.isfinite(centre).all() and np.isfinite(width).all(), "one of them is not: define centre and width")
    known = np.isfinite(mean) & np.isfinite(std)
    mean, std = np.where(known, mean, 0), np.where(known, std, 1)
    with contract(p, "draws have the mean"):
        away = np.abs(y.mean(axis=0) - mean)
        allowed = _SPREADS * np.maximum(std, y.std(axis=0)) / np.sqrt(len(y)) + 1e-9 * (1 + np.abs(mean))
        _within(away, allowed, known, "the mean of draws")
    with contract(p, "draws have the standard deviation"):
        squares = (y - mean) ** 2
        away = np.abs(squares.mean(axis=0) - std**2)
        allowed = 1.5 * _SPREADS * np.maximum(squares.std(axis=0), std**2) / np.sqrt(len(y))
        _within(away, allowed + 1e-9 * (1 + std**2), known, "the variance of draws")
    with contract(p, "standardised(y) has mean 0 and variance 1 under the prediction, 0 where there is no spread"):
        z = np.asarray(p.standardised(y))
        claim(np.all(z[:, std == 0] == 0), "it is not 0 where std is 0")
        spread = std > 0
        _within(np.abs(z.mean(axis=0)), _SPREADS * np.maximum(z.std(axis=0), 1) / np.sqrt(len(y)), spread, "its mean")
        allowed = 1.5 * _SPREADS * np.maximum((z**2).std(axis=0), 1) / np.sqrt(len(y))
        _within(np.abs((z**2).mean(axis=0) - 1), allowed, spread, "its variance")
    if p.counts:
        with contract(p, "targets of a family with counts = True are whole numbers from 0"):
            claim(np.array_equal(y, np.round(y)) and y.min() >= 0, f"some are {np.unique(y)[:4]}")


def _within(away: np.ndarray, allowed: np.ndarray, known: np.ndarray, what: str) -> None:
    excess = np.where(known, away - allowed, -np.inf)
    place = tuple(int(k) for k in np.unravel_index(int(excess.argmax()), excess.shape))
    claim(
        excess[place] <= 0,
        f"{what} is {away[place]:.6g} away at {list(place)}, expected {allowed[place]:.3g} at most",
    )


def _check_characteristic(p: Any, y: np.ndarray) -> None:
    w = _frequencies(p, float(np.median(to_numpy(p.width))) or 1.0)
    with contract(p, "characteristic(w) is E exp(i w.Z): complex, shape (n, D), or is refused by name"):
        found = optional("characteristic", lambda: p.characteristic(w))
        if found is None:
            return
        claim(np.shape(found) == (len(p), len(w)), f"it has shape {np.shape(found)}, expected {(len(p), len(w))}")
        phases = y @ w.T if p.event_shape else y[..., None] * w
        bound = np.sqrt(2 * np.log(4 * found.size / _CHANCE) / len(y)) * np.sqrt(2)
        away = np.abs(np.exp(1j * phases).mean(axis=0) - found)
        claim(away.max() < bound, f"it is {away.max():.4g} away from the mean of draws, expected {bound:.3g} at most")
        close(np.abs(p.characteristic(0 * w)), np.ones((len(p), len(w))), rtol=1e-12, what="its modulus at w = 0")
        small, mean = 1e-6 * w, to_numpy(p.mean).astype(np.float64)
        turned = mean @ small.T if p.event_shape else mean[:, None] * small
        if np.isfinite(turned).all():
            close(p.characteristic(small), 1 + 1j * turned, atol=1e-9, what="near 0 it turns with the mean: it")
        far = p.characteristic(1e3 * w)
        claim(np.isfinite(far).all() and np.abs(far).max() <= 1 + 1e-9, "far out it is not finite, or above 1")


def _check_distribution(p: Any, y: np.ndarray) -> None:
    ordered = np.sort(y, axis=0)
    with contract(p, "cdf(y) is P(Y <= y), and cdf_below(y) is P(Y < y), or both are refused by name"):
        cdf = optional("cdf", lambda: np.asarray(p.cdf(ordered)))
        if cdf is None:
            return
        below = np.asarray(p.cdf_below(ordered))
        claim(
            cdf.shape == below.shape == y.shape, f"they have shapes {cdf.shape} and {below.shape}, expected {y.shape}"
        )
        claim(below.min() >= 0 and cdf.max() <= 1, f"they go from {below.min():.6g} to {cdf.max():.6g}")
        claim(np.all(np.diff(cdf, axis=0) >= -1e-15), "cdf falls somewhere")
        claim(np.all(below <= cdf + 1e-15), "cdf_below is above cdf somewhere")
        bound = np.sqrt(np.log(2 * len(p) / _CHANCE) / (2 * len(y)))  # Dvoretzky, Kiefer, Wolfowitz
        for row in range(len(p)):
            column = ordered[:, row]
            upto, before = (np.searchsorted(column, column, side="right"), np.searchsorted(column, column, side="left"))
            for values, rank, name in ((cdf, upto, "cdf"), (below, before, "cdf_below")):
                away = float(np.abs(rank / len(y) - values[:, row]).max())
                claim(away < bound, f"{name} of row {row} is {away:.4g} away from draws, expected {bound:.3g} at most")
        far = 1e12 * (1 + np.abs(to_numpy(p.centre)) + to_numpy(p.width))
        claim(np.all(p.cdf(far) > 1 - 1e-6) and np.all(p.cdf(-far) < 1e-6), "far out it is not 0 and 1")
    with contract(p, "pit_interval(y) is P(Y < y) and P(Y <= y), between which the PIT draws a uniform number"):
        low, high = (np.asarray(end) for end in p.pit_interval(y[0]))
        claim(low.shape == high.shape == (len(p),), f"it has shapes {low.shape} and {high.shape}")
        claim(np.all((low >= 0) & (low <= high) & (high <= 1 + 1e-12)), "the ends are not in order, or not in [0, 1]")
        if not isinstance(p, Samples):  # among whose draws the outcome is one more
            _check_pit(p, y)
    _check_quantiles(p, y)
    if not isinstance(p, Samples):
        _check_central_intervals(p, y)


def _check_pit(p: Any, y: np.ndarray) -> None:
    sets = min(len(y), 1500)
    ends = [p.pit_interval(row) for row in y[:sets]]
    low, high = (np.stack([np.asarray(pair[k]) for pair in ends]) for k in (0, 1))
    pit = np.sort(low + (high - low) * np.random.default_rng(0).random(low.shape), axis=0)
    away = np.abs(pit - (np.arange(sets)[:, None] + 0.5) / sets).max(axis=0)
    bound = np.sqrt(np.log(2 * len(p) / _CHANCE) / (2 * sets)) + 1 / sets
    row = int(away.argmax())
    claim(
        away[row] < bound,
        f"PIT values of draws of row {row} are {away[row]:.4g} away from uniform, expected {bound:.3g} at most",
    )


def _check_quantiles(p: Any, y: np.ndarray) -> None:
    n = len(p)
    with contract(p, "quantile(u) is the smallest value with cdf >= u, or is refused by name"):
        q = optional("_quantile", lambda: np.asarray(p.quantile(_LEVELS[:, None])))
        if q is None:
            return
        claim(q.shape == (len(_LEVELS), n), f"it has shape {q.shape} for levels of shape ({len(_LEVELS)}, 1)")
        u = np.random.default_rng(5).random((200, n))
        u[: len(_LEVELS)] = _LEVELS[:, None]
        values = p.quantile(u)
        short = (u - p.cdf(values)).max()
        claim(short <= 1e-9, f"cdf at a quantile is {short:.4g} below its level")
        beyond = (p.cdf_below(values) - u).max()
        claim(beyond <= 1e-9, f"cdf_below at a quantile is {beyond:.4g} above its level: a smaller value reaches it")
        claim(p.quantile(0.5).shape == (n,), f"the median has shape {p.quantile(0.5).shape}")
        ends = p.quantile(np.array([[0.0], [1.0]]))
        claim(np.all(ends[0] <= y[:200]) and np.all(y[:200] <= ends[1]), "draws lie outside of the quantiles 0 and 1")
    with contract(p, "levels of quantiles that are no probabilities are refused"):
        refused(lambda: p.quantile(1.1), "the level 1.1")
        refused(lambda: p.quantile(np.nan), "the level NaN")


def _check_central_intervals(p: Any, y: np.ndarray) -> None:
    with contract(p, "central_interval(level) has the ends of a closed interval, and its probability"):
        for level in (0.5, 0.9):
            found = optional("quantile", p.central_interval, level)
            if found is None:
                return
            low, high, probability = (np.asarray(x) for x in (found.low, found.high, found.probability))
            claim(low.shape == high.shape == probability.shape == (len(p),), f"it has shapes {low.shape}, {high.shape}")
            claim(np.all(low <= high), "a lower end is above the upper one")
            inside = ((y >= low) & (y <= high)).mean(axis=0)
            bound = np.sqrt(np.log(2 * len(p) / _CHANCE) / (2 * len(y)))
            away = float(np.abs(inside - probability).max())
            claim(away < bound, f"the share of draws inside is {away:.4g} away from its probability at level {level}")


def _check_marginals(p: Any, y: np.ndarray) -> None:
    with contract(p, "vectors have no distribution function of one number, and refuse it by name"):
        claim(optional("cdf", lambda: p.cdf(y[:2])) is None, "cdf(y) returned something")
    with contract(p, "marginal(k) gives predictions of coordinate k, or is refused by name"):
        for k in range(p.event_shape[0]):
            part = optional("marginal", p.marginal, k)
            if part is None:
                return
            claim(
                part.event_shape == () and len(part) == len(p), f"it has {len(part)} rows of shape {part.event_shape}"
            )
            close(part.mean, to_numpy(p.mean)[:, k], rtol=1e-9, what=f"the mean of coordinate {k}")
            close(part.std, to_numpy(p.std)[:, k], rtol=1e-9, what=f"the standard deviation of coordinate {k}")
            _check_distribution(part, y[..., k])


def _check_density(p: Any, y: np.ndarray) -> None:
    with contract(
        p, "log_prob(y) is the logarithm of the density, or of the probability of a count, or is refused by name"
    ):
        found = optional("log_prob", lambda: to_numpy(p.log_prob(y)))
        if found is None:
            return
        claim(found.shape == y.shape[:2], f"it has shape {found.shape} for targets of shape {y.shape}")
        claim(np.isfinite(found).all(), f"{int((~np.isfinite(found)).sum())} drawn targets have no finite log_prob")
    if p.counts:
        with contract(p, "probabilities of counts add up to the distribution function"):
            k = np.arange(float(y.max()) + 2)[:, None] * np.ones(len(p))
            close(np.cumsum(np.exp(to_numpy(p.log_prob(k))), axis=0), p.cdf(k), rtol=1e-8, atol=1e-11, what="the sum")
            claim(np.all(to_numpy(p.log_prob(k + 0.5)) == -np.inf), "log_prob of a half is not -inf")
    elif p.event_shape == ():
        with contract(p, "the density integrates to the distribution function"):
            _check_integrals(p, y)
    else:
        with contract(p, "the density integrates to 1, and its draws have it"):
            _check_mass(p, y, found)


def _check_integrals(p: Any, y: np.ndarray) -> None:
    cdf = optional("cdf", lambda: p.cdf(y[:1]))
    if cdf is None:
        return
    x, w = np.polynomial.legendre.leggauss(60)
    knots = np.sort(np.concatenate([y[:60], np.asarray(p.breaks())]) if len(p) else y[:60], axis=0)
    knots = np.where(np.isfinite(knots), knots, to_numpy(p.centre))
    knots.sort(axis=0)
    half, middle = np.diff(knots, axis=0) / 2, (knots[1:] + knots[:-1]) / 2
    density = np.exp(to_numpy(p.log_prob(middle + half * x[:, None, None])))
    integral = half * np.tensordot(w, density, axes=1)
    mass = np.asarray(p.cdf_below(knots))[1:] - np.asarray(p.cdf(knots))[:-1]
    kept = (half > 0) & (mass > 0)
    close(
        np.where(kept, integral, 0),
        np.where(kept, mass, 0),
        rtol=1e-3,
        atol=1e-4,
        what="the integral between two places",
    )
    within = np.where(kept, integral, 0).sum(axis=0)
    close(within, np.where(kept, mass, 0).sum(axis=0), rtol=1e-4, atol=1e-5, what="the integral")


def _check_mass(p: Any, y: np.ndarray, log_density: np.ndarray) -> None:
    """E q(Z) / p(Z) = 1 for Z from p and a narrower normal density q."""
    n, d = len(p), p.dimension
    flat = y.reshape(len(y), n, d)
    if np.linalg.matrix_rank(np.cov(flat[:, 0].T)) < d:  # shares, whose density is that of all but the last
        d, flat = d - 1, flat[..., :-1]
    for row in range(n):
        cov = np.atleast_2d(np.cov(flat[:, row].T)) * 0.5 + 1e-9 * np.eye(d)
        z = np.linalg.solve(np.linalg.cholesky(cov), (flat[:, row] - flat[:, row].mean(axis=0)).T)
        log_q = -0.5 * (z**2).sum(axis=0) - 0.5 * np.linalg.slogdet(2 * np.pi * cov)[1]
        ratio = np.exp(log_q - log_density[:, row])
        error = 2 * _SPREADS * ratio.std() / np.sqrt(len(ratio)) + 1e-6
        claim(
            abs(ratio.mean() - 1) < error,
            f"row {row} has the mass {1 / ratio.mean():.4g} by importance sampling of draws",
        )


def _check_score(p: Any, y: np.ndarray) -> None:
    with contract(p, "score(y) is the gradient of log_prob, shape (..., n, *event_shape), or is refused by name"):
        found = optional("score", lambda: to_numpy(p.score(y)))
        if found is None:
            return
        claim(found.shape == y.shape, f"it has shape {found.shape} for targets of shape {y.shape}")
        log_prob = optional("log_prob", lambda: to_numpy(p.log_prob(y)))
        if log_prob is None:
            return
        step = 1e-5 * to_numpy(p.width) + 1e-12
        for k in np.ndindex(*p.event_shape):
            shift = np.zeros(y.shape)
            shift[(..., *k)] = step[(..., *k)]
            ahead, behind = to_numpy(p.log_prob(y + shift)), to_numpy(p.log_prob(y - shift))
            slope = (ahead - behind) / (2 * step[(..., *k)])
            size = float(np.abs(slope).max())
            close(found[(..., *k)], slope, rtol=1e-4, atol=1e-5 * (size + 1), what="the score")
        if p.score_is_affine:
            middle = to_numpy(p.score((y[:1] + y[1:2]) / 2))
            close(middle, (found[:1] + found[1:2]) / 2, rtol=1e-7, atol=1e-9, what="the score half way")


def _check_scores_and_levels(p: Any, y: np.ndarray) -> None:
    if p.event_shape == ():
        with contract(p, "crps(y) is E|X - y| - E|X - X'| / 2, shape (n,), or is refused by name"):
            outcome = y[1]
            found = optional("cdf", lambda: np.asarray(p.crps(outcome)))
            if found is not None:
                close(
                    found,
                    _naive_crps(p, outcome),
                    rtol=5e-3,
                    atol=1e-4 * float(np.median(to_numpy(p.width))),
                    what="the CRPS",
                )
    with contract(p, "density_level(y) is P(p(Z) > p(y)), shape (n,), or None where it has no closed form"):
        found = p.density_level(y[2])
        if found is None:
            return
        claim(np.shape(found) == (len(p),), f"it has shape {np.shape(found)}")
        above = (to_numpy(p.log_prob(y)) > to_numpy(p.log_prob(y[2:3]))).mean(axis=0)
        bound = np.sqrt(np.log(2 * len(p) / _CHANCE) / (2 * len(y)))
        away = float(np.abs(above - found).max())
        claim(away < bound, f"it is {away:.4g} away from the share of draws, expected {bound:.3g} at most")


def _naive_crps(p: Any, y: np.ndarray) -> np.ndarray:
    """Integral of ``(F(x) - 1[y <= x])^2`` by many small steps."""
    centre, width = to_numpy(p.centre).astype(np.float64), to_numpy(p.width).astype(np.float64)
    if p.counts:
        top = np.arange(float(np.max(y) + np.max(centre + 60 * width) + 20))[:, None] * np.ones(len(p))
        return ((np.asarray(p.cdf(top)) - (top >= y)) ** 2).sum(axis=0)
    t = np.linspace(-1, 1, 40_001)[:, None]
    x = y + np.sign(t) * np.abs(t) ** 3 * (60 * width + 2 * np.abs(y - centre) + 1e-9)
    middle = (x[1:] + x[:-1]) / 2
    return (np.diff(x, axis=0) * (np.asarray(p.cdf(middle)) - (middle >= y)) ** 2).sum(axis=0)
