"""Columns of class probabilities, confidences and logits, found by their names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from kernelcal.errors import InputError
from kernelcal.io.columns import listed
from kernelcal.io.roles import vocabulary as words
from kernelcal.io.roles.table import Found, NamedColumns, choice, join
from kernelcal.predictions import columns_of_labels, common_start, negative_and_positive

__all__ = ["OF_CLASSES", "predicted"]


def _class_series(table: NamedColumns, target: str, kind: str) -> Found | None:
    """Columns p0, p1, ...: those of a series that is called as probabilities are."""
    for stem, columns in words.series(table.free).items():
        names = [name for name, _ in columns]
        if stem not in words.SERIES_OF_CLASSES | words.SERIES_OF_LOGITS or any(
            number != int(number) for _, number in columns
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


def _may_be_classes(table: NamedColumns, target: str, classes: int) -> bool:
    values = table.source.values(target).astype(np.float64)
    return len(np.unique(values[np.isfinite(values)])) <= max(2 * classes, 2)


def _probability(table: NamedColumns, target: str, kind: str) -> Found | None:
    name = table.one(words.PROBABILITY)
    if name is None or table.kind(name) in ("text", "none"):
        return None
    if kind == "whole" and table.one(words.STD) and table.one(words.MEAN):
        return None
    found = _of_two_labels(table, target, kind, name)
    return found or ({"predictions": name}, [choice("predictions", name, "a usual name of probabilities")])


def _of_two_labels(table: NamedColumns, target: str, kind: str, name: str) -> Found | None:
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
    columns, more = columns_of_labels(labels, table.free)
    if any(table.kind(name) in ("text", "none", "array") for name in columns):
        return None
    more = [name for name in more if table.kind(name) not in ("text", "none", "array")]
    if len(columns) > 1:
        columns = more if more != columns and not _sum_to_one(table, columns) and _sum_to_one(table, more) else columns
        chosen = choice("predictions", columns, "called as the labels of the target")
        scale = _scale_of(common_start(columns))
        return {"predictions": join(columns), **({"kind": scale} if scale else {})}, [chosen]
    return _of_two_labels(table, target, kind, columns[0]) if len(columns) == 1 and len(labels) == 2 else None


def _scale_of(start: str) -> str | None:
    """Scale that names begin with, such as logprobs.yes and logprobs.no."""
    word = words.plain(start)
    scales = {"logits": words.LOGIT, "log-probabilities": words.LOG_PROBABILITY}
    return next((scale for scale, tiers in scales.items() if any(word in tier for tier in tiers)), None)


def _sum_to_one(table: NamedColumns, columns: Sequence[str]) -> bool:
    sums = table.source.numbers(columns).sum(axis=1)
    sums = sums[np.isfinite(sums)]
    return bool(np.all(np.abs(sums - 1) < 0.02) or np.all(np.abs(sums - 100) < 2))


def _confidence(table: NamedColumns, target: str, kind: str) -> Found | None:
    """A confidence in an answer that was right or wrong, or in a predicted label."""
    name = table.one(words.CONFIDENCE)
    if name is None or table.kind(name) in ("text", "none"):
        return None
    if words.says_right(target):
        return {"predictions": name}, [choice("predictions", name, f"the confidence that {target} is true")]
    label = table.options.predicted_label or table.one(words.PREDICTED_LABEL, but=[name])
    if label is not None and _alike(table.kind(label), kind):
        return {"predictions": name, "kind": "top-label", "predicted_label": label}, [
            choice("predictions", name, "a usual name of the confidence in a predicted label"),
            choice("predicted_label", label, f"a usual name of predicted labels, of the kind of those in {target}"),
        ]
    raise InputError(
        f"{name} is a confidence, and {target} does not say by its name whether an answer was right: if it does, or if "
        f"{name} is the probability of its label 1, say --predictions {name}; if {name} is that of a predicted label, "
        f"say --predictions {name} --kind top-label --predicted-label NAME. The columns are "
        f"{listed(table.source.names)}"
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
    name = table.one(words.PREDICTED)
    if name is None or kind != "binary" or table.kind(name) != "fractions":
        return None
    return {"predictions": name}, [choice("predictions", name, f"from 0 to 1 beside a {target} of 0 and 1")]


OF_CLASSES = (_class_series, _probability, _of_labels, _confidence, _on_log_scale)  # the first that finds any
