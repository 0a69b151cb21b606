"""Gates: what makes a command say no with exit status 1, and the sentences that say why."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from kernelcal.cases import Case
from kernelcal.cli.ending import FINE, SAID_NO, say
from kernelcal.errors import InputError
from kernelcal.evaluation import Evaluation, KernelError
from kernelcal.explanation import checked_groups
from kernelcal.inference import Equivalence
from kernelcal.inference.intervals import equivalent
from kernelcal.inference.laws import not_redrawn
from kernelcal.io import Data
from kernelcal.runs import Run

__all__ = [
    "Judged",
    "add_gates",
    "asked_gates",
    "draws_for_gates",
    "ended_by",
    "ended_with",
    "judged",
    "refuse_few_draws",
    "said",
    "with_draws_of_groups",
    "with_draws_of_sets",
    "within_bound",
]


_DRAWN = (None, "exact", "swap", "redraw", "flips")  # laws under calibration whose p-values come from draws


@dataclass(frozen=True)
class Judged:
    """What a gate looks at: one model, one table, or one group of it.

    Attributes
    ----------
    name : str
        What it is called.
    pvalue : float or None
        Exact p-value; of a group corrected for the number of groups.
    lower : float or None
        Lower end of the interval of the error, the root of the SKCE.
    whole : bool
        Whether a gate that cannot look at it is refused; small groups are passed over.
    """

    name: str
    pvalue: float | None
    lower: float | None
    whole: bool = True


def add_gates(group: argparse._ArgumentGroup, *, of_measures: bool = False) -> None:
    """Options of every command that judges."""
    of_error = "the error is certainly above EPS, such as 0.05: the lower end of the interval of the root of the SKCE"
    of_distance = "the whole interval of a measure is further than EPS from the value that calibrated predictions have"
    group.add_argument(
        "--fail-below",
        type=level,
        metavar="P",
        help="exit status 1 if the exact p-value is below P, of one model, table or group",
    )
    group.add_argument(
        "--fail-above",
        type=size_of_error,
        metavar="EPS",
        help=f"exit status 1 if {of_distance if of_measures else of_error}, of one model, table or group",
    )


def level(text: str) -> float:
    """Level between 0 and 1."""
    value = _number(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"expected a level between 0 and 1, such as 0.05, got {text!r}")
    return value


def size_of_error(text: str) -> float:
    """Size of an error, not negative."""
    value = _number(text)
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected the size of an error from 0, such as 0.05, got {text!r}")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0


def draws_for_gates(options: argparse.Namespace, usual: int, times: int = 1) -> int:
    """Draws as they were asked for, or so many that a p-value can fall below --fail-below; too few are refused.

    The smallest p-value of B draws is ``1 / (B + 1)``, or so many times that as it is corrected for: a gate at that
    level or below would let every model pass.
    """
    needed = options.fail_below is not None and not _without_draws(options)
    least = math.ceil(times / options.fail_below) if needed else 0
    if options.draws is None:
        return max(usual, least)
    if 0 < options.draws < least:
        raise InputError(
            f"--draws {options.draws:,} make no p-value below {times / (options.draws + 1):.3g}, so that --fail-below "
            f"{options.fail_below:g} would never say no: say --draws {max(usual, least):,} or more"
        )
    return int(options.draws)


def with_draws_of_sets(options: argparse.Namespace, data: Data, lens: Any = None) -> Run:
    """Run with draws enough for a gate on rows that are tested in sets, or refuse those that were said.

    Where targets that depend on each other cannot be redrawn the p-value is m times the smallest one of m sets of rows,
    which is never below ``m / (B + 1)``.
    """
    run: Run = options.run
    if options.fail_below is None or not data.dependence:
        return run
    case = Case.of(data.y, data.predictions, lens=lens, **data.dependence)
    assert case.rows is not None  # for the type checker: something was said
    sets = len(case.rows.thinned) if case.rows.overlap and not_redrawn(case) else 1
    least = math.ceil(sets / options.fail_below)
    if run.draws >= least:
        return run
    if options.draws is not None:
        raise InputError(
            f"rows that depend on each other are tested in {sets} sets here, and with --draws {options.draws:,} {sets} "
            f"times the smallest p-value is at least {sets / (options.draws + 1):.3g}, so that --fail-below "
            f"{options.fail_below:g} would never say no: say --draws {least:,} or more"
        )
    return replace(run, draws=least)


def with_draws_of_groups(options: argparse.Namespace, run: Run, groups: Any, n: int, sides: int = 1) -> Run:
    """Run with draws enough for a gate on groups, or refuse those that were said.

    P-values of the groups of a column are corrected by Holm: of G groups the smallest is ``G sides / (B + 1)``.
    """
    found = [] if options.fail_below is None else [one.column for one in checked_groups(groups, n).groups]
    if not found:
        return run
    most = max(map(found.count, found))
    least = math.ceil(sides * most / options.fail_below)
    if run.draws >= least:
        return run
    if options.draws is not None:
        raise InputError(
            f"p-values of {most} groups are corrected for their number, and with --draws {options.draws:,} none is "
            f"below {sides * most / (options.draws + 1):.3g}, so that --fail-below {options.fail_below:g} would never "
            f"say no to a group: say --draws {least:,} or more"
        )
    return replace(run, draws=least)


def refuse_few_draws(options: argparse.Namespace, draws: int) -> None:
    """Refuse a gate that sums with so few draws could never reach."""
    if options.fail_below is not None and 1 / (draws + 1) >= options.fail_below:
        raise InputError(
            f"sums of {draws:,} draws give no p-value below {1 / (draws + 1):.3g}, so that --fail-below "
            f"{options.fail_below:g} would never say no: keep sums with --draws {math.ceil(1 / options.fail_below):,}"
        )


def _without_draws(options: argparse.Namespace) -> bool:
    return getattr(options, "null", None) not in _DRAWN


def asked_gates(options: argparse.Namespace) -> bool:
    """Tell whether anything is to be judged."""
    return options.fail_below is not None or options.fail_above is not None


def judged(name: str, found: Evaluation) -> list[Judged]:
    """One evaluation and its groups."""
    lower = None if found.interval is None else found.interval.root[0]
    groups = () if found.by_group is None else found.by_group.findings
    return [
        Judged(name, found.pvalue, lower),
        *(
            Judged(
                f"{name}, {g.column} {g.name}",
                g.pvalue,
                None if g.root_interval is None else g.root_interval[0],
                whole=False,
            )
            for g in groups
        ),
    ]


def said(found: Iterable[Judged], options: argparse.Namespace) -> list[str]:
    """Sentences of what gates say no to; refuse a gate that has nothing to look at, since it would always say yes."""
    no = []
    for one in found:
        if options.fail_below is not None:
            if one.pvalue is None and one.whole:
                raise InputError(f"{one.name}: there is no test, so that --fail-below has no p-value to look at")
            if one.pvalue is not None and one.pvalue < options.fail_below:
                no.append(f"{one.name}: p = {one.pvalue:.3g} is below {options.fail_below:g}")
        if options.fail_above is not None:
            if one.lower is None and one.whole:
                raise InputError(
                    f"{one.name}: the error has no confidence interval here (the notes say why), so that --fail-above "
                    "has nothing to look at"
                )
            if one.lower is not None and one.lower > options.fail_above:
                no.append(f"{one.name}: the error is at least {one.lower:.4f}, above {options.fail_above:g}")
    return no


def ended_by(found: Iterable[Judged], options: argparse.Namespace, result: dict[str, Any]) -> int:
    """Judge, say no where it is so and write it into the result; returns the exit status."""
    return ended_with(said(found, options), options, result) if asked_gates(options) else FINE


def ended_with(no: list[str], options: argparse.Namespace, result: dict[str, Any]) -> int:
    """Say no for these reasons, if there are any, and write them into the result; returns the exit status."""
    result["said_no"] = no
    if not options.json:
        for why in no:
            say(f"gate: {why}")
    return SAID_NO if no else FINE


def within_bound(case: Case, run: Run, bound: float) -> Equivalence:
    """Whether a model is calibrated to within a bound, by the same estimator as the interval of `evaluate`."""
    statistic = KernelError(case.placed, run.engine).interval_estimator
    if statistic is None:
        raise InputError(
            f"--within {bound:g} bounds the root of the SKCE, which has no interval here: of densities, of outcomes "
            "that equal quantiles, and of very many rows with case weights; leave it out"
        )
    return equivalent(case.in_numpy, statistic, bound, run)
