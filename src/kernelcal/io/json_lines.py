"""JSON: an object a line, a list of objects, or columns; objects in objects, and logs of language models."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.sources import column_of, is_number
from kernelcal.io.text import open_text

__all__ = ["load_json", "load_json_lines"]


_FEW_ROWS = 3  # of an object of objects that is no table
_DEEPEST, _MOST = 3, 2_000  # objects in objects, and columns, that are looked into


def load_json_lines(path: Path) -> dict[str, np.ndarray]:
    """Columns by name; a name that a line lacks is missing there."""
    with open_text(path) as stream:
        return _columns(path, (_object(f"{path}, line {k}", line) for k, line in enumerate(stream, 1) if line.strip()))


def load_json(path: Path) -> dict[str, np.ndarray]:
    """A list of objects, or columns by name; else an object a line."""
    with open_text(path) as stream:
        text = stream.read()
    try:
        whole = json.loads(text, object_pairs_hook=_once)
    except json.JSONDecodeError:
        return load_json_lines(path)
    except InputError as error:
        raise InputError(f"{path}: {error}") from None
    rows = _rows_in(path, whole)
    if rows:
        return _columns(path, rows)
    if isinstance(whole, dict) and any(isinstance(column, list) for column in whole.values()):
        found = {name: column_of(column) for name, column in whole.items() if isinstance(column, list)}
        longest = max(len(column) for column in found.values())
        return {name: column for name, column in found.items() if len(column) == longest}
    if isinstance(whole, dict):
        return _columns(path, [whole])
    raise InputError(f"{path}: expected a list of objects, or an object of columns, got {text.strip()[:40]!r}")


_ROWS = ("samples", "instances", "records", "rows", "results", "predictions", "data")


def _rows_in(path: Path, whole: Any) -> list[dict[str, Any]]:
    """Rows as objects: a list of them, alone or in an object, or what pandas writes; empty of others."""
    if isinstance(whole, list):
        return whole if all(isinstance(row, dict) for row in whole) else []
    if not isinstance(whole, dict):
        return []
    names, data = whole.get("columns"), whole.get("data")
    if isinstance(names, list) and isinstance(data, list) and all(map(_is_row(len(names)), data)):
        return [dict(zip(map(str, names), row, strict=True)) for row in data]
    inner = list(whole.values())
    if len(inner) > 1 and all(isinstance(one, dict) and one.keys() == inner[0].keys() and one for one in inner):
        return _of_two_ways(path, whole)
    own: list[Any] = next((whole[name] for name in _ROWS if isinstance(whole.get(name), list)), [])
    return own if all(isinstance(row, dict) for row in own) else []


def _is_row(width: int) -> Callable[[Any], bool]:
    return lambda row: isinstance(row, list) and len(row) == width


def _of_two_ways(path: Path, whole: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Columns of rows or rows of columns: numbers are those of rows."""
    outer, inner = list(whole), list(next(iter(whole.values())))
    numbered = [all(name.isdecimal() for name in names) for names in (outer, inner)]
    if numbered == [False, True]:
        return [{name: whole[name][row] for name in outer} for row in inner]
    if numbered == [True, False]:
        return list(whole.values())
    if min(len(outer), len(inner)) < _FEW_ROWS:
        return []
    raise InputError(
        f"{path}: are {outer[0]!r}, {outer[1]!r}, ... columns or rows? Write a list of objects, one a row, as "
        'frame.to_json(path, orient="records") does'
    )


def _columns(path: Path, rows: Iterable[dict[str, Any]]) -> dict[str, np.ndarray]:
    columns: dict[str, list[Any]] = {}
    count = 0
    for row in rows:
        for name, value in _flat(row).items():
            if name in columns or len(columns) < _MOST:
                columns.setdefault(name, [None] * count).append(value)
        count += 1
        for values in columns.values():
            values.extend([None] * (count - len(values)))
    if count == 0:
        raise InputError(f"{path}: the file is empty")
    more = _of_choices(columns) | _of_grades(columns)
    return {name: column_of(values) for name, values in (columns | more).items()}


def _flat(row: dict[str, Any], before: str = "", depth: int = 0) -> dict[str, Any]:
    """Values of an object in an object by both names: ``{"probs": {"cat": 0.2}}`` is a column ``probs.cat``."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict) and depth < _DEEPEST:
            found |= _flat(value, f"{before}{name}.", depth + 1)
        elif (scores := _scores(value)) and len(scores) <= _MOST:
            found |= {f"{before}{name}.{label}": score for label, score in scores.items()}
        else:
            found[before + name] = value
    return found


def _scores(value: Any) -> dict[str, Any]:
    """Scores by their labels of a list of such pairs: ``[{"label": "cat", "score": 0.9}, ...]``; empty of others."""
    if not isinstance(value, list) or len(value) < 2 or not all(isinstance(one, dict) for one in value):
        return {}
    if all(isinstance(one.get("name"), dict) and isinstance(one["name"].get("name"), str) for one in value):
        value = [{**one, "label": one["name"]["name"]} for one in value]  # statistics of HELM
    label = next((word for word in ("label", "token") if all(isinstance(one.get(word), str) for one in value)), None)
    names = ("score", "logprob", "prob", "mean", "sum")
    score = next((word for word in names if all(isinstance(one.get(word), int | float) for one in value)), None)
    if label is None or score is None or len({one[label] for one in value}) < len(value):
        return {}
    return {one[label]: one[score] for one in value}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that says two values of one name: which of them is meant?"""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        double = next(name for name in names if names.count(name) > 1)
        raise InputError(f"the name {double!r} is given twice in one object: leave one of the two values")
    return found


def _object(where: str, line: str) -> dict[str, Any]:
    try:
        value = json.loads(line, object_pairs_hook=_once)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}: not JSON: {error.msg}") from None
    except InputError as error:
        raise InputError(f"{where}: {error}") from None
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, brackets in thousands of brackets
        raise InputError(f"{where}: cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise InputError(f'{where}: expected an object such as {{"p": 0.3, "y": 1}}, got {line.strip()[:40]!r}')
    return value


# ---- logs of lm-evaluation-harness: log-likelihoods of the choices of every question


def _of_choices(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Columns that a log of choices stands for: their log-likelihoods, or the confidence in the likeliest of them.

    A row of ``filtered_resps`` (or ``resps``) has a pair for every choice: its log-likelihood, and whether it is what
    the model would write. Where all questions have as many choices these are the classes; else the question is whether
    the likeliest one is right.
    """
    name = next((name for name in ("filtered_resps", "resps") if name in columns), None)
    if name is None or "target" not in columns:
        return {}
    rows = [_likelihoods(row) for row in columns[name]]
    if any(len(row) < 2 for row in rows):
        return {}
    targets = [_number_of(columns, k, len(row)) for k, row in enumerate(rows)]
    if any(target is None for target in targets):
        return {}
    if len({len(row) for row in rows}) == 1:
        return {"log_likelihoods": rows, "target": targets}
    chosen = [int(np.argmax(row)) for row in rows]
    confidence = [float(1 / np.exp(np.array(row) - max(row)).sum()) for row in rows]
    right = [int(mine == target) for mine, target in zip(chosen, targets, strict=True)]
    return {"confidence": confidence, "correct": right}


_GRADES = {"C": True, "I": False}


def _of_grades(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Whether answers were right, where one scorer of inspect-ai graded them C (correct) or I (incorrect)."""
    graded = [
        name
        for name, values in columns.items()
        if name.startswith("scores.") and name.endswith(".value") and {*map(str, values)} <= _GRADES.keys()
    ]
    if len(graded) != 1 or "correct" in columns:
        return {}
    return {"correct": [_GRADES[grade] for grade in columns[graded[0]]]}


def _likelihoods(row: Any) -> list[float]:
    """Log-likelihoods of the choices; none where the log holds something else, such as text that was written."""
    found = []
    for choice in row if isinstance(row, list) else []:
        while isinstance(choice, list) and len(choice) == 1:
            choice = choice[0]
        first = choice[0] if isinstance(choice, list) and len(choice) == 2 else choice
        if isinstance(first, list) or not is_number(first) or isinstance(first, bool):
            return []
        found.append(float(first))
    return found


def _number_of(columns: dict[str, list[Any]], row: int, choices: int) -> int | None:
    """Which choice is right: as a number, or as the text that one of the choices has."""
    target = columns["target"][row]
    if is_number(target) and float(target).is_integer():
        return int(float(target)) if 0 <= float(target) < choices else None
    asked = columns["arguments"][row] if "arguments" in columns else None
    texts = [pair[1] for pair in asked if isinstance(pair, list) and len(pair) == 2] if isinstance(asked, list) else []
    texts = texts or [columns[f"arguments.gen_args_{k}.arg_1"][row] for k in range(choices) if _asked(columns, k)]
    texts = texts or next((columns[n][row] for n in ("doc.choices", "doc.choices.text") if n in columns), [])
    same = [k for k, text in enumerate(texts or []) if str(text).strip() == str(target).strip()]
    return same[0] if len(same) == 1 and len(texts) == choices else None


def _asked(columns: dict[str, list[Any]], choice: int) -> bool:
    return f"arguments.gen_args_{choice}.arg_1" in columns
