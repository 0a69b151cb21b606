"""Whether a sum over rows is away from 0 by the spread of the rows themselves, and not only by what was predicted."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import NormalDist

import numpy as np

from kernelcal.defaults import SIGNIFICANCE
from kernelcal.dependence import MeanLaw

__all__ = ["beyond_errors", "clear_of_zero", "errors_apart", "sums_with_errors"]


def clear_of_zero(sums: np.ndarray, squares: np.ndarray, n: int) -> np.ndarray:
    """Tell which of J sums differ from 0 with their observed standard error, at 5 % for all J together.

    Parameters
    ----------
    sums, squares : numpy.ndarray of shape (J,)
        Sums over rows of some terms, and of their squares.
    n : int
        Rows.

    Returns
    -------
    numpy.ndarray of bool, shape (J,)
        Sums of terms without spread that are not 0 count as clear.

    Notes
    -----
    Once calibration is rejected, draws of calibrated outcomes no longer tell how far a sum varies: outcomes that spread
    three times as wide as predicted make every sum vary three times as much.
    """
    return beyond_errors(sums, np.sqrt(np.maximum(squares - sums**2 / n, 0.0)))


def beyond_errors(values: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Tell which of J values differ from 0 by their standard errors, at 5 % for all J together."""
    return np.asarray(np.abs(values) > errors_apart(len(values)) * errors)


def sums_with_errors(
    columns: Iterable[np.ndarray], law: MeanLaw | None, together: int = 1
) -> tuple[np.ndarray, np.ndarray]:
    """Sums over rows of J columns with observed standard errors, of rows that may depend on each other.

    Parameters
    ----------
    columns : iterable of numpy.ndarray of shape (n,)
        What every row adds, J times; one after the other, so that no table of them need be held.
    law : MeanLaw or None
        Law of means of rows that depend on each other by clusters or stretches; None: none do.
    together : int
        How many sums are looked at together, at 5 % for all: the level at which few clusters or stretches count.

    Returns
    -------
    sums, errors : numpy.ndarray of shape (J,)
        The larger error of those of independent and of dependent rows. Few clusters or stretches have a larger one, by
        as much as their intervals are wider than normal ones, so that all can be compared with normal quantiles; one
        alone tells no error, which is infinite.

    Notes
    -----
    Cost: O(n J), and of clusters of different sizes once some eigenvalues of at most 200 of them.
    """
    wider = 1.0 if law is None else max(law.quantile(1 - SIGNIFICANCE / together) / errors_apart(together), 1.0)
    found = []
    for column in columns:
        n, total = len(column), float(column.sum())
        error = float(np.sqrt(max(float(column @ column) - total**2 / n, 0.0)))
        if law is not None:
            own = n * law.error(column)
            error = np.inf if np.isnan(own) else max(error, wider * own if own > 0 else 0.0)
        found.append((total, error))
    sums, errors = np.array(found).T
    return sums, errors


def errors_apart(together: int) -> float:
    """Standard errors beyond which one of so many values differs from 0, at 5 % for all."""
    return -NormalDist().inv_cdf(SIGNIFICANCE / (2 * together))  # SciPy's takes a tenth of a second to import
