"""Commands about one table: it is read, the command answers, and the answer is printed, gated and written as JSON.

Such a command has options (`cli.options`) with these defaults: ``runs=run_tables``; ``answers``, which makes an
`Answer` of a `Question`; and where it refuses more than others do ``refuses``, called with the options before a file is
opened.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kernelcal.cases import Case
from kernelcal.cli.common import bar, check_lens, engine_of, lens_of
from kernelcal.cli.ending import FINE, naming, refused, say
from kernelcal.cli.gates import (
    Judged,
    draws_for_gates,
    ended_by,
    judged,
    with_draws_of_sets,
    within_bound,
)
from kernelcal.cli.reading import reading_of
from kernelcal.cli.streaming import (
    check_streaming,
    is_one_table,
    refuse_whole,
    run_in_parts,
    why_after_reading,
    why_in_parts,
)
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS
from kernelcal.errors import InputError, KernelcalError, naming_rows
from kernelcal.evaluation import Plan, plan
from kernelcal.explanation import columns_of_text
from kernelcal.inference.intervals import checked_bound
from kernelcal.io import Data, ReadOptions, read
from kernelcal.lenses import ClassWise
from kernelcal.predictions import ClassPredictions, Predictions, ScorePredictions
from kernelcal.runs import Run
from kernelcal.tables import Shown

__all__ = ["Answer", "Question", "asked_reading", "prepare", "run_tables", "tables_of"]


_LONG = 5.0  # seconds from which on the plan is said unasked
_LITTLE = 200_000  # probabilities up to which nothing takes so long


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


def run_tables(options: argparse.Namespace) -> int:
    """Answer about every file by itself, or about one table of all; returns the exit status."""
    prepare(options)
    results: list[dict[str, Any]] = []
    statuses = [FINE]
    groups = tables_of(options.files, together=options.together)
    check_streaming(groups, options)
    for paths in groups:
        try:
            result, found = _run(paths, options, first=not results)
            statuses.append(ended_by(found, options, result))
        except (KernelcalError, UnicodeError) as error:
            return refused(naming(error, paths))
        results.append(result)
    if options.json:
        say(json.dumps(results if len(results) > 1 else results[0], indent=2, allow_nan=False))
    return max(statuses)


def prepare(options: argparse.Namespace) -> None:
    """Settle how to compute, and refuse names that are not known and options that do not go together.

    No file is opened before.
    """
    options.run = _run_of(options)
    check_lens(options.lens, every=options.command == "test")
    if hasattr(options, "refuses"):
        options.refuses(options)
    if getattr(options, "within", None) is not None:
        checked_bound(options.within)


def _run_of(options: argparse.Namespace) -> Run:
    sides = options.sides(options) if hasattr(options, "sides") else 1
    return Run(
        confidence_level=getattr(options, "confidence_level", CONFIDENCE_LEVEL),
        alpha=options.alpha,
        draws=draws_for_gates(options, DRAWS, sides),
        rng=options.seed,
        early_stopping=not options.all_draws,
        engine=engine_of(getattr(options, "engine", None), getattr(options, "features", None)),
    )


def asked_reading(options: argparse.Namespace) -> ReadOptions:
    """What was said about the file."""
    return reading_of(options, unasked=options.command != "test" or options.null is None)


def _run(paths: list[Path], options: argparse.Namespace, *, first: bool) -> tuple[dict[str, Any], list[Judged]]:
    """Read, say what was read, compute and print; returns values for JSON, and what gates look at."""
    name, why = " and ".join(map(str, paths)), why_in_parts(paths, options)
    if why is not None and options.explain_reading:
        from kernelcal.stream import explain_files  # most files are read at once

        say(explain_files(paths, asked_reading(options), _without_explaining(options)))
        return {"read": why}, []
    if why is not None:
        return _in_parts(paths, why, name, options, first=first)
    if getattr(options, "pool_groups", None) is not None:
        raise InputError("--pool-groups is for rows that are read in parts: say --one-pass, or leave it out")
    data = _read(paths, options)
    if options.explain_reading:
        say(data.explained(_without_explaining(options)))
        return {"read": data.description}, []
    why = why_after_reading(data, lens_of(options.lens, data.predictions), paths, options)
    if why is not None:
        del data
        return _in_parts(paths, why, name, options, first=first)
    if not options.json:
        say(data.sentence if first else f"\n{data.sentence}")
    planned = _planned(data, options)
    if planned is not None:
        if not options.json:
            say(planned.summary())
        return {"read": data.description, **planned.to_dict()}, []
    return _compute(data, name, options)


def _read(paths: list[Path], options: argparse.Namespace) -> Data:
    """Rows of one file, or of several that are one table."""
    if not is_one_table(paths, options):
        return read(paths, asked_reading(options))
    from kernelcal.stream import read_together

    return read_together(paths, asked_reading(options))


def _in_parts(
    paths: list[Path], why: str, name: str, options: argparse.Namespace, *, first: bool
) -> tuple[dict[str, Any], list[Judged]]:
    """The same in one pass over parts."""
    refuse_whole(options, why)
    result, found = run_in_parts(paths, why, asked_reading(options), options, first=first)
    return result, [] if found is None else judged(name, found)


def _without_explaining(options: argparse.Namespace) -> list[str]:
    """The command as it was typed, but for the option that asks how it is understood."""
    return ["kernelcal", *(part for part in map(str, options.said) if part != "--explain-reading")]


def _planned(data: Data, options: argparse.Namespace) -> Plan | None:
    """The plan, if only that is asked for; of work that takes long it is said in a line."""
    if options.command != "evaluate" or isinstance(data.predictions, ScorePredictions):
        return None
    run, lens = options.run, lens_of(options.lens, data.predictions)
    if not options.plan and (options.json or _is_little(data.predictions, run)):
        return None
    found = plan(data.predictions, lens=lens, draws=run.draws, engine=run.engine)
    if not options.plan and found.seconds >= _LONG:
        say(found.sentence())
    return found if options.plan else None


def _is_little(predictions: Predictions, run: Run) -> bool:
    """Tell whether there is no need to plan: a plan takes time too, since it chooses the engines."""
    few = isinstance(predictions, ClassPredictions) and len(predictions) * predictions.columns <= _LITTLE
    return few and run.engine is None and run.draws <= DRAWS


def _compute(data: Data, name: str, options: argparse.Namespace) -> tuple[dict[str, Any], list[Judged]]:
    lens = lens_of(options.lens, data.predictions)
    every = lens if isinstance(lens, ClassWise) else None
    with bar() as progress, naming_rows(data.row_in_words):
        run = replace(with_draws_of_sets(options, data, None if every else lens), progress=progress)
        known = {"weights": data.weights, "given": data.given, **data.dependence}
        case = replace(Case.of(data.y, data.predictions, lens=None if every else lens, **known), numbers=data.numbers)
        answer: Answer = options.answers(Question(name, data, case, run, every), options)
        beside = dict(answer.beside)
        if getattr(options, "within", None) is not None:
            beside["equivalence"] = within_bound(case, run, options.within)
    if not options.json:
        say("\n\n".join(part.summary() for part in (answer.found, *beside.values())))
    if answer.writes is not None:
        answer.writes()
    if not options.json:  # figures that no line shows cost time, too
        return {}, answer.looked_at
    more = {key: part.to_dict() for key, part in beside.items()}  # type: ignore[attr-defined]
    return {"read": data.description, **answer.found.to_dict(), **more}, answer.looked_at


def tables_of(files: Sequence[Path], *, together: bool = False) -> list[list[Path]]:
    """Every file stands for itself, unless all are one table; but npy files belong together: they must be two."""
    if together:
        return [list(files)]
    arrays = [path for path in files if path.suffix.lower() == ".npy"]
    others = [[path] for path in files if path not in arrays]
    return [arrays, *others] if arrays else others
