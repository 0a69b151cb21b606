"""``kernelcal test``: the test alone, of any statistic and null law."""

from __future__ import annotations

import argparse

from kernelcal.cli.common import with_engine
from kernelcal.cli.gates import Judged
from kernelcal.cli.options import add_files, add_given, add_rows_and_test, add_together
from kernelcal.cli.tables import Answer, Question, run_tables
from kernelcal.errors import InputError
from kernelcal.inference import NULL_LAWS, STATISTICS
from kernelcal.inference.test import asked, asked_test

__all__ = ["add_test"]


def add_test(parser: argparse.ArgumentParser) -> None:
    """Options of ``kernelcal test``."""
    add_files(parser)
    parser.add_argument(
        "--statistic",
        choices=tuple(STATISTICS),
        default="default",
        help=f"what is tested (default: %(default)s). {STATISTICS.help}",
    )
    parser.add_argument(
        "--null", choices=tuple(NULL_LAWS), help="its law under calibration (default: exact; for draws: swap)"
    )
    add_together(parser)
    add_given(parser)
    add_rows_and_test(parser, one=True)
    parser.set_defaults(runs=run_tables, refuses=_refuse_test, answers=_test_answer)


def _test_answer(question: Question, options: argparse.Namespace) -> Answer:
    """Answer of ``kernelcal test``."""
    statistic, weighted = with_engine(options.statistic, question.run.engine), question.data.weights is not None
    law = asked_test(statistic, options.null, weighted=weighted)
    found = asked(question.case, *law, question.every, question.run)
    return Answer(found, [Judged(question.name, found.pvalue, None)])


def _refuse_test(options: argparse.Namespace) -> None:
    """Refuse a statistic and a law that do not go together, and a gate that has nothing to look at."""
    asked_test(with_engine(options.statistic, options.run.engine), options.null, weighted=bool(options.weights))
    if options.fail_above is not None:
        raise InputError("test measures no error: --fail-above belongs to evaluate, explain, compare and report")
