"""What the PIT values say about direction: shifted, too narrow, too wide, and by how much, where that can be told."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelcal.cases import Case
from kernelcal.inference.result import Member
from kernelcal.predictions import Samples
from kernelcal.statistics.outcomes import normal_moments, normal_quantiles
from kernelcal.tables import few_rule

__all__ = ["pit_directions"]


_SHAPE = "no clear shift or wrong width: the shape of the predicted distributions is wrong"
_LOW, _HIGH = 2.0**-54, 1 - 1e-12  # beyond, the normal quantile of a PIT value is that of rounding
_CLEAR = 3.0  # standard errors, of residuals whose spread no test has looked at
_QUARTILES = 1.3489795003921634  # between the quartiles of a standard normal law
_TESTED = "normal quantiles"
_ENOUGH = 10  # outcomes that are expected outside all draws, so that their share tells the width
_CUT = 0.05  # share of outcomes outside all draws; above it, the spread of ranks is that of their ends
_DIFFER = 1.5  # factor by which a mean and the figure of the middle half differ where few rows rule


def pit_directions(
    seen: np.ndarray, case: Case, members: tuple[Member, ...], fired: str, alpha: float
) -> tuple[str, ...]:
    """Sentences for bias and dispersion where they speak against calibration at a level, the fired one first.

    Width is told about the own mean, of values that are not cut off: normal quantiles of PIT values, of outcomes so
    far out that these round to 0 or 1 standardised residuals. Ranks in an ensemble and counts are cut off by their
    nature: of those it is told how many outcomes lie outside all draws, and on which side of the middle half. `seen`
    are values of shape (n,), or where there are jumps their ends (n, 2), over which means are taken.
    """
    pvalues = {member.name: member.pvalue for member in members}
    found = [name for name in ("bias", "dispersion") if pvalues.get(name, 1.0) <= alpha]
    ordered = sorted(found, key=lambda name: (name != fired, pvalues[name]))
    words = [_shift(seen) if name == "bias" else _width(seen, case) for name in ordered]
    return tuple(word for word in words if word) or (_SHAPE,)


def _shift(seen: np.ndarray) -> str:
    quantiles = normal_moments(seen[None])[0][0]
    mean, median = float(quantiles.mean()), float(np.median(quantiles))
    word, direction = ("higher", "down") if mean > 0 else ("lower", "up")
    beside = f", median {median:+.2g}" if few_rule(mean, median) else ""
    size = f"mean normal quantile {mean:+.2g}{beside}"
    return f"predictions shifted {direction} (outcomes are {word} than predicted, {size})"


def _width(seen: np.ndarray, case: Case) -> str:
    """Sentence on the width, or none where it cannot be told from a shift."""
    batch = case.predictions
    if isinstance(batch, Samples):
        few = 2 * len(case) < _ENOUGH * (batch.size + 1)
        uncut = seen.ndim == 2 and ((seen[:, 0] <= 0) | (seen[:, 1] >= 1)).mean() <= _CUT
        return _by_ranks(seen, batch.size) if few and uncut else _outside_draws(case)
    low, high = (seen, seen) if seen.ndim == 1 else seen.T
    if not np.allclose(low, high, rtol=0, atol=1e-9):
        return _by_tails(low, high)
    values = low
    if ((values > _LOW) & (values < _HIGH)).all():
        return _spread(normal_quantiles(values), _TESTED)
    z = np.asarray(batch.standardised(case.targets), dtype=np.float64)
    known = np.isfinite(np.asarray(batch.std, dtype=np.float64)).all()
    return _spread(z, "standardised residuals") if known and np.isfinite(z).all() else ""


def _spread(scores: np.ndarray, what: str) -> str:
    """Standard deviation about the own mean; of residuals where it is clearly not 1 by the spread of the rows."""
    n = len(scores)
    squares = (scores - scores.mean()) ** 2 * n / max(n - 1, 1)
    excess, error = float(squares.mean()) - 1, float(squares.std()) / np.sqrt(n)
    middle = float(np.subtract(*np.quantile(scores, [0.75, 0.25]))) / _QUARTILES
    spread = float(np.sqrt(squares.mean()))
    few = max(spread, 1e-12) > _DIFFER * middle  # of few rows, which the middle half does not know
    if what != _TESTED and abs(excess) <= _CLEAR * error and not few:
        return ""
    word = "narrow" if excess > 0 else "wide"
    beside = f"; the middle half {middle:.2f} times" if few else ""
    return f"predictions too {word} ({what} spread {spread:.2f} times as wide as predicted{beside})"


def _outside_draws(case: Case) -> str:
    """How many outcomes lie outside all draws of their row, where 2 / (S + 1) are expected."""
    batch: Any = case.predictions
    low, high = batch.pit_interval(case.targets)
    below, above = float((low <= 0).mean()), float((high >= 1).mean())
    share, side, expected = below + above, 1 / (batch.size + 1), 2 / (batch.size + 1)
    number = f"{share:.1%} of outcomes lie outside all {batch.size} draws, where {expected:.1%} are expected"
    if min(below, above) > side:
        return f"predictions too narrow ({number})"
    if max(below, above) < side:
        return f"predictions too wide ({number})"
    return "" if share <= expected else f"outcomes on one side of the draws ({number})"


def _by_ranks(seen: np.ndarray, size: int) -> str:
    """Spread of the ranks among many draws, outside all of which hardly any outcome is expected."""
    middles = normal_quantiles((np.arange(size + 1) + 0.5) / (size + 1))
    ratio = float(normal_quantiles(seen.mean(axis=1)).std() / middles.std())
    word = "narrow" if ratio > 1 else "wide"
    return f"predictions too {word} (ranks among {size} draws spread {ratio:.2f} times as wide as they should)"


def _by_tails(low: np.ndarray, high: np.ndarray) -> str:
    """Counts: too narrow where both outer quarters hold more than a quarter, too wide where both hold less."""
    width = np.maximum(high - low, 1e-12)
    lower, upper = (float(np.clip(x / width, 0, 1).mean()) for x in (0.25 - low, high - 0.75))
    number = f"{lower:.1%} of PIT values below 1/4 and {upper:.1%} above 3/4, where 25 % are expected"
    if min(lower, upper) > 0.25:
        return f"predictions too narrow ({number})"
    return f"predictions too wide ({number})" if max(lower, upper) < 0.25 else ""
