"""Command line: parse, call, print."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from kernelcal import __version__
from kernelcal.errors import KernelcalError
from kernelcal.evaluate import evaluate
from kernelcal.inference import calibration_test
from kernelcal.io import KINDS, Data, ReadOptions, read

__all__ = ["main"]

_READ_FIELDS = tuple(ReadOptions.__dataclass_fields__)
_BAR = 30


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0 done, 1 p below --fail-below, 2 bad input."""
    options = _parser().parse_args(arguments)
    try:
        results = [_run(paths, options) for paths in _groups(options.files)]
    except (KernelcalError, OSError, UnicodeDecodeError, csv.Error) as error:
        print(f"kernelcal: {_sentence(error)}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(results if len(results) > 1 else results[0], indent=2, allow_nan=False))
    below = options.fail_below is not None and any(r["pvalue"] < options.fail_below for r in results)
    return 1 if below else 0


def _sentence(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _run(paths: list[Path], options: argparse.Namespace) -> dict[str, Any]:
    data = read(paths, ReadOptions(**{name: getattr(options, name) for name in _READ_FIELDS}))
    if not options.json:
        print(data.description)
    result = _compute(data, options)
    if not options.json:
        print(result.summary(), end="\n\n" if len(options.files) > 2 else "\n")
    return {"read": data.description, **result.to_dict()}


def _compute(data: Data, options: argparse.Namespace) -> Any:
    settings = {"draws": options.draws, "rng": options.seed, "progress": _progress()}
    if options.command == "test":
        return calibration_test(data.y, data.predictions, statistic=options.statistic, **settings)
    return evaluate(data.y, data.predictions, **settings)


def _progress() -> Callable[[int, int], None] | None:
    """A bar on standard error, for people only, wiped when the work is done."""
    if not sys.stderr.isatty():
        return None

    def show(done: int, total: int) -> None:
        filled = _BAR * done // total
        print(f"\r[{'#' * filled}{'.' * (_BAR - filled)}] {done}/{total} draws", end="", file=sys.stderr, flush=True)
        if done >= total:
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    return show


def _groups(files: Sequence[Path]) -> list[list[Path]]:
    """Two npy files belong together; every other file stands for itself."""
    if all(path.suffix.lower() == ".npy" for path in files):
        return [list(files)]
    return [[path] for path in files]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kernelcal", description="Can a probabilistic model be believed? Calibration of predicted probabilities."
    )
    parser.add_argument("--version", action="version", version=f"kernelcal {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    every = commands.add_parser(
        "evaluate",
        help="scores, calibration errors, exact p-value and a verdict",
        description=evaluate.__doc__.split("\n")[0],  # type: ignore[union-attr]
    )
    every.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="csv, tsv, npz, parquet, jsonl, or two npy files"
    )
    test = commands.add_parser("test", help="the exact test alone, with every member of its family")
    test.add_argument("files", nargs="+", type=Path, metavar="FILE", help="one file, or two npy files")
    test.add_argument("--statistic", choices=("default", "skce"), default="default", help="what is tested")
    for command in (every, test):
        _add_reading(command)
        _add_testing(command)
    return parser


def _add_reading(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what the file holds")
    group.add_argument(
        "--target", metavar="NAME", help="target column, or one-hot columns a,b,c in the order of the classes"
    )
    group.add_argument("--predictions", metavar="NAMES", help="prediction columns: names a,b,c or a glob such as 'p*'")
    group.add_argument(
        "--kind", choices=KINDS, default="probabilities", help="what the predictions are (default: %(default)s)"
    )
    group.add_argument(
        "--predicted-label",
        metavar="NAME",
        help="with --kind top-label: column of the predicted label; the target is the hit",
    )
    group.add_argument(
        "--classes",
        metavar="LABELS",
        help="labels a,b,c in the order of the columns, or a column that holds them; for one column: negative,positive",
    )
    group.add_argument("--one-based", action="store_true", help="the labels count from 1")
    group.add_argument("--normalize", action="store_true", help="divide every row by its sum")
    group.add_argument(
        "--drop-missing", action="store_true", help="leave out rows with missing values, and say how many"
    )
    group.add_argument(
        "--drop-target", metavar="VALUE", help="leave out rows with this target (draws, unclear outcomes)"
    )
    group.add_argument("--delimiter", metavar="CHARACTER", help="between the cells of a csv file")


def _add_testing(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the test")
    group.add_argument(
        "--draws", type=int, default=999, metavar="B", help="draws of the exact test (default: %(default)s)"
    )
    group.add_argument("--seed", type=int, default=0, help="seed of the draws (default: %(default)s)")
    group.add_argument("--json", action="store_true", help="print JSON")
    group.add_argument("--fail-below", type=float, metavar="P", help="exit status 1 if the p-value is below P")


if __name__ == "__main__":
    sys.exit(main())
