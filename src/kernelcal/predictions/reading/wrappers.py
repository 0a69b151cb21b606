"""Say what the numbers are: logits, log-probabilities, percentages. Nothing is guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.arrays import Array, concrete, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.base import Predictions
from kernelcal.predictions.border import checked_numbers, floating, plain_array

__all__ = ["LogProbs", "Logits", "Percent", "Wrapper"]


_ROUNDING = 1e-4  # a float32 log-softmax may exceed 0, and a percentage 100, by rounding


@dataclass(frozen=True, eq=False)
class Wrapper:
    """Numbers that `as_predictions` turns into probabilities by `probabilities`."""

    values: Any

    def probabilities(self) -> Array:
        """Probabilities of shape (n,) for one column, (n, m) for m columns."""
        return self.unwrap()[0]

    def unwrap(self) -> tuple[Array, tuple[Any, ...] | None]:
        """Probabilities, and the column names where the values are a data frame."""
        if isinstance(self.values, Wrapper | Predictions):
            raise InputError(f"{type(self).__name__} takes numbers, got {type(self.values).__name__}: leave one out")
        x, names = plain_array(self.values)
        if x.ndim not in (1, 2):
            raise InputError(f"{type(self).__name__} takes shape (n,) or (n, m), got {tuple(x.shape)}")
        x = floating(x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x)
        values = concrete(x)
        if values is not None:
            self._check(checked_numbers(values))
        return self._transform(x), names

    def _check(self, values: np.ndarray) -> None:
        raise NotImplementedError

    def _transform(self, x: Array) -> Array:
        raise NotImplementedError


class Logits(Wrapper):
    """Scores before the softmax (n, m), or before the logistic function (n,).

    Parameters
    ----------
    values : array of shape (n,) or (n, m)
        Logits: ``p = 1 / (1 + exp(-x))`` for one column, ``softmax`` over the classes for several.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.as_predictions(kc.Logits([[2.0, -1.0, 0.5], [0.1, 3.0, -2.0]])).probs.max(axis=1).round(6)
    array([0.785597, 0.941831])
    """

    def _check(self, values: np.ndarray) -> None:
        _refuse(values, np.isnan(values) | (values == np.inf), "logits are finite or -inf: drop these rows")
        if values.ndim == 2:
            impossible = np.all(values == -np.inf, axis=1)[:, None] & np.ones(values.shape, dtype=bool)
            _refuse(values, impossible, "every class of this row is impossible: one logit must be finite")
            _refuse_probabilities(values)

    def _transform(self, x: Array) -> Array:
        xp = namespace(x)
        if x.ndim == 1:
            x = x.astype(np.float64) if isinstance(x, np.ndarray) else x  # 1 - p must keep its digits as well
            zero = xp.zeros_like(x)
            up, down = xp.exp(xp.minimum(x, zero)), xp.exp(-xp.maximum(x, zero))
            return up / (up + down)  # the logistic function: no overflow, and all digits of small probabilities
        e = xp.exp(x - xp.max(x, axis=1, keepdims=True))
        return e / xp.sum(e, axis=1, keepdims=True)


class LogProbs(Wrapper):
    """Natural logarithms of probabilities; rows must sum to 1 after the exponential.

    Parameters
    ----------
    values : array of shape (n,) or (n, m)
        Log-probabilities, at most 0; ``-inf`` is a probability of 0.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> kc.as_predictions(kc.LogProbs(np.log([0.25, 0.5]))).p
    array([0.25, 0.5 ])
    """

    def _check(self, values: np.ndarray) -> None:
        advice = "log-probabilities are at most 0: are these logits (kernelcal.Logits, --kind logits) or probabilities?"
        _refuse(values, values > _ROUNDING, advice)

    def _transform(self, x: Array) -> Array:
        return namespace(x).exp(x)


class Percent(Wrapper):
    """Probabilities in percent, 0 to 100.

    Parameters
    ----------
    values : array of shape (n,) or (n, m)
        Percentages; with several columns each row sums to 100.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.as_predictions(kc.Percent([25, 100])).p
    array([0.25, 1.  ])
    """

    def _check(self, values: np.ndarray) -> None:
        outside = (values < -_ROUNDING) | (values > 100 + _ROUNDING)
        _refuse(values, outside, "percentages lie between 0 and 100: what are these numbers?")
        if values.ndim == 2:
            _refuse_probabilities(values)

    def _transform(self, x: Array) -> Array:
        return x / 100


def _refuse(values: np.ndarray, wrong: np.ndarray, advice: str) -> None:
    if not wrong.any():
        return
    place = np.argwhere(wrong)[0]
    where = f"row {place[0]}" + (f", column {place[1]}" if values.ndim == 2 else "")
    raise InputError(f"{where} is {values[tuple(place)]:g}; {advice}")


def _refuse_probabilities(values: np.ndarray) -> None:
    """Rows in [0, 1] that all sum to 1 are probabilities already, not what the wrapper says."""
    if len(values) and np.all((values >= 0) & (values <= 1)) and np.allclose(values.sum(axis=1), 1, rtol=0, atol=1e-5):
        raise InputError(
            "every row lies in [0, 1] and sums to 1: these are probabilities already. Pass them without a wrapper "
            "(command line: --kind probabilities)"
        )
