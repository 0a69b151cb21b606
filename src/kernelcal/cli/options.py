"""Groups of options that several commands have: intervals and groups, rows that depend, the test, models."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from kernelcal.cli.common import DIGITS, whole_number
from kernelcal.cli.gates import add_gates
from kernelcal.cli.reading import add_reading
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS, DRAWS_OF_A_PASS, SIGNIFICANCE
from kernelcal.lenses import LENSES
from kernelcal.pairs import ENGINES

__all__ = [
    "add_confidence_level",
    "add_files",
    "add_given",
    "add_intervals",
    "add_models",
    "add_rows_and_test",
    "add_together",
]


_ONE_TABLE = "one file, or two npy files; a folder or a quoted glob is one table"


def add_files(parser: argparse.ArgumentParser, words: str = _ONE_TABLE, *, least: int = 1) -> None:
    """What is read; at least so many files, 0 or 1."""
    parser.add_argument("files", nargs="+" if least else "*", type=Path, metavar="FILE", help=words)


def add_confidence_level(parser: argparse.ArgumentParser) -> None:
    """Coverage of intervals."""
    parser.add_argument(
        "--confidence-level",
        type=float,
        default=CONFIDENCE_LEVEL,
        metavar="P",
        help="coverage of the intervals (default: %(default)s)",
    )


def add_intervals(parser: argparse.ArgumentParser, *, within: bool = True) -> None:
    """Intervals of all rows and of groups, and where errors are those of the SKCE a bound that is tested as well."""
    add_confidence_level(parser)
    parser.add_argument(
        "--groups",
        metavar="NAMES",
        help="columns a,b whose values are groups of rows, each tested and measured; measured numbers are cut",
    )
    if within:
        parser.add_argument(
            "--within",
            type=float,
            metavar="EPS",
            help="also test whether each model is calibrated to within this root of the SKCE, such as 0.05",
        )


def add_together(parser: argparse.ArgumentParser) -> None:
    """Several files as one table."""
    parser.add_argument("--together", action="store_true", help="all files are parts of one table")


def add_given(parser: argparse.ArgumentParser) -> None:
    """Columns beside which predictions are to be right."""
    parser.add_argument(
        "--given",
        metavar="NAMES",
        help="columns that are known before the outcomes: are predictions right given these too, and where not?",
    )


def add_models(group: argparse._ArgumentGroup) -> None:
    """Which rows are of which model."""
    group.add_argument("--model-column", metavar="NAME", help="column of one table that names the model of a row")
    group.add_argument(
        "--row-id",
        metavar="NAMES",
        help="columns that tell rows apart: rows of other models are put into the order of the first; without it "
        "they must be in the same order (long tables know their rows)",
    )


def add_rows_and_test(parser: argparse.ArgumentParser, *, one: bool = False, of_measures: bool = False) -> None:
    """What every command has that tests a table: rows that depend, what the file holds, the test, gates.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Of the command.
    one : bool
        Of commands about one statistic, which may name the engine that sums it.
    of_measures : bool
        Of commands whose gates look at measures.
    """
    _add_dependence(parser.add_argument_group("rows that depend on each other"))
    add_reading(parser)
    _add_testing(parser.add_argument_group("the test"), one=one)
    add_gates(parser.add_argument_group("gates: exit status 1"), of_measures=of_measures)


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


def _add_testing(group: argparse._ArgumentGroup, *, one: bool) -> None:
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
        "--seed", type=whole_number, default=0, help="seed of the draws, a whole number from 0 (default: %(default)s)"
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
            "--features",
            type=partial(whole_number, least=1),
            metavar="D",
            help="with --engine nystrom or fourier: their number",
        )


def _draws(text: str) -> int:
    try:
        if len(text) > DIGITS:
            raise ValueError
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a whole number such as {DRAWS}, got {text[:DIGITS]!r}") from None
