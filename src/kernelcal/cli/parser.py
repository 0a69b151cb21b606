"""Options of the command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from kernelcal import __version__
from kernelcal.cli.answers import evaluation_answer, explanation_answer, refuse_test, test_answer
from kernelcal.cli.commands import ADD_COMMANDS
from kernelcal.cli.common import seed
from kernelcal.cli.ending import say
from kernelcal.cli.gates import add_gates
from kernelcal.cli.measuring import add_clinical, add_measure, refuse_measures
from kernelcal.cli.reading import add_reading
from kernelcal.cli.streaming import add_streaming, run_merge
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, DRAWS_OF_A_PASS, SIGNIFICANCE
from kernelcal.inference import NULL_LAWS, STATISTICS
from kernelcal.lenses import LENSES
from kernelcal.pairs import ENGINES

__all__ = ["argument_parser"]


_DIGITS = 40  # of a whole number: Python itself reads no more than some thousands
_ONE_TABLE = "one file, or two npy files; a folder or a quoted glob is one table"
_PAGE = "the page, .html; a file of this name is replaced (default: %(default)s)"


class _Parser(argparse.ArgumentParser):
    """Messages repeat what was typed, control characters written out; an output that fails is an error."""

    def _print_message(self, message: str, file: Any = None) -> None:
        say(message.removesuffix("\n"), to_errors=file is not sys.stdout)


def argument_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(prog="kernelcal", description="Can a probabilistic model be believed? Calibration of predictions.")
    parser.add_argument("--version", action="version", version=f"kernelcal {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    every = commands.add_parser(
        "evaluate",
        help="scores, calibration errors, exact p-value and a verdict",
        description="Is this model calibrated, how far off, in which direction, and with what certainty?",
    )
    every.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="csv, tsv, npz, parquet, jsonl, or two npy files; a folder or a quoted glob is one table",
    )
    every.add_argument(
        "--plan", action="store_true", help="say which engines would run, their memory and time, and stop"
    )
    every.set_defaults(answers=evaluation_answer)
    test = commands.add_parser("test", help="the exact test alone, with every member of its family")
    test.add_argument("files", nargs="+", type=Path, metavar="FILE", help=_ONE_TABLE)
    test.add_argument(
        "--statistic",
        choices=tuple(STATISTICS),
        default="default",
        help=f"what is tested (default: %(default)s). {STATISTICS.help}",
    )
    test.add_argument(
        "--null", choices=tuple(NULL_LAWS), help="its law under calibration (default: exact; for draws: swap)"
    )
    test.set_defaults(refuses=refuse_test, answers=test_answer)
    several = commands.add_parser(
        "compare",
        help="several models on the same rows: which is better calibrated, and how certainly",
        description="Which of several models is better calibrated on the same rows, and how certainly?",
    )
    several.add_argument(
        "files",
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a file a model (of a folder or a quoted glob too), or one table with --model-column",
    )
    _add_models(several.add_argument_group("the models"))
    page, where, fields = _add_report(commands), _add_explain(commands), add_measure(commands)
    clinical = add_clinical(commands)
    _add_merge(commands)
    for add_command in ADD_COMMANDS:
        made = add_command(commands)
        if made is not None:
            add_reading(made)
    for command in (every, several, page, where, fields, clinical):
        command.add_argument(
            "--confidence-level",
            type=float,
            default=CONFIDENCE_LEVEL,
            metavar="P",
            help="coverage of the intervals (default: %(default)s)",
        )
        command.add_argument(
            "--groups",
            metavar="NAMES",
            help="columns a,b whose values are groups of rows, each tested and measured; measured numbers are cut",
        )
    for command in (every, several, page, where):
        command.add_argument(
            "--within",
            type=float,
            metavar="EPS",
            help="also test whether each model is calibrated to within this root of the SKCE, such as 0.05",
        )
    for command in (test, page, where, fields, clinical):
        command.add_argument("--together", action="store_true", help="all files are parts of one table")
    add_streaming(every.add_argument_group("files larger than memory"))
    for command in (every, test, page, where):
        command.add_argument(
            "--given",
            metavar="NAMES",
            help="columns that are known before the outcomes: are predictions right given these too, and where not?",
        )
    for command in (every, test, several, page, where, fields, clinical):
        _add_dependence(command.add_argument_group("rows that depend on each other"))
        add_reading(command)
        _add_testing(command, one=command in (every, test))
        add_gates(command.add_argument_group("gates: exit status 1"), of_measures=command in (fields, clinical))
    return parser


def _add_dependence(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--clusters",
        metavar="NAMES",
        help="columns whose values are shared by rows that may depend on each other: a patient, a question, a race",
    )
    group.add_argument(
        "--horizon",
        metavar="H",
        help="steps that a forecast looks ahead, or a column that says it: forecasts less than H steps apart overlap, "
        "with 1 none do",
    )
    group.add_argument(
        "--time",
        metavar="NAME",
        help="with --horizon: column of times at regular steps, numbers or ISO dates (default: the order of the rows)",
    )
    group.add_argument(
        "--series", metavar="NAMES", help="with --horizon: columns that tell series apart, such as a station"
    )


def _add_report(commands: Any) -> argparse.ArgumentParser:
    page: argparse.ArgumentParser = commands.add_parser(
        "report",
        help="one HTML page: verdict, numbers, pictures, where the model is wrong, method and data",
        description="Write one self-contained HTML page about one model, or several of the same rows.",
    )
    page.add_argument(
        "files",
        nargs="*",
        type=Path,
        metavar="FILE",
        help="a file a model (of a folder or glob too), or one table of several",
    )
    page.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="a page of the history that kernelcal monitor keeps, or of sums that evaluate --save or merge -o wrote, "
        "without files",
    )
    page.add_argument("-o", "--output", type=Path, default=Path("report.html"), metavar="PAGE", help=_PAGE)
    page.add_argument(
        "--measures", metavar="NAMES", help="also a table of measures or fields a,b, as kernelcal measure"
    )
    page.add_argument("--title", metavar="TEXT", help="title of the page (default: what it is about)")
    _add_models(page.add_argument_group("the models"), plot=False)
    page.set_defaults(refuses=refuse_measures, usual=page.get_default)
    return page


def _add_explain(commands: Any) -> argparse.ArgumentParser:
    where: argparse.ArgumentParser = commands.add_parser(
        "explain",
        help="where the model is wrong: at which predictions, in which classes, groups and rows",
        description="Where is this model wrong: at which predictions, in which classes, groups of rows, rows?",
    )
    where.add_argument("files", nargs="+", type=Path, metavar="FILE", help=_ONE_TABLE)
    where.set_defaults(answers=explanation_answer)
    return where


def _add_merge(commands: Any) -> None:
    merge = commands.add_parser(
        "merge",
        help="add up what evaluate --save wrote, and say what all rows tell",
        description="Add up the sums that kernelcal evaluate --save wrote of several tables, as if they had been one.",
    )
    merge.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="npz files of --save; a folder or a quoted glob of these"
    )
    merge.add_argument("-o", "--output", type=Path, metavar="FILE", help="keep the sum in an npz file")
    merge.add_argument(
        "--confidence-level",
        type=float,
        default=CONFIDENCE_LEVEL,
        metavar="P",
        help="coverage of the intervals (default: %(default)s)",
    )
    merge.add_argument(
        "--alpha",
        type=float,
        default=SIGNIFICANCE,
        metavar="P",
        help="level at which verdicts reject (default: %(default)s)",
    )
    merge.add_argument("--json", action="store_true", help="print JSON")
    add_gates(merge.add_argument_group("gates: exit status 1"))
    merge.set_defaults(runs=run_merge)


def _add_models(group: argparse._ArgumentGroup, *, plot: bool = True) -> None:
    group.add_argument("--model-column", metavar="NAME", help="column of one table that names the model of a row")
    group.add_argument(
        "--row-id",
        metavar="NAMES",
        help="columns that tell rows apart: rows of other models are put into the order of the first; without it "
        "they must be in the same order (long tables know their rows)",
    )
    if plot:
        group.add_argument(
            "--plot", type=Path, metavar="FILE", help="draw the CKCE with its intervals, a png, svg or pdf"
        )


def _add_testing(parser: argparse.ArgumentParser, *, one: bool) -> None:
    group = parser.add_argument_group("the test")
    group.add_argument(
        "--lens",
        metavar="LENS",
        help=f"a simpler question. {LENSES.help}",
    )
    group.add_argument(
        "--draws",
        type=_draws,
        metavar="B",
        help=f"draws of the exact test (default: {DRAWS}; of rows read in parts {DRAWS_OF_A_PASS})",
    )
    group.add_argument(
        "--seed", type=seed, default=0, help="seed of the draws, a whole number from 0 (default: %(default)s)"
    )
    group.add_argument(
        "--alpha",
        type=float,
        default=SIGNIFICANCE,
        metavar="P",
        help="level at which verdicts, tables and corrected tests reject (default: %(default)s)",
    )
    group.add_argument("--all-draws", action="store_true", help="do not stop early once p is clearly large")
    group.add_argument("--json", action="store_true", help="print JSON: an object, or a list for several files")
    if one:
        group.add_argument(
            "--engine",
            choices=tuple(ENGINES),
            help=f"how pairs of rows are summed (default: chosen by rows and classes, see --plan). {ENGINES.help}",
        )
        group.add_argument(
            "--features", type=_count, metavar="D", help="with --engine nystrom or fourier: their number"
        )


def _count(text: str) -> int:
    if not text.strip().isdecimal() or len(text) > _DIGITS or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text[:_DIGITS]!r}")
    return int(text)


def _draws(text: str) -> int:
    try:
        if len(text) > _DIGITS:
            raise ValueError
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number such as {DRAWS}, got {text[:_DIGITS]!r}") from None
