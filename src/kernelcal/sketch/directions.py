"""In which direction a model of one pass is wrong: from sums over rows, without looking at them again."""

from __future__ import annotations

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.predictions import Bernoulli, ClassPredictions
from kernelcal.sketch.exact import digits_of, fixed, floating, number_of, numbers_of, products
from kernelcal.sketch.subject import Subject

__all__ = ["EXPECTED_BITS", "direction_numbers", "direction_shapes", "direction_sums", "directions_of"]


Arrays = dict[str, np.ndarray]
EXPECTED_BITS = 40  # after the point
_CLEARED_UP_TO = 100  # classes: the slope is cleared of their frequencies by a matrix of so many rows
_NAMED = 3  # classes
_OF_BIAS = 0.25  # of the deviation of a frequency: so much of a shift a score that is cleared of it may still see
_HALF = 0.5  # of the largest deviation, from which on a class is named too


def direction_shapes(subject: Subject) -> dict[str, tuple[int, ...]]:
    """Shapes of the sums: of classes counts and sharpness, of numbers four moments of each component."""
    if not subject.of_classes:
        dimension = int(np.prod(subject.event_shape)) if subject.event_shape else 1
        return {"moments": (4, dimension)}
    m = _classes(subject)
    small = {"joint": (2, m, m)} if m <= _CLEARED_UP_TO else {}
    return {"labels": (m,), "expected": (2, m), "variance": (2, m), "slope": (2, 2), "along": (2, m), **small}


def _classes(subject: Subject) -> int:
    return 2 if subject.family == Bernoulli.__name__ else subject.columns


def direction_sums(case: Case) -> Arrays:
    """Exact sums of some rows, fewer than 2^13.

    ``labels``: of every class its labels N_k, ``expected`` the expected ones E_k and ``variance`` their variance V_k.
    ``slope``: the sum s of ``<log p_i, r_i>`` and its variance, ``along`` its covariances with the N_k. ``joint``: sums
    of ``p_i p_i'``. ``moments``: sums of z, z^2, z^3 and z^4 of the standardised residuals.
    """
    batch = case.predictions
    if not isinstance(batch, ClassPredictions):
        z = np.asarray(batch.standardised(case.targets), dtype=np.float64).reshape(len(batch), -1)
        squares = z * z
        return {"moments": floating(np.stack([z, squares, squares * z, squares * squares], axis=1))}
    p = np.ascontiguousarray(to_numpy(batch.probabilities), dtype=np.float64)
    logs = np.ascontiguousarray(batch.finite_logs(slice(None)))
    apart = logs - (p * logs).sum(axis=1, keepdims=True)
    along = p * apart
    own = np.stack([apart[np.arange(len(p)), case.targets], (along * apart).sum(axis=1)], axis=1)
    sums = {
        "labels": np.bincount(case.targets, minlength=p.shape[1]).astype(np.int64),
        "expected": fixed(p, EXPECTED_BITS),
        "variance": fixed(p * (1 - p), EXPECTED_BITS),
        "slope": fixed(own, EXPECTED_BITS),
        "along": fixed(along, EXPECTED_BITS),
    }
    if p.shape[1] <= _CLEARED_UP_TO:
        whole = np.rint(np.ldexp(p, EXPECTED_BITS // 2))
        sums["joint"] = digits_of(products(whole, whole))
    return sums


def direction_numbers(sums: Arrays) -> Arrays:
    """The sums as numbers: ``counts`` (3, m), ``sharpness`` (2 + m) and ``frequencies``, the covariances of the N_k."""
    if "moments" in sums:
        return {"moments": number_of(sums["moments"])}
    found = {name: numbers_of(sums[name], EXPECTED_BITS) for name in ("expected", "variance", "slope", "along")}
    numbers = {
        "counts": np.stack([sums["labels"].astype(np.float64), found["expected"], found["variance"]]),
        "sharpness": np.concatenate([found["slope"], found["along"]]),
    }
    if "joint" in sums:
        numbers["frequencies"] = np.diag(found["expected"]) - numbers_of(sums["joint"], EXPECTED_BITS)
    return numbers


def directions_of(sums: Arrays, subject: Subject, alpha: float) -> tuple[str, ...]:
    """Sentences for what is clear at the level alpha by the normal law of the sums, the clearest first."""
    found = _of_classes(sums, subject, alpha) if subject.of_classes else _of_numbers(sums, int(sums["n"]), alpha)
    return tuple(words for _, words in sorted(found, key=lambda f: -f[0]))


def _threshold(alpha: float, number: int = 1) -> float:
    """Standard errors that one of so many sums exceeds with probability alpha."""
    from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light

    return float(-ndtri(alpha / (2 * number)))


def _of_classes(sums: Arrays, subject: Subject, alpha: float) -> list[tuple[float, str]]:
    observed, expected, variance = sums["counts"]
    deviations = (observed - expected) / np.sqrt(variance + 1)
    several = np.array([1]) if len(observed) == 2 else np.argsort(-np.abs(deviations))[:_NAMED]
    least = _threshold(alpha, 1 if len(observed) == 2 else len(observed))
    largest = float(np.abs(deviations).max())
    named = [k for k in several if abs(deviations[k]) > max(least, _HALF * largest)]
    found = []
    if named:
        words = ", ".join(_one_class(subject, k, deviations[k], expected[k], observed[k]) for k in named)
        found.append((largest, words))
    sharpness = _cleared_slope(sums)
    if abs(sharpness) > max(_threshold(alpha), _OF_BIAS * largest):
        found.append((abs(sharpness), "over-confident" if sharpness < 0 else "under-confident"))
    return found


def _cleared_slope(sums: Arrays) -> float:
    """Slope in standard deviations, what frequencies of classes explain taken off; 0 where these are too many.

    ``s - c' V^+ (N - E)`` with variance ``v - c' V^+ c``: the efficient score of a common factor of the log
    probabilities beside an intercept for every class.
    """
    if "frequencies" not in sums:
        return 0.0
    observed, expected, _ = sums["counts"]
    slope, variance, along = sums["sharpness"][0], sums["sharpness"][1], sums["sharpness"][2:]
    weights = np.linalg.pinv(sums["frequencies"], hermitian=True) @ along
    left = float(variance - along @ weights)
    if left <= 1e-9 * variance:
        return 0.0  # one and the same prediction: frequencies explain all
    return float(slope - weights @ (observed - expected)) / np.sqrt(left)


def _one_class(subject: Subject, k: int, deviation: float, expected: float, observed: float) -> str:
    word = "over-predicted" if deviation < 0 else "under-predicted"
    name = k if subject.classes is None else subject.classes[k].strip("'\"")
    return f"class {name} is {word} ({expected:,.1f} expected, {observed:,.10g} observed)"


def _of_numbers(sums: Arrays, n: int, alpha: float) -> list[tuple[float, str]]:
    """Shift of the component that is furthest off, and width about the own mean of all components together."""
    first, second, third, fourth = sums["moments"] / n
    if not np.isfinite(fourth).all():
        return []
    variance = np.maximum(second - first**2, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        shifts = np.nan_to_num(np.sqrt(n) * np.abs(first) / np.sqrt(variance), posinf=np.inf)
    k, found = int(shifts.argmax()), []
    if shifts[k] > _threshold(alpha, len(shifts)):
        where = "" if len(shifts) == 1 else f" in component {k}"
        word, side = ("higher", "down") if first[k] > 0 else ("lower", "up")
        size = abs(float(first[k]))
        words = f"predictions shifted {side}{where} (outcomes are {word} by {size:.2g} standard deviations on average)"
        found.append((float(shifts[k]), words))
    centred = fourth - 4 * third * first + 6 * second * first**2 - 3 * first**4
    error = float(np.sqrt(max((centred - variance**2).mean(), 0.0) / (n * len(shifts))))
    excess = float(variance.mean()) - 1
    if abs(excess) > _threshold(alpha) * error and error > 0:
        word = "narrow" if excess > 0 else "wide"
        ratio = float(np.sqrt(variance.mean()))
        found.append(
            (abs(excess) / error, f"predictions too {word} (outcomes spread {ratio:.2f} times as wide as predicted)")
        )
    return found
