"""Probabilities of classes on the log scale, in every array library: nothing that was said is lost to 0 or 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.arrays import Array, as_array, concrete, namespace, place_of
from kernelcal.errors import InputError
from kernelcal.predictions.border import floating

__all__ = ["checked_logs", "log_complement", "log_of", "log_sigmoid", "log_softmax", "log_sum", "tempered_probability"]


_LOG_HALF = -0.6931471805599453
_APART = 1e-3  # probabilities and their logarithms, where both are given


def log_of(p: Array) -> Array:
    """Logarithm of probabilities; that of 0 is minus infinity."""
    with np.errstate(divide="ignore"):
        return namespace(p).log(p)


def log_softmax(x: Array) -> Array:
    """Logarithm of the softmax of every row of logits, shape (n, m), also of a probability that rounds to 1."""
    xp = namespace(x)
    shifted = x - xp.max(x, axis=1, keepdims=True)
    columns = xp.asarray(np.arange(int(x.shape[1])), device=place_of(x))
    top = xp.argmax(shifted, axis=1)[:, None] == columns[None, :]
    others = xp.sum(xp.where(top, xp.zeros_like(shifted), xp.exp(shifted)), axis=1, keepdims=True)
    return shifted - xp.log1p(others)


def log_sigmoid(x: Array) -> Array:
    """Logarithms of the probabilities of no and of yes for one logit a row, shape (n, 2)."""
    xp, zero = namespace(x), namespace(x).zeros_like(x)
    tail = xp.log1p(xp.exp(-xp.abs(x)))
    return xp.stack([xp.minimum(-x, zero) - tail, xp.minimum(x, zero) - tail], axis=1)


def log_complement(logs: Array) -> Array:
    """``log(1 - exp(x))`` for x <= 0, to all digits near both ends; minus infinity at 0."""
    xp = namespace(logs)
    small = logs < _LOG_HALF
    half = xp.full_like(logs, _LOG_HALF)  # each branch is asked where it is right alone: gradients are numbers
    with np.errstate(divide="ignore"):
        near_one = xp.log(-xp.expm1(xp.where(small, half, logs)))
    return xp.where(small, xp.log1p(-xp.exp(xp.where(small, logs, half))), near_one)


def log_sum(logs: Array, of: Array) -> Array:
    """Logarithm of the sum of the probabilities that a mask of shape (n, m) picks in every row, shape (n,)."""
    xp = namespace(logs)
    none = xp.full_like(logs, -xp.inf)
    picked = xp.where(of, logs, none)
    largest = xp.max(picked, axis=1, keepdims=True)
    largest = xp.where(largest == -xp.inf, xp.zeros_like(largest), largest)
    return largest[:, 0] + log_of(xp.sum(xp.exp(picked - largest), axis=1))


def tempered_probability(p: Array, temperature: float) -> Array:
    """Probability of yes with its logit over T; 0 and 1 stay."""
    xp, zero = namespace(p), namespace(p).zeros_like(p)
    with np.errstate(divide="ignore"):
        logits = (xp.log(p) - xp.log1p(-p)) / temperature
    up, down = xp.exp(xp.minimum(logits, zero)), xp.exp(-xp.maximum(logits, zero))
    return up / (up + down)


def checked_logs(logs: Any, probabilities: Array) -> Array | None:
    """Logarithms of the probabilities beside them, or refuse others."""
    if logs is None:
        return None
    logs = floating(as_array(logs))
    if tuple(logs.shape) != tuple(probabilities.shape):
        raise InputError(
            f"logs must hold the logarithm of every probability, shape {tuple(probabilities.shape)}, got "
            f"{tuple(logs.shape)}: leave them out, or use from_logits or from_log_probs"
        )
    given, p = concrete(logs), concrete(probabilities)
    if given is not None and p is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            wrong = ~(np.abs(np.exp(given) - p) <= _APART).all(axis=1)
        if wrong.any():
            raise InputError(
                f"logs in row {int(np.argmax(wrong))} are not the logarithms of the probabilities there: leave them "
                "out, or use from_logits or from_log_probs"
            )
    return logs
