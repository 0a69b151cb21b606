"""Statistics by name: a test, the command line and the documents know the same ones; what was asked for is made."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any

from kernelcal.errors import InputError
from kernelcal.inference.laws import NULL_LAWS, NullLaw
from kernelcal.inference.test.family import DefaultFamily
from kernelcal.inference.test.pit import UniformPIT
from kernelcal.registry import Registry
from kernelcal.statistics import CKCE, ECE, JKCE, KCCSD, MMCE, SKCE, UCME, CallableStatistic, Statistic

__all__ = ["STATISTICS", "asked_test", "register_statistic"]


STATISTICS: Registry[Callable[..., Statistic]] = Registry("statistic", "a Statistic or a function")


def register_statistic(
    name: str, statistic: Callable[[], Statistic], *, summary: str = "", serves: str = "any"
) -> None:
    """Let `calibration_test` and the command line know a statistic by a name.

    Parameters
    ----------
    name : str
        New name.
    statistic : type, or callable
        The class, whose settings have defaults, or a function without arguments that makes one.
    summary : str
        What it is, in some words; default: the first line of the docstring.
    serves : str
        What it can be used for, such as ``"classes"``.

    Raises
    ------
    InputError
        If the name is taken, or an instance is given in place of its class.

    Examples
    --------
    >>> from functools import partial
    >>> import kernelcal as kc
    >>> from kernelcal.inference import STATISTICS, register_statistic
    >>> register_statistic("ece-corrected", partial(kc.ECE, distance="squared", estimator="corrected"))
    >>> kc.calibration_test([0, 1, 1], [0.2, 0.7, 0.6], statistic="ece-corrected", draws=19).pvalue
    0.95
    >>> STATISTICS.forget("ece-corrected")
    """
    if not callable(statistic) or isinstance(statistic, Statistic):
        raise InputError(f"{name!r} needs what makes the statistic, such as its class, got {statistic!r}")
    first = (inspect.getdoc(statistic) or str(name)).splitlines()[0].rstrip(".")
    STATISTICS.register(name, statistic, summary=summary or first, serves=serves)


def asked_test(statistic: Any, null: Any, *, weighted: bool = False) -> tuple[Statistic | None, NullLaw | None]:
    """Make what names stand for, and refuse what does not go together; None where the predictions decide."""
    given, law = _made(statistic), _law(null)
    if isinstance(given, UniformPIT):
        given.refuse(law, weighted=weighted)
    elif given is not None and law is not None:
        law.refuse(given)
    return given, law


def _made(given: Any) -> Statistic | None:
    if isinstance(given, str) and given == "default":
        return None  # known when the predictions are
    if isinstance(given, Statistic):
        return given
    if isinstance(given, type):
        raise InputError(f"statistic must be an instance, got the class {given.__name__}: pass {given.__name__}()")
    return CallableStatistic(given) if callable(given) else STATISTICS.made(given)


def _law(given: Any) -> NullLaw | None:
    if given is None or isinstance(given, NullLaw):
        return given
    return NULL_LAWS.made(given)


def _pre_ranks() -> Statistic:
    from kernelcal.statistics.vectors import PreRanks  # imported when needed: few tests are of vectors

    return PreRanks()


_BLOCKS = partial(SKCE, estimator="block", block_size=2)
for _name, _statistic, _serves, _summary in (
    ("default", DefaultFamily, "any", "a family: signals with a direction, bins, and kernels at several lengthscales"),
    ("skce", SKCE, "any", "squared kernel calibration error, at the median lengthscale"),
    (
        "skce-block",
        _BLOCKS,
        "any",
        "the same of blocks of 2 rows, in linear time",
    ),
    ("ckce", CKCE, "any", "conditional kernel calibration error"),
    ("jkce", JKCE, "any", "joint kernel calibration error"),
    ("ucme", UCME, "any", "residuals at ten test locations"),
    ("pre-ranks", _pre_ranks, "draws of vectors", "ranks of outcomes among draws by pre-ranks, and TARP"),
    ("ece", ECE, "classes", "error of the top label in 15 bins of equal width"),
    ("mce", partial(ECE, norm="max"), "classes", "largest error of these bins"),
    ("mmce", MMCE, "classes", "kernel calibration error of the top label"),
    ("kccsd", KCCSD, "densities with a score function", "Stein discrepancy, without normalising constants"),
    ("pit", UniformPIT, "numbers, one a target", "are the PIT values uniform"),
):
    register_statistic(_name, _statistic, summary=_summary, serves=_serves)
