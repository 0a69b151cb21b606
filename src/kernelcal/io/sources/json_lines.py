"""Json lines: one object a line, names to numbers, text or lists of numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.sources.cells import side_by_side
from kernelcal.io.sources.columns import reads
from kernelcal.io.sources.text import open_text


@reads(".jsonl", ".ndjson")
def _load_json_lines(path: Path) -> dict[str, np.ndarray]:
    """Columns by name; a name that a line lacks is missing there."""
    columns: dict[str, list[Any]] = {}
    count = 0
    with open_text(path) as stream:
        for number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            for name, value in _object(f"{path}, line {number}", line).items():
                columns.setdefault(name, [None] * count).append(value)
            count += 1
            for values in columns.values():
                values.extend([None] * (count - len(values)))
    if count == 0:
        raise InputError(f"{path}: the file is empty")
    return {name: _column(f"{path}, column {name!r}", values) for name, values in columns.items()}


def _object(where: str, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets in thousands of brackets
        raise InputError(f"{where}: cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f'{where}: expected an object such as {{"p": 0.3, "y": 1}}, got {line.strip()[:40]!r}')
    return value


def _column(where: str, values: list[Any]) -> np.ndarray:
    if any(isinstance(value, list) for value in values):
        return side_by_side(where, values)
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column
