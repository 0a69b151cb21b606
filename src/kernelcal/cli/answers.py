"""What a command answers about one table that was read: `evaluate`, `explain` and `test` here, others beside theirs.

A command about one table is a parser with two defaults: ``answers``, which makes an `Answer` of a `Question`, and where
it refuses more than others do ``refuses``, called with the options before a file is opened. Reading, printing, gates
and JSON are the same for all.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from kernelcal.cases import Case
from kernelcal.cli.common import with_engine
from kernelcal.cli.gates import Judged, asked_gates, judged
from kernelcal.errors import InputError
from kernelcal.evaluation import evaluated
from kernelcal.explanation import columns_of_text, explained
from kernelcal.inference.test import asked, asked_test
from kernelcal.io import Data
from kernelcal.lenses import ClassWise
from kernelcal.runs import Run
from kernelcal.tables import Shown

__all__ = ["Answer", "Question", "evaluation_answer", "explanation_answer", "refuse_test", "test_answer"]


@dataclass(frozen=True)
class Question:
    """One table, checked, and how to compute.

    Attributes
    ----------
    name : str
        Of its files, for gates.
    data : Data
        What was read.
    case : Case
        The same, seen through the lens.
    run : Run
        Draws enough for the gates.
    every : ClassWise or None
        A lens that asks about every class in turn, which the case is not seen through.
    """

    name: str
    data: Data
    case: Case
    run: Run
    every: ClassWise | None

    @property
    def groups(self) -> Any:
        """Columns of groups."""
        return columns_of_text(self.data.groups)


@dataclass(frozen=True)
class Answer:
    """What was found.

    Attributes
    ----------
    found : Any
        Prints, and gives values for JSON.
    looked_at : list of Judged
        What gates look at.
    beside : mapping of str to Shown
        Printed below, and in JSON under these names.
    writes : callable, optional
        Writes pictures and pages, once the answer was printed.
    """

    found: Any
    looked_at: list[Judged]
    beside: Mapping[str, Shown] = field(default_factory=dict)
    writes: Callable[[], None] | None = None


def evaluation_answer(question: Question, options: argparse.Namespace) -> Answer:
    """Answer of ``kernelcal evaluate``."""
    found = evaluated(question.case, question.run, groups=question.groups)
    return Answer(found, judged(question.name, found))


def explanation_answer(question: Question, options: argparse.Namespace) -> Answer:
    """Answer of ``kernelcal explain``, judged by an evaluation beside it, if anything is."""
    why = explained(question.case, question.run, groups=question.groups)
    if not asked_gates(options):
        return Answer(why, [])
    found = evaluated(question.case, question.run)
    return Answer(why, judged(question.name, replace(found, by_group=why.by_group)), {"evaluation": found})


def test_answer(question: Question, options: argparse.Namespace) -> Answer:
    """Answer of ``kernelcal test``."""
    statistic, weighted = with_engine(options.statistic, question.run.engine), question.data.weights is not None
    law = asked_test(statistic, options.null, weighted=weighted)
    found = asked(question.case, *law, question.every, question.run)
    return Answer(found, [Judged(question.name, found.pvalue, None)])


def refuse_test(options: argparse.Namespace) -> None:
    """Refuse a statistic and a law that do not go together, and a gate that has nothing to look at."""
    asked_test(with_engine(options.statistic, options.run.engine), options.null, weighted=bool(options.weights))
    if options.fail_above is not None:
        raise InputError("test measures no error: --fail-above belongs to evaluate, explain, compare and report")
