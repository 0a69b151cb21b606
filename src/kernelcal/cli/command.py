"""Command line: parse, call, print."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from kernelcal.cli.parser import argument_parser
from kernelcal.errors import InputError, KernelcalError
from kernelcal.evaluate import evaluate
from kernelcal.inference import calibration_test
from kernelcal.inference.pit_test import pit_test
from kernelcal.io import Data, ReadOptions, read
from kernelcal.lenses import ClassWise, OneClass, TopK, TopLabel
from kernelcal.predictions import RealPredictions
from kernelcal.statistics import SKCE

__all__ = ["main"]

_READ_FIELDS = tuple(ReadOptions.__dataclass_fields__)
_BAR = 30


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0 done, 1 p below --fail-below, 2 bad input."""
    options = argument_parser().parse_args(arguments)
    try:
        return _main(options)
    except BrokenPipeError:  # the reader of our output has seen enough: end as other tools do
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + 13
    except KeyboardInterrupt:
        print("kernelcal: interrupted", file=sys.stderr)
        return 128 + 2


def _main(options: argparse.Namespace) -> int:
    results: list[dict[str, Any]] = []
    for paths in _groups(options.files):
        try:
            results.append(_run(paths, options, first=not results))
        except BrokenPipeError:
            raise
        except (KernelcalError, OSError, UnicodeError) as error:
            print(f"kernelcal: {_sentence(paths, error)}", file=sys.stderr)
            return 2
    if options.json:
        print(json.dumps(results if len(results) > 1 else results[0], indent=2, allow_nan=False))
    below = options.fail_below is not None and any(_below(r["pvalue"], options.fail_below) for r in results)
    return 1 if below else 0


def _below(pvalue: float | None, level: float) -> bool:
    """Tell whether a p-value is below a level; where there is no test none is."""
    return pvalue is not None and pvalue < level


def _sentence(paths: list[Path], error: Exception) -> str:
    """One line that names the file."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if str(paths[0]) in text else f"{' and '.join(map(str, paths))}: {text}"


def _run(paths: list[Path], options: argparse.Namespace, *, first: bool) -> dict[str, Any]:
    data = read(paths, ReadOptions(**{name: getattr(options, name) for name in _READ_FIELDS}))
    if not options.json:
        print(data.description if first else f"\n{data.description}", flush=True)
    result = _compute(data, options)
    if not options.json:
        print(result.summary(), flush=True)
    return {"read": data.description, **result.to_dict()}


def _compute(data: Data, options: argparse.Namespace) -> Any:
    lens = _lens(options.lens, data.predictions)
    if options.command == "test" and options.statistic == "pit":
        return _pit(data, options)
    with _progress() as progress:
        settings = {"draws": options.draws, "rng": options.seed, "early_stopping": not options.all_draws}
        settings.update(progress=progress, weights=data.weights, lens=lens)
        if options.command == "test":
            statistic = _statistic(options.statistic)
            return calibration_test(data.y, data.predictions, statistic=statistic, null=options.null, **settings)
        return evaluate(data.y, data.predictions, level=options.interval_level, **settings)


def _pit(data: Data, options: argparse.Namespace) -> Any:
    """The test of PIT values, whose law is always that of uniform numbers."""
    if options.weights or options.null not in (None, "exact"):
        given = "--weights" if options.weights else f"--null {options.null}"
        raise InputError(f"--statistic pit ranks all rows alike under its own exact law: leave out {given}")
    return pit_test(
        data.y, data.predictions, draws=options.draws, rng=options.seed, early_stopping=not options.all_draws
    )


def _statistic(name: str) -> Any:
    """What the name on the command line stands for; the block estimator takes pairs of rows."""
    return SKCE(estimator="block", block_size=2) if name == "skce-block" else name


def _lens(text: str | None, predictions: Any) -> Any:
    """Lens from its name: top-label, top-5, class:cat, class-wise, class-wise-joint."""
    if text is not None and isinstance(predictions, RealPredictions):
        raise InputError(
            "--lens asks a simpler question about classes, but these are predictions of numbers: leave it out"
        )
    whole = {"top-label": TopLabel(), "class-wise": ClassWise(), "class-wise-joint": ClassWise(joint="full")}
    if text is None or text in whole:
        return whole.get(text) if text else None
    if text.startswith("top-") and text[4:].isdecimal():
        return TopK(int(text[4:]))
    if text.startswith("class:"):
        names = {str(predictions.class_name(k)): predictions.class_name(k) for k in range(predictions.n_classes)}
        return OneClass(names.get(text[6:], text[6:]))
    raise InputError(f"unknown lens {text!r}: top-label, top-K such as top-5, class:NAME, class-wise, class-wise-joint")


@contextmanager
def _progress() -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error, for people only, wiped when the work is done, has stopped early or has failed."""
    if not sys.stderr.isatty():
        yield None
        return
    try:
        yield _show
    finally:
        print("\r\033[K", end="", file=sys.stderr, flush=True)


def _show(done: int, total: int) -> None:
    filled = _BAR * done // total
    print(f"\r[{'#' * filled}{'.' * (_BAR - filled)}] {done}/{total} draws", end="", file=sys.stderr, flush=True)


def _groups(files: Sequence[Path]) -> list[list[Path]]:
    """Every file stands for itself, but npy files belong together: they must be two."""
    arrays = [path for path in files if path.suffix.lower() == ".npy"]
    others = [[path] for path in files if path not in arrays]
    return [arrays, *others] if arrays else others
