"""``kernelcal evaluate`` of files that are read in parts: what asks for it, and how it is said."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kernelcal.cli.common import bar, lens_of
from kernelcal.cli.ending import say
from kernelcal.defaults import DRAWS_OF_A_PASS
from kernelcal.errors import InputError
from kernelcal.evaluation import size_in_words
from kernelcal.io import ReadOptions
from kernelcal.stream import (
    AT_ONCE,
    cluster,
    find_files,
    in_pieces,
    is_many,
    prepared,
    size_of,
    sketch_options,
    survey_files,
)
from kernelcal.surroundings import refuse_place

__all__ = ["add_streaming", "check_streaming", "is_one_table", "run_in_parts", "why_in_parts"]


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)
_DIGITS = 40  # characters of a size: beyond, no machine has it


def add_streaming(group: argparse._ArgumentGroup) -> None:
    """Options of ``kernelcal evaluate``."""
    group.add_argument(
        "--memory",
        type=size,
        default=AT_ONCE,
        metavar="SIZE",
        help="parquet and csv files that are larger in all are read in parts, in one pass, such as 2GB (default: "
        "256 MiB)",
    )
    group.add_argument("--together", action="store_true", help="all files are parts of one table")
    group.add_argument(
        "--dask",
        nargs="?",
        const="",
        metavar="ADDRESS",
        help="read parts on the workers of Dask: those of the scheduler at this address, else one a processor here",
    )
    group.add_argument("--save", type=Path, metavar="FILE", help="read in parts, and keep the sums in an npz file")


def size(text: str) -> int:
    """Bytes of 256MiB, 2GB or 1000000."""
    found = _SIZE.fullmatch(text.strip())
    if found is None or len(text) > _DIGITS:
        raise argparse.ArgumentTypeError(f"expected a size such as 256MiB, 2GB or 1000000 (bytes), got {text[:40]!r}")
    number, unit, binary = found.groups()
    base = 1024 if binary else 1000
    return int(float(number) * base ** ("kmgt".index(unit.lower()) + 1 if unit else 0))


def check_streaming(groups: Sequence[Sequence[Path]], options: argparse.Namespace) -> None:
    """Refuse what could not be written or reached, before the work and not after it."""
    save, dask = getattr(options, "save", None), getattr(options, "dask", None)
    if save is not None and len(groups) > 1:
        raise InputError(
            f"--save {save} keeps the sums of one table, got {len(groups)}: say --together if they are one"
        )
    if save is not None:
        refuse_place(save, suffixes=(".npz",), what="--save keeps sums in an npz file")
    if dask and ":" not in dask:
        raise InputError(
            f"--dask {dask}: the address of a scheduler is expected, such as tcp://10.0.0.1:8786; say it after the "
            "files if workers of this machine are meant"
        )


def why_in_parts(paths: Sequence[Path], options: argparse.Namespace) -> str | None:
    """Why files are read in parts; None if they are read at once."""
    if options.command != "evaluate":
        return None
    asked = {"--dask": options.dask is not None, "--save": options.save is not None}
    if any(asked.values()):
        return next(why for why, said in asked.items() if said)
    there = _in_pieces(paths, options)
    if there and size_of(there) > options.memory:
        return f"{size_in_words(size_of(there))}, more than --memory {size_in_words(options.memory)}"
    return None


def _in_pieces(paths: Sequence[Path], options: argparse.Namespace) -> list[str]:
    """Files of one table that can be read in parts; none if one of them cannot."""
    if is_one_table(paths, options):
        return find_files(paths)
    there = [str(path) for path in paths if path.is_file() and in_pieces(str(path))]
    return there if len(there) == len(paths) else []


def is_one_table(paths: Sequence[Path], options: argparse.Namespace) -> bool:
    """Tell whether names stand for several files that are one table."""
    return bool(getattr(options, "together", False)) or (options.command == "evaluate" and is_many(paths[0]))


def run_in_parts(
    paths: Sequence[Path], why: str, reading: ReadOptions, options: argparse.Namespace, *, first: bool
) -> dict[str, Any]:
    """Say what was found and what will be done, do it, print and save."""
    run = options.run if options.draws is not None else replace(options.run, draws=DRAWS_OF_A_PASS)
    _refuse_engine(options)
    asked = sketch_options(run)
    survey = survey_files(paths, reading)
    with _client(options.dask) as client:
        begun = prepared(
            survey,
            lambda predictions: lens_of(options.lens, predictions),
            why=why,
            run=run,
            options=asked,
            dask=client is not None,
            client=client,
        )
        if not options.json:
            said = begun.plan.summary() if options.plan else begun.plan.sentence()
            say(f"{'' if first else chr(10)}{begun.read}\n{said}")
        if options.plan:
            return {"read": begun.read, **begun.plan.to_dict()}
        with bar("rows") as progress:
            result = begun.result(progress)
    if options.save is not None:
        result.sketch.save(options.save)
    if not options.json:
        say(result.summary())
    return result.to_dict()


def _refuse_engine(options: argparse.Namespace) -> None:
    """Refuse engines that need all rows at once."""
    if options.engine in ("pairs", "nystrom"):
        raise InputError(
            f"--engine {options.engine} needs all rows at once, and these are read in parts: say --engine fourier, or "
            "a larger --memory where they fit"
        )


@contextlib.contextmanager
def _client(address: str | None) -> Iterator[Any]:
    if address is None:
        yield None
        return
    with cluster(address) as client:
        yield client
