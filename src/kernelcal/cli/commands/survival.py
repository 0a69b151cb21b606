"""The command for times to an event: ``kernelcal survival FILE``."""

from __future__ import annotations

import argparse
import json
import math
import shlex
from pathlib import Path
from typing import Any

from kernelcal.cli.common import spread_out, whole_number
from kernelcal.cli.ending import FINE, naming, refused, say, without_drops
from kernelcal.cli.gates import Judged, draws_for_gates, ended_by, level, with_draws_of_groups
from kernelcal.cli.pictures import refuse_picture, write_picture
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, SIGNIFICANCE
from kernelcal.errors import InputError, KernelcalError
from kernelcal.io import readers
from kernelcal.runs import Run

__all__ = ["add_survival"]


_COLUMNS = {
    "duration": "column of the observed times",
    "event": "column of whether the event was seen, or COLUMN=VALUE with the value that says so",
    "censored": "column of whether it was not, instead",
    "censoring-time": "column of when each row would have been censored at the latest: makes the test exact",
    "survival": "columns a,b,c or a glob of survival probabilities, whose names end in the times",
    "risk": "columns of risks of the event, instead",
    "times": "these times 1,5,10, where the names do not end in them",
    "family": "family whose parameters the columns hold, such as weibull, gamma, log-normal",
    "parameters": "with --family: its columns in the order of its parameters; a number serves all rows",
    "weights": "column of case weights",
    "clusters": "column of labels of rows that may depend on each other",
    "groups": "columns a,b whose values are groups of rows, each tested and measured; measured numbers are cut",
}


def add_survival(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.description = "Are predicted times to an event calibrated, how far off, when, and for whom?"
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a table with a row a subject, or several; also of a folder or a quoted glob",
    )
    for name, words in _COLUMNS.items():
        parser.add_argument(f"--{name}", metavar="NAME", help=words)
    parser.add_argument(
        "--horizons", metavar="TIMES", help="times 1,5 at which predicted and observed risk are compared"
    )
    parser.add_argument("--null", choices=("redraw", "flips"), help="law under calibration (default: redraw)")
    parser.add_argument("--confidence-level", type=float, default=CONFIDENCE_LEVEL, metavar="P", help="coverage")
    parser.add_argument("--alpha", type=float, default=SIGNIFICANCE, metavar="P", help="level of the verdict")
    parser.add_argument("--draws", type=int, metavar="B", help=f"draws of the test (default: {DRAWS})")
    parser.add_argument("--seed", type=whole_number, default=0, help="seed of the draws (default: %(default)s)")
    parser.add_argument(
        "--plot", type=Path, metavar="FILE", help="draw residuals and the last horizon, png, svg or pdf"
    )
    parser.add_argument(
        "-o", "--output", type=Path, metavar="PAGE", help="also write a page, .html; a file of this name is replaced"
    )
    parser.add_argument("--title", default="Predicted times to an event", metavar="TEXT", help="title of the page")
    parser.add_argument(
        "--fail-below", type=level, metavar="P", help="exit status 1 if the p-value is below P, of a table or group"
    )
    parser.add_argument("--json", action="store_true", help="print JSON: an object, or a list for several files")
    parser.set_defaults(fail_above=None, runs=run_survival)


def run_survival(options: argparse.Namespace) -> int:
    """Read, evaluate, print; returns the exit status."""
    from kernelcal.survival import SurvivalColumns, evaluated_survival, read_survival  # for this command alone

    draws = draws_for_gates(options, DRAWS)
    run = Run(confidence_level=options.confidence_level, alpha=options.alpha, draws=draws, rng=options.seed)
    horizons, columns = _horizons(options.horizons), {name.replace("-", "_"): None for name in _COLUMNS}
    columns = {name: getattr(options, name) for name in columns}
    results, status, options.files = [], FINE, spread_out(options.files, readers())
    if options.plot is not None:
        if len(options.files) > 1:
            raise InputError("--plot FILE draws one table: name one file")
        refuse_picture(options.plot)
    if options.output is not None:
        _refuse_page(options)
    for path in options.files:
        try:
            table = read_survival(path, SurvivalColumns(**columns))
            enough = with_draws_of_groups(options, run, table.groups, len(table.data))
            found = evaluated_survival(table.data, enough, null=options.null, horizons=horizons, groups=table.groups)
        except (KernelcalError, UnicodeError) as error:
            return refused(without_drops(naming(error, [path])))
        results.append({"read": table.description, **found.to_dict()})
        if not options.json:
            say(("\n" if len(results) > 1 else "") + f"{table.description}\n{found.summary()}")
        if options.plot is not None:
            write_picture(_pictures(found), options.plot, to_errors=options.json)
        if options.output is not None:
            _write(found, table.description, options)
        status = max(status, ended_by(_judged(path, found), options, results[-1]))
    if options.json:
        say(json.dumps(results if len(results) > 1 else results[0], indent=2, allow_nan=False))
    return status


def _judged(path: Path, found: Any) -> list[Judged]:
    """What the gate looks at: the table, and each group that was tested, corrected for their number."""
    tested = [one for one in found.groups if not math.isnan(one.pvalue)]
    groups = [Judged(f"{path}, {one.column} {one.name}", one.pvalue, None, whole=False) for one in tested]
    return [Judged(str(path), found.pvalue, None), *groups]


def _horizons(text: str | None) -> tuple[float, ...]:
    if text is None:
        return ()
    try:
        found = tuple(float(part) for part in text.split(","))
    except ValueError:
        found = ()
    if not found or not all(0 < t < float("inf") for t in found):
        raise InputError(f"--horizons names positive times such as 1,5, got {text!r}")
    return found


def _refuse_page(options: argparse.Namespace) -> None:
    """Refuse a page that could not be written, before the work and not after it."""
    from kernelcal.reporting import refuse_page

    if len(options.files) > 1:
        raise InputError(f"-o {options.output} is about one table, got {len(options.files)} files: each by itself")
    refuse_page(options.output)


def _write(found: Any, read: str, options: argparse.Namespace) -> None:
    """Write the page and say where it is."""
    from kernelcal.reporting import survival_page

    command = shlex.join(["kernelcal", *map(str, options.said)])
    page = survival_page(found, options.output, title=options.title, read=read, command=command)
    say(f"wrote {page.path}", to_errors=options.json)


def _pictures(found: Any) -> Any:
    """Figure of both pictures side by side."""
    from kernelcal.plots import pyplot

    figure, (left, right) = pyplot().subplots(1, 2, figsize=(11, 5.8), layout="constrained")
    found.plot(left)
    found.plot_horizon(ax=right)
    return figure
