"""``kernelcal explain``: where a model is wrong."""

from __future__ import annotations

import argparse
from dataclasses import replace

from kernelcal.cli.gates import asked_gates, judged
from kernelcal.cli.options import add_files, add_given, add_intervals, add_rows_and_test, add_together
from kernelcal.cli.tables import Answer, Question, run_tables
from kernelcal.evaluation import evaluated
from kernelcal.explanation import explained

__all__ = ["add_explain"]


def add_explain(parser: argparse.ArgumentParser) -> None:
    """Options of ``kernelcal explain``."""
    parser.description = "Where is this model wrong: at which predictions, in which classes, groups of rows, rows?"
    add_files(parser)
    add_intervals(parser)
    add_together(parser)
    add_given(parser)
    add_rows_and_test(parser)
    parser.set_defaults(runs=run_tables, answers=_explanation_answer)


def _explanation_answer(question: Question, options: argparse.Namespace) -> Answer:
    """Answer of ``kernelcal explain``, judged by an evaluation beside it, if anything is."""
    why = explained(question.case, question.run, groups=question.groups)
    if not asked_gates(options):
        return Answer(why, [])
    found = evaluated(question.case, question.run)
    return Answer(why, judged(question.name, replace(found, by_group=why.by_group)), {"evaluation": found})
