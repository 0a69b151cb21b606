"""The table of null laws: a new one is a file of this folder and a line here."""

from __future__ import annotations

from collections.abc import Callable

from kernelcal.inference.block import Block
from kernelcal.inference.bootstrap import Bootstrap, Wild
from kernelcal.inference.bound import Bound
from kernelcal.inference.cme import CME
from kernelcal.inference.consistency import Consistency
from kernelcal.inference.exact import Exact
from kernelcal.inference.fits import Gamma, Pearson, Spectrum
from kernelcal.inference.law import NullLaw
from kernelcal.inference.saddlepoint import Saddlepoint
from kernelcal.inference.swap import Swap

__all__ = ["NULL_LAWS"]

NULL_LAWS: dict[str, Callable[[], NullLaw]] = {
    "exact": Exact,
    "swap": Swap,
    "saddlepoint": Saddlepoint,
    "bound": Bound,
    "block": Block,
    "bootstrap": Bootstrap,
    "wild": Wild,
    "gamma": Gamma,
    "pearson": Pearson,
    "spectrum": Spectrum,
    "consistency": Consistency,
    "cme": CME,
}
