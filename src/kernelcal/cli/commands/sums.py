"""Sums that were saved: ``kernelcal merge`` adds them up, ``kernelcal report --state`` makes a page of them."""

from __future__ import annotations

import argparse
import json
import shlex
from pathlib import Path

from kernelcal.cli.common import refuse_beside_state, spread_out
from kernelcal.cli.ending import say
from kernelcal.cli.gates import add_gates, ended_by, judged, refuse_few_draws
from kernelcal.cli.options import add_confidence_level
from kernelcal.defaults import SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.files import format_of, refuse_place
from kernelcal.runs import Run
from kernelcal.sketch import GroupedSketch, Sketch, load_sketch

__all__ = ["add_merge", "is_sums", "run_sums_page"]


_SUMS = (".npz",)
_MERGED = (
    "Tables that are to be added up are saved with --like FIRST.npz, which takes the lengthscales of the first and "
    "numbers rows on, and with --first-row N besides where several follow the first; or all of them with --key NAMES"
)
_OF_SUMS = ("confidence_level", "alpha", "json", "fail_below", "fail_above")  # what is asked of them when they are read


def add_merge(parser: argparse.ArgumentParser) -> None:
    """Options of ``kernelcal merge``."""
    parser.description = (
        "Add up the sums that kernelcal evaluate --save wrote of several tables, as if they had been one."
    )
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="npz files of --save; a folder or a quoted glob of these"
    )
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="keep the sum in an npz file")
    add_confidence_level(parser)
    parser.add_argument(
        "--alpha",
        type=float,
        default=SIGNIFICANCE,
        metavar="P",
        help="level at which verdicts reject (default: %(default)s)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_gates(parser.add_argument_group("gates: exit status 1"))
    parser.set_defaults(runs=_run_merge)


def _run_merge(options: argparse.Namespace) -> int:
    """Add up saved sums, say what all rows tell, and keep the sum."""
    run = Run(confidence_level=options.confidence_level, alpha=options.alpha)
    if options.output is not None:
        refuse_place(options.output, suffixes=_SUMS, what="merge keeps sums in an npz file")
    paths = spread_out(options.files, _SUMS)
    total = load_sketch(paths[0])
    refuse_few_draws(options, total.draws)
    for path in paths[1:]:
        other = load_sketch(path)
        try:
            _refuse_without_groups(total, other, paths[0])
            total.merge(other)
        except InputError as error:
            raise InputError(f"{path}: {error}. {_MERGED}") from None
    result = total.result(run.confidence_level, run.alpha)
    name = str(paths[0]) if len(paths) == 1 else f"{len(paths):,} files, {paths[0]} to {paths[-1]}"
    read = f"sums of {name}: {total.n:,} rows"
    if options.output is not None:
        total.save(options.output)
    found = {"read": read, **result.to_dict()}
    if not options.json:
        say(f"{read}\n{result.summary()}")
    status = ended_by(judged(name, result), options, found)
    if options.output is not None:
        say(f"wrote {options.output}", to_errors=options.json)
    if options.json:
        say(json.dumps(found, indent=2, allow_nan=False))
    return status


def _refuse_without_groups(total: Sketch, other: Sketch, first: Path) -> None:
    """Refuse to add sums of groups to sums without, which would lose them."""
    if isinstance(other, GroupedSketch) and not isinstance(total, GroupedSketch):
        raise InputError(f"these sums hold groups, and those of {first} hold none: save all with the same --groups")


def is_sums(path: Path) -> bool:
    """Tell whether a file holds what --save wrote."""
    return format_of(path) in ("kernelcal sketch", "kernelcal groups")


def run_sums_page(options: argparse.Namespace) -> int:
    """Write the page of saved sums, for ``kernelcal report --state``; returns the exit status."""
    from kernelcal.reporting import sums_page

    refuse_beside_state(options, "sums", "hold", _OF_SUMS)
    run, sketch = Run(confidence_level=options.confidence_level, alpha=options.alpha), load_sketch(options.state)
    refuse_few_draws(options, sketch.draws)
    read = f"sums of {options.state}: {sketch.n:,} rows"
    level, alpha = run.confidence_level, run.alpha
    title = {} if options.title is None else {"title": options.title}
    told = {**title, "read": read, "command": shlex.join(["kernelcal", *map(str, options.said)])}
    page = sums_page(sketch, options.output, confidence_level=level, alpha=alpha, **told)
    result = sketch.result(level, alpha)
    found = {"read": read, **result.to_dict()}
    say(f"{page.verdict.heading}\nwrote {page.path}", to_errors=options.json)
    status = ended_by(judged(str(options.state), result), options, found)
    if options.json:
        say(json.dumps(found, indent=2, allow_nan=False))
    return status
