"""Ways to the ends of a confidence interval of the SKCE."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from kernelcal.arrays import row_slices
from kernelcal.errors import InputError
from kernelcal.inference.bootstrap import multinomial_counts
from kernelcal.inference.draws import Draws
from kernelcal.pairs import PairMatrix
from kernelcal.statistics.pair_means import PreparedPairMean

__all__ = ["METHODS", "Method", "Request", "hoeffding_parts"]

_BYTES = 2**27  # for the columns of one batch of draws
Ends = tuple[float, float, float]  # estimate, lower, upper, on the squared scale


@dataclass(frozen=True, eq=False)
class Request:
    """What a method works on."""

    prepared: PreparedPairMean
    targets: np.ndarray
    weights: np.ndarray | None
    level: float
    draws: int
    source: Draws
    progress: Callable[[int, int], None] | None

    @property
    def z(self) -> float:
        """Two-sided normal quantile of the level."""
        from scipy.special import ndtri  # imported when needed: the import of kernelcal stays light

        return float(ndtri(0.5 + self.level / 2))

    def columns(self, n: int) -> list[slice]:
        """Batches of draws that fit the memory."""
        return row_slices(self.draws, _BYTES // (8 * n))

    def report(self, done: int) -> None:
        """Tell how far the draws are."""
        if self.progress is not None:
            self.progress(done, self.draws)


@dataclass(frozen=True)
class Method:
    """A way, what it is called, and whether its lower end is 0 unless the exact test rejects."""

    ends: Callable[[Request], Ends]
    label: str
    tested: bool


def _bootstrap(request: Request) -> Ends:
    """Percentiles of ``c'H0c / sum_{i != j} w_i w_j c_i c_j`` over multinomial counts c, H0 without its diagonal."""
    matrix = request.prepared.matrix(request.targets)
    n, estimate = len(matrix), float(request.prepared.values(request.targets[None])[0, 0])
    weights = np.ones(n) if request.weights is None else request.weights
    values = []
    for part in request.columns(n):
        counts = multinomial_counts(request.source.uniforms(part.start, part.stop, n))
        pairs = matrix.quadratic(counts) - (counts**2).T @ matrix.diagonal
        total = (weights @ counts) ** 2 - weights**2 @ counts**2
        some = total > 1e-9 * n  # a single row drawn n times makes no pair
        values.append(pairs[some] / total[some])
        request.report(part.stop)
    tail = (1 - request.level) / 2
    lower, upper = np.quantile(np.concatenate(values), [tail, 1 - tail])
    return estimate, float(lower), float(upper)


def _root(request: Request) -> Ends:
    """Interval of the root: normal below, and above as far as noise along one direction can hide a deviation.

    Below it is ``root - z sd / (2 root)`` with the Hoeffding variance, or 0 where the estimate is not clearly positive.
    Near 0 that variance says nothing of larger deviations. There the root is the length of ``mu + noise``, and along
    any direction the variance of the noise, an eigenvalue over n, is at most ``s = sqrt(degenerate variance / 2)``: so
    the upper end is ``sqrt(max(U, 0) + s) + z sqrt(s)``.
    """
    if request.weights is not None:
        raise InputError("method='root' takes no case weights: use method='bootstrap'")
    matrix = request.prepared.matrix(request.targets)
    n = len(matrix)
    estimate = float((matrix.row_sums - matrix.diagonal).sum()) / (n * (n - 1))
    linear, degenerate = hoeffding_parts(matrix)
    reach, noise = request.z * math.sqrt(linear + degenerate), math.sqrt(degenerate / 2)
    root = math.sqrt(max(estimate, 0.0))
    lower = 0.0 if estimate <= reach else max(root - reach / (2 * root), 0.0) ** 2
    return estimate, lower, (math.sqrt(root**2 + noise) + request.z * math.sqrt(noise)) ** 2


def hoeffding_parts(matrix: PairMatrix) -> tuple[float, float]:
    """Linear and degenerate part of the variance of the unbiased SKCE.

    They are ``4 (n-2) z1 / (n (n-1))`` and ``2 z2 / (n (n-1))``.

    With row sums ``s_i = sum_{j != i} h_ij``, ``S`` and ``Q`` the sums of h and h^2 over i != j:
    ``a = (sum s_i^2 - Q) / (n (n-1) (n-2))``, ``t = (S^2 - 4 (sum s_i^2 - Q) - 2 Q) / (n (n-1) (n-2) (n-3))``,
    ``z1 = max(a - t, 0)``, ``z2 = max(Q / (n (n-1)) - t, 0)``.
    """
    n = len(matrix)
    if n < 4:
        raise InputError(f"the variance of the SKCE needs at least 4 rows, got {n}")
    sums = matrix.row_sums - matrix.diagonal
    squares, total, rows = float(matrix.row_squares.sum()), float(sums.sum()), float((sums**2).sum())
    pairs = n * (n - 1)
    squared_mean = (total**2 - 4 * (rows - squares) - 2 * squares) / (pairs * (n - 2) * (n - 3))
    first = max((rows - squares) / (pairs * (n - 2)) - squared_mean, 0.0)
    second = max(squares / pairs - squared_mean, 0.0)
    return 4 * (n - 2) / pairs * first, 2 / pairs * second


def _ball(request: Request) -> Ends:
    """``|mu^| - q <= KCE <= |mu^| + q``, q a quantile of ``sqrt(g'Hg) / n`` with centred normal multipliers g."""
    if request.weights is not None:
        raise InputError("method='ball' takes no case weights: use method='bootstrap'")
    from scipy.special import ndtri

    matrix = request.prepared.matrix(request.targets)
    n, values = len(matrix), []
    for part in request.columns(n):
        uniforms = request.source.uniforms(part.start, part.stop, n)
        multipliers = ndtri(np.clip(uniforms, 1e-16, None)).T
        values.append(matrix.quadratic(multipliers - multipliers.mean(axis=0)))
        request.report(part.stop)
    reach = float(np.quantile(np.sqrt(np.maximum(np.concatenate(values), 0)) / n, request.level))
    centre = math.sqrt(max(float(matrix.row_sums.sum()), 0.0)) / n
    estimate = float(request.prepared.values(request.targets[None])[0, 0])
    return estimate, max(centre - reach, 0.0) ** 2, (centre + reach) ** 2


def _block(request: Request) -> Ends:
    """Mean of the block values plus and minus z standard errors."""
    if request.weights is not None:
        raise InputError("method='block' takes no case weights: use estimator='unbiased'")
    values = request.prepared.block_values(request.targets)
    if len(values) < 2:
        raise InputError(f"an interval from blocks needs at least 2 of them, got {len(values)}: use smaller blocks")
    mean, reach = float(values.mean()), request.z * float(values.std(ddof=1)) / math.sqrt(len(values))
    return mean, mean - reach, mean + reach


METHODS = {
    "bootstrap": Method(_bootstrap, "percentile bootstrap without pairs of a row with itself", tested=True),
    "root": Method(_root, "root scale, Hoeffding variance", tested=True),
    "ball": Method(_ball, "ball around the estimated mean element, multiplier quantile", tested=False),
    "block": Method(_block, "normal law of the block values", tested=False),
}
