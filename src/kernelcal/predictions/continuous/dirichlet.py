"""Dirichlet distributions of vectors of shares, which are not negative and sum to 1."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, as_array, namespace, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import checked_index, trusted
from kernelcal.predictions.border import inside, positive_numbers
from kernelcal.predictions.continuous.beta import Beta
from kernelcal.predictions.foreign import BOTH, SCIPY, Reading
from kernelcal.predictions.real import RealPredictions
from kernelcal.predictions.special_functions import dirichlet_wave, log_gamma_quantile
from kernelcal.predictions.sums import SUM_TOLERANCE

__all__ = ["Dirichlet"]


_EDGE = 1e-300  # of a share that is drawn: small parameters leave less than the smallest number


@dataclass(frozen=True, eq=False)
class Dirichlet(RealPredictions):
    """Dirichlet predictions of d shares, with density proportional to ``prod_k y_k^(c_k - 1)`` on the simplex.

    Parameters
    ----------
    concentration : array of shape (n, d)
        Parameters c, positive. The mean is ``c / sum(c)``; a larger sum is a narrower law.

    Raises
    ------
    InputError
        If a value is missing or not positive, with row and column.

    Notes
    -----
    The density is that of the first d - 1 shares. Targets are vectors of shares with sum 1 (tolerance 1e-5). A
    coordinate has a `Beta` law, which gives PIT, coverage and CRPS. There is no score: the law lies on a plane. The
    characteristic function is a contour integral, accurate to about 1e-9. Every method costs n d a set of targets.

    References
    ----------
    Widmann, Lindsten, Zachariah (2021), Appendix F, for the temperature.

    Examples
    --------
    >>> import kernelcal as kc
    >>> predictions = kc.predictions.Dirichlet([[1.0, 2.0, 5.0]])
    >>> predictions.mean
    array([[0.125, 0.25 , 0.625]])
    >>> predictions.log_prob([[0.1, 0.3, 0.6]]).round(4)
    array([2.0998])
    """

    given_by: ClassVar[tuple[str, ...]] = ("concentration",)
    readings: ClassVar[tuple[Reading, ...]] = (
        Reading(SCIPY, ("dirichlet",), ("alpha",), axes=(1,)),
        Reading(BOTH, ("Dirichlet",), ("concentration",), axes=(1,)),
    )
    remedies: ClassVar[Mapping[str, str]] = {
        "score": "the shares sum to 1, and the law has no density in all directions; use a statistic that needs none, "
        "such as SKCE (statistic='skce')"
    }

    concentration: Array
    notes: tuple[str, ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if np.ndim(self.concentration) == 1:
            raise InputError(
                f"the concentration must have shape (n, d), got shape ({len(self.concentration)},): for one row pass "
                "concentration[None, :]"
            )
        concentration = positive_numbers(self.concentration, "the concentration", ndim=2)
        if concentration.shape[1] < 2:
            raise InputError("shares are at least two, got one column: its share is always 1")
        object.__setattr__(self, "concentration", concentration)

    def __len__(self) -> int:
        return int(self.concentration.shape[0])

    def __getitem__(self, index: Any) -> Self:
        return trusted(self, concentration=take_rows(self.concentration, checked_index(index)))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to the concentrations."""
        return trusted(self, concentration=function(self.concentration))

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target: (d,)."""
        return (int(self.concentration.shape[-1]),)

    @property
    def uniforms(self) -> int:
        """A number a share."""
        return self.dimension

    @property
    def _total(self) -> Array:
        return namespace(self.concentration).sum(self.concentration, axis=-1, keepdims=True)

    @property
    def mean(self) -> Array:
        """Means ``c / sum(c)``."""
        return self.concentration / self._total

    @property
    def std(self) -> Array:
        """Standard deviations ``sqrt(m (1 - m) / (sum(c) + 1))`` with the means m."""
        mean = self.mean
        return namespace(mean).sqrt(mean * (1 - mean) / (self._total + 1))

    def _values(self) -> np.ndarray:
        return to_numpy(self.concentration).astype(np.float64)

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Shares of gamma variables, which are drawn by their quantiles, on a logarithmic scale."""
        logs = log_gamma_quantile(self._values(), inside(uniforms))
        shares = np.exp(logs - logs.max(axis=-1, keepdims=True))
        return np.maximum(shares / shares.sum(axis=-1, keepdims=True), _EDGE)

    def log_prob(self, y: Array) -> np.ndarray:
        """Logarithm of the density, shape (..., n), in NumPy; -inf off the simplex."""
        from scipy.special import gammaln, xlogy  # imported when needed: the import of kernelcal stays light

        c, y = self._values(), to_numpy(as_array(y)).astype(np.float64)
        with np.errstate(divide="ignore"):  # at the edges the density is 0, or infinite
            logs = xlogy(c - 1, np.maximum(y, 0.0)).sum(axis=-1) - gammaln(c).sum(axis=-1) + gammaln(c.sum(axis=-1))
        return np.where(_off(y), -np.inf, logs)

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """Vectors that are no shares, and shares of 0 where the density is 0 there."""
        y = np.asarray(y)
        return _off(y) | ((y <= 0) & (self._values() > 1)).any(axis=-1)

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """``E exp(i w.Y)`` for frequencies of shape (D, d)."""
        return dirichlet_wave(self._values(), frequencies)

    def marginal(self, k: int) -> Beta:
        """The share k: a beta law with parameters c_k and the sum of the others."""
        c = self.concentration[:, k]
        return Beta(c, self._total[:, 0] - c, notes=self.notes)

    def tempered(self, temperature: float) -> Self:
        """Concentrations over T: the power with respect to ``prod_k dy_k / y_k``, which keeps the mean (App. F)."""
        return trusted(self, concentration=self.concentration / temperature)


def _off(y: np.ndarray) -> np.ndarray:
    """Which vectors are no shares."""
    return (y < 0).any(axis=-1) | (np.abs(y.sum(axis=-1) - 1) > SUM_TOLERANCE)
