"""What may be said about a file: the options of `ReadOptions`, for every command that reads predictions."""

from __future__ import annotations

import argparse
from pathlib import Path

from kernelcal.io import CROSSING, KINDS, ReadOptions

__all__ = ["add_reading", "reading_of"]


_FIELDS = ReadOptions.known()


def reading_of(options: argparse.Namespace, *, unasked: bool = True) -> ReadOptions:
    """What was said about the file; a command that does not ask leaves the default.

    `unasked` says whether a file may tell unasked which of its rows depend on each other.
    """
    said = {name: getattr(options, name) for name in _FIELDS if hasattr(options, name)}
    return ReadOptions(**said, unasked=unasked)


def add_reading(parser: argparse.ArgumentParser) -> None:
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
