"""Whether a sum over rows is away from 0 by the spread of the rows themselves, and not only by what was predicted."""

from __future__ import annotations

import numpy as np

from kernelcal.defaults import SIGNIFICANCE

__all__ = ["beyond_errors", "clear_of_zero"]


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
