"""Models whose calibration error is known: predictions and labels to try estimators and tests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.predictions import Categorical
from kernelcal.randomness import generator_of

__all__ = ["DirichletModel", "m1", "m2", "m3"]


_SMALLEST = 1e-300  # of alpha: the logarithm of a gamma variable is about -1 / alpha, which must be finite


@dataclass(frozen=True, eq=False)
class DirichletModel:
    """Predictions from a Dirichlet law, and labels that follow them except for a known share.

    ``g(X) ~ Dir(alpha)``; with probability pi the label is drawn from `beta`, else from ``g(X)``. The deviation of
    the labels' law from the prediction is ``pi (beta - g(X))``: the model is calibrated if and only if pi = 0.

    Parameters
    ----------
    alpha : array of shape (m,)
        Positive. Values below 1 push the predictions to the corners of the simplex, as neural networks do.
    beta : array of shape (m,), optional
        Probabilities of the m classes, sum 1 (tolerance 1e-9). Default 1/m each.
    pi : float
        Share of labels that ignore the prediction, in [0, 1].

    Raises
    ------
    InputError
        If a parameter is outside its range, with the remedy.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), appendix J.2.

    Examples
    --------
    >>> from kernelcal.datasets import DirichletModel
    >>> model = DirichletModel(alpha=[0.1, 0.1, 0.1, 0.1], beta=[1, 0, 0, 0], pi=0.5)
    >>> round(model.expected_calibration_error, 12)  # pi (m - 1) / m
    0.375
    >>> y, predictions = model.sample(5, rng=1)
    >>> y.shape, predictions.probs.shape
    ((5,), (5, 4))
    """

    alpha: np.ndarray
    beta: Any = None
    pi: float = 0.0

    def __post_init__(self) -> None:
        alpha = _vector("alpha", self.alpha)
        beta = np.full(len(alpha), 1 / len(alpha)) if self.beta is None else _vector("beta", self.beta)
        if not ((alpha >= _SMALLEST).all() and np.isfinite(alpha.sum())):
            raise InputError(f"alpha must be positive (at least {_SMALLEST:g}) and finite, got {alpha}")
        if len(beta) != len(alpha):
            raise InputError(f"alpha and beta need one value a class, got {len(alpha)} and {len(beta)} values")
        if not ((beta >= 0).all() and abs(beta.sum() - 1) <= 1e-9):
            raise InputError(f"beta must be probabilities with sum 1: divide it by its sum {beta.sum():g}; got {beta}")
        for name, value in (("alpha", alpha), ("beta", beta), ("pi", _share(self.pi))):
            object.__setattr__(self, name, value)

    @property
    def n_classes(self) -> int:
        """Number of classes m."""
        return len(self.alpha)

    def sample(self, n: int, rng: Any = None) -> tuple[np.ndarray, Categorical]:
        """Draw n labelled predictions.

        Parameters
        ----------
        n : int
            Number of rows, at least 1.
        rng : int, numpy.random.Generator or None
            Source of random numbers (SPEC 7).

        Returns
        -------
        y : numpy.ndarray of shape (n,)
            Labels 0 to m - 1.
        predictions : Categorical
            Predicted probabilities.

        Notes
        -----
        The Dirichlet law is a ratio of gamma variables. With small alpha all of a row may be smaller than the smallest
        float, and the ratio 0 / 0; so their logarithms are drawn. Single probabilities may still round to 0, which is
        right, as they are too small to be held.
        """
        if not isinstance(n, int | np.integer) or n < 1:
            raise InputError(f"n must be a positive whole number, got {n!r}")
        generator = generator_of(rng, "data set")
        predictions = Categorical(_dirichlet(self.alpha, int(n), generator))
        own = predictions.sample(generator)[0]
        other = generator.choice(self.n_classes, n, p=self.beta)
        return np.where(generator.random(n) < self.pi, other, own), predictions

    @property
    def expected_calibration_error(self) -> float:
        """Expected total variation distance between the prediction and the law of the labels given it."""
        from scipy.special import betainc  # here, so that importing kernelcal stays light

        alpha, beta, rest = self.alpha, self.beta, _others(self.alpha)
        # J.2.1; each term is E max(0, beta_i - g_i(X))
        terms = beta * betainc(alpha, rest, beta) - alpha / alpha.sum() * betainc(alpha + 1, rest, beta)
        return self.pi * float(terms.sum())

    @property
    def mean_total_variation(self) -> float:
        """Expected total variation distance between two independent predictions, a lengthscale known beforehand."""
        from scipy.special import betaln

        alpha, rest, total = self.alpha, _others(self.alpha), self.alpha.sum()
        # J.2.2 with B(a, a) = 2^(1 - 2a) B(a, 1/2): the powers of 2 cancel, and with them the digits of a large alpha
        return float((np.exp(betaln(total, 0.5) - betaln(alpha, 0.5) - betaln(rest, 0.5)) / total).sum())


def m1(m: int = 10) -> DirichletModel:
    """M1 of Widmann et al. 2019: calibrated, ``alpha = (0.1, ..., 0.1)``.

    Parameters
    ----------
    m : int
        Number of classes.

    Returns
    -------
    DirichletModel

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m1(3).sample(50, rng=0)
    >>> kc.calibration_test(y, p, draws=99).rejected
    False
    """
    return _symmetric(m, np.full(_classes(m), 1 / m), 0.0)


def m2(m: int = 10) -> DirichletModel:
    """M2 of Widmann et al. 2019: half of the labels are class 0 whatever the prediction; else as `m1`.

    Parameters
    ----------
    m : int
        Number of classes.

    Returns
    -------
    DirichletModel

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m2(3).sample(50, rng=0)
    >>> kc.calibration_test(y, p, draws=99).rejected
    True
    """
    return _symmetric(m, (np.arange(_classes(m)) == 0).astype(np.float64), 0.5)


def m3(m: int = 10) -> DirichletModel:
    """M3 of Widmann et al. 2019: labels are uniform whatever the prediction; predictions as in `m1`.

    Parameters
    ----------
    m : int
        Number of classes.

    Returns
    -------
    DirichletModel

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = kc.datasets.m3(3).sample(50, rng=0)
    >>> kc.calibration_test(y, p, draws=99).rejected
    True
    """
    return _symmetric(m, np.full(_classes(m), 1 / m), 1.0)


def _symmetric(m: int, beta: np.ndarray, pi: float) -> DirichletModel:
    return DirichletModel(np.full(m, 0.1), beta, pi)


def _classes(m: Any) -> int:
    if not isinstance(m, int | np.integer) or m < 2:
        raise InputError(f"m must be a number of classes, at least 2, got {m!r}")
    return int(m)


def _vector(name: str, values: Any) -> np.ndarray:
    try:
        vector = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be numbers, one a class, got {values!r:.60}") from None
    if vector.ndim != 1 or len(vector) < 2:
        raise InputError(f"{name} must be a vector with one value a class, at least 2, got shape {vector.shape}")
    vector.setflags(write=False)
    return vector


def _share(pi: Any) -> float:
    if isinstance(pi, float | int | np.number) and 0 <= pi <= 1:
        return float(pi)
    raise InputError(f"pi must be a share between 0 (calibrated) and 1, got {pi!r}")


def _others(alpha: np.ndarray) -> np.ndarray:
    """Sum of the other classes' alpha, not by subtraction: a large alpha would swallow the small ones."""
    before = np.concatenate([[0.0], np.cumsum(alpha[:-1])])
    after = np.concatenate([np.cumsum(alpha[:0:-1])[::-1], [0.0]])
    return before + after


def _dirichlet(alpha: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw from Dir(alpha) by logarithms: G(a) = G(a + 1) U^(1/a), Marsaglia and Tsang 2000."""
    shape = (n, len(alpha))
    logs = np.log(rng.standard_gamma(alpha + 1, shape)) - rng.standard_exponential(shape) / alpha
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)
