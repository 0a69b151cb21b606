"""``kernelcal evaluate``: one model, whole."""

from __future__ import annotations

import argparse

from kernelcal.cli.gates import judged
from kernelcal.cli.options import add_files, add_given, add_intervals, add_rows_and_test
from kernelcal.cli.streaming import add_streaming
from kernelcal.cli.tables import Answer, Question, run_tables
from kernelcal.evaluation import evaluated

__all__ = ["add_evaluate"]


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


def _evaluation_answer(question: Question, options: argparse.Namespace) -> Answer:
    """Answer of ``kernelcal evaluate``."""
    found = evaluated(question.case, question.run, groups=question.groups)
    return Answer(found, judged(question.name, found))
