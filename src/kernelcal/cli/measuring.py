"""``kernelcal measure``: what a field calls calibration, of a file."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from kernelcal.cases import Case
from kernelcal.cli.ending import say
from kernelcal.cli.gates import Judged
from kernelcal.errors import InputError
from kernelcal.explanation import columns_of_text
from kernelcal.measures import FIELDS, MEASURES, Measured, asked_measures, measured
from kernelcal.plots import pyplot
from kernelcal.runs import Run
from kernelcal.surroundings import refuse_place, written_whole

__all__ = ["add_measure", "check_measuring", "draw", "judged_measures", "measured_file"]

_PICTURES = (".png", ".svg", ".pdf")


def add_measure(commands: Any) -> argparse.ArgumentParser:
    """Options of ``kernelcal measure``."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "measure",
        help="what a field calls calibration: each with interval, what calibrated models have, and exact p-value",
        description="Slopes, ratios, errors, coverages: each beside its interval, its mean under calibration and an "
        "exact p-value.",
    )
    parser.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="one file, or two npy files; a folder or a quoted glob is one table",
    )
    fields = "; ".join(f"{field}: {', '.join(names)}" for field, names in FIELDS.items())
    parser.add_argument(
        "--measures",
        metavar="NAMES",
        help=f"a list a,b of measures or fields (default: all that serve the predictions). {MEASURES.help}. "
        f"Fields: {fields}",
    )
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw the measures, a png, svg or pdf")
    return parser


def check_measuring(options: argparse.Namespace) -> None:
    """Refuse names that are not known and a picture that could not be written, before a file is opened."""
    asked_measures(options.measures)
    if options.plot is not None:
        if len(options.files) > 1 and not options.together and options.files[0].suffix != ".npy":
            raise InputError(
                f"--plot {options.plot} draws one table, got {len(options.files)} files: draw each by itself"
            )
        refuse_place(options.plot, suffixes=_PICTURES, what="--plot draws a picture")
        pyplot()


def measured_file(case: Case, run: Run, groups: Any, options: argparse.Namespace) -> Measured:
    """Measures of a file that was read."""
    return measured(case, asked_measures(options.measures), run, groups=columns_of_text(groups))


def judged_measures(name: str, found: Measured, options: argparse.Namespace) -> list[Judged]:
    """What gates look at: the p-value of all measures together, corrected ones of groups, and how far intervals are."""
    if options.fail_below is not None and math.isnan(found.pvalue):
        raise InputError(f"{name}: there is no test, so that --fail-below has no p-value to look at")
    known = [one for one in (*found.values, *found.groups) if not math.isnan(one.away)]
    if options.fail_above is not None and not any(not one.column for one in known):
        raise InputError(
            f"{name}: none of the measures has an interval and a value that calibrated predictions have, so that "
            "--fail-above has nothing to look at"
        )
    looked = [Judged(name, found.pvalue, None, whole=False)]
    for one in found.groups:
        looked.append(Judged(f"{name}, {one.column} {one.group}, {one.name}", _known(one.corrected), None, whole=False))
    for one in known:
        group = f", {one.column} {one.group}" if one.column else ""
        looked.append(Judged(f"{name}{group}, {one.name}", None, one.away, whole=False))
    return looked


def _known(p: float) -> float | None:
    return None if math.isnan(p) else p


def draw(found: Measured, path: Path, *, to_errors: bool) -> None:
    """Write the picture, whole or not at all, and say where it is."""
    figure = found.plot().figure
    try:
        with written_whole(path) as unfinished:
            figure.savefig(unfinished, format=path.suffix[1:].lower())
    finally:
        pyplot().close(figure)
    say(f"wrote {path}", to_errors=to_errors)
