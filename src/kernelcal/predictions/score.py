"""Predictions known through their score function alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernelcal.arrays import Array
from kernelcal.predictions.score_predictions import ScorePredictions

__all__ = ["Score"]


@dataclass(frozen=True, eq=False)
class Score(ScorePredictions):
    """Predictions known through their score functions ``grad_y log p_i(y)``: energy-based models, posteriors.

    Parameters
    ----------
    function : callable
        ``function(y, *parameters)`` with targets of shape ``(n, *event_shape)``, one a row, returns the scores, an
        array of the same shape. Row i of the result may depend on row i of the arguments only.
    parameters : array or tuple of arrays, optional
        What the function needs of every row, the rows on axis 0: conditions, weights, ``numpy.arange(n)`` for the
        numbers of the rows. Rows of them are taken along where rows are taken. Without, `n` must say how many rows
        there are, and no rows can be taken.
    event_shape : tuple of int, or int
        Shape of a target: () for numbers (default), (d,) for vectors.
    n : int, optional
        Number of rows, if there are no parameters.
    sampler : callable, optional
        ``sampler(rng, *parameters)`` with a NumPy generator returns one target a row, drawn from the prediction. It
        makes the exact test possible.
    draws : array of shape (n, S) or (n, S, d), or Samples, optional
        Independent draws from every prediction, in place of a sampler: the test is then ``null="swap"``, exact too.
    coordinates : array of shape (n, k), optional
        Numbers that describe the predictions, such as the conditions of a posterior: what metrics may compare.
    library : {"numpy", "torch", "jax"}, optional
        Where the function computes. Default: the library of the parameters, of a PyTorch module, else NumPy.

    Raises
    ------
    InputError
        If arrays do not fit together, and where a score is asked for that the function does not give.

    Notes
    -----
    Assumes densities that are positive and smooth everywhere. The function is called once a set of targets. A score
    does not see the proportions of modes that lie far apart.

    References
    ----------
    Glaser, Widmann, Lindsten, Gretton (2023), Sec. 3.

    Examples
    --------
    Densities proportional to ``exp(-(y - a)^4)``:

    >>> import numpy as np
    >>> from kernelcal.predictions import Score
    >>> predictions = Score(lambda y, a: -4 * (y - a) ** 3, parameters=np.array([0.0, 1.0]))
    >>> predictions.score(np.array([1.0, 3.0]))
    array([ -4., -32.])
    >>> predictions[1:].score(np.array([2.0]))
    array([-4.])
    """

    function: Callable[..., Any]
    parameters: Any = ()

    @property
    def given(self) -> tuple[Callable[..., Any], Any]:
        """The function and its parameters."""
        return self.function, self.parameters

    def scores(self, y: Array, *parameters: Array) -> Array:
        """Scores of one set of targets: what the function returns."""
        return self.function(y, *parameters)
