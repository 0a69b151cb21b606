"""In which direction a model of one pass is wrong: from sums over rows, without looking at them again."""

from __future__ import annotations

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.cases import Case
from kernelcal.predictions import Bernoulli, ClassPredictions
from kernelcal.sketch.subject import Subject

__all__ = ["direction_shapes", "direction_sums", "directions_of"]


Arrays = dict[str, np.ndarray]
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
    small = {"frequencies": (m, m)} if m <= _CLEARED_UP_TO else {}
    return {"counts": (3, m), "sharpness": (2 + m,), **small}


def _classes(subject: Subject) -> int:
    return 2 if subject.family == Bernoulli.__name__ else subject.columns


def direction_sums(case: Case) -> Arrays:
    """Sums of some rows.

    ``counts``: of every class its labels N_k, the expected ones E_k and their variance V_k. ``sharpness``: the sum s of
    ``<log p_i, r_i>``, its variance, and its covariances with the N_k. ``frequencies``: covariances of the N_k.
    ``moments``: sums of z, z^2, z^3 and z^4 of the standardised residuals.
    """
    batch = case.predictions
    if not isinstance(batch, ClassPredictions):
        z = np.asarray(batch.standardised(case.targets), dtype=np.float64).reshape(len(batch), -1)
        return {"moments": np.stack([(z**k).sum(axis=0) for k in (1, 2, 3, 4)])}
    p = to_numpy(batch.probabilities).astype(np.float64)
    logs = batch.finite_logs(slice(None))
    own = (p * logs).sum(axis=1, keepdims=True)
    observed = np.bincount(case.targets, minlength=p.shape[1]).astype(np.float64)
    slope = float((logs[np.arange(len(p)), case.targets] - own[:, 0]).sum())
    along = (p * (logs - own)).sum(axis=0)
    variance = float((p * (logs - own) ** 2).sum())
    sums = {
        "counts": np.stack([observed, p.sum(axis=0), (p * (1 - p)).sum(axis=0)]),
        "sharpness": np.concatenate([[slope, variance], along]),
    }
    if p.shape[1] <= _CLEARED_UP_TO:
        sums["frequencies"] = np.diag(p.sum(axis=0)) - p.T @ p
    return sums


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
