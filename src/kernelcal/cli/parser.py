"""Options of the command line."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from kernelcal import __version__
from kernelcal.cli.commands import ADD_COMMANDS
from kernelcal.cli.ending import say
from kernelcal.cli.gates import add_gates
from kernelcal.cli.measuring import add_measure
from kernelcal.cli.streaming import add_streaming, run_merge
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, DRAWS_OF_A_PASS, SIGNIFICANCE
from kernelcal.inference import NULL_LAWS, STATISTICS
from kernelcal.io import CROSSING, KINDS
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
    _add_merge(commands)
    for add_command in ADD_COMMANDS:
        add_command(commands)
    for command in (every, several, page, where, fields):
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
    for command in (test, page, where, fields):
        command.add_argument("--together", action="store_true", help="all files are parts of one table")
    add_streaming(every.add_argument_group("files larger than memory"))
    for command in (every, test, page, where):
        command.add_argument(
            "--given",
            metavar="NAMES",
            help="columns that are known before the outcomes: are predictions right given these too, and where not?",
        )
    for command in (every, test, several, page, where, fields):
        _add_dependence(command.add_argument_group("rows that depend on each other"))
        _add_reading(command)
        _add_testing(command, one=command in (every, test))
        add_gates(command.add_argument_group("gates: exit status 1"), of_measures=command is fields)
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
        nargs="+",
        type=Path,
        metavar="FILE",
        help="a file a model (of a folder or glob too), or one table of several",
    )
    page.add_argument("-o", "--output", type=Path, default=Path("report.html"), metavar="PAGE", help=_PAGE)
    page.add_argument("--title", default="Calibration report", metavar="TEXT", help="title of the page")
    _add_models(page.add_argument_group("the models"), plot=False)
    return page


def _add_explain(commands: Any) -> argparse.ArgumentParser:
    where: argparse.ArgumentParser = commands.add_parser(
        "explain",
        help="where the model is wrong: at which predictions, in which classes, groups and rows",
        description="Where is this model wrong: at which predictions, in which classes, groups of rows, rows?",
    )
    where.add_argument("files", nargs="+", type=Path, metavar="FILE", help=_ONE_TABLE)
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


def _add_reading(parser: argparse.ArgumentParser) -> None:
    """Options of `ReadOptions`, one group a kind of file."""
    _add_rows(parser.add_argument_group("what the file holds"))
    _add_classes(parser.add_argument_group("predictions of classes"))
    _add_numbers(
        parser.add_argument_group(
            "predictions of numbers",
            "NAMES are a list a,b,c or a glob such as 'm_*'. In npz files the arrays y and mean with std, variance or "
            "cov, samples, or quantiles with levels are found by these names.",
        )
    )
    _add_long(
        parser.add_argument_group(
            "long tables",
            "One line a quantile or a draw of a number. Hubverse tables are known by their columns and need "
            "only --truth.",
        )
    )


def _add_rows(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--target",
        metavar="NAME",
        help="target column; columns a,b,c: one-hot classes in the order of the classes, or the numbers of a vector; "
        "with --truth: column of that file",
    )
    group.add_argument("--weights", metavar="NAME", help="column of case weights")
    group.add_argument(
        "--where",
        action="append",
        metavar="COLUMN=VALUE",
        help="keep only rows with this value; can be said again, of one column for either value, of several for both",
    )
    group.add_argument(
        "--abstained",
        metavar="COLUMN",
        help="column that says where there was no answer, or COLUMN=VALUE (of empty cells COLUMN=): these rows are "
        "counted and left out",
    )
    group.add_argument(
        "--drop-missing", action="store_true", help="leave out rows with missing values, and say how many"
    )
    group.add_argument(
        "--missing", metavar="WORDS", help="further words a,b,c of a text file that stand for a missing value"
    )
    group.add_argument(
        "--drop-target", metavar="VALUE", help="leave out rows with this target (draws, unclear outcomes)"
    )
    group.add_argument(
        "--explain-reading",
        action="store_true",
        help="say which columns were taken for what and why, and the command that states it, and stop",
    )
    group.add_argument(
        "--delimiter", metavar="CHARACTER", help="between the cells of a csv file: one character, or the word tab"
    )


def _add_classes(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--predictions", metavar="NAMES", help="prediction columns: names a,b,c or a glob such as 'p*'")
    group.add_argument(
        "--kind", choices=KINDS, default="probabilities", help="what the predictions are (default: %(default)s)"
    )
    group.add_argument(
        "--predicted-label",
        metavar="NAME",
        help="column of the predicted label, in which the predictions are the confidence (also --kind percent)",
    )
    group.add_argument(
        "--classes",
        metavar="LABELS",
        help="labels a,b,c in the order of the columns, or a column that holds them; for one column: negative,positive",
    )
    group.add_argument("--one-based", action="store_true", help="the labels count from 1")
    group.add_argument("--normalize", action="store_true", help="divide every row by its sum")


def _add_numbers(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--mean", metavar="NAMES", help="means, one column a target")
    group.add_argument("--std", metavar="NAMES", help="standard deviations, in the order of the means")
    group.add_argument("--variance", metavar="NAMES", help="variances instead: their roots are taken")
    group.add_argument("--samples", metavar="NAMES", help="members of an ensemble or draws, or one wide array of them")
    group.add_argument(
        "--quantiles", metavar="NAMES", help="quantiles; the names end in the levels (q0.05), or say --quantile-levels"
    )
    group.add_argument(
        "--quantile-levels",
        metavar="LEVELS",
        help="levels 0.05,0.5,0.95 in the order of the columns, or an array of them",
    )
    group.add_argument(
        "--interval",
        type=float,
        metavar="SHARE",
        help="share of the outcomes that a lower and an upper end shall hold, such as 0.9 of 90 %% intervals",
    )
    group.add_argument(
        "--family",
        metavar="NAME",
        help="family whose parameters the columns hold, such as student-t, gamma, beta, poisson, binomial, dirichlet",
    )
    group.add_argument(
        "--parameters",
        metavar="NAMES",
        help="with --family: its columns in the order of its parameters (default: called as these); a number serves "
        "all rows",
    )
    group.add_argument(
        "--crossing", choices=CROSSING, default="raise", help="what happens to rows with crossing quantiles"
    )
    group.add_argument(
        "--resolution",
        type=_width,
        default=0.0,
        metavar="H",
        help="of quantiles: width to which the outcomes were rounded, such as 0.1 or 1, in their unit: an outcome "
        "counts as below or above a quantile only if all that it may have been does",
    )


def _add_long(group: argparse._ArgumentGroup) -> None:
    group.add_argument("--long", action="store_true", help="one line a quantile or draw; columns by their usual names")
    group.add_argument("--value", metavar="NAME", help="column of the quantiles or draws")
    group.add_argument("--level", metavar="NAME", help="column of the levels: the table holds quantiles")
    group.add_argument("--sample-id", metavar="NAME", help="column that tells draws apart: the table holds draws")
    group.add_argument(
        "--unit",
        metavar="NAMES",
        help="columns that tell predictions apart (default: all that are not named otherwise)",
    )
    group.add_argument(
        "--truth", type=Path, metavar="FILE", help="file with the outcomes, of tables with a row a prediction too"
    )
    group.add_argument(
        "--truth-keys",
        metavar="KEYS",
        help="columns of table and truth file that agree, mine=theirs (default: of a long table location=location,"
        "target_end_date=date, and target if both have it; of others the column that tells rows apart in both files)",
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
        "--seed", type=_seed, default=0, help="seed of the draws, a whole number from 0 (default: %(default)s)"
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


def _seed(text: str) -> int:
    if not text.strip().isdecimal() or len(text) > _DIGITS:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, got {text[:_DIGITS]!r}")
    return int(text)


def _width(text: str) -> float:
    try:
        width = float(text)
    except ValueError:
        width = -1.0
    if not 0 <= width < float("inf"):
        raise argparse.ArgumentTypeError(
            f"expected the width to which outcomes were rounded, such as 0.1 or 1, or 0, got {text!r}"
        )
    return width
