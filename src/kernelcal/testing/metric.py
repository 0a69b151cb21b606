"""The check of a metric between predictions, by coordinates or by pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.kernels import (
    AlignedPairs,
    CrossPairs,
    Dirac,
    Laplacian,
    Linear,
    Metric,
    PairwiseMetric,
    Points,
    median_lengthscale,
)
from kernelcal.pairs import ExactPairs
from kernelcal.predictions import ClassPredictions
from kernelcal.residuals import residual_of
from kernelcal.testing.contract import (
    LIBRARIES,
    arrays_of,
    claim,
    close,
    contract,
    installed,
    read_only,
    refused,
    same_library,
    settings_are_fixed,
    tells_what_to_do,
    untouched,
)
from kernelcal.testing.kernel import class_batch

__all__ = ["check_metric"]


_ALL = slice(None)


def check_metric(
    metric: Metric,
    *,
    predictions: Any = None,
    distance: Callable[[Any, Any], float] | None = None,
    triangle: bool = True,
    refuses: Iterable[Any] = (),
    libraries: Iterable[str] = LIBRARIES,
    gradients: bool = True,
) -> None:
    """Check that a metric keeps the contract of `kernelcal.kernels.Metric` (or `PairwiseMetric`).

    Distances are symmetric, finite, not negative, and 0 between equal predictions; they are the L1 or L2 norm of
    differences of the coordinates, or the root of ``squared_distances``, and the same whole, in blocks, pair by pair,
    in the tiles of `kernelcal.ExactPairs` and in other array libraries. ``exp(-c d^nu)`` has no negative eigenvalue
    at the largest exponent nu that is claimed, and ``why_not`` says what is not; settings never change.

    Parameters
    ----------
    metric : Metric
        An instance.
    predictions : Predictions, optional
        Rows that it compares, at least 6; by default 24 predictions of 4 classes with equal and nearly equal rows. Rows
        are repeated to see equal ones.
    distance : callable, optional
        A second way to the distance: ``distance(p, q)`` of two batches of one row, a number.
    triangle : bool
        Whether d(p, r) <= d(p, q) + d(q, r) holds, as it does for every metric in the strict sense.
    refuses : iterable of Predictions
        Batches for which the metric has no meaning, and must say so.
    libraries : iterable of str, optional
        As for `check_kernel`. A metric may refuse a library with an `InputError`.
    gradients : bool
        Whether derivatives in PyTorch, if that is one of the libraries, are compared with difference quotients.

    Raises
    ------
    AssertionError
        With the sentence of the contract that is broken, and the numbers.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.testing import check_metric
    >>> check_metric(
    ...     kc.TotalVariation(),
    ...     distance=lambda p, q: 0.5 * np.abs(p.probabilities - q.probabilities).sum(),
    ...     refuses=[kc.Normal([0.0], 1.0)],
    ... )
    """
    with contract(metric, "a metric derives from kernelcal.kernels.Metric"):
        claim(isinstance(metric, Metric), f"it is a {type(metric).__name__}")
    settings_are_fixed(metric)
    batch = class_batch() if predictions is None else predictions
    with contract(metric, "predictions to compare have at least 6 rows"):
        claim(len(batch) >= 6, f"there are {len(batch)}")
    batch = read_only(batch[np.array([*range(len(batch)), 2, 0])])
    with contract(metric, "resolved(predictions) gives a metric that is resolved"):
        metric = metric.resolved(batch)
        claim(isinstance(metric, type(metric)) and metric.resolved(batch) == metric, "resolving it again changes it")
    with untouched(predictions=batch), contract(metric, "it computes the distances of all pairs"):
        d = np.array(_distances(metric, batch))
    _check_distances(metric, batch, d, distance)
    if triangle:
        _check_triangle(metric, d)
    _check_same_everywhere(metric, batch, d)
    pairwise = metric.by_pairs(batch)
    if pairwise is None:
        _check_coordinates(metric, batch, d)
    else:
        _check_by_pairs(metric, pairwise, batch, d)
    _check_exponent(metric, batch, d)
    _check_libraries(metric, batch, d, libraries, gradients)
    for wrong in refuses:
        with contract(metric, "predictions for which it has no meaning are refused with the remedy"):
            refused(
                partial(_distances, metric, wrong),
                f"a batch of {type(wrong).__name__}",
                words=(type(wrong).__name__,),
            )


def _distances(metric: Metric, batch: Any) -> Any:
    return CrossPairs(Points(batch), _ALL, _ALL).distance(metric)


def _check_distances(metric: Metric, batch: Any, d: np.ndarray, distance: Any) -> None:
    n = len(batch)
    with contract(metric, "distances are finite numbers from 0, one a pair"):
        claim(d.shape == (n, n), f"they have shape {d.shape} for {n} rows")
        claim(d.dtype == np.float64, f"they are {d.dtype} for predictions in float64")
        claim(np.isfinite(d).all() and d.min() >= 0, f"the least is {d.min():.6g}, the largest {d.max():.6g}")
        claim(d.max() > 0, "all of them are 0: give predictions that differ")
    with contract(metric, "d(p, q) = d(q, p)"):
        close(d, d.T, rtol=1e-9, atol=1e-9 * d.max(), what="the distance")
    with contract(metric, "equal predictions are at distance 0"):
        equal = np.array([*np.diagonal(d), d[2, n - 2], d[0, n - 1]])
        close(equal, 0 * equal, rtol=0, atol=1e-7 * d.max(), what="the distance")
    with contract(metric, "predictions that differ are apart"):
        apart = np.abs(_described(batch)[:, None] - _described(batch)[None]).max(axis=2) > 1e-3
        least = float(d[apart].min(initial=np.inf))
        claim(least > 0, "a distance between rows with different parameters is 0")
    if distance is not None:
        with contract(metric, "distances are those of the second way"):
            places = [(0, 1), (1, 0), (2, 5), (3, 4), (4, 5), (0, 4)]
            expected = [float(distance(batch[i : i + 1], batch[j : j + 1])) for i, j in places]
            found = [d[i, j] for i, j in places]
            close(np.array(found), np.array(expected), rtol=1e-7, atol=1e-7 * d.max(), what="the distance")


def _described(batch: Any) -> np.ndarray:
    """All the arrays of a batch side by side, shape (n, k)."""
    arrays = [np.array(x, dtype=np.float64) for x in arrays_of(batch)]
    return np.concatenate([x.reshape(len(batch), -1) for x in arrays], axis=1)


def _check_triangle(metric: Metric, d: np.ndarray) -> None:
    with contract(metric, "a way round is no shorter: d(p, r) <= d(p, q) + d(q, r)"):
        excess = d[:, None, :] - d[:, :, None] - d[None]
        worst = float(excess.max())
        i, j, k = (int(x) for x in np.unravel_index(int(excess.argmax()), excess.shape))
        claim(worst <= 1e-7 * d.max(), f"d({i}, {k}) = {d[i, k]:.6g} > {d[i, j]:.6g} + {d[j, k]:.6g}, by row {j}")


def _check_same_everywhere(metric: Metric, batch: Any, d: np.ndarray) -> None:
    n = len(batch)
    tolerance: dict[str, Any] = {"rtol": 1e-8, "atol": 1e-7 * float(d.max())}
    points, half = Points(batch), len(batch) // 2
    with contract(metric, "distances of some rows and columns are those of the whole"):
        close(CrossPairs(points, slice(1, half), slice(2, n)).distance(metric), d[1:half, 2:], **tolerance)
        rows = np.array([4, 0, 0])
        close(CrossPairs(points, rows, np.array([3, 1])).distance(metric), d[rows][:, [3, 1]], **tolerance)
        some = batch[np.array([4, 1, 3])]
        close(CrossPairs(Points(some), _ALL, _ALL).distance(metric), d[[4, 1, 3]][:, [4, 1, 3]], **tolerance)
    with contract(metric, "pair by pair gives the diagonal of all pairs"):
        found = AlignedPairs(points, slice(0, half), slice(half, 2 * half)).distance(metric)
        close(found, np.diagonal(d[:half, half : 2 * half]), **tolerance)
    with contract(metric, "squared_distance is the square of distance"):
        close(CrossPairs(points, _ALL, _ALL).squared_distance(metric), d**2, rtol=1e-8, atol=1e-12 * d.max() ** 2)
    with contract(metric, "the tiles of ExactPairs, by a matrix product or by pairs, hold the same distances"):
        scale = float(d.max())
        residual = residual_of(batch, Dirac() if isinstance(batch, ClassPredictions) else Linear())
        forms = ExactPairs(rows=5, columns=7, threads=1).prepare([Laplacian(scale, metric=metric)], batch, residual)
        found = -scale * np.log(np.array(forms.kernel_rows(slice(0, n))))
        close(found, d, rtol=1e-5, atol=3e-6 * scale, what="the distance")
    with contract(metric, "median_lengthscale is the median of the distances above 0"):
        above = d[np.triu_indices(n, 1)]
        close(median_lengthscale(batch, metric=metric), np.median(above[above > 0]), rtol=1e-5, what="the median")


def _check_coordinates(metric: Metric, batch: Any, d: np.ndarray) -> None:
    with contract(metric, "order is 1 or 2: the norm of the difference of the coordinates"):
        claim(getattr(metric, "order", None) in (1, 2), f"it is {getattr(metric, 'order', None)!r}")
    with contract(metric, "coordinates(predictions) has shape (n, d) and the dtype of the predictions"):
        x = metric.coordinates(batch)
        claim(np.ndim(x) == 2 and len(x) == len(batch), f"it has shape {np.shape(x)} for {len(batch)} rows")
        claim(x.dtype == np.float64, f"it is {x.dtype} for predictions in float64")
    with contract(metric, f"the L{metric.order} norm of differences of the coordinates is the distance"):
        naive = np.zeros_like(d)
        for i in range(len(d)):
            for j in range(len(d)):
                difference = [abs(float(a) - float(b)) ** metric.order for a, b in zip(x[i], x[j], strict=True)]
                naive[i, j] = sum(difference) ** (1 / metric.order)
        close(d, naive, rtol=1e-9, atol=1e-12, what="the distance")
    with contract(metric, "coordinates of a row do not depend on the other rows"):
        close(metric.coordinates(batch[np.array([3, 1])]), to_numpy(x)[[3, 1]], rtol=1e-12, what="a coordinate")


def _check_by_pairs(metric: Metric, pairwise: PairwiseMetric, batch: Any, d: np.ndarray) -> None:
    with contract(metric, "by_pairs returns a PairwiseMetric"):
        claim(isinstance(pairwise, PairwiseMetric), f"it returned {pairwise!r}")
    with contract(metric, "numbers(predictions) is how many numbers one pair takes: a whole number from 1"):
        held = pairwise.numbers(batch)
        claim(isinstance(held, int) and held >= 1, f"it is {held!r}")
    with contract(metric, "prepare(predictions) gives as many rows, with len, rows by index, and map_arrays"):
        ready = pairwise.prepare(batch)
        claim(len(ready) == len(batch), f"it has {len(ready)} rows for {len(batch)}")
        rows = ready.map_arrays(lambda x: x[:, None, ...])
        columns = ready.map_arrays(lambda x: x[None, ...])
    with contract(metric, "squared_distances(p, q) broadcasts the leading axes of p and q"):
        close(pairwise.squared_distances(rows, columns), d**2, rtol=1e-8, atol=1e-12 * d.max() ** 2)
        shifted = np.roll(np.arange(len(batch)), 1)
        found = pairwise.squared_distances(ready, ready[shifted])
        close(found, d[np.arange(len(batch)), shifted] ** 2, rtol=1e-8, atol=1e-12 * d.max() ** 2)
    if isinstance(metric, PairwiseMetric):
        with contract(metric, "a metric by pairs has no coordinates, and says so"):
            refused(lambda: metric.coordinates(batch), "coordinates(predictions)")


def _check_exponent(metric: Metric, batch: Any, d: np.ndarray) -> None:
    with contract(metric, "largest_exponent(predictions) is a number in [0, 2]"):
        nu = metric.largest_exponent(batch)
        claim(isinstance(nu, int | float) and 0 <= nu <= 2, f"it is {nu!r}")
        claim(metric.hilbertian(batch) == (nu >= 2), f"hilbertian is {metric.hilbertian(batch)} and the exponent {nu}")
    with contract(metric, "exp(-c d^nu) is positive definite for every c > 0, where nu is the largest exponent"):
        for power in (nu, nu / 2) if nu else ():
            for c in (0.1, 1.0, 10.0):
                least = float(np.linalg.eigvalsh(np.exp(-c * (d / np.median(d[d > 0])) ** power))[0])
                claim(least > -1e-8, f"the least eigenvalue is {least:.6g} at exponent {power:g} and c = {c:g}")
    with contract(
        metric, "why_not(predictions) is empty for an exponent of 2, and else says why and names another metric"
    ):
        reason = metric.why_not(batch)
        if nu >= 2:
            claim(reason == "", f"it says {reason!r}, and the exponent is {nu}")
        else:
            tells_what_to_do(reason, ("use",))


def _check_libraries(metric: Metric, batch: Any, d: np.ndarray, libraries: Iterable[str], gradients: bool) -> None:
    for name, move in installed(libraries):
        with contract(metric, f"{name} gives the same distances, as its own arrays, or is refused"):
            moved = batch.map_arrays(move)
            try:
                found = CrossPairs(Points(moved), _ALL, _ALL).distance(metric)
            except InputError as error:
                tells_what_to_do(str(error), ("NumPy",))
                continue
            same_library(found, moved.reference, "the distance")
            single = to_numpy(found).dtype == np.float32
            close(found, d, rtol=1e-3 if single else 1e-8, atol=(2e-3 if single else 1e-7) * d.max())
            if name == "torch" and gradients:
                _check_gradient(metric, batch, d)


def _rowwise(numbers: np.ndarray, x: np.ndarray) -> np.ndarray:
    return numbers.reshape(-1, *(1,) * (x.ndim - 1))


@dataclass
class _Arrays:
    """The arrays of a batch in the order in which map_arrays meets them, one of them with a gradient."""

    batch: Any

    def moved(self, leaves: list[Any]) -> Any:
        waiting = list(leaves)
        return self.batch.map_arrays(lambda x: waiting.pop(0))

    def taken(self) -> list[np.ndarray]:
        return [np.array(x, dtype=np.float64) for x in arrays_of(self.batch)]


def _check_gradient(metric: Metric, batch: Any, d: np.ndarray) -> None:
    """Derivative of a sum of distances along one direction, against a difference quotient."""
    import torch

    numbers = to_numpy(batch.probabilities) if isinstance(batch, ClassPredictions) else np.ones((len(batch), 1))
    inner = np.flatnonzero((numbers != 0).all(axis=1))  # at a border a root has no derivative
    first = int(inner[0])
    rows = [k for k in inner[:8] if d[first, k] > 1e-3 * d.max()]
    arrays = _Arrays(batch)
    values = arrays.taken()
    rng = np.random.default_rng(0)
    steps = rng.uniform(0.2, 1, len(batch))
    inside = np.isin(np.arange(len(batch)), inner)
    directions = [_rowwise(inside * steps, x) * (x[inside].mean(axis=0) - x) for x in values]

    def total(leaves: list[Any]) -> Any:
        points = Points(arrays.moved(leaves))
        return CrossPairs(points, np.array([first]), np.array(rows)).distance(metric).sum()

    leaves = [torch.tensor(x, requires_grad=True) for x in values]
    total(leaves).backward()
    moved = [
        np.zeros_like(x) if leaf.grad is None else leaf.grad.numpy() for leaf, x in zip(leaves, values, strict=True)
    ]
    slopes = [np.where(v == 0, 0.0, g) * v for g, v in zip(moved, directions, strict=True)]
    found = float(sum(slope.sum() for slope in slopes))
    step = 1e-6
    ahead, behind = ([x + s * step * v for x, v in zip(values, directions, strict=True)] for s in (1, -1))
    expected = float(total(ahead) - total(behind)) / (2 * step)
    scale = max(abs(expected), float(d[first, rows].sum()) * 1e-2)
    close(found, expected, rtol=0, atol=1e-4 * scale, what="the derivative of distances along a direction")
