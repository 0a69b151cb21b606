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

from kernelcal import __version__
from kernelcal.errors import InputError, KernelcalError
from kernelcal.evaluate import evaluate
from kernelcal.inference import NULL_LAWS, calibration_test
from kernelcal.io import KINDS, Data, ReadOptions, read
from kernelcal.lenses import ClassWise, OneClass, TopK, TopLabel
from kernelcal.statistics import SKCE

__all__ = ["main"]

_READ_FIELDS = tuple(ReadOptions.__dataclass_fields__)
_BAR = 30


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status: 0 done, 1 p below --fail-below, 2 bad input."""
    options = _parser().parse_args(arguments)
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
    below = options.fail_below is not None and any(r["pvalue"] < options.fail_below for r in results)
    return 1 if below else 0


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
    with _progress() as progress:
        settings = {"draws": options.draws, "rng": options.seed, "early_stopping": not options.all_draws}
        settings.update(progress=progress, weights=data.weights, lens=_lens(options.lens, data.predictions))
        if options.command == "test":
            statistic = _statistic(options.statistic)
            return calibration_test(data.y, data.predictions, statistic=statistic, null=options.null, **settings)
        return evaluate(data.y, data.predictions, level=options.interval_level, **settings)


def _statistic(name: str) -> Any:
    """What the name on the command line stands for; the block estimator takes pairs of rows."""
    return SKCE(estimator="block", block_size=2) if name == "skce-block" else name


def _lens(text: str | None, predictions: Any) -> Any:
    """Lens from its name: top-label, top-5, class:cat, class-wise, class-wise-joint."""
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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="kernelcal", description="Can a probabilistic model be believed? Calibration of predicted probabilities."
    )
    parser.add_argument("--version", action="version", version=f"kernelcal {__version__}")
    commands = parser.add_subparsers(dest="command", required=True)
    every = commands.add_parser(
        "evaluate",
        help="scores, calibration errors, exact p-value and a verdict",
        description="Is this model calibrated, how far off, in which direction, and with what certainty?",
    )
    every.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="csv, tsv, npz, parquet, jsonl, or two npy files"
    )
    test = commands.add_parser("test", help="the exact test alone, with every member of its family")
    test.add_argument("files", nargs="+", type=Path, metavar="FILE", help="one file, or two npy files")
    test.add_argument(
        "--statistic",
        choices=("default", "skce", "skce-block", "ece", "mmce"),
        default="default",
        help="what is tested (default: %(default)s, a family; skce-block: the linear-time estimator)",
    )
    test.add_argument(
        "--null", choices=tuple(NULL_LAWS), default="exact", help="its law under calibration (default: %(default)s)"
    )
    every.add_argument(
        "--interval-level", type=_level, default=0.95, metavar="P", help="coverage of the interval (default: 0.95)"
    )
    for command in (every, test):
        _add_reading(command)
        _add_testing(command)
    return parser


def _add_reading(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("what the file holds")
    group.add_argument(
        "--target", metavar="NAME", help="target column, or one-hot columns a,b,c in the order of the classes"
    )
    group.add_argument("--predictions", metavar="NAMES", help="prediction columns: names a,b,c or a glob such as 'p*'")
    group.add_argument(
        "--kind", choices=KINDS, default="probabilities", help="what the predictions are (default: %(default)s)"
    )
    group.add_argument(
        "--predicted-label",
        metavar="NAME",
        help="with --kind top-label: column of the predicted label; the target is the hit",
    )
    group.add_argument(
        "--classes",
        metavar="LABELS",
        help="labels a,b,c in the order of the columns, or a column that holds them; for one column: negative,positive",
    )
    group.add_argument("--weights", metavar="NAME", help="column of case weights")
    group.add_argument("--one-based", action="store_true", help="the labels count from 1")
    group.add_argument("--normalize", action="store_true", help="divide every row by its sum")
    group.add_argument(
        "--drop-missing", action="store_true", help="leave out rows with missing values, and say how many"
    )
    group.add_argument(
        "--drop-target", metavar="VALUE", help="leave out rows with this target (draws, unclear outcomes)"
    )
    group.add_argument(
        "--delimiter", metavar="CHARACTER", help="between the cells of a csv file: one character, or the word tab"
    )


def _add_testing(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("the test")
    group.add_argument(
        "--lens",
        metavar="LENS",
        help="a simpler question: top-label, top-K such as top-5, class:NAME; for test also class-wise (corrected by "
        "Holm) and class-wise-joint",
    )
    group.add_argument(
        "--draws", type=int, default=999, metavar="B", help="draws of the exact test (default: %(default)s)"
    )
    group.add_argument(
        "--seed", type=_seed, default=0, help="seed of the draws, a whole number from 0 (default: %(default)s)"
    )
    group.add_argument("--all-draws", action="store_true", help="do not stop early once p is clearly large")
    group.add_argument("--json", action="store_true", help="print JSON: an object, or a list for several files")
    group.add_argument("--fail-below", type=_level, metavar="P", help="exit status 1 if the p-value is below P")


def _seed(text: str) -> int:
    if not text.strip().isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, got {text!r}")
    return int(text)


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = -1.0
    if not 0 <= level <= 1:
        raise argparse.ArgumentTypeError(f"expected a level between 0 and 1, such as 0.05, got {text!r}")
    return level


if __name__ == "__main__":
    sys.exit(main())
