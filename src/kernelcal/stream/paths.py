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
from kernelcal.evaluation import Evaluation, evaluated
from kernelcal.explanation import columns_of_text
from kernelcal.io import Arrays, Data, ReadOptions, read, read_source
from kernelcal.runs import Run
from kernelcal.stream.batches import batch_of
from kernelcal.stream.formats import Columns
from kernelcal.stream.main import evaluate_files, read_options
from kernelcal.stream.survey import FilePart, Survey, find_files, in_pieces, is_many, size_of, survey_files

__all__ = ["AT_ONCE", "evaluate_path", "read_together"]


AT_ONCE = 2**28  # bytes of files that are read at once

_ONLY_IN_PARTS = {"sketch", "client"}

_RUN = {field.name for field in fields(Run)}


def evaluate_path(path: Any, *, memory: int = AT_ONCE, **options: Any) -> Evaluation:
    """Evaluate what a path names: `kernelcal.evaluate` does this when it is given a path.

    Parameters
    ----------
    path : str or path
        A file, a folder of files, or a glob such as ``"data/*.parquet"``; several files are one table.
    memory : int
        Bytes of Parquet, csv, tsv and txt files that are read at once; larger ones are read in parts, in one pass.
    **options
        ``lens``, ``confidence_level``, ``draws``, ``rng``, ``engine``, ``progress`` as for `kernelcal.evaluate`; what
        the files hold, as for `evaluate_files`, such as ``target="label"`` and ``predictions="p_*"``. With ``sketch``
        or ``client`` files of any size are read in parts.

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
    if isinstance(memory, bool) or not isinstance(memory, int) or memory < 1:
        raise InputError(f"memory is a number of bytes, such as 2**28, got {memory!r}")
    run = Run(**{name: value for name, value in options.items() if name in _RUN})
    lens = options.get("lens")
    refuse_lens(lens)
    asked = read_options({name: x for name, x in options.items() if name not in {"lens", *_RUN, *_ONLY_IN_PARTS}})
    if _in_parts(path, memory, options):
        return evaluate_files(path, **options)
    try:
        return _evaluated(_read(path, asked), lens, run)
    except InputError as error:
        named = str(error) if os.fspath(path) in str(error) else f"{path}: {error}"
        raise InputError(named) from None


def _evaluated(data: Data, lens: Any, run: Run) -> Evaluation:
    with naming_rows(data.row_in_words):
        beside = {"weights": data.weights, "given": data.given, **data.dependence}
        case = replace(Case.of(data.y, data.predictions, lens=lens, **beside), numbers=data.numbers)
        return evaluated(case, run, groups=columns_of_text(data.groups))


def _in_parts(path: Any, memory: int, options: dict[str, Any]) -> bool:
    """Only some formats can be read in parts, and some options say that they shall be."""
    if _ONLY_IN_PARTS & set(options):
        return True
    able = is_many(path) or in_pieces(os.fspath(path))
    return able and size_of(find_files([path])) > memory


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
    return read_source(Arrays(survey.name, roles.as_read(whole)), asked)


def _checked(part: FilePart, survey: Survey) -> list[Columns]:
    found, place = list(part.batches(survey.roles)), part.place
    for columns in found:
        batch_of(columns, survey.roles, place)  # refuses what is wrong with them
        place = place.after(len(next(iter(columns.values()))))
    return found
