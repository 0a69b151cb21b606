"""Command line: parse, call, print."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelcal.cases import Case
from kernelcal.cli.answers import Answer, Question
from kernelcal.cli.commands import run_history
from kernelcal.cli.common import bar, check_lens, engine_of, lens_of, spread_out
from kernelcal.cli.ending import FINE, ended, naming, refused, say
from kernelcal.cli.gates import (
    Judged,
    draws_for_gates,
    ended_by,
    judged,
    with_draws_of_sets,
    within_bound,
)
from kernelcal.cli.models import run_compare, run_report
from kernelcal.cli.parser import argument_parser
from kernelcal.cli.reading import reading_of
from kernelcal.cli.streaming import (
    check_streaming,
    is_one_table,
    is_sums,
    refuse_whole,
    run_in_parts,
    run_sums_page,
    why_after_reading,
    why_in_parts,
)
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS
from kernelcal.errors import InputError, KernelcalError, naming_rows
from kernelcal.evaluation import Plan, plan
from kernelcal.inference.intervals import checked_bound
from kernelcal.io import Data, ReadOptions, read, readers
from kernelcal.lenses import ClassWise
from kernelcal.predictions import ClassPredictions, Predictions, ScorePredictions
from kernelcal.runs import Run
from kernelcal.stream import explain_files, read_together

__all__ = ["main"]


_LONG = 5.0  # seconds from which on the plan is said unasked
_LITTLE = 200_000  # probabilities up to which nothing takes so long


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0 fine, 1 a gate said no, 2 wrong use or input, 3 fault inside."""

    def work() -> int:
        options = argument_parser().parse_args(arguments)
        options.said = [*(sys.argv[1:] if arguments is None else arguments)]
        return _main(options)

    return ended(work)


def _main(options: argparse.Namespace) -> int:
    if hasattr(options, "runs"):
        status: int = options.runs(options)
        return status
    if getattr(options, "state", None) is not None:
        return run_sums_page(options) if is_sums(options.state) else run_history(options)
    if not options.files:
        raise InputError(
            "report needs a file of predictions, or --state FILE of kernelcal monitor or of evaluate --save"
        )
    options.run = _run_of(options)
    _refuse(options)
    if options.command in ("compare", "report"):
        return _compared(options)
    results: list[dict[str, Any]] = []
    statuses = [FINE]
    groups = _groups(options.files, together=options.together)
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


def _run_of(options: argparse.Namespace) -> Run:
    """How to compute, or refuse it before a file is opened."""
    sides = options.sides(options) if hasattr(options, "sides") else 1
    return Run(
        confidence_level=getattr(options, "confidence_level", CONFIDENCE_LEVEL),
        alpha=options.alpha,
        draws=draws_for_gates(options, DRAWS, sides),
        rng=options.seed,
        early_stopping=not options.all_draws,
        engine=engine_of(getattr(options, "engine", None), getattr(options, "features", None)),
    )


def _refuse(options: argparse.Namespace) -> None:
    """Refuse names that are not known and options that do not go together, before a file is opened."""
    check_lens(options.lens, every=options.command == "test")
    if hasattr(options, "refuses"):
        options.refuses(options)
    if getattr(options, "within", None) is not None:
        checked_bound(options.within)


def _compared(options: argparse.Namespace) -> int:
    run = run_compare if options.command == "compare" else run_report
    together = getattr(options, "together", False)
    groups = _groups(options.files if together else spread_out(options.files, readers()), together=together)
    result, found = run(groups, _reading(options), options)
    status = ended_by(found, options, result)
    if options.json:
        say(json.dumps(result, indent=2, allow_nan=False))
    return status


def _reading(options: argparse.Namespace) -> ReadOptions:
    """What was said about the file."""
    return reading_of(options, unasked=options.command != "test" or options.null is None)


def _run(paths: list[Path], options: argparse.Namespace, *, first: bool) -> tuple[dict[str, Any], list[Judged]]:
    """Read, say what was read, compute and print; returns values for JSON, and what gates look at."""
    name, why = " and ".join(map(str, paths)), why_in_parts(paths, options)
    if why is not None and options.explain_reading:
        say(explain_files(paths, _reading(options), _without_explaining(options)))
        return {"read": why}, []
    if why is not None:
        return _in_parts(paths, why, name, options, first=first)
    if getattr(options, "pool_groups", None) is not None:
        raise InputError("--pool-groups is for rows that are read in parts: say --one-pass, or leave it out")
    read_all = read_together if is_one_table(paths, options) else read
    data = read_all(paths, _reading(options))
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


def _in_parts(
    paths: list[Path], why: str, name: str, options: argparse.Namespace, *, first: bool
) -> tuple[dict[str, Any], list[Judged]]:
    """The same in one pass over parts."""
    refuse_whole(options, why)
    result, found = run_in_parts(paths, why, _reading(options), options, first=first)
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


def _groups(files: Sequence[Path], *, together: bool = False) -> list[list[Path]]:
    """Every file stands for itself, unless all are one table; but npy files belong together: they must be two."""
    if together:
        return [list(files)]
    arrays = [path for path in files if path.suffix.lower() == ".npy"]
    others = [[path] for path in files if path not in arrays]
    return [arrays, *others] if arrays else others
