"""Evaluate what a path names: at once where it fits, in parts where it does not."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.cases import Case, refuse_lens
from kernelcal.errors import InputError, naming_rows
from kernelcal.evaluation import Evaluation, evaluated, plan
from kernelcal.explanation import columns_of_text
from kernelcal.files import find_files, in_pieces, is_many, size_in_words, why_too_large
from kernelcal.io import Data, ReadOptions, read, read_source
from kernelcal.lenses import Lens
from kernelcal.predictions import ScorePredictions
from kernelcal.runs import Run
from kernelcal.stream.batches import batch_of
from kernelcal.stream.formats import Columns
from kernelcal.stream.main import LEAST, evaluate_files, least_in_words
from kernelcal.stream.options import read_options
from kernelcal.stream.survey import FilePart, Survey, survey_files

__all__ = ["evaluate_path", "read_together", "too_much"]


_ONLY_IN_PARTS = {"sketch", "client", "key", "pool_groups"}

_RUN = {field.name for field in fields(Run)}


def evaluate_path(path: Any, *, memory: int | None = None, **options: Any) -> Evaluation:
    """Evaluate what a path names: `kernelcal.evaluate` does this when it is given a path.

    Parameters
    ----------
    path : str or path
        A file, a folder of files, or a glob such as ``"data/*.parquet"``; several files are one table.
    memory : int, optional
        Bytes that the work may take beside what Python and the libraries do (some 100 MB). What is planned to take more
        is read in parts, in one pass, which takes some 250 MB however many rows there are; what cannot be read in
        parts, or takes more even so, is refused before the work. Default: no limit, and Parquet, csv, tsv and txt files
        of more than 256 MiB are read in parts.
    **options
        ``lens``, ``confidence_level``, ``draws``, ``rng``, ``engine``, ``progress`` as for `kernelcal.evaluate`; what
        the files hold, as for `evaluate_files`, such as ``target="label"`` and ``predictions="p_*"``. With ``sketch``,
        ``client`` or ``key`` files of any size are read in parts.

    Returns
    -------
    Evaluation
        Of files in parts a `StreamResult`.

    Raises
    ------
    InputError
        With the file, the row or column, and the remedy.

    Examples
    --------
    >>> import tempfile, numpy as np, kernelcal as kc
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = f"{folder}/rain.csv"
    ...     np.savetxt(path, [[0.9, 1], [0.2, 0], [0.6, 1]] * 20, delimiter=",", header="p,y", comments="")
    ...     kc.evaluate(path).n
    60
    """
    if memory is not None and (isinstance(memory, bool) or not isinstance(memory, int) or memory < 1):
        raise InputError(f"memory is a number of bytes, such as 2**28, got {memory!r}")
    run = Run(**{name: value for name, value in options.items() if name in _RUN})
    lens = options.get("lens")
    refuse_lens(lens)
    asked = read_options({name: x for name, x in options.items() if name not in {"lens", *_RUN, *_ONLY_IN_PARTS}})
    if _in_parts(path, memory, options):
        return evaluate_files(path, memory=memory, **options)
    try:
        data = _read(path, asked)
        over = None if memory is None else too_much(data, lens, run, memory)
        if over is not None:
            if not _able(path):
                raise InputError(f"{over}, and such a file is not read in parts: fewer draws, or a larger memory")
            return evaluate_files(path, memory=memory, **options)
        return _evaluated(data, lens, run)
    except InputError as error:
        named = str(error) if os.fspath(path) in str(error) else f"{path}: {error}"
        raise InputError(named) from None


def _evaluated(data: Data, lens: Any, run: Run) -> Evaluation:
    with naming_rows(data.row_in_words):
        beside = {"weights": data.weights, "given": data.given, **data.dependence}
        case = replace(Case.of(data.y, data.predictions, lens=lens, **beside), numbers=data.numbers)
        return evaluated(case, run, groups=columns_of_text(data.groups))


def _in_parts(path: Any, memory: int | None, options: dict[str, Any]) -> bool:
    """Only some formats can be read in parts, and some options say that they shall be."""
    if _ONLY_IN_PARTS & set(options):
        return True
    return _able(path) and why_too_large(find_files([path]), memory) is not None


def _able(path: Any) -> bool:
    return is_many(path) or in_pieces(os.fspath(path))


def too_much(data: Data, lens: Lens | None, run: Run, memory: int) -> str | None:
    """Why an evaluation of all rows at once would take more than a limit of memory; None if it does not.

    Raises
    ------
    InputError
        Where parts would take no less.
    """
    if isinstance(data.predictions, ScorePredictions):
        return None
    found = plan(data.predictions, lens=lens, draws=run.draws, engine=run.engine)
    taken = found.bytes + 8 * found.n * found.columns  # with the predictions themselves
    if taken <= memory:
        return None
    over = f"planned to take {size_in_words(taken)} at once, more than --memory {size_in_words(memory)}"
    if taken <= LEAST:  # parts take no less
        raise InputError(
            f"{over}: the least that works is {least_in_words(taken)}; fewer --draws or a coarser --lens may take less"
        )
    return over


def _read(path: Any, options: ReadOptions) -> Data:
    return read_together([path], options) if is_many(path) else read([Path(path)], options)


def read_together(paths: Sequence[Any], options: ReadOptions) -> Data:
    """Read files, folders and globs as one table; what is wrong names the file and the row in it."""
    survey = survey_files(paths, options, together=True)
    batches = [columns for part in survey.parts for columns in _checked(part, survey)]
    whole = {name: np.concatenate([columns[name] for columns in batches]) for name in batches[0]}
    roles = survey.roles
    said = {"drop_missing": options.drop_missing, "drop_target": options.drop_target, **roles.known()}
    asked = replace(roles.options, **said)
    data = read_source(roles.source(survey.name, roles.as_read(whole)), asked)
    return replace(data, choices=roles.choices)


def _checked(part: FilePart, survey: Survey) -> list[Columns]:
    found, place = list(part.batches(survey.roles)), part.place
    for columns in found:
        batch_of(columns, survey.roles, place)  # refuses what is wrong with them
        place = place.after(len(next(iter(columns.values()))))
    return found
