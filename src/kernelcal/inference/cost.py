"""What long work costs, said before it begins."""

from __future__ import annotations

import warnings

from kernelcal.errors import KernelcalWarning

__all__ = ["in_words", "say_cost", "seconds_of"]

_RATE = 1.5e10  # multiplications a second of matrix products in float64 on two cores
_LONG = 60.0


def seconds_of(multiplications: float) -> float:
    """Seconds on two cores, roughly."""
    return multiplications / _RATE


def in_words(seconds: float) -> str:
    """Return a rough time in words."""
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def say_cost(what: str, multiplications: float, cure: str) -> None:
    """Warn of work that takes more than a minute, before it begins."""
    seconds = seconds_of(multiplications)
    if seconds > _LONG:
        warnings.warn(
            f"{what} takes about {in_words(seconds)} on two cores: fewer {cure}, take less", KernelcalWarning, 3
        )
