"""Lenses: from one calibration question to a simpler one, (targets, predictions) -> (targets, predictions)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from kernelcal.arrays import Array, namespace, place_of, to_numpy
from kernelcal.cases import Case
from kernelcal.errors import InputError
from kernelcal.predictions import Bernoulli, Categorical, ClassPredictions, log_sum, made, trusted
from kernelcal.registry import Registry

__all__ = ["LENSES", "ClassWise", "Groups", "Lens", "OneClass", "Relabel", "TopK", "TopLabel", "View"]


@dataclass(frozen=True, eq=False)
class View:
    """Predictions seen through a lens, and how labels are seen.

    Attributes
    ----------
    predictions : ClassPredictions
        Predictions of the simpler question.
    relabel : callable
        Turns labels of the original question, shape (..., n), into labels of the simpler one.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelcal as kc
    >>> view = kc.TopK(1).view(kc.Categorical([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]]))
    >>> view.predictions.n_classes, view.relabel(np.array([1, 0]))
    (2, array([0, 1]))
    """

    predictions: ClassPredictions
    relabel: Callable[[np.ndarray], np.ndarray]


class Lens(ABC):
    """One simpler question about class predictions.

    What is predicted for the simpler question follows from the predictions alone, so an exact test through a lens
    is exact: if the original predictions are calibrated, so are the simpler ones; the converse does not hold.

    Examples
    --------
    >>> import kernelcal as kc
    >>> first = kc.TopK(1).view(kc.Categorical([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])).predictions
    >>> isinstance(kc.TopK(1), kc.lenses.Lens), first.n_classes
    (True, 2)
    """

    @abstractmethod
    def view(self, predictions: ClassPredictions) -> View:
        """Predictions of the simpler question and the rule for its labels."""

    def __call__(
        self, y: Any, predictions: Any, *, classes: Any = None, normalize: bool = False
    ) -> tuple[np.ndarray, ClassPredictions]:
        """Targets and predictions of the simpler question, for any statistic or test."""
        case = Case.of(y, predictions, classes=classes, normalize=normalize).of_classes().through(self)
        return case.targets, case.predictions.without_names()


@dataclass(frozen=True)
class TopLabel(Lens):
    """Is the most probable class right as often as it claims?

    The prediction becomes ``c_i = max_k p_ik``, the target whether the label is that class (the first of equals).
    Also called confidence calibration.

    Examples
    --------
    >>> import kernelcal as kc
    >>> hit, confidence = kc.TopLabel()([0, 1], [[0.7, 0.2, 0.1], [0.5, 0.1, 0.4]])
    >>> hit, confidence.p
    (array([1, 0]), array([0.7, 0.5]))
    """

    def view(self, predictions: ClassPredictions) -> View:
        """Confidence of the first choice."""
        top = predictions.top_labels()
        confidence = made(
            Bernoulli,
            p=predictions.top_probabilities(top),
            classes=("wrong", "right"),
            notes=predictions.notes,
            question="top label",
            logs=_yes_or_no(predictions, top),
        )
        return View(confidence, lambda labels: (labels == top).astype(np.int64))


@dataclass(frozen=True)
class OneClass(Lens):
    """Does one class occur as often as predicted, against all others?

    Parameters
    ----------
    label : class name or number
        The class in question.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.OneClass("b")(["a", "b"], [[0.7, 0.2, 0.1], [0.5, 0.1, 0.4]], classes=["a", "b", "c"])[1].p
    array([0.2, 0.1])
    """

    label: Any

    def view(self, predictions: ClassPredictions) -> View:
        """Probability of the class."""
        k = _position(predictions, self.label)
        question = f"class {predictions.class_name(k)} against the rest"
        batch = Bernoulli(
            predictions.probabilities[:, k], ("other", str(predictions.class_name(k))), predictions.notes, question
        )
        logs = _yes_or_no(predictions, np.asarray(k))
        return View(trusted(batch, logs=logs), lambda labels: (labels == k).astype(np.int64))


@dataclass(frozen=True)
class TopK(Lens):
    """The k most probable classes of each row by their place, and the rest as one class.

    Parameters
    ----------
    k : int
        At least 1 and less than the number of classes.

    Examples
    --------
    >>> import kernelcal as kc
    >>> place, predictions = kc.TopK(2)([1, 2], [[0.7, 0.1, 0.15, 0.05], [0.3, 0.4, 0.1, 0.2]])
    >>> place, predictions.probs.round(2)
    (array([2, 2]), array([[0.7 , 0.15, 0.15], [0.4 , 0.3 , 0.3 ]]))
    """

    k: int

    def __post_init__(self) -> None:
        if not isinstance(self.k, int | np.integer) or self.k < 1:
            raise InputError(f"k must be a whole number, at least 1, got {self.k!r}")

    def view(self, predictions: ClassPredictions) -> View:
        """Probabilities of the first k places and of the rest."""
        m = predictions.n_classes
        if self.k >= m:
            raise InputError(f"TopK({self.k}) needs more than {self.k} classes, the predictions have {m}")
        order = np.argsort(-to_numpy(predictions.probabilities), axis=1, kind="stable")
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.minimum(np.arange(m), self.k)[None, :], axis=1)
        names = (*(f"place {j + 1}" for j in range(self.k)), "rest")
        return _merged(predictions, place, names, f"top {self.k} and the rest")


@dataclass(frozen=True)
class Groups(Lens):
    """Classes merged into groups.

    Parameters
    ----------
    groups : mapping or sequence
        ``{"animal": ["cat", "dog"], "vehicle": ["car"]}``; classes in no group form the group ``other``. Or one
        group label for every class, in the order of the columns.

    Examples
    --------
    >>> import kernelcal as kc
    >>> kc.Groups(["x", "x", "z"])([0, 2], [[0.7, 0.2, 0.1], [0.5, 0.1, 0.4]])[1].probs.round(2)
    array([[0.9, 0.1], [0.6, 0.4]])
    """

    groups: Any

    def view(self, predictions: ClassPredictions) -> View:
        """Probabilities of the groups."""
        names, table = _group_of_each_class(self.groups, predictions)
        if len(names) < 2:
            raise InputError(f"there is only one group, {names[0]!r}: its probability is 1 in every row")
        rows = np.broadcast_to(table, (len(predictions), len(table)))
        return _merged(predictions, rows, names, "groups of classes")


@dataclass(frozen=True)
class Relabel(Lens):
    """Any mapping: a function of the predictions that gives every class of every row its new label.

    Parameters
    ----------
    function : callable
        ``function(probabilities)`` of shape (n, m), in NumPy, returns whole numbers of shape (n, m): the new label
        0, 1, ... of each class, row by row. It sees no targets.
    names : sequence, optional
        What the new labels are called.

    Examples
    --------
    Are classes that were called unlikely as unlikely as said?

    >>> import kernelcal as kc
    >>> unlikely = kc.lenses.Relabel(lambda p: (p < 0.15).astype(int), ["likely", "unlikely"])
    >>> unlikely([2, 2], [[0.7, 0.2, 0.1], [0.5, 0.1, 0.4]])[1].probs.round(2)
    array([[0.9, 0.1], [0.9, 0.1]])
    """

    function: Callable[[np.ndarray], Any]
    names: Any = None

    def view(self, predictions: ClassPredictions) -> View:
        """Probabilities of the new labels."""
        p = to_numpy(predictions.probabilities)
        table = np.asarray(self.function(p))
        if table.shape != p.shape or table.dtype.kind not in "iub" or (table.size and table.min() < 0):
            raise InputError(
                f"the function of Relabel must return whole numbers from 0 of shape {p.shape}, a label for every class "
                f"of every row, got {table.dtype} of shape {table.shape}"
            )
        number = max(int(table.max(initial=0)) + 1, 2)
        names = tuple(range(number)) if self.names is None else tuple(self.names)
        if len(names) < number:
            raise InputError(f"the function of Relabel returns labels up to {number - 1}, but names has {len(names)}")
        return _merged(predictions, table.astype(np.int64), names, "relabelled classes")


@dataclass(frozen=True)
class ClassWise:
    """Every class against the rest: m questions, one `OneClass` each.

    Parameters
    ----------
    joint : {"holm", "full"}
        How `calibration_test` answers all of them together. ``holm``: exact p-values of the classes, corrected by
        Holm; the joint law of the classes does not follow from theirs. ``full``: the labels are redrawn from the
        whole predictions, and the classes are ranked together; this is more powerful with many classes, but its null
        is the stronger one that all classes are calibrated jointly.

    Examples
    --------
    >>> import kernelcal as kc
    >>> pairs = kc.ClassWise()([0, 1], [[0.7, 0.2, 0.1], [0.5, 0.1, 0.4]])
    >>> [predictions.question for _, predictions in pairs][0]
    'class 0 against the rest'
    """

    joint: str = "holm"

    def __post_init__(self) -> None:
        if self.joint not in ("holm", "full"):
            raise InputError(f"joint must be 'holm' or 'full', got {self.joint!r}")

    def lenses(self, predictions: ClassPredictions) -> tuple[OneClass, ...]:
        """One lens a class."""
        return tuple(OneClass(predictions.class_name(k)) for k in range(predictions.n_classes))

    def __call__(
        self, y: Any, predictions: Any, *, classes: Any = None, normalize: bool = False
    ) -> list[tuple[np.ndarray, ClassPredictions]]:
        """Targets and predictions of every class."""
        case = Case.of(y, predictions, classes=classes, normalize=normalize).of_classes()
        views = [case.through(lens) for lens in self.lenses(case.predictions)]
        return [(view.targets, view.predictions.without_names()) for view in views]


def _position(predictions: ClassPredictions, label: Any) -> int:
    names = range(predictions.n_classes) if predictions.classes is None else predictions.classes
    if label not in names:
        shown = ", ".join(map(repr, list(names)[:6])) + (", ..." if len(names) > 6 else "")
        raise InputError(f"{label!r} is none of the classes {shown}")
    return list(names).index(label)


def _group_of_each_class(groups: Any, predictions: ClassPredictions) -> tuple[tuple[Any, ...], np.ndarray]:
    m = predictions.n_classes
    if isinstance(groups, Mapping):
        return _groups_by_name(groups, predictions)
    if isinstance(groups, str) or not hasattr(groups, "__iter__"):
        raise InputError(
            f"groups must be a mapping such as {{'animal': ['cat', 'dog']}}, or one group label for every class, got "
            f"{groups!r}"
        )
    given = list(groups)
    if len(given) != m:
        raise InputError(f"groups has {len(given)} labels, one for each of the {m} classes is expected")
    names = tuple(dict.fromkeys(given))
    return names, np.array([names.index(group) for group in given])


def _groups_by_name(groups: Mapping[Any, Any], predictions: ClassPredictions) -> tuple[tuple[Any, ...], np.ndarray]:
    table = np.full(predictions.n_classes, len(groups))
    for g, members in enumerate(groups.values()):
        for label in [members] if isinstance(members, str) else members:
            k = _position(predictions, label)
            if table[k] != len(groups):
                raise InputError(
                    f"class {label!r} is in two groups, {list(groups)[table[k]]!r} and {list(groups)[g]!r}"
                )
            table[k] = g
    return (*groups, "other") if len(groups) in table else tuple(groups), table


def _merged(predictions: ClassPredictions, table: np.ndarray, names: tuple[Any, ...], question: str) -> View:
    """Sum the probabilities of the classes with the same new label; table has shape (n, m)."""
    p = predictions.probabilities
    xp = namespace(p)
    columns: list[Array] = [
        xp.sum(xp.where(xp.asarray(table == g, device=place_of(p)), p, 0 * p), axis=1) for g in range(len(names))
    ]
    rows = np.arange(len(table))
    logs = None
    if predictions.logs is not None:
        logs = xp.stack([_log_of_classes(predictions, table == g) for g in range(len(names))], axis=1)
    merged = made(
        Categorical,
        probs=xp.stack(columns, axis=1),
        classes=names,
        notes=predictions.notes,
        question=question,
        logs=logs,
    )
    return View(merged, lambda labels: table[rows, labels])


def _yes_or_no(predictions: ClassPredictions, label: np.ndarray) -> Array | None:
    """Logarithms of the probabilities of no and yes, where those of the classes are known; yes is one label a row."""
    if predictions.logs is None:
        return None
    shape = len(predictions), predictions.n_classes
    yes = np.broadcast_to(label[..., None] == np.arange(predictions.n_classes), shape)
    return namespace(predictions.logs).stack([_log_of_classes(predictions, mask) for mask in (~yes, yes)], axis=1)


def _log_of_classes(predictions: ClassPredictions, mask: np.ndarray) -> Array:
    """Logarithm of the probability that one of some classes happens, shape (n,)."""
    logs = predictions.logs
    return log_sum(logs, namespace(logs).asarray(np.array(mask), device=place_of(logs)))


LENSES: Registry[Callable[..., Lens | ClassWise]] = Registry("lens", "or a lens such as kernelcal.Groups(...)")
LENSES.register("top-label", TopLabel, summary="is the first choice right as often as it claims")
LENSES.register("top-K", TopK, summary="the K most probable classes by their place, such as top-5")
LENSES.register("class:NAME", OneClass, summary="one class against the rest")
LENSES.register("class-wise", ClassWise, summary="every class against the rest, corrected by Holm", serves="tests")
LENSES.register(
    "class-wise-joint", partial(ClassWise, joint="full"), summary="the same, ranked together", serves="tests"
)
