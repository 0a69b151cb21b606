"""``kernelcal compare``: several files, or one table with a column of models."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kernelcal.cli.lenses import lens_of
from kernelcal.cli.progress import bar
from kernelcal.compare import Comparison, compare
from kernelcal.compare.cost import cost_in_words
from kernelcal.compare.main import refuse_run
from kernelcal.errors import InputError, KernelcalWarning
from kernelcal.io import Data, ReadOptions, read_models
from kernelcal.plots.axes import pyplot

__all__ = ["run_compare"]

_PICTURES = (".png", ".svg", ".pdf")


def run_compare(groups: Sequence[Sequence[Path]], reading: ReadOptions, options: argparse.Namespace) -> dict[str, Any]:
    """Read, say what was read and what it will cost, compare, print and draw."""
    if options.plot is not None:
        _refuse_picture(options.plot)
    if reading.weights:
        raise InputError("compare takes no case weights: leave out --weights")
    refuse_run(options.run)
    models = read_models(groups, reading)
    first = next(iter(models.values()))
    predictions = {name: data.predictions for name, data in models.items()}
    if not options.json:
        print("\n".join(f"{name}: {data.description}" for name, data in models.items()), flush=True)
        print(cost_in_words(predictions, options.run.draws) + "\n", flush=True)
    result = _compared(first, predictions, options)
    if not options.json:
        print(result.summary(), flush=True)
    if options.plot is not None:
        _save(result, options.plot)
        print(f"wrote {options.plot}", file=sys.stderr if options.json else sys.stdout, flush=True)
    return {"read": {name: data.description for name, data in models.items()}, **result.to_dict()}


def _compared(first: Data, predictions: dict[str, Any], options: argparse.Namespace) -> Comparison:
    lens = lens_of(options.lens, first.predictions)
    with bar() as progress, warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* takes about ", KernelcalWarning)  # the cost has been said
        return compare(
            first.y,
            predictions,
            lens=lens,
            within=options.within,
            confidence_level=options.run.confidence_level,
            draws=options.run.draws,
            rng=options.run.rng,
            early_stopping=options.run.early_stopping,
            progress=progress,
        )


def _refuse_picture(path: Path) -> None:
    """Refuse a picture that could not be written, before the work and not after it."""
    if path.suffix.lower() not in _PICTURES:
        raise InputError(f"--plot writes {', '.join(_PICTURES)}, got {path}")
    if not path.parent.is_dir():
        raise InputError(f"--plot {path}: there is no folder {path.parent}")
    pyplot()


def _save(result: Comparison, path: Path) -> None:
    """Write the picture beside its place, and move it there when it is whole."""
    figure = result.plot().figure
    unfinished = path.with_name(f".{path.name}.part{path.suffix}")
    try:
        figure.savefig(unfinished)
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
        pyplot().close(figure)
