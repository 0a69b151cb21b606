"""``kernelcal compare`` and ``kernelcal report``: several files, or one table with a column of models."""

from __future__ import annotations

import argparse
import json
import shlex
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelcal.cli.commands.sums import is_sums, run_sums_page
from kernelcal.cli.common import bar, lens_of, spread_out
from kernelcal.cli.ending import say
from kernelcal.cli.gates import Judged, ended_by, judged, with_draws_of_sets
from kernelcal.cli.options import (
    add_files,
    add_given,
    add_intervals,
    add_models,
    add_rows_and_test,
    add_together,
)
from kernelcal.cli.pictures import refuse_picture, write_picture
from kernelcal.cli.tables import asked_reading, prepare, tables_of
from kernelcal.comparison import Comparison, ScoreComparison, compared, cost_in_words
from kernelcal.errors import InputError, KernelcalWarning, naming_rows
from kernelcal.explanation import ByGroup, by_group, checked_groups, columns_of_text, refuse_ungrouped
from kernelcal.io import Data, ReadOptions, read, read_models, readers
from kernelcal.measures import asked_measures
from kernelcal.reporting import Report, evaluations, refuse_page, report
from kernelcal.stream import cases_of, outcomes_of_models, read_together

__all__ = ["add_compare", "add_report", "reported"]


_PAGE = "the page, .html; a file of this name is replaced (default: %(default)s)"


def add_compare(parser: argparse.ArgumentParser) -> None:
    """Options of ``kernelcal compare``."""
    parser.description = "Which of several models is better calibrated on the same rows, and how certainly?"
    add_files(parser, "a file a model (of a folder or a quoted glob too), or one table with --model-column")
    models = parser.add_argument_group("the models")
    add_models(models)
    models.add_argument("--plot", type=Path, metavar="FILE", help="draw the CKCE with its intervals, a png, svg or pdf")
    add_intervals(parser)
    add_rows_and_test(parser)
    parser.set_defaults(runs=_run_compare)


def add_report(parser: argparse.ArgumentParser) -> None:
    """Options of ``kernelcal report``."""
    parser.description = "Write one self-contained HTML page about one model, or several of the same rows."
    add_files(parser, "a file a model (of a folder or glob too), or one table of several", least=0)
    parser.add_argument(
        "--state",
        type=Path,
        metavar="FILE",
        help="a page of the history that kernelcal monitor keeps, or of sums that evaluate --save or merge -o wrote, "
        "without files",
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("report.html"), metavar="PAGE", help=_PAGE)
    parser.add_argument(
        "--measures", metavar="NAMES", help="also a table of measures or fields a,b, as kernelcal measure"
    )
    parser.add_argument("--title", metavar="TEXT", help="title of the page (default: what it is about)")
    add_models(parser.add_argument_group("the models"))
    add_intervals(parser)
    add_together(parser)
    add_given(parser)
    add_rows_and_test(parser)
    parser.set_defaults(runs=_run_report, refuses=_refuse_measures, usual=parser.get_default)


def _refuse_measures(options: argparse.Namespace) -> None:
    asked_measures(options.measures)


def _run_compare(options: argparse.Namespace) -> int:
    return _run(options, _compare)


def _run_report(options: argparse.Namespace) -> int:
    """Write a page about files, or that of a state: of saved sums or of a monitor; returns the exit status."""
    if options.state is None:
        if not options.files:
            raise InputError(
                "report needs a file of predictions, or --state FILE of kernelcal monitor or of evaluate --save"
            )
        return _run(options, _report)
    if is_sums(options.state):
        return run_sums_page(options)
    from kernelcal.cli.commands.monitoring import run_history  # for this page alone

    return run_history(options)


def _run(options: argparse.Namespace, answer: Callable[..., tuple[dict[str, Any], list[Judged]]]) -> int:
    """Tell models apart, answer, gate and print; returns the exit status."""
    prepare(options)
    together = getattr(options, "together", False)
    groups = tables_of(options.files if together else spread_out(options.files, readers()), together=together)
    result, found = answer(groups, asked_reading(options), options)
    status = ended_by(found, options, result)
    if options.json:
        say(json.dumps(result, indent=2, allow_nan=False))
    return status


def _compare(
    groups: Sequence[Sequence[Path]], reading: ReadOptions, options: argparse.Namespace
) -> tuple[dict[str, Any], list[Judged]]:
    """Read, say what was read and what it will cost, compare, print and draw; returns what gates look at too."""
    refuse_picture(options.plot)
    if reading.weights:
        raise InputError("compare takes no case weights: leave out --weights")
    options.run.refuse_for_models()
    models = read_models(groups, reading)
    if options.explain_reading:
        return _explained(models, options)
    predictions = {name: data.predictions for name, data in models.items()}
    if not options.json:
        say("\n".join(f"{name}: {data.sentence}" for name, data in models.items()))
        say(cost_in_words(predictions, options.run.draws) + "\n")
    result, by = _compared(models, options)
    if not options.json:
        say("\n\n".join([result.summary(), *(f"{name}\n\n{part.summary()}" for name, part in by.items())]))
    if options.plot is not None:
        write_picture(result.plot().figure, options.plot, to_errors=options.json)
    found = {name: replace(own, by_group=by.get(name)) for name, own in evaluations(result).items()}
    shown = {"read": {name: data.description for name, data in models.items()}, **result.to_dict()}
    if by:
        shown["groups"] = {name: part.to_dict() for name, part in by.items()}
    return shown, [one for name, own in found.items() for one in judged(name, own)]


def _explained(models: dict[str, Data], options: argparse.Namespace) -> tuple[dict[str, Any], list[Judged]]:
    """Say of every model how it was read; nothing is judged."""
    typed = ["kernelcal", *(part for part in map(str, options.said) if part != "--explain-reading")]
    for name, data in models.items():
        say(f"{name}: {data.explained(typed)}")
    return {"read": {name: data.description for name, data in models.items()}}, []


def _compared(
    found: dict[str, Data], options: argparse.Namespace
) -> tuple[Comparison | ScoreComparison, dict[str, ByGroup]]:
    """Comparison, and the groups of every model, where some are named."""
    first = next(iter(found.values()))
    lens = lens_of(options.lens, first.predictions)
    options.run = with_draws_of_sets(options, first, lens)
    with bar() as progress, warnings.catch_warnings(), naming_rows(first.row_in_words):
        warnings.filterwarnings("ignore", ".* takes about ", KernelcalWarning)  # the cost has been said
        models = cases_of(found, lens)
        grouping = checked_groups(columns_of_text(first.groups), len(first.y))
        if grouping.groups:
            refuse_ungrouped(next(iter(models.values())))
        result = compared(models, replace(options.run, progress=progress), within=options.within)
        alone = options.run.shared()
        cases = {name: case.in_numpy for name, case in models.items()} if grouping.groups else {}
        return result, {name: by_group(case, grouping, alone) for name, case in cases.items()}


def _report(
    groups: Sequence[Sequence[Path]], reading: ReadOptions, options: argparse.Namespace
) -> tuple[dict[str, Any], list[Judged]]:
    """Read, say what was read, compute, write the page and say where it is; returns what gates look at too."""
    refuse_page(options.output)
    several = len(groups) > 1 or reading.model_column is not None
    read_all = read_together if options.together else read
    if several and reading.weights:
        raise InputError("a page about several models takes no case weights: leave out --weights")
    if several:
        options.run.refuse_for_models()
    models = read_models(groups, reading) if several else {groups[0][0].stem: read_all(groups[0], reading)}
    if options.explain_reading:
        return _explained(models, options)
    if not options.json:
        say("\n".join(data.sentence for data in models.values()))
    found = reported(models, options)
    said = f"{found.verdict.heading}\nwhat to do: {found.verdict.advice}"
    say(f"{said}\nwrote {found.path}", to_errors=options.json)
    shown = {"read": {name: data.description for name, data in models.items()}, **found.to_dict()}
    names = list(models) if len(models) == 1 else [str(model.name) for model in found.models]
    pairs = zip(names, found.models, strict=True)
    return shown, [one for name, model in pairs for one in judged(name, model.evaluation)]


def reported(models: dict[str, Data], options: argparse.Namespace) -> Report:
    """Write the page about models that were read."""
    first = next(iter(models.values()))
    options.run = with_draws_of_sets(options, first, lens_of(options.lens, first.predictions))
    with bar() as progress, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* takes about ", KernelcalWarning)  # a bar shows how long it takes
        return report(
            outcomes_of_models(models),
            {name: data.predictions for name, data in models.items()},
            options.output,
            groups=columns_of_text(first.groups),
            given=first.given,
            **first.dependence,
            lens=lens_of(options.lens, first.predictions),
            weights=first.weights,
            rows=first.numbers,
            within=options.within,
            measures=options.measures,
            confidence_level=options.run.confidence_level,
            alpha=options.run.alpha,
            draws=options.run.draws,
            rng=options.run.rng,
            early_stopping=options.run.early_stopping,
            **({} if options.title is None else {"title": options.title}),
            read={name if len(models) > 1 else "": data.description for name, data in models.items()},
            command=shlex.join(["kernelcal", *map(str, options.said)]),
            progress=progress,
        )
