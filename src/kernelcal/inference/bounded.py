"""What the distribution-free bound says before and beside a p-value: acceptance regions, and how far estimates err."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.inference.laws import pair_bound
from kernelcal.runs import Run
from kernelcal.statistics import SKCE
from kernelcal.tables import Shown, Table

__all__ = ["BoundedError", "acceptance_threshold", "bounded_error"]


def acceptance_threshold(
    n: int, *, alpha: float = 0.05, bound: float = 2.0, estimator: str = "unbiased", block_size: int | None = None
) -> float:
    """Largest value of an SKCE at which ``null="bound"`` does not reject at a level.

    Parameters
    ----------
    n : int
        Rows.
    alpha : float
        Level of the test.
    bound : float
        Bound of ``|h_ij|``: the supremum of the prediction kernel times the largest squared distance of two class
        features. Default 2, that of a kernel of at most 1 with `Dirac`.
    estimator : {"unbiased", "biased", "block"}
        Of which value.
    block_size : int, optional
        Rows a block, for ``block``.

    Returns
    -------
    float
        ``(B / n) (1 + sqrt(-2 log alpha))^2`` for the biased value, else ``B sqrt(-2 log(alpha) / N)`` with
        ``N = floor(n / b) floor(b / 2)`` independent pairs.

    Raises
    ------
    InputError
        For options that do not fit together.

    Notes
    -----
    Corollary H.1 states the first for the root, ``sqrt(B / n) (1 + sqrt(-2 log alpha))``.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), supplement, Corollaries H.1 to H.3.

    Examples
    --------
    >>> from kernelcal.inference import acceptance_threshold
    >>> round(acceptance_threshold(250), 4)  # unbiased: the error must be a third to be seen at all
    0.4379
    >>> round(acceptance_threshold(250, estimator="biased"), 4)
    0.0951
    """
    alpha = Run(alpha=alpha).alpha
    _refuse_no_rows(n, bound)
    deep = math.sqrt(-2 * math.log(alpha))
    if estimator == "biased":
        return bound / n * (1 + deep) ** 2
    if estimator not in ("unbiased", "block") or (estimator == "block") != (block_size is not None):
        raise InputError(
            f"estimator must be 'unbiased', 'biased', or 'block' with its block_size, got {estimator!r} and "
            f"block_size={block_size!r}"
        )
    rows = n if block_size is None else block_size
    pairs = n // rows * (rows // 2)
    if pairs < 1:
        raise InputError(f"blocks of {rows} rows have no pair among {n} rows: use block_size from 2 to {n}")
    return bound * deep / math.sqrt(pairs)


@dataclass(frozen=True, repr=False)
class BoundedError(Shown):
    """Distribution-free interval of the kernel calibration error, on the scale of its root.

    Attributes
    ----------
    estimate, lower, upper : float
        Root of the biased value, and the ends.
    confidence_level : float
        Least coverage, at every n and whatever the law of predictions and targets.
    bound : float
        B.
    n : int
        Rows.

    Examples
    --------
    >>> from kernelcal.inference import bounded_error
    >>> found = bounded_error([0, 1, 1, 0] * 5, [0.2, 0.8, 0.7, 0.4] * 5)
    >>> found.n, found.lower <= found.estimate <= found.upper
    (20, True)
    """

    estimate: float
    lower: float
    upper: float
    confidence_level: float
    bound: float
    n: int

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return dict(vars(self))

    def _table(self) -> Table:
        rows = [
            ("KCE, biased", f"{self.estimate:.4f}"),
            (f"{self.confidence_level:.0%} interval", f"{self.lower:.4f} to {self.upper:.4f}"),
            ("bound of |h|", f"{self.bound:.4g}"),
            ("rows", f"{self.n:,}"),
        ]
        return Table("Distribution-free interval", rows)


def bounded_error(
    y: Any, predictions: Any, *, statistic: SKCE | None = None, confidence_level: float = 0.95
) -> BoundedError:
    """Interval of the kernel calibration error that holds at every n, from a bound alone.

    ``|KCE_hat - KCE| < 2 sqrt(B / n) + sqrt(-2 B log(delta) / n)`` with probability ``1 - delta`` at least, for the
    root of the biased value and a bound B of ``|h_ij|``.

    Parameters
    ----------
    y, predictions
        As for `skce`.
    statistic : SKCE, optional
        Kernels; default those of `SKCE`. Kernels that are chosen from these predictions are taken as if they had been
        fixed before: give numbers as lengthscales for a strict statement.
    confidence_level : float
        1 - delta.

    Returns
    -------
    BoundedError

    Raises
    ------
    InputError
        For kernels without a bound, and for data that cannot be used.

    Notes
    -----
    Wide: 10,000 rows leave ``2.0 + 2.4`` times ``sqrt(2) / 100``, six hundredths. `confidence_interval` is far
    shorter, and asymptotic. Cost: that of the biased value.

    References
    ----------
    Widmann, Lindsten, Zachariah (2019), supplement, Theorem H.1.

    Examples
    --------
    >>> import numpy as np, kernelcal as kc
    >>> from kernelcal.inference import bounded_error
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=400)
    >>> found = bounded_error(rng.random(400) < p**3, p)
    >>> found.lower <= found.estimate <= found.upper
    True
    """
    run = Run(confidence_level=confidence_level)
    given = SKCE() if statistic is None else statistic
    if not isinstance(given, SKCE):
        raise InputError(f"statistic must be an SKCE such as kernelcal.SKCE(), got {given!r}")
    case = Case.of(y, predictions)
    biased = replace(given, estimator="biased", block_size=None, superdiagonals=None)
    prepared = biased.prepare(case.in_numpy.predictions)
    value, bound, n = float(prepared.values(case.targets[None])[0, 0]), pair_bound(prepared), len(case)
    reach = 2 * math.sqrt(bound / n) + math.sqrt(-2 * bound * math.log(1 - run.confidence_level) / n)
    root = math.sqrt(max(value, 0.0))
    return BoundedError(root, max(root - reach, 0.0), root + reach, run.confidence_level, bound, n)


def _refuse_no_rows(n: Any, bound: Any) -> None:
    if isinstance(n, bool) or not isinstance(n, int) or n < 2:
        raise InputError(f"n must be a number of rows, at least 2, got {n!r}")
    if not 0 < bound < math.inf:
        raise InputError(f"bound must be a positive finite number, got {bound!r}")
