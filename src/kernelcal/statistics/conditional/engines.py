"""The engines of the CKCE: exact pairs, random Fourier features, or the incomplete Cholesky factor defined here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.kernels import positive
from kernelcal.pairs import ExactPairs, RandomFourier

__all__ = ["ConditionalEngine", "IncompleteCholesky", "refuse_other_engines"]


@dataclass(frozen=True)
class IncompleteCholesky:
    """Pivoted incomplete Cholesky factor of the kernel matrix, ``K ~ G'G`` with G of few rows: an engine of the `CKCE`.

    Parameters
    ----------
    tolerance : float
        Share of the trace of K that may be left out; the CKCE is then wrong by at most
        ``3 tolerance tr(K) tr(R) / (lambda n)^2``, and in practice by far less.
    rank : int, optional
        Most rows of G; the result says what share of the trace is left out. Default: as many as the tolerance takes.

    Raises
    ------
    InputError
        For a tolerance that is not positive, and a rank that is no whole number from 1 on.

    Notes
    -----
    Works for every kernel that is positive definite. Cost for n rows, m features of the targets and rank D:
    n D (m + D) multiplications and 8 n D bytes once, n D m for every set of targets.

    References
    ----------
    Fine and Scheinberg (2001), Efficient SVM training using low-rank kernel representations.

    Examples
    --------
    >>> import kernelcal as kc
    >>> y, p = [0, 1, 1, 2], [[0.8, 0.1, 0.1], [0.3, 0.6, 0.1], [0.2, 0.7, 0.1], [0.3, 0.3, 0.4]]
    >>> estimate = kc.ckce(y, p, engine=kc.IncompleteCholesky(rank=2))
    >>> estimate.engine.split(",")[0]
    'incomplete Cholesky factor of rank 2'
    >>> abs(float(kc.ckce(y, p, engine=kc.IncompleteCholesky(tolerance=1e-12))) - float(kc.ckce(y, p))) < 1e-10
    True
    """

    tolerance: float = 1e-4
    rank: int | None = None

    def __post_init__(self) -> None:
        positive("tolerance", self.tolerance)
        if self.rank is not None:
            _refuse_no_count("rank", self.rank, 1)


ConditionalEngine = ExactPairs | RandomFourier | IncompleteCholesky


def refuse_other_engines(engine: Any) -> None:
    """Refuse what does not compute a CKCE; the seed of frequencies is a number, for they are drawn more than once."""
    if not isinstance(engine, ConditionalEngine):
        raise InputError(
            "engine of a CKCE must be ExactPairs(), RandomFourier(100) or IncompleteCholesky(), all of kernelcal, got "
            f"{engine!r}"
        )
    if isinstance(engine, RandomFourier):
        _refuse_no_count("frequencies", engine.frequencies, 1)
        _refuse_no_count("rng", engine.rng, 0)


def _refuse_no_count(name: str, given: Any, least: int) -> None:
    whole = isinstance(given, int | np.integer) and not isinstance(given, bool)
    if not (whole and given >= least):
        raise InputError(f"{name} must be a whole number, at least {least}, got {given!r}")
