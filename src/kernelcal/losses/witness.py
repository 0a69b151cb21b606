"""A running witness: the error of the last batches as one function, against which a batch is held in linear time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Self

import numpy as np
from array_api_compat import is_jax_array, is_numpy_array

from kernelcal.arrays import Array, is_half, like, namespace
from kernelcal.errors import InputError
from kernelcal.losses.batch import fixed, library_of, refuse_setting, residuals, with_slopes
from kernelcal.randomness import generator_of

__all__ = ["RunningWitness"]


@dataclass(frozen=True, eq=False)
class RunningWitness:
    """State of a running witness ``W``, an exponential mean of ``phi(p)' (e_y - p)`` with D random features phi.

    The squared error is ``|E phi(p)' r|^2``, and its gradient that of ``2 <W, E phi(p)' r>`` with W held fixed: a batch
    needs no pairs, and rows that were seen before stand in for them. States are values: `loss` returns a new one.
    With JAX they are trees whose arrays are leaves, so that ``jax.jit`` and ``jax.lax.scan`` take them.

    Parameters
    ----------
    mean : array of shape (D, m)
        W times ``1 - decay^t``.
    frequencies : array of shape (D / 2, m)
        Of the features, fixed.
    steps : scalar array
        Batches so far, t.
    decay : float
        What W keeps of itself a batch.

    See Also
    --------
    skce_loss : The error of one batch by its pairs, without features and without memory.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019) for the error; Rahimi, Recht (2007) for the features.

    Examples
    --------
    >>> import torch
    >>> from kernelcal.losses import RunningWitness
    >>> witness = RunningWitness.begin(torch.zeros(1, 3), features=64)
    >>> for _ in range(3):
    ...     p = torch.softmax(torch.randn(32, 3, requires_grad=True), dim=1)
    ...     loss, witness = witness.loss(p, torch.randint(0, 3, (32,)))
    >>> loss.requires_grad, witness.mean.requires_grad
    (True, False)
    """

    mean: Array
    frequencies: Array
    steps: Array
    decay: float = 0.9

    def __post_init__(self) -> None:
        if is_jax_array(self.mean):  # JAX is loaded already
            _make_tree()

    @classmethod
    def begin(
        cls, example: Array, *, features: int = 128, lengthscale: float = 0.25, decay: float = 0.9, seed: int = 0
    ) -> Self:
        """Return a witness that has seen nothing.

        Parameters
        ----------
        example : array of shape (B, m), or (B,)
            Predictions, for library, precision, device and number of classes.
        features : int
            D, even; memory D m.
        lengthscale : float
            Of the Laplacian kernel whose features are drawn (Cauchy frequencies), of distances between rows of
            probabilities; of yes/no these are those between ``(1 - p, p)``, 1.41 times as far.
        decay : float
            From 0 to below 1; 0.9 looks back ten batches.
        seed : int
            Of the frequencies.

        Raises
        ------
        InputError
            For settings that are out of range.
        """
        refuse_setting("lengthscale", lengthscale)
        whole = isinstance(features, int | np.integer) and not isinstance(features, bool)
        if (
            not whole
            or features < 2
            or features % 2
            or not isinstance(decay, int | float | np.number)
            or not 0 <= decay < 1
        ):
            raise InputError(
                f"features must be even and decay from 0 to below 1, got {features!r} and {decay!r}: 128 and 0.9 are "
                "usual"
            )
        xp = library_of(example)
        if example.ndim not in (1, 2):
            raise InputError(
                f"predictions of shape (B, m), or (B,) for yes/no, are expected, got {tuple(example.shape)}"
            )
        m = 2 if example.ndim == 1 else int(example.shape[1])
        example = xp.astype(example, xp.float32) if is_half(example) else example
        rng = generator_of(seed, "frequencies of a witness")
        normal, scale = rng.standard_normal((features // 2, m)), np.abs(rng.standard_normal((features // 2, 1)))
        frequencies = normal / (scale * lengthscale)
        mean, drawn, steps = (like(x, example) for x in (np.zeros((features, m)), frequencies, np.zeros(())))
        return cls(mean, drawn, steps, decay)

    def loss(self, probabilities: Array, labels: Array) -> tuple[Array, Self]:
        """Return ``2 mean_i phi(p_i)' W r_i`` and the witness that has seen the batch.

        W is that of the batches before this one, so that no row is held against itself: the first loss is 0.
        Where nothing changes from batch to batch its mean is twice the squared error, as its gradient is that of the
        squared error. Cost ``O(B D m)``. Arguments and errors are those of `skce_loss`.
        """
        p, r = residuals(probabilities, labels)
        if p.shape[1] != self.frequencies.shape[1]:
            raise InputError(
                f"this witness was begun with {self.frequencies.shape[1]} classes, got {p.shape[1]}: begin another one"
            )
        xp, n = namespace(p), p.shape[0]
        x, b = fixed(p), fixed(r)
        angles = x @ self.frequencies.T
        cos, sin = xp.cos(angles), xp.sin(angles)
        half = self.frequencies.shape[0]
        phi = xp.concat([cos, sin], axis=1) * (half**-0.5)
        products = (phi.T @ b) / n
        w = self._witness * 2
        value = xp.sum(w * products)
        if not is_numpy_array(p):
            w = w / n
            by_phi = (b @ w.T) * (half**-0.5)
            slope = (cos * by_phi[:, half:] - sin * by_phi[:, :half]) @ self.frequencies
            value = with_slopes(value, (p, slope), (r, phi @ w))
        mean = self.decay * self.mean + (1 - self.decay) * products
        return value, replace(self, mean=mean, steps=self.steps + 1)

    @property
    def error(self) -> Array:
        """Norm of W squared: the error of the last batches, which the noise of few rows makes too large."""
        return namespace(self.mean).sum(self._witness**2)

    @property
    def _witness(self) -> Array:
        xp = namespace(self.mean)
        return self.mean / xp.where(self.steps > 0, 1 - self.decay**self.steps, xp.ones_like(self.steps))


@cache
def _make_tree() -> None:
    """Tell JAX which fields are arrays."""
    from jax import tree_util

    tree_util.register_dataclass(RunningWitness, ["mean", "frequencies", "steps"], ["decay"])
