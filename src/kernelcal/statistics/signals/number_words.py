"""What is said of predictions of numbers: shifted up or down, too narrow or too wide, of the wrong shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy

__all__ = [
    "FAR",
    "far_in_words",
    "far_off",
    "far_outside_in_words",
    "far_rows",
    "few_far",
    "of_shape",
    "of_shift",
    "of_width",
    "rows_in_words",
    "shift_in_words",
    "width_in_words",
]


FAR = 5.0  # normal scores; calibrated outcomes lie further from their middle once in two million rows

_CLEAR = 2.5  # standard deviations of a sum under calibration

_FEW = 0.05  # share of rows up to which far ones are few

_QUARTILES = 1.3489795  # between the quartiles of a normal law, in standard deviations


def of_shift(predictions: Any, targets: np.ndarray, z: np.ndarray, weights: np.ndarray, k: int) -> str:
    """Shift of component k by its scores z of shape (n,); the median stands where a few far rows make the mean."""
    mean, middle = float(np.average(z, weights=weights)), float(np.median(z))
    where = f" in component {k}" if predictions.event_shape else ""
    units = _has_units(predictions, targets, z, k)
    far = int(far_off(z).sum())
    if far and abs(mean - middle) > 0.5 * abs(mean):
        rest = z[~far_off(z)]
        if not len(rest) or np.sign(rest.mean()) != np.sign(mean) or abs(rest.mean()) < 2 / np.sqrt(len(rest)):
            return far_in_words(mean, where, far, len(z))
        how = f"{abs(middle):.2g} standard deviations in the median" if units else _place(middle)
        return shift_in_words(mean, where, f": {how}; {rows_in_words(far, len(z))} lie far away")
    return shift_in_words(mean, where, units=units)


def shift_in_words(mean: float, where: str, how: str = "", *, units: bool = True) -> str:
    """Say on which side outcomes lie by their mean score, and how far: by default in its units, or by its place."""
    word, direction = ("higher", "down") if mean > 0 else ("lower", "up")
    how = how or (f" by {abs(mean):.2g} standard deviations on average" if units else f": {_place(mean)}")
    return f"predictions shifted {direction}{where} (outcomes are {word}{how})"


def far_in_words(mean: float, where: str, far: int, n: int) -> str:
    """Say that a few far rows alone make a shift."""
    side = "above" if mean > 0 else "below"
    return f"outcomes lie far {side} the predictions{where} in {rows_in_words(far, n)}, the others show no such shift"


def of_width(predictions: Any, targets: np.ndarray, z: np.ndarray, ratio: float, excess: float) -> str | None:
    """Width by scores about their own mean: `ratio` is their standard deviation, `excess` tells on which side it is.

    None where the two say different things, as of ensembles that are known too roughly.
    """
    narrow = excess > 0
    robust = _by_quartiles(predictions, targets, z)
    if robust is not None and (robust > 1) == narrow:
        ratio = robust
    if round(ratio, 2) == 1 or (ratio > 1) != narrow:
        return None
    return width_in_words(ratio)


def width_in_words(ratio: float) -> str:
    """Say that predictions are too narrow or too wide by the spread of outcomes about their own mean."""
    word = "narrow" if ratio > 1 else "wide"
    return f"predictions too {word} (outcomes spread {ratio:.2f} times as wide as predicted)"


def _by_quartiles(predictions: Any, targets: np.ndarray, z: np.ndarray) -> float | None:
    """Ratio of the distances of quartiles, where many rows lie far out, or the law has no standard deviation."""
    low, high = np.quantile(z, [0.25, 0.75])
    if np.isfinite(to_numpy(predictions.std)).all():
        return float(high - low) / _QUARTILES if far_off(z).any() else None
    if predictions.event_shape:
        return None
    first, middle, third = (predictions.quantile(level) for level in (0.25, 0.5, 0.75))
    low, high = np.quantile((targets - middle) / (third - first), [0.25, 0.75])
    return float(high - low)


def far_rows(z: np.ndarray) -> str | None:
    """Sentence where a few rows lie far outside, and the others are no wider than predicted; None elsewhere."""
    far = far_off(z)
    few, rest = int(far.sum()), z[~far]
    if not few_far(few, len(z)):
        return None
    excess = ((rest - rest.mean()) ** 2).sum() - len(rest)
    if excess > 2 * np.sqrt(2 * len(rest)):
        return None
    return far_outside_in_words(few, len(z))


def few_far(far: int, n: int) -> bool:
    """Tell whether there are far rows, but few."""
    return 0 < far <= max(1, _FEW * n)


def far_outside_in_words(few: int, n: int) -> str:
    """Say that a few far rows alone make outcomes spread too widely."""
    rows = rows_in_words(few, n)
    return f"outcomes lie far outside the predictions in {rows}, the others are no wider than predicted"


def far_off(z: np.ndarray) -> np.ndarray:
    """Tell which scores lie far from their median."""
    return np.abs(z - np.median(z)) > FAR


def rows_in_words(few: int, n: int) -> str:
    """So many of all rows."""
    return f"{few:,} of {n:,} rows"


def _has_units(predictions: Any, targets: np.ndarray, z: np.ndarray, k: int) -> bool:
    """Whether scores are differences from the mean in standard deviations."""
    mean, std = (
        to_numpy(x).reshape(len(targets), -1)[:, k].astype(np.float64) for x in (predictions.mean, predictions.std)
    )
    if not (np.isfinite(mean).all() and np.isfinite(std).all()):
        return False
    y = targets.reshape(len(targets), -1)[:, k]
    residual = np.where(std > 0, (y - mean) / np.where(std > 0, std, 1.0), 0.0)
    return bool(np.allclose(residual, z, rtol=1e-6, atol=1e-6))


def _place(score: float) -> str:
    from scipy.special import ndtr  # imported when needed: the import of kernelcal stays light

    percent = 100 * float(ndtr(score))
    digits = 0 if 1 <= percent <= 99 else 2
    return f"the typical one lies at the predicted {percent:.{digits}f} % quantile, not at the median"


def of_shape(moments: np.ndarray) -> str:
    """Shape by sums of the polynomials of order 1 to 4 of every place, in standard deviations, shape (places, 4)."""
    sentence = "no clear shift or wrong width: the shape of the predicted distributions is wrong"
    place = int((moments[:, 2:] ** 2).sum(axis=1).argmax())
    own = moments[place]
    if np.abs(own[2:]).max() < _CLEAR:
        return sentence
    if abs(own[2]) > abs(own[3]):
        return f"{sentence} (outcomes are skewed to the {'right' if own[2] > 0 else 'left'} of it)"
    if own[3] > 0:
        return f"{sentence} (more outcomes far out and in the middle than predicted, fewer between)"
    return f"{sentence} (fewer outcomes far out and in the middle than predicted, more between)"
