"""Whether a sum over rows is away from 0 by the spread of the rows themselves, and not only by what was predicted."""

from __future__ import annotations

import numpy as np

from kernelcal.defaults import SIGNIFICANCE
from kernelcal.dependence import Dependence, mean_law

__all__ = ["beyond_errors", "clear_of_zero", "errors_of_sums"]


_NORMAL = 1.959963984540054  # standard errors to both sides at 95 %


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
    from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light

    return np.abs(values) > -ndtri(SIGNIFICANCE / (2 * len(values))) * errors


def errors_of_sums(terms: np.ndarray, rows: Dependence | None) -> np.ndarray:
    """Observed standard errors of J sums over rows, of rows that depend on each other by clusters or stretches.

    Parameters
    ----------
    terms : numpy.ndarray of shape (n, J)
        What every row adds.
    rows : Dependence or None
        Which rows depend on each other; None: none do.

    Returns
    -------
    numpy.ndarray of shape (J,)
        The larger of those of independent and of dependent rows; few clusters or stretches have more, by as much as
        their intervals are wider than normal ones (`dependence.MeanLaw`).
    """
    sums = terms.sum(axis=0)
    errors = np.sqrt(np.maximum((terms**2).sum(axis=0) - sums**2 / len(terms), 0.0))
    if rows is None or not rows.overlap:
        return np.asarray(errors)
    law = mean_law(rows)
    wider = max(law.quantile(0.95) / _NORMAL, 1.0)
    own = np.array([law.error(column) for column in terms.T])
    return np.fmax(errors, np.where(own > 0, len(terms) * wider * own, 0.0))
