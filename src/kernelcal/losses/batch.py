"""Calibration errors of one batch as losses: labels are looked at where it costs nothing, and may be traced."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat import is_jax_array, is_numpy_array, is_torch_array

from kernelcal.arrays import Array, is_half, namespace, place_of, precision
from kernelcal.errors import InputError

__all__ = ["ckce_loss", "fixed", "library_of", "mmce_loss", "refuse_setting", "residuals", "skce_loss", "with_slopes"]

_ROUNDING = 8.0  # of squared distances, in units of the precision: below it pairs are equal, and have no slope
_KERNELS = ("laplacian", "gaussian")


def skce_loss(
    probabilities: Array, labels: Array, *, lengthscale: float = 0.25, kernel: str = "laplacian", weights: Array = None
) -> Array:
    """Unbiased squared kernel calibration error of a batch, ``mean_{i != j} k(p_i, p_j) <r_i, r_j>``, ``r = e_y - p``.

    Its mean over batches is the SKCE of the model, so that small batches serve: it may be negative.

    Parameters
    ----------
    probabilities : array of shape (B, m), or (B,) for yes/no
        Predicted probabilities, of PyTorch or JAX, on any device, with their gradient; also NumPy. Half precision is
        computed in single.
    labels : array of shape (B,)
        Class numbers from 0, which may be traced inside ``jax.jit``. What is no class number is refused where labels
        lie in the memory of the host; on an accelerator, and inside ``jax.jit`` or ``torch.compile``, it cannot be seen
        without waiting, and labels that are no whole numbers are cut.
    lengthscale : float
        Of the kernel, fixed: one that changed from batch to batch would be another error each time.
    kernel : {"laplacian", "gaussian"}
        ``exp(-|p - q| / l)``, or ``exp(-|p - q|^2 / (2 l^2))``, of the Euclidean distance; of yes/no that of the one
        probability.
    weights : array of shape (B,), optional
        Case weights: the mean is over pairs, each weighted by the product of its two. Rows that pad a batch have 0;
        where fewer than two rows have more, the loss is NaN.

    Returns
    -------
    scalar array
        With its gradient.

    Raises
    ------
    InputError
        For fewer than two rows, shapes that do not fit, lengthscales that are not positive, and labels that are no
        class numbers, as far as these can be seen.

    See Also
    --------
    RunningWitness : The same error in linear time, of several batches.
    kernelcal.skce : The error of all rows, checked, with an interval; and of numbers and vectors.

    Notes
    -----
    Cost ``O(B^2 m)``: four products of matrices. The gradient is written out and not followed operation by operation,
    which halves time and memory; derivatives of second order see it as a constant. Values of probabilities are not
    looked at: logits are not refused.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), Table 1.

    Examples
    --------
    >>> import torch
    >>> from kernelcal.losses import skce_loss
    >>> logits = torch.tensor([[2.0, 0.0], [0.5, 0.0], [0.0, 1.0]], requires_grad=True)
    >>> loss = skce_loss(torch.softmax(logits, dim=1), torch.tensor([0, 1, 1]))
    >>> loss.backward()
    >>> round(loss.item(), 4), logits.grad.shape
    (0.003, torch.Size([3, 2]))
    """
    p, r = residuals(probabilities, labels)
    return _pairs(p[:, 1:] if probabilities.ndim == 1 else p, r, weights, lengthscale, kernel)


def mmce_loss(
    probabilities: Array, labels: Array, *, lengthscale: float = 0.4, kernel: str = "laplacian", weights: Array = None
) -> Array:
    """Unbiased squared maximum mean calibration error of the first choice: of its probability and whether it is right.

    ``mean_{i != j} k(c_i, c_j) (a_i - c_i) (a_j - c_j)``, c the largest probability and a 1 where that class happened.
    Arguments, costs and errors are those of `skce_loss`; the kernel is of c alone, and only c gets a gradient.

    References
    ----------
    Kumar, Sarawagi, Jain (2018), whose estimate is the root of the sum over all pairs, i = j too.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelcal.losses import mmce_loss
    >>> float(mmce_loss(np.array([[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]]), np.array([0, 1, 1]))) < 0
    True
    """
    p = _columns(probabilities)
    labels, xp = _labels(p, labels), namespace(p)
    c, first = xp.max(p, axis=1, keepdims=True), xp.argmax(p, axis=1)
    right = xp.astype(first == xp.astype(labels, first.dtype), p.dtype)
    return _pairs(c, right[:, None] - c, weights, lengthscale, kernel)


def ckce_loss(
    probabilities: Array,
    labels: Array,
    *,
    lengthscale: float = 0.5,
    regularization: float = 0.25,
) -> Array:
    """Conditional kernel calibration error of a batch as a penalty, ``tr(W R W K)``, ``W = (K + lambda B I)^-1``.

    ``K = p.q + exp(-|p - q|^2 / (2 l^2))``, ``R = <r_i, r_j>``: the ridge regression of the residuals on the
    predictions, squared. It is never negative, and does not weigh predictions by how often they are made.

    Parameters
    ----------
    probabilities, labels
        As for `skce_loss`.
    lengthscale, regularization : float
        l and lambda, fixed.

    Raises
    ------
    InputError
        As `skce_loss`, and for a regularization that is not positive.

    Notes
    -----
    Cost ``O(B^3)`` for a Cholesky factor. It has no unbiased estimate: it depends on B, and grows with the noise of the
    labels. Gradients are written out, as of `skce_loss`.

    References
    ----------
    Moskvichev and Sejdinovic (2025), eqs. 7 to 9 and section 6.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.losses import ckce_loss
    >>> y, p = np.array([1, 2, 0]), np.array([[0.1, 0.8, 0.1], [0.2, 0.5, 0.3], [0.6, 0.2, 0.2]])
    >>> kernel = kc.Linear() + kc.Gaussian(0.5)
    >>> bool(np.isclose(ckce_loss(p, y), kc.ckce(y, p, prediction_kernel=kernel, regularization=0.25)))
    True
    """
    refuse_setting("regularization", regularization)
    refuse_setting("lengthscale", lengthscale)
    p, r = residuals(probabilities, labels)
    xp, n = namespace(p), p.shape[0]
    x, ridge = fixed(p), regularization * n
    near = xp.exp(-_squared(xp, x / lengthscale) / 2)
    k = x @ x.T
    k += near
    solve = _solver(xp, k + ridge * xp.eye(n, dtype=k.dtype, device=place_of(k)))
    a = solve(fixed(r))
    seen = k @ a
    value = xp.sum(a * seen)
    if is_numpy_array(p):
        return value
    u = solve(seen)
    m = (a - u) @ a.T - a @ u.T  # slope by k, and that by its second part below
    near *= m
    slope = 2 * (m @ x) + (near @ x - xp.sum(near, axis=1, keepdims=True) * x) * (2 / lengthscale**2)
    return with_slopes(value, (p, slope), (r, 2 * u))


def residuals(probabilities: Array, labels: Array) -> tuple[Array, Array]:
    """Return probabilities as (B, m), and what happened minus what was predicted, ``e_y - p``."""
    p = _columns(probabilities)
    labels = _labels(p, labels)
    xp = namespace(p)
    classes = xp.arange(p.shape[1], device=place_of(p))
    return p, xp.astype(xp.astype(labels, classes.dtype)[:, None] == classes, p.dtype) - p


def fixed(x: Array) -> Array:
    """Return the array as a constant, without its gradient."""
    if is_torch_array(x):
        return x.detach()
    if is_jax_array(x):
        from jax.lax import stop_gradient

        return stop_gradient(x)
    return x


def with_slopes(value: Array, *parts: tuple[Array, Array]) -> Array:
    """Give a number that was computed without gradients its gradient, ``(x, slope)`` for every array it depends on."""
    for x, slope in parts:
        value = value + namespace(x).sum(slope * (x - fixed(x)))
    return value


def refuse_setting(name: str, value: Any) -> None:
    """Refuse what is no positive number."""
    try:
        positive = bool(value > 0)
    except (TypeError, ValueError):
        positive = False
    if not positive:
        raise InputError(f"{name} must be positive, such as 0.25, got {value!r}")


def library_of(p: Array) -> Any:
    """Return the library of probabilities, which must be an array of floating numbers: nothing else has a gradient."""
    try:
        xp = namespace(p)
        floating = xp.isdtype(p.dtype, "real floating")
    except (TypeError, ValueError):
        raise InputError(
            f"probabilities must be an array of PyTorch, JAX or NumPy, got {type(p).__name__}: pass numpy.asarray(x) "
            "of lists and frames"
        ) from None
    if not floating:
        raise InputError(
            f"probabilities must be floating numbers, got {p.dtype}: were the arguments swapped? The order is "
            "(probabilities, labels)"
        )
    return xp


def _columns(p: Array) -> Array:
    """Probabilities in at least single precision, a column a class."""
    xp = library_of(p)
    p = xp.astype(p, xp.float32) if is_half(p) else p
    return xp.stack([1 - p, p], axis=1) if p.ndim == 1 else p


def _labels(p: Array, labels: Array) -> Array:
    """Labels where the probabilities are, once both shapes fit."""
    given, labels = labels, _numbers(labels, p, "labels", "class numbers from 0")
    if p.ndim != 2 or tuple(labels.shape) != (p.shape[0],) or p.shape[0] < 2 or p.shape[1] < 2:
        raise InputError(
            "probabilities of shape (B, m), or (B,) for yes/no, and class numbers of shape (B,) are expected, B and m "
            f"2 or more, got {tuple(p.shape)} and {tuple(labels.shape)}"
        )
    seen = _on_host(given)
    if seen is not None:
        _refuse_labels(seen, int(p.shape[1]))
    return labels


def _on_host(values: Any) -> np.ndarray | None:
    """Values that can be looked at without waiting; None of those that are traced, or lie on an accelerator."""
    if is_torch_array(values):
        import torch

        plain = type(values) in (torch.Tensor, torch.nn.Parameter) and not torch.compiler.is_compiling()
        if not plain or values.device.type != "cpu":
            return None
        try:
            return np.asarray(values.detach())
        except RuntimeError:  # torch.func transforms it: it has no numbers
            return None
    if is_jax_array(values):
        import jax

        if isinstance(values, jax.core.Tracer) or {place.platform for place in values.devices()} != {"cpu"}:
            return None
        return np.asarray(values)
    return np.asarray(values) if is_numpy_array(values) or isinstance(values, list | tuple) else None


def _refuse_labels(labels: np.ndarray, classes: int) -> None:
    """Refuse what is no class number, with the row and the remedy."""
    wrong = np.flatnonzero(~((labels >= 0) & (labels < classes) & (labels == np.floor(labels))))
    if not len(wrong):
        return
    row, found = int(wrong[0]), labels[wrong[0]]
    remedy = "a class that happened is expected, no share of it"
    if float(found).is_integer():
        from_one = labels.min() == 1 and labels.max() == classes
        remedy = "they count from 1: pass labels - 1" if from_one else "leave rows of other labels out of the batch"
    raise InputError(
        f"row {row}: label {found:g} is no class number, 0 to {classes - 1} ({len(wrong)} such rows): {remedy}"
    )


def _numbers(values: Any, p: Array, what: str, expected: str) -> Array:
    """Numbers where the probabilities are; text is refused."""
    try:
        found = namespace(p).asarray(values, device=place_of(p))
        text = is_numpy_array(found) and found.dtype.kind not in "biuf"
    except (TypeError, ValueError, RuntimeError):
        text = True
    if text:
        raise InputError(f"{what} must be {expected}, one a row, got {str(values)[:60]}")
    return found


def _squared(xp: Any, z: Array) -> Array:
    """Squared distances of all rows by one product of matrices: ``|z|^2 - 2 z.z' + |z'|^2``."""
    own, one = xp.sum(z * z, axis=1, keepdims=True), xp.ones_like(z[:, :1])
    return xp.concat([z, own, one], axis=1) @ xp.concat([-2 * z, one, own], axis=1).T


def _pairs(x: Array, r: Array, weights: Array, lengthscale: float, kernel: str) -> Array:
    """Mean of ``k(x_i, x_j) <r_i, r_j>`` over pairs of different rows, with its gradient.

    Gradients are written out: a library that follows every operation passes over twice as many B x B arrays.
    """
    if kernel not in _KERNELS:
        raise InputError(f"kernel must be one of {', '.join(map(repr, _KERNELS))}, got {kernel!r}")
    refuse_setting("lengthscale", lengthscale)
    xp, n = namespace(r), r.shape[0]
    z, b, w = fixed(x) / lengthscale, fixed(r), None
    count = n * (n - 1)
    if weights is not None:
        w = xp.astype(_numbers(weights, r, "weights", "numbers"), r.dtype)
        if tuple(w.shape) != (n,):
            raise InputError(f"weights must have shape ({n},), got {tuple(w.shape)}")
        b, count = w[:, None] * b, xp.sum(w) ** 2 - xp.sum(w * w)
    squared, least = _squared(xp, z), _ROUNDING * precision(z) / lengthscale**2
    squared = xp.where(squared > least, squared, xp.full_like(squared, least))
    root = xp.sqrt(squared) if kernel == "laplacian" else None
    k = xp.exp(-squared / 2 if root is None else -root)
    k *= 1 - xp.eye(n, dtype=k.dtype, device=place_of(k))  # in place where a library can: new B x B arrays cost more
    met = k @ b
    with np.errstate(invalid="ignore"):  # fewer than two rows with a weight have no mean over pairs
        value = xp.sum(met * b) / count
    if is_numpy_array(r):
        return value
    a = b @ b.T
    a *= k
    if root is not None:
        a /= root
    slope = (a @ z - xp.sum(a, axis=1, keepdims=True) * z) * (2 / lengthscale)
    met = met if w is None else w[:, None] * met
    return with_slopes(value, (x, slope / count), (r, 2 * met / count))


def _solver(xp: Any, matrix: Array) -> Any:
    """Function that solves systems with a positive definite matrix, which is factorised once."""
    if is_torch_array(matrix):
        factor = xp.linalg.cholesky(matrix)
        return lambda b: xp.cholesky_solve(b, factor)
    if is_jax_array(matrix):
        from jax.scipy.linalg import cho_factor, cho_solve

        factor = cho_factor(matrix)
        return lambda b: cho_solve(factor, b)
    return lambda b: xp.linalg.solve(matrix, b)
