"""Which columns hold what where it was not said: found by names that leave no doubt, each with its reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns import Choice, ReadOptions, known, listed, was_said
from kernelcal.io.long import is_long
from kernelcal.io.roles import vocabulary as words
from kernelcal.io.roles.classes import OF_CLASSES, by_labels, of_two_labels, predicted
from kernelcal.io.roles.numbers import OF_NUMBERS, by_stems, counted, errors, refuse_absolute, refuse_two
from kernelcal.io.roles.table import Found, NamedColumns, choice
from kernelcal.io.sources import Source
from kernelcal.predictions import negative_and_positive

__all__ = ["columns_of_models", "resolved", "target_of"]


_FORMS = ("predictions", "mean", "std", "variance", "samples", "quantiles", "family", "parameters")
_LONG = ("long", "level", "sample_id", "value", "truth")
_SURE, _TWO = 2, 2  # tiers of names that need nothing beside them, and outcomes of an event
_ARRAYS = ("samples", "quantiles", "cov", "levels")  # names of arrays that tell the form by themselves


def resolved(
    source: Source, options: ReadOptions, labels: Callable[[], set[str]] | None = None
) -> tuple[ReadOptions, tuple[Choice, ...]]:
    """Options with the columns that names tell, and the reasons; what leaves a doubt stays open, to be asked for.

    `labels` gives the text labels of all rows, where the source does not hold them all.
    """
    said = [name for name in _FORMS if was_said(options, name)]
    if (is_long(source) and not said) or any(was_said(options, name) for name in _LONG):
        return options, ()
    table = NamedColumns(source, options, labels)
    across = getattr(source, "across", {})
    if said:
        found = _beside_what_was_said(table, said)
    elif not across and any(name in source.names and source.axes(name) > 1 for name in _ARRAYS):
        return options, ()
    else:
        found = _of_all(table)
    if found is None:
        return options, ()
    patch, choices = found
    if was_said(options, "kind"):
        patch = {name: value for name, value in patch.items() if name != "kind"}
    if any("," in name for one in choices for name in one.columns):
        return options, ()  # names are listed with commas
    if "kind" not in patch and options.kind == "probabilities" and _in_percent(table, patch, options):
        patch["kind"] = "percent"
        choices.append(choice("kind", "percent", "the names say percent"))
    if "predictions" in patch and str(patch["predictions"]) in source.names:
        _refuse_the_contrary(table, str(patch.get("target", options.target)), str(patch["predictions"]))
    if "predictions" in patch and {**vars(options), **patch}["kind"] in ("probabilities", "top-label"):
        _refuse_a_doubtful_percent(table, str(patch["predictions"]).split(","))
    said_by = {one.role for one in choices}
    choices += [choice(name, str(value), "the names say so") for name, value in patch.items() if name not in said_by]
    return replace(options, **patch), tuple(choices)


def _in_percent(table: NamedColumns, patch: dict[str, Any], options: ReadOptions) -> bool:
    """Tell whether the columns of the predictions are called percentages, and hold more than 1 and at most 100."""
    names = str(patch.get("predictions", options.predictions or "")).split(",")
    if not all(name in table.source.names and words.percent_is_said(name) for name in names):
        return False
    values = table.numbers(names)
    if values is None or any(name in table.source.percent for name in names):
        return False
    there = values[np.isfinite(values)]
    return len(there) > 0 and bool(there.min() >= 0 and 1 < there.max() <= 100)


def _refuse_the_contrary(table: NamedColumns, target: str, name: str) -> None:
    """Refuse a probability whose name says the contrary of the outcome, and one of two before and after calibration."""
    outcome = getattr(table.source, "outcomes", {}).get(target, target)
    two = target in table.source.names and table.kind(target) == "binary" and table.kind(name) != "array"
    if two and words.is_contrary(name, outcome):
        raise InputError(
            f"{name} is by its name the probability of the contrary of {outcome}: write 1 - {name} into a column, "
            f"or, if it is the probability that {outcome} is 1, say --predictions {name}"
        )
    stem = {*words.plain(name).split("_")} - words.RECALIBRATED
    others = [
        other
        for other in table.free
        if other != name
        and {*words.plain(other).split("_")} - words.RECALIBRATED == stem
        and table.kind(other) == table.kind(name)
    ]
    if others:
        ways = " or ".join(f"--predictions {one}" for one in (name, *others))
        raise InputError(f"{name} and {listed(others)} are probabilities of the same: say which are meant, {ways}")


def _refuse_a_doubtful_percent(table: NamedColumns, names: Sequence[str]) -> None:
    """Refuse to guess what numbers up to 1 in a column are whose name says percent."""
    said = next((name for name in names if words.percent_is_said(name) and name not in table.source.percent), None)
    if said is not None and table.kind(said) == "fractions":
        raise InputError(
            f"{said} says percent by its name, and no number exceeds 1: say --kind percent if 0.5 is half a percent, "
            f"or --predictions {said} if these are probabilities"
        )


def target_of(table: NamedColumns) -> Choice | None:
    """The column of the outcomes by its name, and why; None where names leave a doubt."""
    if table.options.target:
        return None
    hits = _hits(table)
    if len(hits) == 1 and table.one(words.CONFIDENCE) and not table.called(words.PROBABILITY[:2]):
        return choice("target", hits, f"{hits[0]} says whether an answer was right, beside a confidence in it")
    found, why = table.called(words.TARGET) or hits, "is a usual name of outcomes"
    found = [n for n in found if table.plain[n] not in words.OPEN_QUESTIONS or table.kind(n) in ("binary", "text")]
    if not found:
        found, why = _by_a_word(table), "has a word for outcomes in its name, and no other column has"
    if len(found) != 1:
        return None
    _refuse_another_outcome(table, found[0])
    return choice("target", found, f"{found[0]} {why}")


def _hits(table: NamedColumns) -> list[str]:
    """Columns that say whether an answer was right: two outcomes, called so; a score only beside a confidence."""
    for k, tier in enumerate(words.HIT):
        found = [name for name in table.called([tier]) if _is_hit(table, name)]
        if found and (k < _SURE or (table.one(words.CONFIDENCE) and table.kind(found[0]) == "binary")):
            return found
    return []


def _is_hit(table: NamedColumns, name: str) -> bool:
    if table.kind(name) == "text":
        return negative_and_positive(sorted(table.different(name))) is not None
    return table.kind(name) in ("binary", "array")


def _by_a_word(table: NamedColumns) -> list[str]:
    """Columns such as died_30d, default_flag and price_actual, which say nothing of a prediction."""
    found = []
    for name in table.free:
        parts = set(table.plain[name].split("_"))
        if not parts & words.OUTCOME_WORDS or parts & words.PREDICTION_WORDS or table.kind(name) in ("array", "none"):
            continue
        two = table.kind(name) == "binary" or (table.kind(name) == "text" and len(table.different(name)) == _TWO)
        if two or (parts & words.OF_NUMBERS and table.kind(name) != "text"):
            found.append(name)
    sure = len(found) == 1 and {*table.plain[found[0]].split("_")} <= words.OUTCOME_WORDS | words.BESIDE_OUTCOMES
    return found if sure or not _two_valued_beside(table, found) else []


def _two_valued_beside(table: NamedColumns, found: Sequence[str]) -> bool:
    """Tell whether other columns have two values too, any of which could be the outcome."""
    rest = [name for name in table.free if name not in found and table.plain[name] not in words.PREDICTED_LABEL[0]]
    return any(table.kind(name) == "binary" for name in rest)


def _refuse_another_outcome(table: NamedColumns, name: str) -> None:
    """Refuse a second column with a name and values of outcomes: a label may be the predicted one beside the gold."""
    usual, kind = words.TARGET[0] | words.TARGET[1], table.kind(name)
    for other in table.free:
        if table.plain[other] in usual and other != name and table.kind(other) == kind and table.alike(name, other):
            raise InputError(
                f"{table.source.path}: both {name} and {other} could be the target: say which with --target NAME. If "
                "the other is a predicted label, and one number a confidence in it, say --target NAME --kind top-label "
                f"--predicted-label NAME --predictions NAME. The columns are {listed(table.source.names)}"
            )


def _beside_what_was_said(table: NamedColumns, said: Sequence[str]) -> Found | None:
    """Predictions were named: the target, and a mean of 0 where the target is an error."""
    asked = [part.strip() for name in said for part in str(getattr(table.options, name)).split(",")]
    table.free = [name for name in table.free if name not in asked]
    options, chosen = table.options, target_of(table)
    patch: dict[str, Any] = {} if chosen is None else {"target": chosen.columns[0]}
    choices = [] if chosen is None else [chosen]
    if list(said) == ["predictions"] and len(asked) == 1 and asked[0] in table.source.names:
        target = options.target or (chosen.columns[0] if chosen is not None else "")
        if target in table.source.names and table.kind(target) == "text":
            two = of_two_labels(table, target, "text", asked[0])
            if two is not None:
                patch["classes"] = two[0]["classes"]
                choices += [one for one in two[1] if one.role == "classes"]
    spread = {"std", "variance"} & set(said)
    if spread and not options.mean and len(said) == 1:
        error = options.target if options.target else table.one(words.ERROR)
        if error and words.plain(error) in words.ERROR[0]:
            refuse_absolute(table, error)
            why = f"{error} is an error, which is predicted to be 0 on average"
            choices = [choice("target", error, "an error"), choice("mean", "0", why)]
            patch = {"target": error, "mean": "0"}
    return (patch, choices) if patch else None


def _of_all(table: NamedColumns) -> Found | None:
    """Target and predictions by their names; None where one of them is not found without a doubt."""
    chosen = target_of(table)
    targets = [part.strip() for part in table.options.target.split(",")] if table.options.target else []
    targets = list(chosen.columns) if chosen is not None else [known(table.source, name) for name in targets]
    if not targets or table.options.target:
        of_counts = counted(table)
        if of_counts is not None:
            return of_counts
    if not targets:
        return by_stems(table) or errors(table) or by_labels(table) or _without_names(table)
    table.free = [name for name in table.free if name not in targets]
    kind = table.kind(targets[0]) if len(targets) == 1 else "array"
    found = _across(table)
    if found is not None:
        return _with(chosen, found)
    for way in OF_CLASSES:
        if kind not in ("real", "none", "fractions"):
            found = way(table, targets[0], kind)
            if found is not None:
                return _with(chosen, found)
    numbers = [one for of_numbers in OF_NUMBERS for one in [of_numbers(table, targets[0], kind)] if one is not None]
    if numbers:
        refuse_two(table, numbers)
        return _with(chosen, numbers[0])
    found = predicted(table, targets[0], kind)
    if found is not None:
        return _with(chosen, found)
    by_word = chosen is None or not words.is_usual(targets[0])
    stems = by_stems(table, targets[0]) if by_word and len(targets) == 1 else None
    return stems or (None if chosen is None else ({"target": chosen.columns[0]}, [chosen]))


_OPTION = {"samples": "samples", "quantiles": "quantiles", "classes": "predictions"}
_LABELS = {"quantiles": "quantile_levels", "classes": "classes"}


def _across(table: NamedColumns) -> Found | None:
    """A variable with one axis more than the outcomes have, whose name tells what it holds."""
    across = {name: way for name, way in getattr(table.source, "across", {}).items() if name in table.free}
    if len(across) != 1:
        if len(across) > 1:
            ways = ", ".join(f"--{_OPTION[kind]} {name}" for name, (kind, _) in across.items())
            raise InputError(f"{table.source.path}: several variables hold predictions: say which is meant, {ways}")
        return None
    ((name, (kind, labels)),) = across.items()
    patch, choices = {_OPTION[kind]: name}, [choice(_OPTION[kind], name, f"its further axis tells {kind}")]
    if labels:
        patch[_LABELS[kind]] = labels
        choices.append(choice(_LABELS[kind], labels, "the coordinate of that axis"))
    return patch, choices


def _without_names(table: NamedColumns) -> Found | None:
    """Two columns of a table without a header: outcomes of 0 and 1, and fractions from 0 to 1."""
    if table.source.names != ["1", "2"] or sorted(map(table.kind, table.free)) != ["binary", "fractions"]:
        return None
    target, p = sorted(table.free, key=table.kind)
    return {"target": target, "predictions": p}, [
        choice("target", target, "there is no header: the one of two columns that holds only 0 and 1"),
        choice("predictions", p, "the one that holds fractions from 0 to 1"),
    ]


def _with(chosen: Choice | None, found: Found) -> Found:
    patch, choices = found
    if chosen is None or "target" in patch:
        return patch, choices
    return {"target": chosen.columns[0], **patch}, [chosen, *choices]


def columns_of_models(source: Source, options: ReadOptions) -> list[dict[str, str]] | None:
    """Options of every model of a table with a column (or a mean and a spread) a model; None where names tell none.

    Names of columns are then alike but for the model: ``p_forest`` and ``p_linear``, ``a_mean`` and ``a_std``.
    """
    table = NamedColumns(source, options, None)
    chosen = target_of(table)
    target = options.target or (chosen.columns[0] if chosen is not None else None)
    if target is None or target not in source.names:
        return None
    table.free = [name for name in table.free if name != target]
    groups: dict[str, dict[str, str]] = {}
    for name in table.free:
        role = words.role_and_stem(name)
        if role is not None and role[1]:
            groups.setdefault(role[1], {}).setdefault(role[0], name)
    spread = next((role for role in ("std", "variance") if any(role in roles for roles in groups.values())), "")
    numbers = [roles for roles in groups.values() if "mean" in roles and spread in roles]
    if len(numbers) > 1:
        return [{"mean": roles["mean"], spread: roles[spread], "target": target} for roles in numbers]
    classes = [
        roles["probability"]
        for roles in groups.values()
        if "probability" in roles and table.kind(roles["probability"]) == "fractions"
    ]
    if len(classes) > 1 and table.kind(target) == "binary" and len(_affixes(classes)) == 1:
        return [{"predictions": name, "target": target} for name in classes]
    return None


def _affixes(names: Sequence[str]) -> set[str]:
    """Words by which the names say that they are probabilities."""
    found = set()
    for name in names:
        whole, role = words.plain(name), words.role_and_stem(name)
        found.add(whole.replace(role[1] if role else "", "*", 1))
    return found
