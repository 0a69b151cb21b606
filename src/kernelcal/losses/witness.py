"""A running witness: the error of all batches so far as one function, against which a batch is held in linear time."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from kernelcal.arrays import Array, like, namespace
from kernelcal.errors import InputError
from kernelcal.losses.batch import residuals

__all__ = ["Witness"]


@dataclass(frozen=True, eq=False)
class Witness:
    """State of a running witness ``W``, an exponential mean of ``phi(p) (x) (e_y - p)`` with D random features phi.

    The squared error is ``|E phi (x) r|^2``, and its gradient that of ``2 <W, phi(p) (x) r>`` with W held fixed: a
    batch needs no pairs, and its noise does not enter squared. States are values: `loss` returns a new one, as JAX
    has it, and its arrays are leaves of a tree for ``jax.jit``.

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

    Examples
    --------
    >>> import torch
    >>> from kernelcal.losses import Witness
    >>> witness = Witness.begin(torch.zeros(1, 3), features=64)
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
            Of the Laplacian kernel whose features are drawn (Cauchy frequencies).
        decay : float
            Between 0 and 1; 0.9 looks back ten batches.
        seed : int
            Of the frequencies.
        """
        if features < 2 or features % 2 or not lengthscale > 0 or not 0 <= decay < 1:
            raise InputError(
                "features must be even, lengthscale positive and decay between 0 and 1, got "
                f"{features}, {lengthscale}, {decay}"
            )
        m = 2 if example.ndim == 1 else int(example.shape[1])
        rng = np.random.default_rng(seed)
        normal, scale = rng.standard_normal((features // 2, m)), np.abs(rng.standard_normal((features // 2, 1)))
        frequencies = normal / (scale * lengthscale)
        zeros = np.zeros((features, m))
        xp = namespace(example)
        mean, fixed, steps = (xp.astype(like(x, example), example.dtype) for x in (zeros, frequencies, np.zeros(())))
        return cls(mean, fixed, steps, decay)

    def loss(self, probabilities: Array, labels: Array) -> tuple[Array, Self]:
        """Return ``2 mean_i phi(p_i)' W r_i`` and the witness that has seen the batch.

        W includes this batch, held fixed. Cost O(B D m).
        """
        p, r = residuals(probabilities, labels)
        xp = namespace(p)
        angles = p @ self.frequencies.T
        phi = xp.concat([xp.cos(angles), xp.sin(angles)], axis=1) * (self.frequencies.shape[0] ** -0.5)
        products = (phi.T @ r) / p.shape[0]
        mean = self.decay * self.mean + (1 - self.decay) * _fixed(products)
        steps = self.steps + 1
        witness = mean / (1 - self.decay**steps)
        return 2 * xp.sum(witness * products), replace(self, mean=mean, steps=steps)

    @property
    def error(self) -> Array:
        """Norm of W squared: the error of the last batches, which the noise of few rows makes too large."""
        witness = self.mean / (1 - self.decay**self.steps)
        return namespace(witness).sum(witness * witness)


def _fixed(x: Array) -> Array:
    """Return the array without its gradient."""
    if hasattr(x, "detach"):
        return x.detach()
    if isinstance(x, np.ndarray):
        return x
    from jax.lax import stop_gradient  # what is neither is JAX

    return stop_gradient(x)


def _register_tree() -> Any:
    """Tell JAX which fields are arrays, where it is there."""
    try:
        from jax import tree_util
    except ImportError:
        return None
    return tree_util.register_dataclass(Witness, ["mean", "frequencies", "steps"], ["decay"])
