"""The check of a kernel: between predictions, between targets, and its algebra."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.kernels import (
    AlignedPairs,
    CrossPairs,
    Dirac,
    Euclidean,
    Kernel,
    Points,
    Stationary,
    TotalVariation,
    class_matrix,
    point,
    resolve,
    resolve_target,
)
from kernelcal.pairs import ExactPairs
from kernelcal.predictions import Categorical, Normal
from kernelcal.residuals import radial, residual_of
from kernelcal.testing.contract import (
    LIBRARIES,
    claim,
    close,
    contract,
    installed,
    read_only,
    same_library,
    settings_are_fixed,
    untouched,
)

__all__ = ["check_kernel", "class_batch", "gram"]


_ALL = slice(None)
_DEFAULT: Any = "default"
_WAVES = 200_000
_WITHIN = 0.008  # Hoeffding: so many bounded values miss their mean by more with probability 1e-10


def check_kernel(
    kernel: Kernel,
    *,
    formula: Callable[..., Any] | None = None,
    predictions: Any = _DEFAULT,
    targets: Any = _DEFAULT,
    classes: int | None = None,
    libraries: Iterable[str] = LIBRARIES,
) -> None:
    """Check that a kernel keeps the contract of `kernelcal.kernels.Kernel`.

    Its values are symmetric, finite, of the dtype and library of the points, no larger than ``bound()``, and the same
    whole, in blocks and pair by pair; Gram matrices have no negative eigenvalue where ``positive_definite`` says so;
    settings never change. Of a profile (`kernelcal.kernels.Stationary`) also: the lengthscale is the unit of
    distance, ``amplitude`` the value at distance 0, ``mixing`` gives the kernel, and so do the derivatives for the
    KCCSD, if it has these two.

    Parameters
    ----------
    kernel : Kernel
        With a number, or ``"median"``, as lengthscale.
    formula : callable, optional
        A second way to its values, in NumPy: of a profile ``formula(d)`` of the distances, else ``formula(x, y)`` of
        coordinates of shape (n, 1, d) and (1, n, d) that broadcast.
    predictions : Predictions, optional
        Points that it compares, by default 24 rows of 4 classes with equal and nearly equal ones. None: it does not
        compare predictions.
    targets : array of shape (n,) or (n, d), optional
        Numbers or vectors that it compares, by default 12 numbers (of a profile: if its metric is the Euclidean one).
        None: it does not compare such targets.
    classes : int, optional
        Number of classes, for a kernel between class labels.
    libraries : iterable of str, optional
        Array libraries in which values are compared, where they are installed: any of ``"array_api_strict"``,
        ``"torch"`` and ``"jax"``.

    Raises
    ------
    AssertionError
        With the sentence of the contract that is broken, and the numbers.

    Notes
    -----
    Needs neither pytest nor an extra. Cost: a tenth of a second, and half a second where PyTorch is loaded first.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.testing import check_kernel
    >>> check_kernel(kc.Laplacian(0.5), formula=lambda d: np.exp(-d / 0.5))
    >>> check_kernel(kc.Laplacian(0.5), formula=lambda d: np.exp(-d))
    Traceback (most recent call last):
    ...
    AssertionError: Laplacian(lengthscale=0.5, metric=Euclidean()): its values are those of the formula. Here ...
    """
    with contract(kernel, "a kernel derives from kernelcal.kernels.Kernel"):
        claim(isinstance(kernel, Kernel), f"it is a {type(kernel).__name__}")
    settings_are_fixed(kernel, key=False)
    _check_algebra(kernel)
    if predictions is not None:
        batch = read_only(class_batch() if predictions is _DEFAULT else predictions)
        with contract(kernel, "lengthscales are resolved from the predictions"):
            ready = resolve(kernel, batch)[0]
        _check_between_predictions(ready, batch, formula, libraries)
    elsewhere = isinstance(kernel, Stationary) and not isinstance(kernel.metric, Euclidean)
    if targets is not None and not (targets is _DEFAULT and elsewhere):
        numbers = np.linspace(-2, 2, 12) ** 3 if targets is _DEFAULT else np.asarray(targets, dtype=np.float64)
        scale = 1.0 + 0 * numbers
        batch = Normal(numbers, scale) if numbers.ndim == 1 else Normal(numbers[:, 0], scale[:, 0])
        with contract(kernel, "lengthscales are resolved from the predictions"):
            ready = resolve_target(kernel, batch)
        _check_between_targets(ready, numbers, formula, libraries)
    if classes is not None:
        _check_between_labels(kernel, classes, formula)
    if isinstance(kernel, Stationary):
        profile = kernel.with_lengthscale(0.7 if isinstance(kernel.lengthscale, str) else kernel.scale)
        _check_lengthscale(profile)
        _check_mixing(profile)
        _check_derivatives(profile)


def class_batch(n: int = 24, m: int = 4, seed: int = 0) -> Categorical:
    """Predictions of classes with certain, equal and nearly equal rows."""
    p = np.random.default_rng(seed).dirichlet(np.full(m, 0.6), n)
    if n > 6:
        p[1], p[5], p[6] = p[0], np.eye(m)[0], np.eye(m)[0]
        p[3] = 0.999999 * p[2] + 1e-6 / m
    return Categorical(p / p.sum(axis=1, keepdims=True))


def gram(kernel: Kernel, points: Any, rows: Any = _ALL, columns: Any = _ALL) -> Any:
    """Kernel values of all pairs of some rows and columns, as pure functions of the library of the points."""
    return kernel.evaluate(CrossPairs(points if isinstance(points, Points) else Points(points), rows, columns))


def _check_algebra(kernel: Kernel) -> None:
    with contract(kernel, "map_leaves with the identity gives the kernel itself"):
        again = kernel.map_leaves(lambda leaf: leaf)
        claim(again == kernel, f"it gives {again!r}")
    with contract(kernel, "bound() is a positive number, and scales with the kernel"):
        bound = kernel.bound()
        claim(0 < bound < np.inf, f"it is {bound!r}")
        close((2.5 * kernel).bound(), 2.5 * bound, what="the bound of 2.5 k")


def _check_values(kernel: Kernel, values: np.ndarray, shape: tuple[int, ...], dtype: Any) -> None:
    with contract(kernel, "evaluate returns one finite number a pair, in the dtype of the points"):
        claim(values.shape == shape, f"values have shape {values.shape}, expected {shape}")
        claim(values.dtype == dtype, f"values are {values.dtype} for points in {np.dtype(dtype)}")
        claim(np.isfinite(values).all(), f"{int((~np.isfinite(values)).sum())} of {values.size} values are not finite")
    with contract(kernel, "k(x, y) = k(y, x)"):
        close(values, values.T, rtol=1e-12, atol=1e-14)
    with contract(kernel, "bound() bounds the absolute value"):
        largest = float(np.abs(values).max())
        claim(largest <= kernel.bound() * (1 + 1e-12), f"a value is {largest:.6g}, the bound {kernel.bound():.6g}")


def _check_positive(kernel: Kernel, values: np.ndarray, claimed: Any) -> None:
    with contract(kernel, "positive_definite(points) is true only where Gram matrices have no negative eigenvalue"):
        claim(isinstance(claimed, bool | np.bool_), f"it returns {claimed!r}, expected True or False")
        least, largest = np.linalg.eigvalsh(values)[[0, -1]]
        if claimed:
            claim(least > -1e-10 * max(largest, 1.0), f"the least eigenvalue is {least:.6g}, the largest {largest:.6g}")


def _check_between_predictions(kernel: Kernel, batch: Any, formula: Any, libraries: Iterable[str]) -> None:
    n = len(batch)
    with untouched(predictions=batch), contract(kernel, "evaluate(pairs) works for all pairs of predictions"):
        values = np.array(gram(kernel, batch))
    _check_values(kernel, values, (n, n), np.float64)
    _check_positive(kernel, values, kernel.positive_definite(batch))
    if formula is not None:
        with contract(kernel, "its values are those of the formula"):
            close(values, _by_formula(kernel, formula, batch), rtol=1e-9, atol=1e-12)
    points, half = Points(batch), n // 2
    with contract(kernel, "blocks of rows and columns are blocks of the whole, and equal rows have equal values"):
        close(gram(kernel, points, slice(2, half), slice(half, n)), values[2:half, half:], rtol=1e-11)
        close(
            gram(kernel, points, np.array([3, 0]), np.array([1, 1, 4])), values[np.ix_([3, 0], [1, 1, 4])], rtol=1e-11
        )
    with contract(kernel, "pair by pair gives the diagonal of all pairs"):
        aligned = kernel.evaluate(AlignedPairs(points, slice(0, half), slice(half, 2 * half)))
        close(aligned, np.diagonal(values[:half, half : 2 * half]), rtol=1e-11)
    with contract(
        kernel,
        "operations on NumPy arrays overwrite their first argument: use only their result, or ops.copy first",
    ):
        forms = (
            ExactPairs(threads=1).prepare([kernel], batch, residual_of(batch, Dirac())) if _of_classes(batch) else None
        )
        if forms is not None:
            found = np.array(forms.kernel_rows(slice(1, half), slice(2, n)))
            close(found, values[1:half, 2:], rtol=1e-7, atol=1e-7, what="a value in a tile")
            close(forms.kernel_rows(slice(1, half), slice(2, n)), found, rtol=0, atol=0, what="the same value again")
    single = batch.map_arrays(lambda x: x.astype(np.float32))
    with contract(kernel, "single precision stays single precision"):
        narrow = gram(kernel, single)
        claim(narrow.dtype == np.float32, f"values are {narrow.dtype}")
        close(narrow, values, rtol=1e-3, atol=3e-3)
    for name, move in installed(libraries):
        with contract(kernel, f"{name} gives the same values, as its own arrays"):
            moved = batch.map_arrays(move)
            found = gram(kernel, moved)
            same_library(found, moved.reference, "the value")
            close(found, values, rtol=1e-5 if to_numpy(found).dtype == np.float32 else 1e-9, atol=1e-6)


def _of_classes(batch: Any) -> bool:
    return hasattr(batch, "n_classes")


def _by_formula(kernel: Kernel, formula: Callable[..., Any], batch: Any) -> np.ndarray:
    points = Points(batch)
    if isinstance(kernel, Stationary):
        return np.asarray(formula(CrossPairs(points, _ALL, _ALL).distance(kernel.metric)))
    x = to_numpy(points.coordinates(Euclidean()))
    return np.asarray(formula(x[:, None], x[None]))


def _check_between_targets(kernel: Kernel, y: np.ndarray, formula: Any, libraries: Iterable[str]) -> None:
    event = y.ndim - 1
    with untouched(targets=y), contract(kernel, "evaluate(pairs) works for all pairs of targets"):
        values = np.array(point(kernel, y[:, None], y[None], event))
    _check_values(kernel, values, (len(y), len(y)), np.float64)
    _check_positive(kernel, values, kernel.positive_definite(Normal(y[:, 0] if event else y, 1.0)))
    if formula is not None:
        with contract(kernel, "its values between targets are those of the formula"):
            x = y if event else y[:, None]
            d = np.sqrt(((x[:, None] - x[None]) ** 2).sum(axis=-1))
            expected = formula(d) if isinstance(kernel, Stationary) else formula(x[:, None], x[None])
            close(values, expected, rtol=1e-9, atol=1e-12)
    with contract(kernel, "pair by pair gives the diagonal of all pairs of targets"):
        close(point(kernel, y, y[::-1], event), np.diagonal(values[:, ::-1]), rtol=1e-10)
    with contract(kernel, "an answer between targets is a fresh array"):
        first = point(kernel, y[:, None], y[None], event)
        if isinstance(first, np.ndarray) and first.flags.writeable:
            first[...] = np.nan
        close(point(kernel, y[:, None], y[None], event), values, rtol=1e-12)
    for name, move in installed(libraries):
        with contract(kernel, f"{name} gives the same values between targets, as its own arrays"):
            moved = move(y)
            found = point(kernel, moved[:, None, ...], moved[None, ...], event)
            same_library(found, moved, "the value")
            close(found, values, rtol=1e-4 if to_numpy(found).dtype == np.float32 else 1e-9, atol=1e-6)


def _check_between_labels(kernel: Kernel, classes: int, formula: Any) -> None:
    with contract(kernel, f"evaluate(pairs) works for all pairs of {classes} class labels"):
        values = np.array(class_matrix(kernel, classes))
    _check_values(kernel, values, (classes, classes), np.float64)
    _check_positive(kernel, values, kernel.positive_definite(class_batch(6, classes)))
    if formula is not None:
        with contract(kernel, "its values between labels are those of the formula"):
            x = np.arange(classes, dtype=np.float64)[:, None]
            d = np.abs(x - x.T)
            close(values, formula(d) if isinstance(kernel, Stationary) else formula(x[:, None], x[None]), rtol=1e-9)


def _on_line(kernel: Stationary, d: np.ndarray) -> np.ndarray:
    """Values of a profile at distances."""
    from dataclasses import replace

    return np.asarray(point(replace(kernel, metric=Euclidean()), d, 0 * d, 0))


def _check_lengthscale(kernel: Stationary) -> None:
    d = np.array([0.0, 0.1, 0.5, 1.0, 2.0, 5.0])
    at_one = _on_line(kernel.with_lengthscale(1.0), d)
    with contract(kernel, "the lengthscale is the unit of distance: k(d; l) = k(d / l; 1)"):
        for scale in (0.25, 3.0):
            close(_on_line(kernel.with_lengthscale(scale), scale * d), at_one, rtol=1e-10)
    with contract(kernel, "amplitude is the value at distance 0, which no other value exceeds"):
        close(at_one[0], kernel.amplitude, rtol=1e-12)
        claim(np.all(at_one <= at_one[0] * (1 + 1e-12)), f"it is {kernel.amplitude:.6g}, a value {at_one.max():.6g}")
    with contract(kernel, "exponent lies in (0, 2]: exp(-c d^exponent) is positive definite for every c"):
        claim(0 < kernel.exponent <= 2, f"it is {kernel.exponent!r}")
    with contract(kernel, "exponent is one for which the kernel is positive definite"):
        if kernel.exponent <= 1:  # then also of L1 distances, where Gaussians are not
            from dataclasses import replace

            on_simplex = replace(kernel, metric=TotalVariation(), lengthscale=2.0)
            for seed in range(3):
                values = gram(on_simplex, class_batch(30, 4, seed))
                least = float(np.linalg.eigvalsh(values)[0])
                claim(least > -1e-9, f"exponent is {kernel.exponent}, and total variation has eigenvalue {least:.6g}")
            values = gram(on_simplex, _midpoints())
            least = float(np.linalg.eigvalsh(values)[0])
            claim(least > -1e-9, f"exponent is {kernel.exponent}, and total variation has eigenvalue {least:.6g}")


def _midpoints() -> Categorical:
    """Corners and midpoints of a simplex, where squares of L1 distances show a negative eigenvalue."""
    eye = np.eye(4)
    pairs = [(eye[i] + eye[j]) / 2 for i, j in ((0, 1), (2, 3), (0, 2), (1, 3))]
    return Categorical(np.vstack([eye, *pairs, np.full(4, 0.25)]))


def _check_mixing(kernel: Stationary) -> None:
    if type(kernel).mixing is Stationary.mixing:
        return
    sentence = "mixing(rng, size) draws s with k = amplitude E exp(-s^2 d^2 / 2) at lengthscale 1"
    with contract(kernel, sentence):
        parameters = len(inspect.signature(kernel.mixing).parameters)
        claim(parameters == 2, f"it takes {parameters} arguments")
        s = np.asarray(kernel.mixing(np.random.default_rng(0), _WAVES))
        claim(s.shape == (_WAVES,), f"it returned shape {s.shape} for size={_WAVES:,}")
        again = np.asarray(kernel.mixing(np.random.default_rng(0), _WAVES))
        claim(np.array_equal(s, again), "the same seed gave other numbers")
        for d in (0.0, 0.3, 1.0, 2.5):
            expected = float(_on_line(kernel.with_lengthscale(1.0), np.array([d]))[0]) / kernel.amplitude
            found = float(np.exp(-0.5 * (s * d) ** 2).mean())
            close(found, expected, rtol=0, atol=_WITHIN, what=f"the mean of {_WAVES:,} draws at d = {d}")


def _check_derivatives(kernel: Stationary) -> None:
    from dataclasses import replace

    if type(kernel) not in radial.registry:
        return
    plain = replace(kernel, metric=Euclidean())
    u = np.array([0.2, 0.7, 1.5, 4.0]) * plain.scale**2
    step = 1e-4 * plain.scale**2

    def value(u: np.ndarray) -> np.ndarray:
        return _on_line(plain, np.sqrt(u))

    with contract(kernel, "radial(kernel, u) returns f(u), -2 f'(u) and -4 f''(u), where f(d^2) is the kernel"):
        found = radial(plain, u.copy())
        close(found[0], value(u), rtol=1e-10, what="f")
        first = (value(u + step) - value(u - step)) / (2 * step)
        close(found[1], -2 * first, rtol=1e-5, what="-2 f'")
        second = (value(u + step) - 2 * value(u) + value(u - step)) / step**2
        close(found[2], -4 * second, rtol=1e-4, atol=1e-5 / plain.scale**4, what="-4 f''")
