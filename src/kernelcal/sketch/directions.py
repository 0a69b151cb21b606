"""In which direction a model of one pass is wrong: from sums over rows, without looking at them again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from kernelcal.arrays import row_slices, to_numpy
from kernelcal.cases import Case
from kernelcal.inference.test import ruled_out_in_words
from kernelcal.kernels import PIT
from kernelcal.predictions import Bernoulli, ClassPredictions, Quantiles
from kernelcal.residuals import PITResidual, has_places
from kernelcal.sketch.exact import DIGITS, digits_of, fixed, floating, in_units, number_of, numbers_of, products
from kernelcal.sketch.subject import Subject
from kernelcal.statistics.signals import (
    FAR,
    SIDES,
    CellScores,
    PreparedClassSignals,
    PreparedNumberSignals,
    PreparedQuantileSignals,
    bias_in_words,
    far_in_words,
    far_outside_in_words,
    few_far,
    level_in_words,
    level_tails,
    of_shape,
    shift_in_words,
    side_in_words,
    width_in_words,
)

__all__ = ["EXPECTED_BITS", "direction_numbers", "direction_shapes", "direction_sums", "directions_of"]


Arrays = dict[str, np.ndarray]
Found = list[tuple[float, str]]  # how clear, and the sentence
EXPECTED_BITS = 40  # after the point
_HALF_BITS = EXPECTED_BITS // 2  # of factors: products of two add up exactly over 2^13 rows
_SLOPE_BITS, _GAIN_BITS = 10, 16  # of what may be some hundreds, and some units
_CLEARED_UP_TO = 100  # classes: the slope is cleared of their frequencies by a matrix of so many rows
_NAMED = 3  # classes
_SKEWED_UP_TO = 16  # classes: to the second order too, by a tensor of so many rows
_OF_BIAS = 0.25, 1.0  # of a frequency, in its errors: so much of a shift a score may still see that is cleared of it
_STEPS, _FARTHEST = 5, 1.0  # of shifts of classes, and how far they may be apart: the second order holds no further
_HALF = 0.5  # of the largest deviation, from which on a class is named too
_ORDERS = 4  # polynomials of the places of outcomes
_ROUNDING = 1e-6  # of scores
_IN_CACHE = 2**15  # products of two probabilities
_NEAR = 2.0  # standard errors up to which rows that are not far show no shift and no width


def direction_shapes(subject: Subject, arrays: Arrays) -> dict[str, tuple[int, ...]]:
    """Shapes of the sums; how many places a target has is read off."""
    if subject.levels:
        levels = sum(0 < level < 1 for level in subject.levels)
        return {"sides": (2, 3, 2 if levels == 1 else 4), "beyond": (2, levels), "claims": (2, 2, levels)}
    if not subject.of_classes:
        dimension = int(np.prod(subject.event_shape)) if subject.event_shape else 1
        places = {"places": (2, arrays["places"].size // (2 * _ORDERS), _ORDERS)} if "places" in arrays else {}
        return {"residuals": (4, dimension), "moments": (DIGITS, 6, dimension), **places}
    m = _classes(subject)
    shapes: dict[str, tuple[int, ...]] = {"labels": (m,), "expected": (2, m), "variance": (2, m), "varied": (2, m)}
    shapes |= {"slope": (2, 2), "along": (2, m), "away": (2, m)}
    shapes |= {"joint": (2, m, m), "observed": (2, m + 1, m + 1)} if m <= _CLEARED_UP_TO else {}
    return shapes | ({"products": (2, m, m, m), "sharp products": (2, m, m)} if m <= _SKEWED_UP_TO else {})


def _classes(subject: Subject) -> int:
    return 2 if subject.family == Bernoulli.__name__ else subject.columns


def direction_sums(case: Case) -> Arrays:
    """Exact sums of some rows, at most 2^13, by the kind of their predictions.

    ``labels``: of every class its labels N_k, ``expected`` the expected ones E_k, ``variance`` their variance V_k, and
    ``varied`` the squares of residuals r_i. Of rows whose label was possible: ``slope``, the sum s of ``<log p_i,
    r_i>`` and its variance, ``along`` its covariances with the N_k, ``away`` the sums of the r_i, ``observed`` the
    second moments of both, ``joint`` those of probabilities, ``products`` and ``sharp products`` the products of three
    probabilities, and of two with a centred log probability.

    ``residuals``: of every component rows with a spread, those whose normal score z is the standardised residual, and
    those far above and far below. ``moments``: sums of z, z^2, z^3 and z^4, and of z and z^2 of rows that are not far.
    ``places``: sums of the orthonormal polynomials of the places of outcomes.

    ``sides``: sums of the numbers of `CellScores`, their variances under the claims, and their squares. ``beyond``:
    outcomes below the quantiles and above them, and ``claims`` how many were claimed to be.
    """
    batch = case.predictions
    if isinstance(batch, Quantiles):
        return _sums_of_quantiles(case)
    return _sums_of_classes(case) if isinstance(batch, ClassPredictions) else _sums_of_numbers(case)


def direction_numbers(sums: Arrays) -> Arrays:
    """The sums as numbers.

    Of classes ``counts`` (4, m), ``sharpness`` (2 + 2 m), ``frequencies``, the covariances of the N_k, ``observed``,
    ``products`` and ``sharp products``; of numbers ``residuals`` (10, d) and ``places``; of quantiles ``sides`` (3, F)
    and ``levels`` (4, Q).
    """
    if "sides" in sums:
        claims = numbers_of(sums["claims"], EXPECTED_BITS)
        levels = np.concatenate([sums["beyond"].astype(np.float64), claims])
        return {"sides": numbers_of(sums["sides"], EXPECTED_BITS), "levels": levels}
    if "residuals" in sums:
        counted, moments = sums["residuals"].astype(np.float64), number_of(sums["moments"])
        found = {"residuals": np.concatenate([counted[:2], moments[:4], counted[2:], moments[4:]])}
        return found | ({"places": numbers_of(sums["places"], EXPECTED_BITS)} if "places" in sums else {})
    names = ("expected", "variance", "varied", "slope", "along", "away")
    told = {name: numbers_of(sums[name], EXPECTED_BITS) for name in names}
    found = {
        "counts": np.stack([sums["labels"].astype(np.float64), told["expected"], told["variance"], told["varied"]]),
        "sharpness": np.concatenate([told["slope"], told["along"], told["away"]]),
    }
    if "joint" in sums:
        joint = numbers_of(sums["joint"], EXPECTED_BITS)
        units = np.ldexp(1.0, -np.array([_SLOPE_BITS, *[_HALF_BITS] * len(joint)]))
        found["frequencies"] = np.diag(joint.sum(axis=1)) - joint  # probabilities sum to 1
        found["observed"] = numbers_of(sums["observed"], 0) * np.outer(units, units)
    if "products" in sums:
        found["products"] = numbers_of(sums["products"], EXPECTED_BITS)
        found["sharp products"] = numbers_of(sums["sharp products"], _GAIN_BITS + _HALF_BITS)
    return found


def directions_of(sums: Arrays, subject: Subject, alpha: float) -> tuple[str, ...]:
    """Sentences for a model that is rejected: what was ruled out, then what is clear, the clearest first.

    Each of the sums is compared with 0, all together at the level alpha by the normal law, in the larger one of two
    standard errors: that of calibrated outcomes, and that of the observed rows. Where none is clear that is said.
    """
    n, count = int(sums["n"]), int(sums["impossible"])
    what = "label" if subject.of_classes else "target"
    ruled_out = (ruled_out_in_words(count, n, what),) if count else ()
    found, aimless = _ways(subject)(sums, subject, alpha)
    named = tuple(words for _, words in sorted(found, key=lambda f: -f[0]))
    return (*ruled_out, *named) or (aimless,)


def _ways(subject: Subject) -> Callable[[Arrays, Subject, float], tuple[Found, str]]:
    if subject.levels:
        return _of_quantiles
    return _of_classes if subject.of_classes else _of_numbers


def _threshold(alpha: float, number: int = 1) -> float:
    """Standard errors that one of so many sums exceeds with probability alpha."""
    from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light

    return float(-ndtri(alpha / (2 * number)))


def _errors(squares: np.ndarray, totals: np.ndarray, n: float, modelled: Any) -> np.ndarray:
    """Standard errors of sums: observed, or as modelled, if that is larger."""
    return np.sqrt(np.maximum(squares - totals**2 / n, modelled))


def _sums_of_classes(case: Case) -> Arrays:
    batch, labels = case.predictions, case.targets
    p = np.ascontiguousarray(to_numpy(batch.probabilities), dtype=np.float64)
    n, m = p.shape
    residuals = -p
    residuals[np.arange(n), labels] += 1
    possible = ~batch.impossible(labels)  # one wrong zero must not hide the direction of all other rows
    kept = slice(None) if possible.all() else np.flatnonzero(possible)
    logs = np.ascontiguousarray(batch.finite_logs(slice(None)))[kept]
    q, own, y = p[kept], residuals[kept], labels[kept]
    apart = logs - np.einsum("nk,nk->n", q, logs)[:, None]
    gains = q * apart
    slopes = apart[np.arange(len(q)), y]
    sums = {
        "labels": np.bincount(labels, minlength=m).astype(np.int64),
        "expected": fixed(p, EXPECTED_BITS, most=1),
        "variance": fixed(p * (1 - p), EXPECTED_BITS, most=1),
        "varied": fixed(residuals * residuals, EXPECTED_BITS, most=1),
        "slope": fixed(np.stack([slopes, np.einsum("nk,nk->n", gains, apart)], axis=1), EXPECTED_BITS),
        "along": fixed(gains, EXPECTED_BITS),
        "away": fixed(own, EXPECTED_BITS, most=1),
    }
    if m > _CLEARED_UP_TO:
        return sums
    whole = in_units(q, _HALF_BITS)
    both = np.column_stack([in_units(slopes, _SLOPE_BITS), in_units(own, _HALF_BITS)])
    sums |= {"joint": digits_of(products(whole, whole)), "observed": digits_of(products(both, both))}
    if m > _SKEWED_UP_TO:
        return sums
    sharp = digits_of(products(in_units(gains, _GAIN_BITS), whole))
    return sums | {"products": digits_of(_products_of_three(q, whole)), "sharp products": sharp}


def _products_of_three(p: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Sums of ``rint(2^20 p_k p_l) rint(2^20 p_q)``, shape (m, m, m), of all pairs k <= l by one product."""
    (n, m), (first, second) = p.shape, np.triu_indices(p.shape[1])
    total = np.zeros((len(first), m))
    for part in row_slices(n, _IN_CACHE // len(first)):
        columns = np.ascontiguousarray(p[part].T)  # a class a row: what is multiplied lies together
        pairs = columns[first]
        pairs *= columns[second]
        pairs *= 2.0**_HALF_BITS
        total += np.rint(pairs, out=pairs) @ whole[part]
    found = np.empty((m, m, m))
    found[first, second] = found[second, first] = total
    return found


def _of_classes(sums: Arrays, subject: Subject, alpha: float) -> tuple[Found, str]:
    (observed, expected, variance, squares), n = sums["counts"], float(sums["n"])
    two, top = len(observed) == 2, subject.question == "top label"
    away = observed - expected
    deviations = away / np.sqrt(variance + 1)
    signals = 1 if top else 2
    clear = np.abs(away) / _errors(squares, away, n, variance + 1)
    several = np.array([1]) if two else np.argsort(-np.abs(deviations), kind="stable")[:_NAMED]
    least, largest = _threshold(alpha, signals * (1 if two else len(observed))), float(np.abs(deviations).max())
    named = [k for k in several if clear[k] > least and abs(deviations[k]) >= _HALF * largest]
    found: Found = []
    if named:
        words = [bias_in_words(_name(subject, k), deviations[k], expected[k], observed[k], top=top) for k in named]
        found.append((largest, ", ".join(words)))
    slope = 0.0 if top else _cleared_slope(sums, shifted=bool(named))  # what a mean says of a confidence needs no slope
    if abs(slope) > max(_threshold(alpha, signals), _OF_BIAS["products" not in sums] * float(clear.max())):
        found.append((abs(slope), "over-confident" if slope < 0 else "under-confident"))
    return found, PreparedClassSignals.aimless


def _cleared_slope(sums: Arrays, *, shifted: bool) -> float:
    """Slope in standard errors, what shifts of classes explain taken off; 0 where these are too many, or too large.

    With shifts b that bring expected frequencies to observed ones, ``V b + T(b, b) / 2 = N - E``, it is ``s - c'b -
    D(b, b) / 2``: the score of a common factor of the log probabilities, at 1, once every class has the intercept that
    fits. V and c are covariances, T and D third cumulants of the classes and of these with s, where frequencies are
    clearly off; of many classes 0.
    """
    if "frequencies" not in sums:
        return 0.0
    among, m = sums["frequencies"], len(sums["frequencies"])
    slope, variance, (along, away) = *sums["sharpness"][:2], sums["sharpness"][2:].reshape(2, m)
    inverse = np.linalg.pinv(among, rcond=1e-12, hermitian=True)
    weights = inverse @ along
    left = float(variance - along @ weights)
    if left <= 1e-9 * variance:
        return 0.0  # one and the same prediction: frequencies explain all
    shifts, total = inverse @ away, 0.0
    if shifted and "products" in sums:
        third, sharp = _third_cumulants(sums)
        for _ in range(_STEPS):
            bent = np.einsum("klq,l,q->k", third, shifts, shifts)
            shifts = inverse @ (away - 0.5 * bent)
        if np.ptp(shifts) > _FARTHEST:
            return 0.0
        total = -0.5 * float(shifts @ sharp @ shifts)
    total += float(slope - along @ shifts)
    terms = np.concatenate([[1.0], -weights])
    spread = terms @ sums["observed"] @ terms
    return float(total / _errors(spread, slope - weights @ away, float(sums["n"]), left))


def _third_cumulants(sums: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """Sums over rows: of the indicators of three classes, and of those of two with the log probability."""
    among, gained = sums["frequencies"], sums["sharpness"][2 : 2 + len(sums["frequencies"])]
    totals, unit = sums["products"].sum(axis=(1, 2)), np.eye(len(among))  # of p_k: probabilities sum to 1
    pairs = np.diag(totals) - among  # of p_k p_l
    third = np.einsum("kl,kq,k->klq", unit, unit, totals) + 2 * sums["products"]
    third -= (
        np.einsum("kl,kq->klq", unit, pairs)
        + np.einsum("kq,kl->klq", unit, pairs)
        + np.einsum("lq,lk->klq", unit, pairs)
    )
    return third, np.diag(gained) - sums["sharp products"] - sums["sharp products"].T


def _name(subject: Subject, k: int) -> str:
    return str(k) if subject.classes is None else subject.classes[k].strip("'\"")


def _sums_of_numbers(case: Case) -> Arrays:
    batch, n = case.predictions, len(case)
    spread = to_numpy(batch.width).reshape(n, -1) > 0
    z = np.asarray(batch.normal_scores(case.targets[None]), dtype=np.float64).reshape(n, -1)
    z = np.where(spread, z, 0.0)
    mean, std = (to_numpy(x).astype(np.float64).reshape(n, -1) for x in (batch.mean, batch.std))
    with np.errstate(invalid="ignore", divide="ignore"):
        plain = (case.targets.reshape(n, -1) - mean) / std  # not finite where there are no moments
        units = spread & (np.abs(plain - z) <= _ROUNDING * (1 + np.abs(z)))
    near, squares = np.where(np.abs(z) <= FAR, z, 0.0), z * z
    counted = np.stack([spread, units, z > FAR, z < -FAR]).sum(axis=1).astype(np.int64)
    moments = floating(np.stack([z, squares, squares * z, squares * squares, near, near * near], axis=1))
    sums = {"residuals": counted, "moments": moments}
    if not has_places(batch):
        return sums
    residual = PITResidual.of(batch, PIT("polynomials"))
    values = residual.batch_of(residual.places(case.targets[None]))[:, 0].reshape(n, residual.views, _ORDERS)
    return {**sums, "places": fixed(values / residual.kernel.amplitudes, EXPECTED_BITS)}


def _of_numbers(sums: Arrays, subject: Subject, alpha: float) -> tuple[Found, str]:
    """Shift of the component that is furthest off, width about the own mean of all components, or else the shape."""
    rows, units, first, second, third, fourth, above, below, near, near_squares = sums["residuals"]
    n, signals = np.maximum(rows, 1), 3
    aimless = PreparedNumberSignals.aimless
    if not np.isfinite(fourth).all() or not rows.any():
        return [], aimless
    clear = np.abs(first) / _errors(second, first, n, n)
    k, found = int(clear.argmax()), []
    if clear[k] > _threshold(alpha, signals * len(rows)):
        where, mean = f" in component {k}" if subject.event_shape else "", float(first[k] / n[k])
        far, rest = int(above[k] + below[k]), n[k] - above[k] - below[k]
        words = shift_in_words(mean, where, units=bool(units[k] == rows[k]))
        if far and (np.sign(near[k]) != np.sign(mean) or abs(near[k]) < _NEAR * np.sqrt(rest)):
            words = far_in_words(mean, where, far, int(rows[k]))
        found.append((float(clear[k]), words))
    a, b, c, d = (x / n for x in (first, second, third, fourth))
    variance = np.maximum(b - a**2, 0.0)
    spreads = np.maximum(d - 4 * c * a + 6 * b * a**2 - 3 * a**4 - variance**2, 2.0)  # 2 of normal scores
    share = rows / rows.sum()
    ratio, error = float(np.sqrt(share @ variance)), float(share @ np.sqrt(spreads / n))  # of any dependent components
    if abs(ratio**2 - 1) > _threshold(alpha, signals) * error and round(ratio, 2) != 1:
        few, total = int((above + below).sum()), int(rows.sum())
        rest = total - few
        left = near_squares.sum() - (near**2 / np.maximum(n - above - below, 1)).sum() - rest
        alone = ratio > 1 and few_far(few, total) and left <= _NEAR * np.sqrt(2 * rest)
        words = far_outside_in_words(few, total) if alone else width_in_words(ratio)
        found.append((abs(ratio**2 - 1) / error, words))
    if found or "places" not in sums:
        return found, aimless
    shape = sums["places"] / np.sqrt(float(sums["n"]))
    clear_shape = np.abs(shape[:, 2:]).max() > _threshold(alpha, 2 * signals * len(shape))
    return [], of_shape(shape) if clear_shape else aimless


def _sums_of_quantiles(case: Case) -> Arrays:
    cells = case.predictions.cells
    scores = CellScores(cells)
    codes = scores.codes(case.targets[None])[0]
    terms = scores.table[:, codes].T - scores.mean
    variance = np.broadcast_to(np.diagonal(scores.covariance, axis1=1, axis2=2), terms.shape)
    size = len(cells.taus) + 1
    lo, hi = (np.bincount(x, minlength=size)[:size] for x in np.divmod(codes, size))
    below, above = np.cumsum(hi)[:-1], len(codes) - np.cumsum(lo)[:-1]
    claims = np.stack([np.broadcast_to(x, (len(codes), size - 1)) for x in cells.claims], axis=1)
    return {
        "sides": fixed(np.stack([terms, variance, terms**2], axis=1), EXPECTED_BITS),
        "beyond": np.stack([below, above]).astype(np.int64),
        "claims": fixed(claims, EXPECTED_BITS),
    }


def _of_quantiles(sums: Arrays, subject: Subject, alpha: float) -> tuple[Found, str]:
    """Sides of the intervals, and the levels that most outcomes contradict."""
    n, (totals, variance, squares) = float(sums["n"]), sums["sides"]
    below, above, least, most = sums["levels"]
    signals, found = len(totals) + 2, []
    clear = totals / _errors(squares, totals, n, np.maximum(variance, 1e-300))
    one = bool((below[0] > least[0]) != (above[-1] > n - most[-1]))
    for side, far in zip(SIDES, clear, strict=False):
        if far > _threshold(alpha, signals):
            found.append((float(far), side_in_words(side, one=side == "narrow" and one)))
    tau = np.array([level for level in subject.levels if 0 < level < 1])
    for counts, claimed, over in ((below, least / n, False), (above, most / n, True)):
        tails = level_tails(counts, n, 1 - claimed if over else claimed)
        k = int(tails.argmin())
        if tails[k] * len(tails) <= alpha / signals:
            found.append((0.0, level_in_words(tau[k], counts[k] / n, claimed[k], above=over)))
    return found, PreparedQuantileSignals.aimless
