"""``kernelcal evaluate`` of files that are read in parts: what asks for it, and how it is said."""

from __future__ import annotations

import argparse
import contextlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelcal.cli.common import DIGITS, bar, lens_of, whole_number
from kernelcal.cli.ending import say
from kernelcal.cli.gates import draws_for_gates, refuse_few_draws
from kernelcal.defaults import DRAWS_OF_A_PASS
from kernelcal.errors import InputError
from kernelcal.files import find_files, in_pieces, is_many, refuse_place, why_too_large
from kernelcal.io import Data, ReadOptions
from kernelcal.lenses import Lens

if TYPE_CHECKING:  # imported where files are read in parts: most are not
    from kernelcal.sketch import Sketch, SketchResult

__all__ = [
    "add_streaming",
    "check_streaming",
    "is_one_table",
    "refuse_whole",
    "run_in_parts",
    "why_after_reading",
    "why_in_parts",
]


_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([kmgt]?)(i?)b?", re.IGNORECASE)


def add_streaming(group: argparse._ArgumentGroup) -> None:
    """Options of ``kernelcal evaluate``."""
    group.add_argument(
        "--memory",
        type=size,
        metavar="SIZE",
        help="what the work may take beside the libraries, such as 2GB: what is planned to take more is read in parts, "
        "in one pass of some 250 MB, or refused before the work (default: no limit, and parquet and csv files above "
        "256 MiB in parts)",
    )
    group.add_argument(
        "--pool-groups",
        type=whole_number,
        metavar="N",
        help="in one pass: of a column of --groups keep the N values that are most frequent in the rows looked at "
        "first, and pool all others as one group (default: every value is a group, more than 50 are refused)",
    )
    group.add_argument("--one-pass", action="store_true", help="read in parts, in one pass, whatever the size")
    group.add_argument(
        "--key",
        metavar="NAMES",
        help="read in parts; columns that tell rows apart: results are then the same for any order of the rows, and "
        "those of other engines with this key (default: rows are numbered in the order of files)",
    )
    group.add_argument("--together", action="store_true", help="all files are parts of one table")
    group.add_argument(
        "--dask",
        nargs="?",
        const="",
        metavar="ADDRESS",
        help="read parts on the workers of Dask: those of the scheduler at this address, else one a processor here",
    )
    group.add_argument(
        "--save",
        type=Path,
        metavar="FILE",
        help="read in parts, and keep the sums in an npz file, which kernelcal merge adds to others",
    )
    group.add_argument(
        "--like",
        type=Path,
        metavar="FILE",
        help="with --save: take lengthscales and settings from a file of --save, and number rows on from its last one",
    )
    group.add_argument(
        "--first-row",
        type=partial(whole_number, what="the number of a row,"),
        metavar="N",
        help="with --save: number of the first row (default: 0, or the one after those of --like)",
    )


def size(text: str) -> int:
    """Bytes of 256MiB, 2GB or 1000000."""
    found = _SIZE.fullmatch(text.strip())
    if found is None or len(text) > DIGITS:
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
    if save is None and any(getattr(options, name, None) is not None for name in ("like", "first_row")):
        raise InputError(
            "--like and --first-row say how sums are kept, so that they can be added up: say --save FILE too"
        )
    if getattr(options, "key", None) is not None and getattr(options, "first_row", None) is not None:
        raise InputError("--first-row numbers rows, and --key says that they have keys: leave one of them out")
    if save is not None:
        refuse_place(save, suffixes=(".npz",), what="--save keeps sums in an npz file")
    if getattr(options, "pool_groups", None) is not None:
        from kernelcal.sketch import checked_pool

        checked_pool(options.pool_groups)
    if dask and ":" not in dask:
        raise InputError(
            f"--dask {dask}: the address of a scheduler is expected, such as tcp://10.0.0.1:8786; say it after the "
            "files if workers of this machine are meant"
        )


def why_in_parts(paths: Sequence[Path], options: argparse.Namespace) -> str | None:
    """Why files are read in parts; None if they are read at once."""
    if options.command != "evaluate":
        return None
    asked = {"--dask": options.dask is not None, "--save": options.save is not None, "--one-pass": options.one_pass}
    asked["--key"] = options.key is not None
    if any(asked.values()):
        return next(why for why, said in asked.items() if said)
    there = _in_pieces(paths, options)
    return why_too_large(there, options.memory) if there else None


def why_after_reading(data: Data, lens: Lens | None, paths: Sequence[Path], options: argparse.Namespace) -> str | None:
    """Why rows that were read at once are not evaluated at once: that would take more memory than it may."""
    if options.command != "evaluate" or options.memory is None:
        return None
    from kernelcal.stream import too_much

    why = too_much(data, lens, options.run, options.memory)
    if why is not None and not _in_pieces(paths, options):
        raise InputError(
            f"{why}, and such files are not read in parts: fewer --draws, a coarser --lens, or a larger --memory"
        )
    return why


def _in_pieces(paths: Sequence[Path], options: argparse.Namespace) -> list[str]:
    """Files of one table that can be read in parts; none if one of them cannot."""
    if is_one_table(paths, options):
        return find_files(paths)
    there = [str(path) for path in paths if path.is_file() and in_pieces(str(path))]
    return there if len(there) == len(paths) else []


def is_one_table(paths: Sequence[Path], options: argparse.Namespace) -> bool:
    """Tell whether names stand for several files that are one table."""
    return bool(options.together) or is_many(paths[0])


def refuse_whole(options: argparse.Namespace, why: str) -> None:
    """Refuse what needs all rows at once, where they are read in parts."""
    if options.within is not None:
        raise InputError(f"--within needs all rows at once, and these are read in parts ({why}): leave it out")


def run_in_parts(
    paths: Sequence[Path], why: str, reading: ReadOptions, options: argparse.Namespace, *, first: bool
) -> tuple[dict[str, Any], SketchResult | None]:
    """Say what was found and what will be done, do it, print and save; returns values for JSON, and the result."""
    from kernelcal.stream import getting_ready, keep_within, prepared, sketch_options, survey_files, with_key

    run = replace(options.run, draws=draws_for_gates(options, DRAWS_OF_A_PASS))
    _refuse_engine(options)
    asked, like = sketch_options(run, pool_groups=options.pool_groups), _like(options)
    survey = survey_files(paths, with_key(reading, options.key)).counted_from(_first_row(options, like))
    with _client(options.dask) as client:
        with getting_ready(client):
            begun = prepared(
                survey,
                lambda predictions: lens_of(options.lens, predictions),
                why=why,
                run=run,
                options=asked,
                dask=client is not None,
                client=client,
                like=like,
            )
        keep_within(begun, options.memory)
        if not options.json:
            said = begun.plan.summary() if options.plan else begun.plan.sentence()
            say(f"{'' if first else chr(10)}{begun.read}\n{said}")
        if options.plan:
            return {"read": begun.read, **begun.plan.to_dict()}, None
        with bar("rows") as progress:
            result = begun.result(progress)
    if options.save is not None:
        result.sketch.save(options.save)
    if not options.json:
        say(result.summary())
    return result.to_dict(), result


def _like(options: argparse.Namespace) -> Sketch | None:
    """Sketch whose settings are taken; what was asked for must not be others."""
    if options.like is None:
        return None
    from kernelcal.sketch import load_sketch, refuse_other_groups

    like = load_sketch(options.like)
    refuse_other_groups(like, options.groups, f"--like {options.like}")
    if options.pool_groups is not None:
        raise InputError(f"--pool-groups {options.pool_groups}: the groups are those of {options.like}: leave it out")
    if options.draws not in (None, like.draws):
        raise InputError(f"--draws {options.draws}: the sums of --like {options.like} have {like.draws}: leave it out")
    frequencies = like.engine.frequencies
    if options.features not in (None, frequencies):
        raise InputError(f"--features {options.features}: the sums of {options.like} have {frequencies}: leave it out")
    refuse_few_draws(options, like.draws)
    return like


def _first_row(options: argparse.Namespace, like: Sketch | None) -> int:
    if options.first_row is not None:
        return int(options.first_row)
    return 0 if like is None else like.next_row


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
    from kernelcal.stream import cluster

    with cluster(address) as client:
        yield client
