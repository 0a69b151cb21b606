"""``kernelcal evaluate``, ``explain`` and ``test``: what they answer about one table."""

from __future__ import annotations

import argparse
from dataclasses import replace

from kernelcal.cli.common import with_engine
from kernelcal.cli.gates import Judged, asked_gates, judged
from kernelcal.cli.options import add_files, add_given, add_intervals, add_rows_and_test, add_together
from kernelcal.cli.streaming import add_streaming
from kernelcal.cli.tables import Answer, Question, run_tables
from kernelcal.errors import InputError
from kernelcal.evaluation import evaluated
from kernelcal.explanation import explained
from kernelcal.inference import NULL_LAWS, STATISTICS
from kernelcal.inference.test import asked, asked_test

__all__ = ["add_evaluate", "add_explain", "add_test"]


def add_evaluate(parser: argparse.ArgumentParser) -> None:
    """Options of ``kernelcal evaluate``."""
    parser.description = "Is this model calibrated, how far off, in which direction, and with what certainty?"
    add_files(parser, "csv, tsv, npz, parquet, jsonl, or two npy files; a folder or a quoted glob is one table")
    parser.add_argument(
        "--plan", action="store_true", help="say which engines would run, their memory and time, and stop"
    )
    add_intervals(parser)
    add_streaming(parser.add_argument_group("files larger than memory"))
    add_given(parser)
    add_rows_and_test(parser, one=True)
    parser.set_defaults(runs=run_tables, answers=_evaluation_answer)


def add_explain(parser: argparse.ArgumentParser) -> None:
    """Options of ``kernelcal explain``."""
    parser.description = "Where is this model wrong: at which predictions, in which classes, groups of rows, rows?"
    add_files(parser)
    add_intervals(parser)
    add_together(parser)
    add_given(parser)
    add_rows_and_test(parser)
    parser.set_defaults(runs=run_tables, answers=_explanation_answer)


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


def _evaluation_answer(question: Question, options: argparse.Namespace) -> Answer:
    """Answer of ``kernelcal evaluate``."""
    found = evaluated(question.case, question.run, groups=question.groups)
    return Answer(found, judged(question.name, found))


def _explanation_answer(question: Question, options: argparse.Namespace) -> Answer:
    """Answer of ``kernelcal explain``, judged by an evaluation beside it, if anything is."""
    why = explained(question.case, question.run, groups=question.groups)
    if not asked_gates(options):
        return Answer(why, [])
    found = evaluated(question.case, question.run)
    return Answer(why, judged(question.name, replace(found, by_group=why.by_group)), {"evaluation": found})


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
