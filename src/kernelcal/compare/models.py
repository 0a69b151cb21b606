"""Several models of the same rows: what can be compared, and what cannot."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from kernelcal.arrays import to_numpy
from kernelcal.errors import InputError
from kernelcal.lenses import Lens, seen
from kernelcal.predictions import Bernoulli, Categorical, ClassPredictions, Predictions, ScorePredictions, checked_pair

__all__ = ["Pairs", "checked_models"]

Pairs = dict[str, tuple[np.ndarray, Predictions]]  # name -> targets and predictions, as the lens shows them


def checked_models(y: Any, predictions: Any, lens: Lens | None, classes: Any, *, normalize: bool) -> Pairs:
    """Targets and predictions of every model, checked one by one and against each other."""
    if not isinstance(predictions, Mapping):
        raise InputError(
            f'predictions must be named, such as {{"resnet": p1, "vit": p2}}, got {type(predictions).__name__}: with '
            "one model use kernelcal.evaluate"
        )
    if len(predictions) < 2:
        raise InputError(f"compare needs at least two models, got {len(predictions)}: for one use kernelcal.evaluate")
    names = [str(name) for name in predictions]
    if len(set(names)) < len(names):
        raise InputError(f"two models have the same name among {', '.join(names)}: name them apart")
    pairs = {str(n): _pair(str(n), y, p, classes, normalize=normalize) for n, p in predictions.items()}
    _refuse_different(pairs)
    asked = {name: seen(targets, batch, lens) for name, (targets, batch) in pairs.items()}
    return _alike({name: (targets, batch.map_arrays(_double)) for name, (targets, batch) in asked.items()})


def _pair(name: str, y: Any, predictions: Any, classes: Any, *, normalize: bool) -> tuple[np.ndarray, Predictions]:
    """Check one model, whose name every message carries."""
    if predictions is None:
        raise InputError(f"model {name!r} has no predictions (None): pass them, or leave the model out")
    try:
        targets, batch = checked_pair(y, predictions, classes=classes, normalize=normalize)
    except InputError as error:
        raise InputError(f"model {name!r}: {error}") from None
    if isinstance(batch, ScorePredictions):
        raise InputError(
            f"model {name!r} is known through its score: compare needs expectations and densities; draw from it and "
            "pass kernelcal.Samples, or use kernelcal.evaluate for each model"
        )
    return targets, batch


def _refuse_different(pairs: Pairs) -> None:
    """Refuse models that answer other questions than the first."""
    (first, (_, ours)), *others = pairs.items()
    for name, (_, batch) in others:
        if isinstance(ours, ClassPredictions) != isinstance(batch, ClassPredictions):
            raise InputError(f"models {first!r} and {name!r} do not both predict {_kind(ours)}: compare like with like")
        if isinstance(ours, ClassPredictions) and isinstance(batch, ClassPredictions):
            _refuse_other_classes(first, ours, name, batch)


def _kind(batch: Predictions) -> str:
    return "classes" if isinstance(batch, ClassPredictions) else "numbers"


def _refuse_other_classes(first: str, ours: ClassPredictions, name: str, theirs: ClassPredictions) -> None:
    if ours.n_classes != theirs.n_classes:
        raise InputError(
            f"model {first!r} predicts {ours.n_classes} classes and {name!r} {theirs.n_classes}: models are compared "
            "on the same classes"
        )
    if None in (ours.classes, theirs.classes) or tuple(ours.classes or ()) == tuple(theirs.classes or ()):
        return
    k, mine, other = next(
        (k, a, b) for k, (a, b) in enumerate(zip(ours.classes or (), theirs.classes or (), strict=True)) if a != b
    )
    raise InputError(
        f"class {k} is {mine!r} for model {first!r} and {other!r} for {name!r}: put the columns in the same order"
    )


def _alike(pairs: Pairs) -> Pairs:
    """Write one probability as two where another model has two columns: their distances must have one meaning."""
    families = {type(batch) for _, batch in pairs.values()}
    if families != {Bernoulli, Categorical}:
        return pairs
    return {name: (targets, _two_columns(batch)) for name, (targets, batch) in pairs.items()}


def _two_columns(batch: Any) -> Categorical:
    return batch if isinstance(batch, Categorical) else Categorical(batch.probabilities, batch.classes, batch.notes)


def _double(x: Any) -> np.ndarray:
    values = to_numpy(x)
    return values.astype(np.float64, copy=False) if values.dtype.kind == "f" else values
