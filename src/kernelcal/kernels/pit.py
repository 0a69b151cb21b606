"""The target kernel on the scale of probability: outcomes of all predictions in one unit."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kernelcal.arrays import Array
from kernelcal.errors import InputError
from kernelcal.kernels.base import Kernel

__all__ = ["PIT"]


_WAVES = 32  # cosines: they hold 98 % of the kernel between a place and itself, and all of what is not finer than 1/32

_ORDERS = (1.0, 1.0, 0.5, 0.5)  # weights of the polynomials of order 1, 2, ...


@dataclass(frozen=True)
class PIT(Kernel):
    r"""Target kernel between the places ``u = F_P(y)`` of outcomes in their predicted distributions.

    Under calibration u is uniform on (0, 1) whatever the prediction, so that rows with standard deviations of 0.01 and
    of 100 speak alike, the features have mean zero and no expectation is computed. The default between numbers.

    Parameters
    ----------
    features : {"levels", "polynomials"}
        ``levels``: the kernel of Cramer and von Mises,
        ``k(u, v) = int_0^1 (1[u <= t] - t) (1[v <= t] - t) dt = 1/3 - max(u, v) + (u^2 + v^2) / 2``, as the sum of its
        first 32 waves, ``2 cos(j pi u) cos(j pi v) / (j pi)^2``. The root of the SKCE is then the root mean square gap
        between claimed and observed probability, over all levels t, of predictions that are alike: a probability.
        ``polynomials``: orthonormal Legendre polynomials of 2 u - 1, orders 1 to 4 with weights 1, 1, 1/2, 1/2: shift,
        width, skewness and tails of the places. The default test uses them.

    Notes
    -----
    Where an outcome has a probability of its own (counts, draws, ties) a feature is averaged over the jump
    [F(y-), F(y)] of the distribution function: its mean stays exactly zero, and nothing is random. The place among S
    draws is that among the S + 1 exchangeable values, so that draws of the true law have features of mean 0 at any S;
    given the draws they have not, and the SKCE of a calibrated model with few draws is a little above 0.

    Normal vectors are whitened: the places are those of every component given those before, and of the distance from
    the mean; the kernel is the average over them. For vectors of other families with known marginals it sees the
    components one by one, and nothing of what they share.

    References
    ----------
    Dawid (1984) for the transform; Anderson and Darling (1952) for the spectrum; Neyman (1937) for polynomials.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, predictions = [0.3, 1.9], kc.Normal([0.0, 1.0], [1.0, 0.5])
    >>> near = kc.skce(y, predictions, target_kernel=kc.kernels.PIT())
    >>> float(near) == float(kc.skce([30.0, 190.0], kc.Normal([0.0, 100.0], [100.0, 50.0])))
    True
    """

    features: str = "levels"

    known: ClassVar[tuple[str, ...]] = ("levels", "polynomials")

    def __post_init__(self) -> None:
        if self.features not in self.known:
            raise InputError(
                f"features of PIT must be one of {', '.join(map(repr, self.known))}, got {self.features!r}"
            )

    @property
    def unit(self) -> str:
        """What the root of the SKCE is, in words."""
        if self.features == "levels":
            return "root mean square gap between claimed and observed probability"
        return "root mean square of moments of the PIT"

    @property
    def size(self) -> int:
        """Number of features of one place."""
        return _WAVES if self.features == "levels" else len(_ORDERS)

    @property
    def amplitudes(self) -> np.ndarray:
        """What multiplies every feature of mean square 1 under calibration, shape (size,)."""
        if self.features == "levels":
            return 1 / (math.pi * np.arange(1, _WAVES + 1))
        return np.sqrt(np.array(_ORDERS))

    def evaluate(self, pairs: Any) -> Array:
        """Refused: an outcome has a place only in its own prediction."""
        raise InputError(
            "PIT compares the places of outcomes in their predicted distributions, and has no value for two outcomes "
            "alone: use it as target_kernel, by itself"
        )

    def bound(self) -> float:
        """Bound of the absolute value, reached at the ends: 1/3 for levels, 16 for polynomials."""
        return 1 / 3 if self.features == "levels" else sum(w * (2 * k + 1) for k, w in enumerate(_ORDERS, start=1))

    def positive_definite(self, points: Any) -> bool:
        """Always: an inner product of features."""
        return True
