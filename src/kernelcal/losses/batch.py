"""Calibration errors of one batch as losses: nothing is checked value by value, and labels may be traced."""

from __future__ import annotations

from typing import Any

from kernelcal.arrays import Array, namespace
from kernelcal.errors import InputError

__all__ = ["ckce_loss", "mmce_loss", "residuals", "skce_loss"]


_TINY = 1e-12  # under roots, whose slope at 0 is infinite
_KERNELS = ("laplacian", "gaussian")


def skce_loss(
    probabilities: Array, labels: Array, *, lengthscale: float = 0.25, kernel: str = "laplacian", weights: Array = None
) -> Array:
    """Unbiased squared kernel calibration error of a batch, ``mean_{i != j} k(p_i, p_j) <r_i, r_j>``, ``r = e_y - p``.

    Its mean over batches is the SKCE of the model, so that small batches serve: it may be negative.

    Parameters
    ----------
    probabilities : array of shape (B, m), or (B,) for yes/no
        Predicted probabilities, of PyTorch or JAX, on any device, with the gradient; also NumPy.
    labels : array of shape (B,)
        Class numbers, which may be traced inside ``jax.jit``.
    lengthscale : float
        Of the kernel, fixed: one that changed from batch to batch would be another error each time.
    kernel : {"laplacian", "gaussian"}
        ``exp(-|p - q| / l)``, or ``exp(-|p - q|^2 / (2 l^2))``, of the Euclidean distance; of yes/no that of the one
        probability.
    weights : array of shape (B,), optional
        Case weights.

    Returns
    -------
    scalar array
        With its gradient.

    Raises
    ------
    InputError
        For fewer than two rows, shapes that do not fit, and lengthscales that are not positive.

    Notes
    -----
    Cost ``O(B^2 m)`` as one matrix product, and ``24 B^2`` bytes with gradients.

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
    >>> round(float(loss), 4), logits.grad.shape
    (-0.0131, torch.Size([3, 2]))
    """
    p, r = residuals(probabilities, labels)
    seen = probabilities[:, None] if probabilities.ndim == 1 else p
    return _pairs(_gram(seen, lengthscale, kernel), r, weights)


def mmce_loss(
    probabilities: Array, labels: Array, *, lengthscale: float = 0.4, kernel: str = "laplacian", weights: Array = None
) -> Array:
    """Unbiased squared maximum mean calibration error of the first choice: of its probability and whether it is right.

    ``mean_{i != j} k(c_i, c_j) (a_i - c_i) (a_j - c_j)``, c the largest probability and a 1 where that class happened.
    Arguments, costs and errors are those of `skce_loss`.

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
    xp = namespace(probabilities)
    p, labels = _two_columns(probabilities), xp.asarray(labels)
    _refuse_shapes(p, labels)
    c = xp.max(p, axis=1)
    right = xp.astype(xp.argmax(p, axis=1) == xp.astype(labels, xp.int64), p.dtype)
    return _pairs(_gram(c[:, None], lengthscale, kernel), (right - c)[:, None], weights)


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

    Notes
    -----
    Cost ``O(B^3)`` for a Cholesky factor: 3 ms at B = 256.

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
    if not regularization > 0:
        raise InputError(f"regularization must be positive, got {regularization!r}")
    p, r = residuals(probabilities, labels)
    xp, n = namespace(p), p.shape[0]
    k = p @ p.T + _gram(p, lengthscale, "gaussian")
    solved = xp.linalg.solve(k + regularization * n * xp.eye(n, dtype=p.dtype, device=_device(p)), r)
    return xp.sum(solved * (k @ solved))


def residuals(probabilities: Array, labels: Array) -> tuple[Array, Array]:
    """Return probabilities as (B, m), and what happened minus what was predicted, ``e_y - p``."""
    xp, p = namespace(probabilities), _two_columns(probabilities)
    labels = xp.asarray(labels)
    _refuse_shapes(p, labels)
    classes = xp.arange(p.shape[1], device=_device(p))
    return p, xp.astype(xp.astype(labels, classes.dtype)[:, None] == classes, p.dtype) - p


def _two_columns(p: Array) -> Array:
    return namespace(p).stack([1 - p, p], axis=1) if p.ndim == 1 else p


def _device(x: Array) -> Any:
    from array_api_compat import device

    return device(x)


def _refuse_shapes(p: Array, labels: Array) -> None:
    if p.ndim != 2 or tuple(labels.shape) != (p.shape[0],) or p.shape[0] < 2:
        raise InputError(
            f"probabilities of shape (B, m) and labels of shape (B,) with B of 2 or more are expected, got "
            f"{tuple(p.shape)} and {tuple(labels.shape)}"
        )


def _gram(x: Array, lengthscale: float, kernel: str) -> Array:
    if kernel not in _KERNELS:
        raise InputError(f"kernel must be one of {', '.join(map(repr, _KERNELS))}, got {kernel!r}")
    if not lengthscale > 0:
        raise InputError(f"lengthscale must be positive, got {lengthscale!r}")
    xp = namespace(x)
    own = xp.sum(x * x, axis=1)
    squared = own[:, None] + own[None, :] - 2 * (x @ x.T)
    squared = xp.where(squared > _TINY, squared, xp.full_like(squared, _TINY))  # no slope where two are equal
    if kernel == "gaussian":
        return xp.exp(-squared / (2 * lengthscale**2))
    return xp.exp(-xp.sqrt(squared) / lengthscale)


def _pairs(k: Array, r: Array, weights: Array) -> Array:
    """Mean of k times the inner products of residuals over pairs of different rows."""
    xp, n = namespace(r), r.shape[0]
    if weights is None:
        off = 1 - xp.eye(n, dtype=r.dtype, device=_device(r))
        return xp.sum(k * off * (r @ r.T)) / (n * (n - 1))
    w = xp.astype(xp.asarray(weights), r.dtype)
    if tuple(w.shape) != (n,):
        raise InputError(f"weights must have shape ({n},), got {tuple(w.shape)}")
    pairs = w[:, None] * w[None, :] * (1 - xp.eye(n, dtype=r.dtype, device=_device(r)))
    return xp.sum(k * pairs * (r @ r.T)) / xp.sum(pairs)
