"""Labels and the names of columns: which column is which label, whatever the case and what stands around the label."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

__all__ = [
    "column_numbers",
    "columns_of_labels",
    "common_start",
    "matched",
    "negative_and_positive",
    "number_names",
    "numbered_classes",
    "text_of",
]


# what stands before or after a label in the name of a column
_AFFIXES = frozenset(
    "p pr prob probs proba probas probability probabilities phat hat score scores conf confidence pred preds "  # noqa: SIM905
    "predicted prediction predictions predict logit logits logprob logprobs log softmax output out pct percent class "
    "cls label is y risk chance of".split()
)
# words: runs of capitals, capitalised words, small letters, digits; everything between is none
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+", re.UNICODE)
_PAIRS = (
    ("no", "yes"),
    ("nein", "ja"),
    ("non", "oui"),
    ("no", "si"),
    ("no", "sí"),
    ("não", "sim"),
    ("nej", "ja"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("negative", "positive"),
    ("neg", "pos"),
    ("absent", "present"),
    ("loss", "win"),
    ("lost", "won"),
    ("incorrect", "correct"),
    ("wrong", "right"),
    ("failure", "success"),
    ("fail", "pass"),
)
_NOT = ("not", "non", "no", "un")


def text_of(label: Any) -> str:
    """Label as text, whole numbers without a point."""
    return str(int(label)) if isinstance(label, float) and label.is_integer() else str(label).strip()


def _key(text: str) -> str:
    """Letters and digits alone, without case; a number as a number."""
    if text.strip()[:1] in "+-.0123456789" and "_" not in text:
        try:
            return f"{float(text):.12g}"
        except ValueError:
            pass
    return "".join(character for character in text.casefold() if character.isalnum())


def common_start(names: Sequence[str]) -> str:
    """What all names begin with."""
    low, high = min(names), max(names)
    length = next((k for k, (a, b) in enumerate(zip(low, high, strict=False)) if a != b), len(low))
    return low[:length]


def _inner(name: str, target: str = "") -> list[str]:
    """The name, and what is left of it without words that stand around labels, the shortest last."""
    return [name[start:end] for start, end in _inner_places(name, target)]


def _inner_places(name: str, target: str = "") -> list[tuple[int, int]]:
    """Where each of these begins and ends: of ``prob_b`` the label is the last letter, not that of ``prob``."""
    words = list(_WORD.finditer(name))
    own = {word.casefold() for word in _WORD.findall(target)}
    around = [word.group().casefold() in _AFFIXES or word.group().casefold() in own for word in words]
    first, last = 0, len(words)
    while first < last - 1 and around[first]:
        first += 1
    while last > first + 1 and around[last - 1]:
        last -= 1
    cuts = [(a, b) for a in range(first + 1) for b in range(len(words), last - 1, -1) if a < b]
    cuts.sort(key=lambda cut: cut[0] - cut[1])
    return [(0, len(name)), *((words[a].start(), words[b - 1].end()) for a, b in cuts)]


def matched(labels: Iterable[Any], columns: Sequence[Any]) -> list[Any] | None:
    """Class of every column by its name: a label, or what the name says where the label does not occur.

    Parameters
    ----------
    labels : iterable
        Different labels of the targets.
    columns : sequence of str
        Names of the columns of the predictions.

    Returns
    -------
    list or None
        In the order of the columns; None where some label has no column, or more than one. Names are compared as they
        are, then without case and signs, then without what all begin or end with, then without words such as ``prob``.

    Examples
    --------
    >>> from kernelcal.predictions.label_names import matched
    >>> matched(["cat", "dog"], ["P(Dog)", "P(Cat)", "P(Owl)"])
    ['dog', 'cat', 'Owl']
    >>> matched(["cat", "dog"], ["pc", "pd"]) is None
    True
    """
    columns = [str(name) for name in columns]
    of_key = {_key(text_of(label)): label for label in labels}
    labels = list(labels)
    if len(of_key) < len(labels) or not labels or "" in of_key:
        return _same(labels, columns)
    start, end = len(common_start(columns)), len(common_start([name[::-1] for name in columns]))
    cut = [[name[start : len(name) - end or None]] for name in columns]
    begun = [[name[start:]] for name in columns]
    whole = [[name] for name in columns]
    exact = _same(labels, columns)
    if exact is not None:
        return exact
    word = re.match(r".*[\W_]", columns[0][:start])  # up to a whole word: Status_C and Status_CL begin with Status_
    of_words = [[name[len(word.group()) :]] for name in columns] if word else []
    for ways in (whole, begun, cut, of_words, [_inner(name) for name in columns]):
        found = _by_key(of_key, ways)
        if found is not None:
            return found
    return None


def _same(labels: Sequence[Any], columns: list[str]) -> list[Any] | None:
    of_text = {text_of(label): label for label in labels}
    if not labels or not set(of_text) <= set(columns) or len(set(columns)) < len(columns):
        return None
    return [of_text.get(name, name) for name in columns]


def _by_key(of_key: dict[str, Any], ways: Sequence[Sequence[str]]) -> list[Any] | None:
    """Labels whose key is that of one of the ways to read one column."""
    if not ways:
        return None
    names: list[Any] = [some[-1].strip(" _.:-()[]{}") for some in ways]
    for key, label in of_key.items():
        places = [k for k, some in enumerate(ways) if any(_key(text) == key for text in some)]
        if len(places) != 1:
            return None
        names[places[0]] = label
    different = {_key(text_of(name)) for name in names}
    return names if len(different) == len(names) and "" not in different else None


def column_numbers(columns: Sequence[Any]) -> list[int] | None:
    """Numbers in names that are alike but for them, None where the names are of another kind.

    Examples
    --------
    >>> from kernelcal.predictions.label_names import column_numbers
    >>> column_numbers(["p2", "p0", "p1"]), column_numbers(["2_prob", "0_prob"]), column_numbers(["m1_p0", "m2_p1"])
    ([2, 0, 1], [2, 0], None)
    """
    names = [str(name) for name in columns]
    found = [re.fullmatch(r"(.*?)[^\w.]*?(\d+)\W*", name) for name in names]
    if any(one is None for one in found):
        return _numbers_within(names)
    parts = [(one.group(1).casefold(), int(one.group(2))) for one in found if one is not None]
    numbers = [number for _, number in parts]
    if len({stem for stem, _ in parts}) == 1 and len(set(numbers)) == len(numbers):
        return numbers
    return _numbers_within(names)


def _numbers_within(names: Sequence[str]) -> list[int] | None:
    """Numbers that differ at the one place where names do, which is not at their end: 2_prob, p0 of a model."""
    if any(re.search(r"\d[.,]\d|-\d", name) for name in names):
        return None  # no whole numbers from 0
    parts = [re.split(r"(\d+)", name.casefold()) for name in names]
    if len({tuple(part[::2]) for part in parts}) > 1:
        return None
    places = [place for place in zip(*(part[1::2] for part in parts), strict=True) if len(set(place)) > 1]
    numbers = [int(text) for text in places[0]] if len(places) == 1 else []
    return numbers if numbers and len(set(numbers)) == len(numbers) else None


def numbered_classes(labels: Iterable[Any], columns: Sequence[Any]) -> list[int] | None:
    """Class of every column for labels that are numbers or truth values, None where names tell nothing.

    It is the number in the name, or of two columns that which their words say: ``p_no`` is about label 0.

    Examples
    --------
    >>> from kernelcal.predictions.label_names import numbered_classes
    >>> numbered_classes([0, 1], ["p_yes", "p_no"]), numbered_classes([False, True], ["p1", "p0"])
    ([1, 0], [1, 0])
    """
    labels = list(labels)
    if any(not float(label).is_integer() for label in labels):
        return None
    numbers = column_numbers(columns)
    if numbers is not None:
        return number_names(numbers, labels)
    if len(columns) != 2 or not {int(label) for label in labels} <= {0, 1}:
        return None
    words = [_inner(str(name))[-1] for name in columns]
    pair = negative_and_positive(words) if words[0] != words[1] else None
    return None if pair is None else [pair.index(word) for word in words]


def number_names(numbers: Sequence[int], labels: Iterable[Any]) -> list[int] | None:
    """Class of every numbered column where the labels are numbers, None where this leaves a doubt.

    Columns 0 to m - 1, and columns whose numbers hold all labels, are the classes of their numbers. Columns 1 to m are
    these if label m occurs and 0 does not, and the classes below if 0 occurs and there are more than two of them: of
    two columns the first may also be the probability that an event came true.

    Examples
    --------
    >>> from kernelcal.predictions.label_names import number_names
    >>> number_names([2, 0, 1], [0, 1]), number_names([1, 2, 3], [0, 2]), number_names([1, 2], [0, 1])
    ([2, 0, 1], [0, 1, 2], None)
    """
    m, found, there = len(numbers), set(numbers), {float(label) for label in labels}
    if found == set(range(m)):
        return list(numbers)
    if found != set(range(1, m + 1)):
        return list(numbers) if there <= found else None
    if m in there and 0 not in there:
        return list(numbers)
    return [number - 1 for number in numbers] if m > 2 and 0 in there and max(there) < m else None


def negative_and_positive(labels: Iterable[Any], column: str = "") -> tuple[Any, Any] | None:
    """Two labels as negative and positive: the positive one is named by the column, or the words leave no doubt."""
    pair = list(labels)
    if len(pair) != 2 or any(not isinstance(label, str) for label in pair):
        return None
    keys = [_key(label) for label in pair]
    ways = {_key(text) for text in _inner(column)} if column else set()
    named = [k for k in (0, 1) if keys[k] in ways]
    if len(named) == 1:
        return pair[1 - named[0]], pair[named[0]]
    for k in (0, 1):
        other, own = keys[1 - k], keys[k]
        if (other, own) in _PAIRS or (len(own) > 2 and other in {word + own for word in _NOT}):
            return pair[1 - k], pair[k]
    return None


def columns_of_labels(labels: Iterable[Any], columns: Sequence[str], target: str = "") -> tuple[list[str], list[str]]:
    """Columns that are called as labels, or as labels with one text before and one after them, in their order.

    The name of the `target` may stand around labels: ``Status_CL`` beside a target ``Status``.

    The second list has also the columns with the same text around something else: perhaps labels that do not occur.
    Nothing is found where some label has no column or several, unless one of two labels alone has one.

    Examples
    --------
    >>> from kernelcal.predictions.label_names import columns_of_labels
    >>> columns_of_labels(["cat", "dog"], ["id", "P_Cat", "P_Dog", "P_Owl"])
    (['P_Cat', 'P_Dog'], ['P_Cat', 'P_Dog', 'P_Owl'])
    """
    labels = list(labels)
    keys = {_key(text_of(label)) for label in labels}
    around: dict[tuple[str, str], dict[str, str]] = {}
    for name in columns:
        for start, end in _inner_places(name, target):
            key = _key(name[start:end])
            if key in keys:
                around.setdefault((name[:start].casefold(), name[end:].casefold()), {})[name] = key
                break
    complete = [pattern for pattern, found in around.items() if len(set(found.values())) == len(found) == len(keys)]
    if len(complete) == 1:
        before, after = complete[0]
        own = [name for name in columns if name in around[complete[0]]]
        shortest = len(before) + len(after)
        alike = [n for n in columns if n.casefold().startswith(before) and n.casefold().endswith(after)]
        return own, [n for n in alike if len(n) > shortest] if shortest else own
    found = [name for some in around.values() for name in some]
    alone = len(labels) == 2 and len(found) == 1 and any(pattern != ("", "") for pattern in around)
    return (found, found) if alone and not complete else ([], [])
