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
from kernelcal.cli.common import bar, check_lens, engine_of, lens_of, with_engine
from kernelcal.cli.ending import FINE, SAID_NO, ended, refused, say, sentence
from kernelcal.cli.models import run_compare, run_report
from kernelcal.cli.parser import argument_parser
from kernelcal.cli.streaming import check_streaming, is_one_table, run_in_parts, why_in_parts
from kernelcal.defaults import CONFIDENCE_LEVEL, DRAWS
from kernelcal.errors import InputError, KernelcalError, naming_rows
from kernelcal.evaluation import Plan, evaluated, plan
from kernelcal.explanation import columns_of_text
from kernelcal.inference.intervals import checked_bound
from kernelcal.inference.test import asked, asked_test
from kernelcal.io import Data, ReadOptions, read
from kernelcal.lenses import ClassWise
from kernelcal.predictions import ScorePredictions
from kernelcal.runs import Run
from kernelcal.stream import read_together

__all__ = ["main"]


_LONG = 5.0  # seconds from which on the plan is said unasked
_READ_FIELDS = tuple(ReadOptions.__dataclass_fields__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0 fine, 1 a gate said no, 2 wrong use or input, 3 fault inside."""

    def work() -> int:
        options = argument_parser().parse_args(arguments)
        options.said = [*(sys.argv[1:] if arguments is None else arguments)]
        return _main(options)

    return ended(work)


def _main(options: argparse.Namespace) -> int:
    options.run = _run_of(options)
    _refuse(options)
    if options.command in ("compare", "report"):
        return _compared(options)
    results: list[dict[str, Any]] = []
    groups = _groups(options.files, together=getattr(options, "together", False))
    check_streaming(groups, options)
    for paths in groups:
        try:
            results.append(_run(paths, options, first=not results))
        except (KernelcalError, UnicodeError) as error:
            return refused(_naming_file(paths, error))
    if options.json:
        say(json.dumps(results if len(results) > 1 else results[0], indent=2, allow_nan=False))
    below = options.fail_below is not None and any(_below(r.get("pvalue"), options.fail_below) for r in results)
    return SAID_NO if below else FINE


def _run_of(options: argparse.Namespace) -> Run:
    """How to compute, or refuse it before a file is opened."""
    return Run(
        confidence_level=getattr(options, "confidence_level", CONFIDENCE_LEVEL),
        alpha=options.alpha,
        draws=DRAWS if options.draws is None else options.draws,
        rng=options.seed,
        early_stopping=not options.all_draws,
        engine=engine_of(getattr(options, "engine", None), getattr(options, "features", None)),
    )


def _refuse(options: argparse.Namespace) -> None:
    """Refuse names that are not known and options that do not go together, before a file is opened."""
    check_lens(options.lens, every=options.command == "test")
    if options.command == "test":
        asked_test(with_engine(options.statistic, options.run.engine), options.null, weighted=bool(options.weights))
    if getattr(options, "within", None) is not None:
        checked_bound(options.within)


def _compared(options: argparse.Namespace) -> int:
    run = run_compare if options.command == "compare" else run_report
    found = run(_groups(options.files), _reading(options), options)
    if options.json:
        say(json.dumps(found, indent=2, allow_nan=False))
    return FINE


def _reading(options: argparse.Namespace) -> ReadOptions:
    """What was said about the file; a command that does not ask leaves the default."""
    said = {name: getattr(options, name) for name in _READ_FIELDS if hasattr(options, name)}
    independent = options.command == "test" and options.null is not None
    return ReadOptions(**said, unasked=not independent)


def _below(pvalue: float | None, level: float) -> bool:
    """Tell whether a p-value is below a level; where there is no test none is."""
    return pvalue is not None and pvalue < level


def _naming_file(paths: list[Path], error: Exception) -> str:
    """One line that names the file."""
    text = sentence(error)
    return text if str(paths[0]) in text else f"{' and '.join(map(str, paths))}: {text}"


def _run(paths: list[Path], options: argparse.Namespace, *, first: bool) -> dict[str, Any]:
    why = why_in_parts(paths, options)
    if why is not None and options.explain_reading:
        raise InputError(f"--explain-reading is about a file that is read at once, and this one is not ({why})")
    if why is not None:
        return run_in_parts(paths, why, _reading(options), options, first=first)
    read_all = read_together if is_one_table(paths, options) else read
    data = read_all(paths, _reading(options))
    if options.explain_reading:
        say(data.explained(_without_explaining(options)))
        return {"read": data.description}
    if not options.json:
        say(data.sentence if first else f"\n{data.sentence}")
    result = _planned(data, options) or _compute(data, options)
    if not options.json:
        say(result.summary())
    return {"read": data.description, **result.to_dict()}


def _without_explaining(options: argparse.Namespace) -> list[str]:
    """The command as it was typed, but for the option that asks how it is understood."""
    return ["kernelcal", *(part for part in map(str, options.said) if part != "--explain-reading")]


def _planned(data: Data, options: argparse.Namespace) -> Plan | None:
    """The plan, if only that is asked for; of work that takes long it is said in a line."""
    if options.command != "evaluate" or isinstance(data.predictions, ScorePredictions):
        return None
    run, lens = options.run, lens_of(options.lens, data.predictions)
    found = plan(data.predictions, lens=lens, draws=run.draws, engine=run.engine)
    if not options.plan and not options.json and found.seconds >= _LONG:
        say(found.sentence())
    return found if options.plan else None


def _compute(data: Data, options: argparse.Namespace) -> Any:
    lens = lens_of(options.lens, data.predictions)
    every = lens if isinstance(lens, ClassWise) else None
    with bar() as progress, naming_rows(data.row_in_words):
        run = replace(options.run, progress=progress)
        beside = {"weights": data.weights, "given": data.given, **data.dependence}
        case = replace(Case.of(data.y, data.predictions, lens=None if every else lens, **beside), numbers=data.numbers)
        if options.command == "evaluate":
            return evaluated(case, run, groups=columns_of_text(data.groups))
        statistic, law = asked_test(
            with_engine(options.statistic, run.engine), options.null, weighted=data.weights is not None
        )
        return asked(case, statistic, law, every, run)


def _groups(files: Sequence[Path], *, together: bool = False) -> list[list[Path]]:
    """Every file stands for itself, unless all are one table; but npy files belong together: they must be two."""
    if together:
        return [list(files)]
    arrays = [path for path in files if path.suffix.lower() == ".npy"]
    others = [[path] for path in files if path not in arrays]
    return [arrays, *others] if arrays else others
