"""Say what the numbers are: logits, log-probabilities, percentages. Nothing is guessed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelcal.arrays import Array, as_array, namespace
from kernelcal.errors import InputError
from kernelcal.predictions.checks import floating

__all__ = ["LogProbs", "Logits", "Percent", "Wrapper"]


@dataclass(frozen=True, eq=False)
class Wrapper:
    """Numbers that `as_predictions` turns into probabilities by `probabilities`."""

    values: Any

    def probabilities(self) -> Array:
        """Probabilities of shape (n,) for one column, (n, m) for m columns."""
        x = floating(as_array(self.values))
        if x.ndim not in (1, 2):
            raise InputError(f"{type(self).__name__} takes shape (n,) or (n, m), got {tuple(x.shape)}")
        return self._transform(x[:, 0] if x.ndim == 2 and x.shape[1] == 1 else x)

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

    def _transform(self, x: Array) -> Array:
        xp = namespace(x)
        if x.ndim == 1:
            return 0.5 * (1 + xp.tanh(0.5 * x))  # the logistic function without overflow
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

    def _transform(self, x: Array) -> Array:
        return x / 100
