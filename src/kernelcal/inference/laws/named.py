"""Null laws by name: a new one is a file of this folder and a line here."""

from __future__ import annotations

from collections.abc import Callable

from kernelcal.inference.laws.exact import Exact, Swap
from kernelcal.inference.laws.law import NullLaw
from kernelcal.inference.laws.mean_embedding import CME
from kernelcal.inference.laws.resampled import Bootstrap, Consistency, Wild
from kernelcal.inference.laws.undrawn import Block, Bound, GammaFit, Pearson, Saddlepoint, Spectrum
from kernelcal.registry import Registry

__all__ = ["NULL_LAWS"]


_ALL, _DRAWS = "any", "B times the statistic"
_UNBIASED = "SKCE, unbiased"
_BOTH = "SKCE, KCCSD, unbiased"

# the summary is what a law assumes beside calibration
NULL_LAWS: Registry[Callable[..., NullLaw]] = Registry("null", "or a NullLaw")
for _name, _law, _serves, _assumes, _cost in (
    ("exact", Exact, _ALL, "nothing: valid at every n, for every kernel and bin", _DRAWS),
    (
        "swap",
        Swap,
        "any, of predictions by draws",
        "every n; default of `Samples` and of densities with draws",
        _DRAWS,
    ),
    ("saddlepoint", Saddlepoint, _UNBIASED, "many rows; law known given the predictions", "n² m, no draws"),
    ("bound", Bound, "SKCE, all estimators", "nothing, but it is a bound with little power", "the estimate"),
    ("block", Block, "SKCE, KCCSD, block", "many blocks", "n b m"),
    ("bootstrap", Bootstrap, _UNBIASED, "many rows, a wide kernel", "n² (m + B)"),
    ("wild", Wild, _BOTH, "many rows", "n² (m + B)"),
    ("gamma", GammaFit, _UNBIASED, "many rows; poor in far tails", "n² m"),
    ("pearson", Pearson, _UNBIASED, "many rows; up to 8,000 of them", "n³"),
    ("spectrum", Spectrum, _UNBIASED, "many rows, a wide kernel; up to 8,000 of them", "n³"),
    ("cme", CME, "UCME", "every n; chi-square and Hotelling by option", "n J (J + B)"),
    ("consistency", Consistency, _ALL, "**does not keep its level**; for published figures only", _DRAWS),
):
    NULL_LAWS.register(_name, _law, summary=_assumes, serves=_serves, cost=_cost)
