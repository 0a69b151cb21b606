"""Columns of class probabilities, confidences and logits, found by their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns import listed
from kernelcal.io.roles import vocabulary as words
from kernelcal.io.roles.table import Found, NamedColumns, choice, join
from kernelcal.predictions import columns_of_labels, common_start, negative_and_positive

__all__ = ["OF_CLASSES", "by_labels", "of_two_labels", "predicted"]


_MOST_LABELS, _TWO, _FEW = 100, 2, 10
_OTHER = re.compile(r"\d|(neg|negative|no|not|non|false|incorrect|wrong|loss|lose|fail)(_|$)")  # of label 0, perhaps
_NUMBERED = re.compile(r"(.*?)_?\d+")


def _by_affix(table: NamedColumns, kind: str) -> str | None:
    """The one column from 0 to 1 that says by a word of its name that it is a probability: win_prob, rain_risk."""
    roles = {name: words.role_and_stem(name) for name in table.free} if kind in ("binary", "text") else {}
    found = [name for name, role in roles.items() if role and role[0] == "probability" and not _OTHER.match(role[1])]
    return found[0] if len(found) == 1 and table.kind(found[0]) == "fractions" else None


def _class_series(table: NamedColumns, target: str, kind: str) -> Found | None:
    """Columns p0, p1, ...: those of a series that is called as probabilities are."""
    for series, columns in words.series(table.free).items():
        names = [name for name, _ in columns]
        stem = _without(series, words.plain(target))
        if stem not in words.SERIES_OF_CLASSES | words.SERIES_OF_LOGITS or any(
            number != int(number) for _, number in columns
        ):
            continue
        numbers = sorted(int(number) for _, number in columns)
        if numbers not in (list(range(len(names))), list(range(1, len(names) + 1))) and (
            kind not in ("binary", "whole") or not _labels(table, target) <= set(numbers)
        ):
            continue
        if kind == "whole" and not _may_be_classes(table, target, len(names)):
            continue
        patch: dict[str, Any] = {"predictions": join(names)}
        called = "probabilities"
        if stem in words.SERIES_OF_LOGITS:
            patch["kind"] = called = "logits"
        why = f"numbered columns, called as {called} of classes are"
        return patch, [choice("predictions", names, why)]
    return None


def _without(stem: str, target: str) -> str:
    """Stem of a series without the name of the target: P_BAD1 and P_BAD0 beside BAD are p of classes."""
    parts = stem.split("_")
    return "_".join(part for part in parts if part != target) if target in parts and stem != target else stem


def _labels(table: NamedColumns, target: str) -> set[float]:
    """Different labels that are numbers."""
    values = table.source.values(target)
    numbers = [float(value) for value in values.tolist() if value is not None]
    return {number for number in numbers if number == number}


def _may_be_classes(table: NamedColumns, target: str, classes: int) -> bool:
    return len(_labels(table, target)) <= max(2 * classes, 2)


def _of_class_one(table: NamedColumns, kind: str) -> str | None:
    """One column p1 or prob_1 beside outcomes of 0 and 1."""
    found = [
        name
        for name in table.free
        if (one := _NUMBERED.fullmatch(table.plain[name])) and one.group(1) in words.SERIES_OF_CLASSES
    ]
    return found[0] if kind == "binary" and len(found) == 1 and table.plain[found[0]].endswith("1") else None


def _called_as_the_outcome(table: NamedColumns, target: str, kind: str) -> Found | None:
    """A column that has the name of the outcome in its file: the target of a submission is a prediction."""
    name = getattr(table.source, "outcomes", {}).get(target)
    if name not in table.free or table.kind(name) != "fractions":
        return None
    if kind == "text":
        return of_two_labels(table, target, kind, name)
    if kind != "binary":
        return None
    return {"predictions": name}, [choice("predictions", name, "called as the outcome in the file of outcomes")]


def _probability(table: NamedColumns, target: str, kind: str) -> Found | None:
    name = table.one(words.PROBABILITY) or _of_class_one(table, kind) or _by_affix(table, kind)
    if name is None or table.kind(name) in ("text", "none"):
        return None
    of_guess = _of_a_guess(table, target, kind, name)
    if of_guess is not None:
        return of_guess
    if kind == "whole" and table.one(words.STD) and table.one(words.MEAN):
        return None
    found = of_two_labels(table, target, kind, name)
    return found or ({"predictions": name}, [choice("predictions", name, "a usual name of probabilities")])


def _of_a_guess(table: NamedColumns, target: str, kind: str, name: str) -> Found | None:
    """One probability beside a predicted label: that of this label, unless it is that of label 1 in every row."""
    if table.options.kind != "probabilities" or table.kind(name) == "array" or words.says_right(target):
        return None
    label = table.options.predicted_label or table.one(words.PREDICTED_LABEL, but=[name])
    if label is None or label not in table.source.names or not _alike(table.kind(label), kind):
        return None
    found = {"predictions": name, "kind": "top-label", "predicted_label": label}
    why = f"one number beside labels, of which {label} is the predicted one"
    choices = [choice("predictions", name, why), choice("predicted_label", label, "a usual name of predicted labels")]
    if kind != "binary" and len(_values(table, target)) > 2:
        return found, choices
    if kind != "binary":
        return None
    p, guess = table.source.numbers([name, label]).T
    there = np.isfinite(p) & np.isfinite(guess) & (p != 0.5)
    if np.all((p > 0.5)[there] == (guess == 1)[there]):
        return None  # the probability of label 1, by which the label was predicted
    if np.all(p[np.isfinite(p)] >= 0.5):
        return found, choices
    raise _asked(table, target, name)


def _values(table: NamedColumns, target: str) -> set[Any]:
    return set(table.source.values(target).tolist()) - {None}


def of_two_labels(table: NamedColumns, target: str, kind: str, name: str) -> Found | None:
    """One column beside two text labels: which of them it is about."""
    if kind != "text" or table.kind(name) == "array" or table.options.classes:
        return None
    pair = negative_and_positive(sorted(table.texts(target)), name)
    if pair is None or any("," in label or label != label.strip() for label in pair):
        return None
    why = f"{name} is the probability of {pair[1]!r}, as its name or the two labels say"
    return {"predictions": name, "classes": join(pair)}, [
        choice("predictions", name, "a usual name of probabilities, or one that names a label"),
        choice("classes", pair, why),
    ]


def _of_labels(table: NamedColumns, target: str, kind: str) -> Found | None:
    """Columns that are called as the text labels of the target, with a word before or after."""
    if kind != "text":
        return None
    labels = table.texts(target)
    columns, more = columns_of_labels(labels, table.free, target)
    if columns and table.numbers(columns) is None:
        return None
    if len(columns) > 1:
        columns = more if more != columns and not _sum_to_one(table, columns) and _sum_to_one(table, more) else columns
        chosen = choice("predictions", columns, "called as the labels of the target")
        scale = _scale_of(common_start(columns))
        return {"predictions": join(columns), **({"kind": scale} if scale else {})}, [chosen]
    return of_two_labels(table, target, kind, columns[0]) if len(columns) == 1 and len(labels) == 2 else None


def _scale_of(start: str) -> str | None:
    """Scale that names begin with, such as logprobs.yes and logprobs.no."""
    word = words.plain(start)
    scales = {"logits": words.LOGIT, "log-probabilities": words.LOG_PROBABILITY}
    return next((scale for scale, tiers in scales.items() if any(word in tier for tier in tiers)), None)


def _sum_to_one(table: NamedColumns, columns: Sequence[str], *, wide: bool = False) -> bool:
    """Tell whether columns hold numbers from 0 to 1, or percentages, that sum to 1 or 100 in every row."""
    values = table.source.array(columns[0]) if wide else table.numbers(columns)
    if values is None or not len(values) or values.ndim != _TWO:
        return False
    sums = values.sum(axis=1)
    sums, least = sums[np.isfinite(sums)], float(np.nanmin(values, initial=0.0))
    return least > -1e-6 and bool(np.all(np.abs(sums - 1) < 0.02) or np.all(np.abs(sums - 100) < 2))


def _confidence(table: NamedColumns, target: str, kind: str) -> Found | None:
    """A confidence in an answer that was right or wrong, or in a predicted label."""
    name = table.one(words.CONFIDENCE)
    if name is None or table.kind(name) in ("text", "none"):
        return None
    if words.says_right(target) or words.plain(target) in words.HIT[2]:
        two = of_two_labels(table, target, kind, name)
        return two or ({"predictions": name}, [choice("predictions", name, f"the confidence that {target} is true")])
    label = table.options.predicted_label or table.one(words.PREDICTED_LABEL, but=[name])
    if label is not None and label in table.source.names and _alike(table.kind(label), kind):
        return {"predictions": name, "kind": "top-label", "predicted_label": label}, [
            choice("predictions", name, "a usual name of the confidence in a predicted label"),
            choice("predicted_label", label, f"a usual name of predicted labels, of the kind of those in {target}"),
        ]
    raise _asked(table, target, name)


def _asked(table: NamedColumns, target: str, name: str) -> InputError:
    return InputError(
        f"is {name} the probability of label 1, or the confidence in a predicted label? {target} does not say by its "
        f"name whether an answer was right: if it does, or if {name} is the probability of its label 1, say "
        f"--predictions {name}; if {name} is that of a predicted label, say --predictions {name} --kind top-label "
        f"--predicted-label NAME. The columns are {listed(table.source.names)}"
    )


def _alike(one: str, other: str) -> bool:
    return (one == "text") == (other == "text") and one in ("text", "binary", "whole")


def _on_log_scale(table: NamedColumns, target: str, kind: str) -> Found | None:
    for tiers, scale in ((words.LOGIT, "logits"), (words.LOG_PROBABILITY, "log-probabilities")):
        name = table.one(tiers)
        if name is not None and table.kind(name) not in ("text", "none"):
            patch = {"predictions": name, "kind": scale}
            return patch, [choice("predictions", name, f"a usual name of {scale}")]
    return None


def predicted(table: NamedColumns, target: str, kind: str) -> Found | None:
    """A prediction of an outcome that is 0 or 1, itself between 0 and 1: its probability."""
    name = table.one(words.PREDICTED) or _called_a_prediction(table)
    if name is None:
        return None
    if table.kind(name) == "array":
        return _rows_of_ones(table, name, kind)
    if table.kind(name) != "fractions" or kind not in ("binary", "text"):
        return None
    if kind == "text":
        return of_two_labels(table, target, kind, name)
    return {"predictions": name}, [choice("predictions", name, f"from 0 to 1 beside a {target} of 0 and 1")]


def _called_a_prediction(table: NamedColumns) -> str | None:
    """The one column of fractions whose name begins or ends with a word for predictions: predicted_30d_mortality."""
    found = [
        name
        for name in table.free
        if {table.plain[name].split("_")[0], table.plain[name].split("_")[-1]} & words.PREDICTED[0]
        and not {*table.plain[name].split("_")} & words.NO_PREDICTION
    ]
    return found[0] if len(found) == 1 and table.kind(found[0]) == "fractions" else None


def _rows_of_ones(table: NamedColumns, name: str, kind: str) -> Found | None:
    """An array whose rows sum to 1, beside labels."""
    if kind == "real" or not _sum_to_one(table, [name], wide=True):
        return None
    return {"predictions": name}, [choice("predictions", name, "an array whose rows sum to 1")]


def _sums_to_one(table: NamedColumns, target: str, kind: str) -> Found | None:
    """Numbered columns of any name whose rows sum to 1, in the numbers of classes."""
    found = []
    for columns in words.series(table.free).values():
        names = [name for name, _ in columns]
        numbers = sorted(number for _, number in columns)
        counted = numbers in (list(range(len(names))), list(range(1, len(names) + 1)))
        if not counted or (kind != "text" and not _labels(table, target) <= set(range(len(names) + 1))):
            continue
        if _sum_to_one(table, names):
            found.append(names)
    if len(found) != 1:
        return None
    return {"predictions": join(found[0])}, [choice("predictions", found[0], "numbered columns whose rows sum to 1")]


def by_labels(table: NamedColumns) -> Found | None:
    """A column of text whose labels are the names of columns that sum to 1 in every row: it is the target."""
    found = []
    for name in table.free:
        labels = _few_labels(table, name)
        if not 1 < len(labels) <= _MOST_LABELS:
            continue
        columns, _ = columns_of_labels(labels, [other for other in table.free if other != name], name)
        if table.kind(name) != "text" and not all(table.plain[name] in table.plain[other] for other in columns):
            continue
        if len(columns) > 1 and _sum_to_one(table, columns) and not _is_the_guess(table, name, columns):
            found.append((name, columns))
    if len(found) != 1:
        return None
    ((target, columns),) = found
    return {"target": target, "predictions": join(columns)}, [
        choice("target", target, "its labels are the names of columns that sum to 1"),
        choice("predictions", columns, f"called as the labels of {target}"),
    ]


def _is_the_guess(table: NamedColumns, name: str, columns: Sequence[str]) -> bool:
    """Tell whether a column is called a prediction, or is the likeliest label in every row."""
    tiers = (*words.PREDICTED, *words.PREDICTED_LABEL)
    if any(table.plain[name] in tier for tier in tiers):
        return True
    p, labels = table.source.numbers(columns), table.source.values(name).tolist()
    of_guess: dict[int, set[Any]] = {}
    for k, label in zip(p.argmax(axis=1).tolist(), labels, strict=True):
        of_guess.setdefault(k, set()).add(label)
    return len(labels) > _FEW and len(of_guess) > 1 and all(len(some) == 1 for some in of_guess.values())


def _few_labels(table: NamedColumns, name: str) -> set[Any]:
    """Labels of a column that could be a target: texts, or whole numbers."""
    if table.kind(name) == "text":
        own = table.labels is None or table.different(name) <= table.labels()
        return table.texts(name) if own else set()
    return _labels(table, name) if table.kind(name) in ("binary", "whole") else set()


OF_CLASSES = (
    _called_as_the_outcome,
    _class_series,
    _probability,
    _of_labels,
    _confidence,
    _on_log_scale,
    _sums_to_one,
)  # the first that finds any
