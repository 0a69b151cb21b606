"""``kernelcal compare``: several files, or one table with a column of models."""

from __future__ import annotations

import argparse
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelcal.cli.common import bar, lens_of
from kernelcal.cli.ending import say
from kernelcal.cli.gates import Judged, judged, with_draws_of_sets
from kernelcal.cli.pictures import refuse_picture, write_picture
from kernelcal.comparison import Comparison, ScoreComparison, compared, cost_in_words
from kernelcal.errors import InputError, KernelcalWarning, naming_rows
from kernelcal.explanation import ByGroup, by_group, checked_groups, columns_of_text, refuse_ungrouped
from kernelcal.io import Data, ReadOptions, read, read_models
from kernelcal.reporting import Report, evaluations, refuse_page, report
from kernelcal.stream import cases_of, outcomes_of_models, read_together

__all__ = ["reported", "run_compare", "run_report"]


def run_compare(
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


def run_report(
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
