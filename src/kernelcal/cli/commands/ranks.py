"""``kernelcal ranks``: ranks or PIT values computed elsewhere, and posteriors of simulation-based inference."""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelcal.cli.common import whole_number
from kernelcal.cli.ending import naming, say, without_drops
from kernelcal.cli.gates import Judged, draws_for_gates, ended_by, level
from kernelcal.cli.pictures import refuse_picture, write_picture
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, SIGNIFICANCE
from kernelcal.errors import InputError
from kernelcal.inference.laws import not_redrawn
from kernelcal.io import ReadOptions, opened
from kernelcal.runs import Run

__all__ = ["add_ranks"]


def add_ranks(parser: argparse.ArgumentParser) -> None:
    """Options of the command."""
    parser.description = "Are ranks uniform? Simulation-based calibration from ranks alone, or PIT values alone."
    parser.add_argument(
        "files", nargs=1, type=Path, metavar="FILE", help="csv, tsv, npz, parquet, jsonl; or npz with theta and samples"
    )
    parser.add_argument("--ranks", metavar="NAMES", help="columns of ranks: names a,b,c or a glob such as 'rank_*'")
    parser.add_argument("--pit", metavar="NAMES", help="columns of PIT values instead, numbers from 0 to 1")
    parser.add_argument("--draws-per-rank", type=int, metavar="L", help="number of draws that every rank is among")
    parser.add_argument(
        "--first-rank", type=int, choices=(0, 1), help="rank of a value below all draws (default: what ranks allow)"
    )
    parser.add_argument("--clusters", metavar="NAME", help="column of what simulations share that depend on each other")
    parser.add_argument("--delimiter", metavar="CHARACTER", help="between the cells of a csv file")
    parser.add_argument(
        "--confidence-level", type=float, default=CONFIDENCE_LEVEL, metavar="P", help="of bands (default: %(default)s)"
    )
    parser.add_argument(
        "--alpha", type=float, default=SIGNIFICANCE, metavar="P", help="level of the tests (default: %(default)s)"
    )
    parser.add_argument("--draws", type=int, metavar="B", help=f"draws of the exact tests (default: {DRAWS})")
    parser.add_argument("--seed", type=whole_number, default=0, help="seed of the draws (default: %(default)s)")
    parser.add_argument("--all-draws", action="store_true", help="do not stop early once p is clearly large")
    parser.add_argument("--plot", type=Path, metavar="FILE", help="draw all parameters, a png, svg or pdf")
    parser.add_argument(
        "--picture", choices=("ecdf", "histogram"), default="ecdf", help="what --plot draws (default: %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--fail-below", type=level, metavar="P", help="exit status 1 if the p-value of all parameters is below P"
    )
    parser.set_defaults(fail_above=None, runs=run_ranks)


def run_ranks(options: argparse.Namespace) -> int:
    """Read, say what was read, test, draw and judge."""
    from kernelcal.ranks import ranks_tested, read_ranks  # imported when needed: the other commands stay light

    run = Run(
        confidence_level=options.confidence_level,
        alpha=options.alpha,
        draws=DRAWS if options.draws is None else options.draws,
        rng=options.seed,
        early_stopping=not options.all_draws,
    )
    refuse_picture(options.plot)
    path = options.files[0]
    try:
        source = opened(options.files, ReadOptions(delimiter=options.delimiter))
        asked = {name: getattr(options, name) for name in ("ranks", "pit", "draws_per_rank", "clusters")}
        read = read_ranks(source, first=options.first_rank, rng=run.rng, **asked)
        run = replace(run, draws=draws_for_gates(options, DRAWS, _times(read, run)))
        found = ranks_tested(read.table, run, clusters=read.clusters, joint=read.joint)
    except InputError as error:
        raise InputError(without_drops(naming(error, [path]))) from None
    result = {"read": read.sentence, **found.to_dict()}
    if not options.json:
        say(f"{read.sentence}\n{found.summary()}")
    if options.plot is not None:
        write_picture(found.plot(options.picture)[0].figure, options.plot, to_errors=options.json)
    status = ended_by([Judged(str(path), found.pvalue, None)], options, result)
    if options.json:
        say(json.dumps(result, indent=2, allow_nan=False))
    return status


def _times(read: Any, run: Run) -> int:
    """What the smallest p-value is multiplied by: parameters, and sets of simulations that are independent."""
    own = {} if read.clusters is None else {"clusters": read.clusters}
    case = read.table.case(0, run.rng, **own)
    sets = len(case.rows.thinned) if case.rows is not None and case.rows.overlap and not_redrawn(case) else 1
    return len(read.table.names) * sets
