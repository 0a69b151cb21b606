"""What the families for numbers share: scalars, counts and vectors; the contract of their optional methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from kernelcal.arrays import Array, as_array, concrete, numbers, row_slices, take_rows, to_numpy
from kernelcal.errors import InputError
from kernelcal.predictions.base import Predictions, checked_index, trusted
from kernelcal.predictions.border import inside

__all__ = ["LEVELS", "CentralInterval", "Parametric", "RealPredictions", "crps_by_quadrature", "crps_by_sum"]


_ORDER = 16  # nodes of a panel

# panels end at quantiles: denser in the middle, and so far out that the square of what remains is nothing
_TAILS = 2.0 ** -np.array([1.5, 2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 26, 34, 50])

LEVELS = np.concatenate([_TAILS[::-1], [0.5], 1 - _TAILS])

_VALUES = 2**21  # numbers at a time: 16 MiB

_REST = 1e-15  # probability that the sum over counts leaves out on either side

_LEAST = 1e-300  # of a probability whose normal quantile is finite


@dataclass(frozen=True, eq=False)
class CentralInterval:
    """Ends of closed intervals and their probability under the predictions, each of shape (n,)."""

    low: np.ndarray
    high: np.ndarray
    probability: np.ndarray
    notes: tuple[str, ...] = ()


class RealPredictions(Predictions):
    """Predictions of a number or of a vector of numbers.

    Targets have shape ``(n, *event_shape)``; `log_prob`, `score`, `cdf`, `cdf_below`, `impossible` and `standardised`
    also take many sets of them, shape ``(..., n, *event_shape)``. A family must say how to draw, its mean and its
    standard deviation. The rest is optional: it is defined where it exists, has a default where one serves all
    families, and raises `InputError` elsewhere. Methods that take one set of targets are asked of batches in NumPy.

    Where `std` is infinite (or `mean` does not exist), `centre` and `width` must be finite numbers in their place.

    Attributes
    ----------
    mean, std : array of shape ``(n, *event_shape)``
        Mean and standard deviation of every component of every prediction: fields, or properties. Infinite or NaN
        where a distribution has none.
    centre, width : array of shape ``(n, *event_shape)``
        Finite numbers by which predictions are compared and told: mean and standard deviation unless a family has
        none.
    counts : bool
        Whether targets are whole numbers from 0.
    score_is_affine : bool
        Whether the score is an affine function of the target, as of normal distributions (`affine_score`).
    question : str or None
        What is asked, where it is not the target itself.
    coordinates : array of shape (n, k), or None
        Numbers that describe the predictions, for the Euclidean metric, in place of mean and standard deviation.

    Examples
    --------
    >>> import kernelcal as kc
    >>> p = kc.Normal([0.0, 1.0], 1.0)
    >>> p.cdf([0.0, 1.0]), p.quantile(0.5)
    (array([0.5, 0.5]), array([0., 1.]))
    """

    _contract: ClassVar[bool] = True
    counts: ClassVar[bool] = False
    score_is_affine: ClassVar[bool] = False
    question: str | None = None
    notes: tuple[str, ...] = ()
    coordinates: Array | None = None

    if TYPE_CHECKING:  # a family has it as a field or as a property

        @property
        def std(self) -> Array:
            """Standard deviation of every component of every target."""

    @property
    def centre(self) -> Array:
        """Where a prediction lies: its mean."""
        return self.mean

    @property
    def width(self) -> Array:
        """How wide it is: its standard deviation."""
        return self.std

    @property
    def dimension(self) -> int:
        """Number of numbers in one target."""
        return int(np.prod(self.event_shape, dtype=np.int64))

    @property
    def described(self) -> bool:
        """Whether mean and standard deviation are known; those of a score function need draws or a sampler."""
        return True

    @property
    def continuous(self) -> bool:
        """Whether no number has a probability of its own: what has jumps says `cdf_below`, or its `pit_interval`."""
        own, every = type(self), RealPredictions
        return own.cdf_below is every.cdf_below and own.pit_interval is every.pit_interval

    @property
    def columns(self) -> int:
        """Mean and standard deviation of every component."""
        return 2 * self.dimension

    def log_prob(self, y: Array) -> Array:
        """Logarithm of the predicted density (probability of a count) of the targets, shape (..., n)."""
        raise self.lacks("log_prob", "density")

    def score(self, y: Array) -> Array:
        """Gradient of the logarithm of the density at the targets, shape ``(..., n, *event_shape)``."""
        raise self.lacks(
            "score",
            "smooth density, and so no score, the gradient of the log density",
            "use a statistic that needs none, such as SKCE (statistic='skce'); kernelcal.predictions.Score(function) "
            "takes any",
        )

    def unnormalized_log_prob(self, y: Array) -> Array:
        """Log densities of which a constant a row may be missing; here none is."""
        return self.log_prob(y)

    def cdf(self, y: Array) -> np.ndarray:
        """P(Y <= y) for scalar targets, shape (..., n)."""
        raise self.lacks("cdf", "distribution function")

    def cdf_below(self, y: Array) -> np.ndarray:
        """P(Y < y) for scalar targets: less than `cdf` where a value has a probability of its own."""
        return self.cdf(y)

    def survival(self, y: Array) -> np.ndarray:
        """P(Y > y): one minus `cdf`, unless a family keeps the digits of the upper tail."""
        return 1 - self.cdf(y)

    @property
    def has_cdf(self) -> bool:
        """Whether there is a distribution function."""
        return not self.event_shape and type(self).cdf is not RealPredictions.cdf

    def quantile(self, levels: Any) -> np.ndarray:
        """Smallest value whose distribution function reaches the levels: a scalar, or an array of shape (..., n).

        Levels lie in [0, 1]; several of them for every row have shape (k, 1).
        """
        return self._quantile(checked_probabilities(levels, len(self)))

    def _quantile(self, levels: np.ndarray) -> np.ndarray:
        """Quantiles at levels that are checked, of shape () or one that broadcasts with (..., n): a family's own."""
        raise self.lacks("_quantile", "quantiles")

    def characteristic(self, frequencies: np.ndarray) -> np.ndarray:
        """E exp(i w.Z) for frequencies of shape (D,), or (D, d) for vectors: complex, shape (n, D)."""
        raise self.lacks("characteristic", "characteristic function")

    def impossible(self, y: np.ndarray) -> np.ndarray:
        """Tell which targets the predictions had ruled out, shape (..., n)."""
        return np.zeros(np.shape(y)[: np.ndim(y) - len(self.event_shape)], dtype=bool)

    def standardised(self, y: np.ndarray) -> np.ndarray:
        """Residuals with mean 0 and variance 1 under the prediction: targets minus mean in standard deviations.

        0 for a prediction without spread. Where there is no variance, normal scores ``Phi^-1(F(y))``.
        """
        mean, std = (to_numpy(x).astype(np.float64) for x in (self.mean, self.std))
        with np.errstate(divide="ignore", invalid="ignore"):
            residuals = np.where(std > 0, (y - mean) / std, 0.0)
        moments = np.isfinite(mean) & np.isfinite(std)
        return residuals if moments.all() else np.where(moments, residuals, self._normal_scores(y))

    def normal_scores(self, y: np.ndarray) -> np.ndarray:
        """Normal scores ``Phi^-1(F(y))``, standard normal under the prediction whatever its law, from the nearer tail.

        Where the distribution function has jumps, or there is none, `standardised` residuals, whose mean is 0 and
        whose variance is 1 too.
        """
        return self._normal_scores(y) if self.has_cdf and self.continuous else self.standardised(y)

    def _normal_scores(self, y: np.ndarray) -> np.ndarray:
        from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light

        below = self.cdf(y)
        upper = below > 0.5
        score = ndtri(np.maximum(np.where(upper, self.survival(y), below), _LEAST))
        return np.where(upper, -score, score)

    def refuse_without_mean(self, what: str) -> None:
        """Refuse rows whose law has no mean, where one is needed."""
        mean = concrete(self.mean)
        without = np.zeros(1, dtype=bool) if mean is None else ~np.isfinite(mean.astype(np.float64))
        if without.any():
            rows = without.reshape(len(without), -1).any(axis=1)
            raise InputError(
                f"row {int(np.argmax(rows))} of {type(self).__name__} has no mean, which {what} needs "
                f"({int(rows.sum())} such rows): use the negative log-likelihood, the pinball loss, the PIT or SKCE "
                "with its default kernels, or leave these rows out"
            )

    def crps(self, y: np.ndarray) -> np.ndarray:
        """``E|X - y| - E|X - X'| / 2`` of every row, shape (n,): the continuous ranked probability score.

        By default an integral of the distribution function (relative error about 1e-9), for counts a sum.
        """
        return crps_by_sum(self, y) if self.counts else crps_by_quadrature(self, y)

    def fair_crps(self, y: np.ndarray) -> np.ndarray:
        """Score of the distribution that draws come from, unbiased, shape (n,): of families of draws."""
        raise InputError(
            f"fair=True corrects for the number of draws, and {type(self).__name__} has none: leave it out, the score "
            "is that of the distribution itself"
        )

    def breaks(self) -> np.ndarray:
        """Places between which the distribution function is smooth, shape (places, n); by default quantiles."""
        return self.quantile(LEVELS[:, None])

    def pit_interval(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """``P(Y < y)`` and ``P(Y <= y)``, shape (n,): the values between which the PIT draws."""
        return self.cdf_below(y), self.cdf(y)

    def central_interval(self, level: float) -> CentralInterval:
        """Closed intervals between the quantiles (1 - level)/2 and (1 + level)/2."""
        # rounded, since 0.9 must ask for the quantile 0.05 that was given, not for 0.04999999999999999
        low, high = (self.quantile(float(np.round(t, 12))) for t in ((1 - level) / 2, (1 + level) / 2))
        return CentralInterval(low, high, self.cdf(high) - self.cdf_below(low))

    def density_level(self, y: np.ndarray) -> np.ndarray | None:
        """``P(p(Z) > p(y))``, shape (n,), where it is uniform and has a closed form; None elsewhere."""
        return None

    def marginal(self, k: int) -> RealPredictions:
        """Predictions of coordinate k of a vector, as numbers."""
        raise self.lacks(
            "marginal",
            "known distribution of a coordinate",
            "this needs predictions of vectors such as normal vectors, Samples of vectors, or a Mixture of them",
        )

    def affine_score(self, seen: Any) -> Array:
        """Coordinates ``(P R, P (m - mu))`` of a score ``P (mu - x)``, shape (n, k), where `score_is_affine`.

        `seen` has the centre m, shape (d,), the root R, shape (d, d), of a spread, and its diagonal ``variances``.
        """
        raise self.lacks("affine_score", "affine score")

    def in_words(self, y: np.ndarray) -> tuple[list[str], list[str]]:
        """``centre ± width`` of every component, and the targets."""
        centre, width = (np.asarray(x, dtype=np.float64).reshape(len(self), -1) for x in (self.centre, self.width))
        parts = [zip(*row, strict=True) for row in zip(centre, width, strict=True)]
        predicted = [
            ", ".join(f"{a:.4g} ± {b:.3g}" if abs(b) < 1000 else f"{a:,.0f} ± {b:,.0f}" for a, b in part)
            for part in parts
        ]
        return predicted, [", ".join(f"{value:.4g}" for value in row) for row in y.reshape(len(self), -1)]


class Parametric(RealPredictions):
    """Predictions of one number, described by arrays of shape (n,) that the family names in `given_by`.

    A subclass is a dataclass with these fields. It says mean, standard deviation, density, distribution function
    and quantiles; rows, libraries and draws follow.

    Examples
    --------
    >>> import kernelcal as kc
    >>> from kernelcal.predictions import Parametric
    >>> p = kc.Gamma([2.0, 3.0], [1.0, 1.0])
    >>> isinstance(p, Parametric), p.given_by
    (True, ('concentration', 'rate'))
    """

    def __len__(self) -> int:
        return int(getattr(self, self.given_by[0]).shape[0])

    def __getitem__(self, index: Any) -> Self:
        index = checked_index(index)
        return self.map_arrays(lambda x: take_rows(x, index))

    def map_arrays(self, function: Callable[[Array], Array]) -> Self:
        """Copy with a function applied to every parameter."""
        return trusted(self, **{name: function(getattr(self, name)) for name in self.given_by})

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of one target: a scalar."""
        return ()

    def draw(self, uniforms: np.ndarray) -> np.ndarray:
        """Invert the distribution function."""
        return self._quantile(inside(uniforms))

    def in_numpy(self) -> tuple[np.ndarray, ...]:
        """Parameters in NumPy and double precision, in their order."""
        return tuple(to_numpy(getattr(self, name)).astype(np.float64) for name in self.given_by)

    @staticmethod
    def numbers_of(y: Array) -> np.ndarray:
        """Targets in NumPy and double precision."""
        return to_numpy(as_array(y)).astype(np.float64)


def checked_probabilities(levels: Any, n: int) -> np.ndarray:
    """Return levels of quantiles of n rows as float64."""
    try:
        values = numbers(levels)
        np.broadcast_shapes(values.shape, (n,))
    except (TypeError, ValueError):
        raise InputError(
            f"levels must be one probability, one for each of the {n:,} rows, or shape (k, 1) for k levels of every "
            f"row, got {_brief(levels)}"
        ) from None
    if not np.all((values >= 0) & (values <= 1)):
        wrong = values[~((values >= 0) & (values <= 1))].flat[0]
        raise InputError(f"levels of quantiles are probabilities in [0, 1], got {wrong:g}: write 0.9 for 90 %")
    return values


def _brief(levels: Any) -> str:
    shape = np.shape(levels) if isinstance(levels, np.ndarray) else None
    return f"an array of shape {shape}" if shape else repr(levels)[:80]


def crps_by_quadrature(predictions: Any, y: np.ndarray) -> np.ndarray:
    """Integrate ``(F(x) - 1[y <= x])^2`` by Gauss-Legendre rules between quantiles, kinks and the outcome."""
    nodes, weights = np.polynomial.legendre.leggauss(_ORDER)
    size = _ORDER * len(predictions[:1].breaks())
    parts = row_slices(len(y), _VALUES // size)
    return np.concatenate([_integral(predictions[part], y[part], nodes, weights) for part in parts])


def _integral(predictions: Any, y: np.ndarray, nodes: np.ndarray, weights: np.ndarray) -> np.ndarray:
    ends = np.sort(np.concatenate([predictions.breaks(), y[None]]), axis=0)
    half = np.diff(ends, axis=0)[:, None] / 2
    x = ends[:-1, None] + half * (1 + nodes[:, None])
    cdf = predictions.cdf(x.reshape(-1, len(y))).reshape(x.shape)
    return (half * weights[:, None] * np.where(x < y, cdf, 1 - cdf) ** 2).sum(axis=(0, 1))


def crps_by_sum(predictions: Any, y: np.ndarray) -> np.ndarray:
    """Sum ``(F(k) - 1[y <= k])^2`` over counts; on either side a probability of at most 1e-15 is left out."""
    score = np.empty(len(y))
    for part in row_slices(len(y), 256):
        score[part] = _sum(predictions[part], y[part])
    return score


def _sum(predictions: Any, y: np.ndarray) -> np.ndarray:
    first = int(np.minimum(predictions.quantile(_REST), y).min())
    last = int(np.maximum(predictions.quantile(1 - _REST), y).max())
    total = np.zeros(len(y))
    for chunk in row_slices(last - first + 1, _VALUES // len(y)):
        k = np.arange(first + chunk.start, first + chunk.stop, dtype=np.float64)[:, None]
        cdf = predictions.cdf(np.broadcast_to(k, (len(k), len(y))))
        total += ((cdf - (y <= k)) ** 2).sum(axis=0)
    return total
