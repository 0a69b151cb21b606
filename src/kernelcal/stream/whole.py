"""Several files that fit into memory: one table, read at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.io import Data, ReadOptions
from kernelcal.io.reading import read_source
from kernelcal.io.sources import Arrays
from kernelcal.stream.batches import batch_of
from kernelcal.stream.pieces import Columns
from kernelcal.stream.survey import FilePart, Survey, survey_files

__all__ = ["read_together"]


def read_together(paths: Sequence[Any], options: ReadOptions) -> Data:
    """Read files, folders and globs as one table; what is wrong names the file and the row in it."""
    survey = survey_files(paths, options)
    batches = [columns for part in survey.parts for columns in _checked(part, survey)]
    whole = {name: np.concatenate([columns[name] for columns in batches]) for name in batches[0]}
    roles = survey.roles
    asked = replace(roles.options, drop_missing=options.drop_missing, drop_target=options.drop_target)
    return read_source(Arrays(survey.name, roles.as_read(whole)), asked)


def _checked(part: FilePart, survey: Survey) -> list[Columns]:
    found, place = list(part.batches(survey.roles)), part.place
    for columns in found:
        batch_of(columns, survey.roles, place)  # refuses what is wrong with them
        place = place.after(len(next(iter(columns.values()))))
    return found
