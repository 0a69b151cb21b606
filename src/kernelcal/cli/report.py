"""``kernelcal report``: one HTML page about the models of one file or several."""

from __future__ import annotations

import argparse
import shlex
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelcal.cli.lenses import lens_of
from kernelcal.cli.progress import bar
from kernelcal.compare.main import refuse_run
from kernelcal.errors import InputError, KernelcalWarning
from kernelcal.io import Data, ReadOptions, read, read_models
from kernelcal.report import Report, report
from kernelcal.report.page import environment
from kernelcal.report.writing import refuse_path

__all__ = ["run_report"]


def run_report(groups: Sequence[Sequence[Path]], reading: ReadOptions, options: argparse.Namespace) -> dict[str, Any]:
    """Read, say what was read, compute, write the page and say where it is."""
    refuse_path(options.output)
    environment()
    several = len(groups) > 1 or reading.model_column is not None
    if several and reading.weights:
        raise InputError("a page about several models takes no case weights: leave out --weights")
    if several:
        refuse_run(options.run)
    models = read_models(groups, reading) if several else {groups[0][0].stem: read(groups[0], reading)}
    if not options.json:
        print("\n".join(data.description for data in models.values()), flush=True)
    found = _reported(models, options)
    print(f"{found.verdict.heading}\nwrote {found.path}", file=sys.stderr if options.json else sys.stdout, flush=True)
    return {"read": {name: data.description for name, data in models.items()}, **found.to_dict()}


def _reported(models: dict[str, Data], options: argparse.Namespace) -> Report:
    first = next(iter(models.values()))
    with bar() as progress, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* takes about ", KernelcalWarning)  # a bar shows how long it takes
        return report(
            first.y,
            {name: data.predictions for name, data in models.items()},
            options.output,
            groups=first.groups,
            lens=lens_of(options.lens, first.predictions),
            weights=first.weights,
            within=options.within,
            confidence_level=options.run.confidence_level,
            draws=options.run.draws,
            rng=options.run.rng,
            early_stopping=options.run.early_stopping,
            title=options.title,
            read={name if len(models) > 1 else "": data.description for name, data in models.items()},
            command=shlex.join(["kernelcal", *map(str, options.said)]),
            progress=progress,
        )
